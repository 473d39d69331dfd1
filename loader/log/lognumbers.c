/* SPDX-License-Identifier: BSD-2-Clause */
/* See lognumbers.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kernel/kernel.h"
#include "lognumbers.h"

#define KEPT_MIN 1024u			/* powers of two */
#define KEPT_MAX (1u << 17)

struct number {
	pid_t here, there;		/* the daemon's and the owner's; 0: a free slot */
};

struct lognumbers {
	struct log_numbers api;
	struct engine *e;
	struct cred viewer;
	struct number *kept;		/* a hash table of numbers that have been looked up */
	unsigned int n, room;
};

/* The number's slot, or the free one where it belongs; NULL: there is no table. */
static struct number *number_slot(const struct lognumbers *n, pid_t here)
{
	unsigned int at = (unsigned int)here * 2654435769u & (n->room - 1);

	if (!n->room)
		return NULL;
	while (n->kept[at].here && n->kept[at].here != here)
		at = (at + 1) & (n->room - 1);
	return &n->kept[at];
}

/* Numbers are dropped if there are too many, or no memory: they are looked up again. */
static void numbers_grow(struct lognumbers *n)
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
			*number_slot(&bigger, n->kept[i].here) = n->kept[i];
	free(n->kept);
	n->kept = bigger.kept;
	n->room = bigger.room;
}

static void number_keep(struct lognumbers *n, pid_t here, pid_t there)
{
	struct number *slot;

	numbers_grow(n);
	slot = number_slot(n, here);
	/* One slot stays free, so that a search ends. */
	if (!slot || (!slot->here && n->n + 1 >= n->room))
		return;
	n->n += !slot->here;
	*slot = (struct number){ here, there };
}

/* The number noted at the birth; 0: there is no note. */
static pid_t number_noted(const struct lognumbers *n, pid_t here, uint64_t ns)
{
	unsigned int below = n->viewer.depth - 1;
	struct abi_number number;

	if (programs_number(n->e->programs, (uint32_t)here, &number) || number.start > ns)
		return 0;
	if (below >= ABI_LEVELS || number.inum[below] != (uint32_t)n->viewer.pid_ns)
		return PMCLOG_PID_OUTSIDE;
	return (pid_t)number.nr[below];
}

static pid_t number_ask(const struct lognumbers *n, pid_t here)
{
	struct cred c;
	pid_t there = policy_read_cred(here, &c) ? -1 : policy_pid_in(&c, &n->viewer);

	return there > 0 ? there : PMCLOG_PID_OUTSIDE;
}

/* `born`: a kept number belongs to an earlier process. */
static pid_t number_of(struct lognumbers *n, pid_t here, uint64_t ns, bool born)
{
	const struct number *known;
	pid_t there;

	/* The idle task, the kernel's mappings, and processes outside of the daemon's namespace. */
	if (here <= 0)
		return here;
	known = born ? NULL : number_slot(n, here);
	if (known && known->here)
		return known->there;
	there = number_noted(n, here, ns);
	there = there ?: number_ask(n, here);
	number_keep(n, here, there);
	return there;
}

/* A PMC's own record stays in the log even if its process has no number there. */
static bool record_is_of_pmc(enum pmclog_type type)
{
	return type == PMCLOG_TYPE_PMCATTACH || type == PMCLOG_TYPE_PMCDETACH ||
	       type == PMCLOG_TYPE_PROCCSW || type == PMCLOG_TYPE_PROCEXIT;
}

/* The last number of a record decides: of a birth the child's, of a thread its process's. */
static bool numbers_event(struct log_numbers *api, uint64_t ns, struct pmclog_ev *ev)
{
	struct lognumbers *n = (struct lognumbers *)api;
	const struct logfmt_record *r = logfmt_find(ev->pl_type);
	bool outside = false;

	for (const struct logfmt_field *f = r ? r->field : NULL; f && f->kind; f++) {
		char *at = (char *)ev + f->ev;
		pid_t here, there;

		if (f->kind != LOGFMT_PID && f->kind != LOGFMT_TID && f->kind != LOGFMT_BORN)
			continue;
		memcpy(&here, at, sizeof(here));
		there = number_of(n, here, ns, f->kind == LOGFMT_BORN);
		memcpy(at, &there, sizeof(there));
		/* Numbers that are not processes stay as they are. */
		outside = here > 0 && there < 0;
	}
	return record_is_of_pmc(ev->pl_type) || !outside;
}

static void numbers_sample(struct log_numbers *api, uint64_t ns, struct pmclog_ev_callchain *c)
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

	programs_numbers(n->e->programs, false, &(struct reason){ "" });
	free(n->kept);
	free(n);
}

int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct reason *why)
{
	struct lognumbers *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return deny(why, -ENOMEM, "no memory for the numbers of processes in a log");
	n->api = (struct log_numbers){ numbers_event, numbers_sample, numbers_end };
	n->e = e;
	n->viewer = *viewer;
	err = programs_numbers(e->programs, true, why);
	if (err)
		free(n);
	else
		*out = &n->api;
	return err;
}
