/* SPDX-License-Identifier: BSD-2-Clause */
/* See lognumbers.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/base.h"
#include "loader/kernel/kernel.h"
#include "lognumbers.h"

#define KEPT_MAX (1u << 16)

struct number {
	pid_t here, there;		/* the daemon's and the owner's */
};

struct lognumbers {
	struct log_numbers api;
	struct engine *e;
	struct cred viewer;
	struct index index;		/* of `kept` */
	struct number *kept;		/* numbers that have been looked up */
	size_t n, room;
};

struct number_wanted {
	const struct number *kept;
	pid_t here;
};

static bool number_is_wanted(const void *arg, uint32_t position)
{
	const struct number_wanted *w = arg;

	return w->kept[position].here == w->here;
}

static uint32_t number_hash(pid_t here)
{
	return index_fold(index_mix(0, (uint32_t)here));
}

static struct number *number_find(const struct lognumbers *n, pid_t here)
{
	const struct number_wanted wanted = { n->kept, here };
	uint32_t at = index_find(&n->index, number_hash(here), number_is_wanted, &wanted);

	return at == INDEX_NONE ? NULL : &n->kept[at];
}

/* Numbers are dropped if there are too many, or no memory: they are looked up again. */
static void number_keep(struct lognumbers *n, pid_t here, pid_t there)
{
	struct number *known = number_find(n, here);

	if (known) {
		known->there = there;
		return;
	}
	if (n->n >= KEPT_MAX) {
		index_clear(&n->index);
		n->n = 0;
	}
	if (array_reserve(n->kept, n->room, n->n + 1) != 0)
		return;
	if (!index_add(&n->index, number_hash(here), (uint32_t)n->n))
		n->kept[n->n++] = (struct number){ here, there };
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
	known = born ? NULL : number_find(n, here);
	if (known)
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
	       type == PMCLOG_TYPE_PROCCSW || type == PMCLOG_TYPE_PROCEXIT ||
	       type == PMCLOG_TYPE_THR_VALUE || type == PMCLOG_TYPE_WAKER;
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
	index_free(&n->index);
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
