/* SPDX-License-Identifier: BSD-2-Clause */
/* See lognumbers.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kernel/engine.h"
#include "lognumbers.h"

#define KEPT_MIN 1024u			/* powers of two */
#define KEPT_MAX (1u << 17)

struct number {
	pid_t here, there;		/* the daemon's, and the owner's; 0: not used */
};

struct lognumbers {
	struct log_numbers api;
	struct engine *e;
	struct cred viewer;
	struct number *kept;		/* those that have been looked up: a hash table */
	unsigned int n, room;
};

/* Where it is, or belongs; NULL: there is no table. */
static struct number *slot_of(const struct lognumbers *n, pid_t here)
{
	unsigned int at = (unsigned int)here * 2654435769u & (n->room - 1);

	if (!n->room)
		return NULL;
	while (n->kept[at].here && n->kept[at].here != here)
		at = (at + 1) & (n->room - 1);
	return &n->kept[at];
}

/* What is not kept is looked up again: without memory, or when there are too many. */
static void grow(struct lognumbers *n)
{
	struct lognumbers bigger = { .room = n->room ? n->room * 2 : KEPT_MIN };

	if (n->n < n->room / 2)
		return;
	if (bigger.room > KEPT_MAX) {
		memset(n->kept, 0, n->room * sizeof(*n->kept));
		n->n = 0;
		return;
	}
	bigger.kept = calloc(bigger.room, sizeof(*bigger.kept));
	if (!bigger.kept)
		return;
	for (unsigned int i = 0; i < n->room; i++)
		if (n->kept[i].here)
			*slot_of(&bigger, n->kept[i].here) = n->kept[i];
	free(n->kept);
	n->kept = bigger.kept;
	n->room = bigger.room;
}

static void keep(struct lognumbers *n, pid_t here, pid_t there)
{
	struct number *slot;

	grow(n);
	slot = slot_of(n, here);
	/* One place stays free, where a search ends. */
	if (!slot || (!slot->here && n->n + 1 >= n->room))
		return;
	n->n += !slot->here;
	*slot = (struct number){ here, there };
}

/* As it was noted at its birth; 0: it was not. */
static pid_t noted(const struct lognumbers *n, pid_t here, uint64_t ns)
{
	unsigned int below = n->viewer.depth - 1;
	struct abi_number number;

	if (programs_number(n->e->programs, (uint32_t)here, &number) || number.start > ns)
		return 0;
	if (below >= ABI_LEVELS || number.inum[below] != (uint32_t)n->viewer.pid_ns)
		return PMCLOG_PID_OUTSIDE;
	return (pid_t)number.nr[below];
}

static pid_t ask_proc(const struct lognumbers *n, pid_t here)
{
	struct cred c;
	pid_t there = policy_read_cred(here, &c) ? -1 : policy_pid_in(&c, &n->viewer);

	return there > 0 ? there : PMCLOG_PID_OUTSIDE;
}

/* `born`: an earlier one may have had the number. */
static pid_t number_of(struct lognumbers *n, pid_t here, uint64_t ns, bool born)
{
	const struct number *known;
	pid_t there;

	/* The idle task, the kernel's mappings, and what the daemon has no number for. */
	if (here <= 0)
		return here;
	known = born ? NULL : slot_of(n, here);
	if (known && known->here)
		return known->there;
	there = noted(n, here, ns);
	there = there ?: ask_proc(n, here);
	keep(n, here, there);
	return there;
}

/* Where a record has its process and its thread, if it has one. */
struct fields {
	pid_t *pid, *tid;
	bool born;			/* the first record of it */
	bool of_pmc;			/* a PMC's own: it is not left out */
};

static struct fields fields_of(struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PMCATTACH:
		return (struct fields){ .pid = &ev->pl_u.pl_t.pl_pid, .of_pmc = true };
	case PMCLOG_TYPE_PMCDETACH:
		return (struct fields){ .pid = &ev->pl_u.pl_d.pl_pid, .of_pmc = true };
	case PMCLOG_TYPE_PROCCSW:
		return (struct fields){ &ev->pl_u.pl_c.pl_pid, &ev->pl_u.pl_c.pl_tid, false, true };
	case PMCLOG_TYPE_PROCEXIT:
		return (struct fields){ .pid = (pid_t *)&ev->pl_u.pl_e.pl_pid, .of_pmc = true };
	case PMCLOG_TYPE_PROCEXEC:
		return (struct fields){ .pid = &ev->pl_u.pl_x.pl_pid };
	case PMCLOG_TYPE_PROCFORK:
		return (struct fields){ .pid = &ev->pl_u.pl_f.pl_newpid, .born = true };
	case PMCLOG_TYPE_SYSEXIT:
		return (struct fields){ .pid = &ev->pl_u.pl_se.pl_pid };
	case PMCLOG_TYPE_MAP_IN:
		return (struct fields){ .pid = &ev->pl_u.pl_mi.pl_pid };
	case PMCLOG_TYPE_MAP_OUT:
		return (struct fields){ .pid = &ev->pl_u.pl_mo.pl_pid };
	case PMCLOG_TYPE_THR_CREATE:
		return (struct fields){ &ev->pl_u.pl_tc.pl_pid, &ev->pl_u.pl_tc.pl_tid, true,
					false };
	case PMCLOG_TYPE_THR_EXIT:
		return (struct fields){ .pid = &ev->pl_u.pl_te.pl_tid };
	case PMCLOG_TYPE_PROC_CREATE:
		return (struct fields){ .pid = &ev->pl_u.pl_pc.pl_pid };
	default:
		return (struct fields){ NULL, NULL, false, true };
	}
}

static bool number_event(struct log_numbers *api, uint64_t ns, struct pmclog_ev *ev)
{
	struct lognumbers *n = (struct lognumbers *)api;
	struct fields f = fields_of(ev);
	/* What is no process stays as it is. */
	bool outside = f.pid && *f.pid > 0;

	if (ev->pl_type == PMCLOG_TYPE_PROCFORK)
		ev->pl_u.pl_f.pl_oldpid = number_of(n, ev->pl_u.pl_f.pl_oldpid, ns, false);
	if (f.tid)
		*f.tid = number_of(n, *f.tid, ns, f.born);
	if (f.pid)
		*f.pid = number_of(n, *f.pid, ns, f.born && !f.tid);
	outside &= f.pid && *f.pid < 0;
	return f.of_pmc || !outside;
}

static void number_sample(struct log_numbers *api, uint64_t ns, struct pmclog_ev_callchain *c)
{
	struct lognumbers *n = (struct lognumbers *)api;
	pid_t pid = number_of(n, (pid_t)c->pl_pid, ns, false);
	pid_t tid = number_of(n, (pid_t)c->pl_tid, ns, false);

	c->pl_pid = (uint32_t)pid;
	c->pl_tid = (uint32_t)(pid < 0 ? pid : tid);
}

static void numbers_end(struct log_numbers *api)
{
	struct lognumbers *n = (struct lognumbers *)api;

	programs_numbers(n->e->programs, false, &(struct why){ "" });
	free(n->kept);
	free(n);
}

int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct why *why)
{
	struct lognumbers *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return deny(why, -ENOMEM, "no memory for the numbers of processes in a log");
	n->api = (struct log_numbers){ number_event, number_sample, numbers_end };
	n->e = e;
	n->viewer = *viewer;
	err = programs_numbers(e->programs, true, why);
	if (err)
		free(n);
	else
		*out = &n->api;
	return err;
}
