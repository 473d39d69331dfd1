/* SPDX-License-Identifier: BSD-2-Clause */
/* See errand.h. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "loader/base/base.h"
#include "errand.h"

struct errand {
	struct helper_task task;	/* first: a task is its errand */
	struct errands *all;
	struct user *user;
	struct fiber *waits;		/* NULL: no fiber does */
	bool left;			/* errand_end() has been called … */
	bool over;			/* … and its helper is free or has exited */
};

/* A fiber that has no helper yet; on its stack. */
struct errand_wait {
	TAILQ_ENTRY(errand_wait) next;
	struct fiber *fiber;
	struct user *user;
	uint64_t until;			/* ns */
	bool called;
};

/*
 * What the job of mappings needs: /proc of all processes, and the files behind their mappings.
 * Where there is no CAP_CHECKPOINT_RESTORE, as in containers, CAP_SYS_ADMIN stands for it.
 */
static uint64_t errands_capabilities(void)
{
	int links = prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) == 1 ?
			    CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN;

	return 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | 1ull << links;
}

int errands_new(struct errands *es, struct user_table *users, helper_job *const jobs[ERRAND_JOBS],
		struct reason *why)
{
	int err;

	es->users = users;
	TAILQ_INIT(&es->waits);
	user_pool(users, POOL_HELPERS, ERRANDS_MAX);
	es->fibers = fibers_new();
	if (!es->fibers)
		return deny(why, -ENOMEM, "no memory for operations");
	err = helpers_new(&es->helpers, &(struct helpers_spec){
		.name = "pmcbpfd-helper", .jobs = jobs, .njobs = ERRAND_JOBS,
		.max = ERRANDS_MAX + ERRANDS_OWN + HELPER_CLOSERS,
		.capabilities = errands_capabilities(),
	});
	return err ? deny(why, err, "cannot start helper processes: %s", strerror(-err)) : 0;
}

void errands_free(struct errands *es)
{
	helpers_free(es->helpers);
	es->helpers = NULL;
	fibers_free(es->fibers);
	es->fibers = NULL;
}

/* --- a helper for each ------------------------------------------------------------------------ */

static void wait_call(struct errand_wait *w)
{
	w->called = true;
	fiber_wake(w->fiber);
}

/* A helper is free: wakes the first fiber that may use it. */
static void waits_look(struct errands *es)
{
	struct errand_wait *w;
	struct reason unused;

	TAILQ_FOREACH(w, &es->waits, next) {
		if (w->called || user_may(es->users, w->user, POOL_HELPERS, 1, &unused))
			continue;
		wait_call(w);
		return;
	}
}

int errands_due(struct errands *es)
{
	uint64_t now = TAILQ_EMPTY(&es->waits) ? 0 : clock_ns();
	struct errand_wait *w;

	/* All wait equally long: the first in the list is due first. */
	TAILQ_FOREACH(w, &es->waits, next) {
		if (w->called)
			continue;
		if (now < w->until)
			return (int)((w->until - now) / 1000000) + 1;
		wait_call(w);
	}
	return -1;
}

/* Charges the user for a helper; waits until there is one. */
static int errand_claim(struct errands *es, struct user *u, struct reason *why)
{
	struct errand_wait w = {
		.fiber = fiber_current(es->fibers), .user = u,
		.until = clock_ns() + ERRAND_MS * 1000000ull,
	};
	int err;

	for (;;) {
		err = user_take(es->users, u, POOL_HELPERS, 1, why);
		if (err != -EAGAIN || !w.fiber || fibers_hurried(es->fibers) ||
		    clock_ns() >= w.until)
			return err;
		w.called = false;
		TAILQ_INSERT_TAIL(&es->waits, &w, next);
		fiber_park(es->fibers);
		TAILQ_REMOVE(&es->waits, &w, next);
	}
}

/* --- errands ---------------------------------------------------------------------------------- */

static void errand_free(struct errand *e)
{
	if (e->left && e->over)
		free(e);
}

static void on_ready(struct helper_task *t)
{
	struct errand *e = (struct errand *)t;

	if (e->waits)
		fiber_wake(e->waits);
}

static void on_over(struct helper_task *t)
{
	struct errand *e = (struct errand *)t;

	user_give(e->all->users, e->user, POOL_HELPERS, 1);
	waits_look(e->all);
	e->over = true;
	errand_free(e);
}

int errand_begin(struct errands *es, struct user *u, enum errand_job job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms,
		 struct errand **out, struct reason *why)
{
	struct errand *e;
	int err;

	if (!es->helpers)
		return deny(why, -EIO, "there are no helper processes");
	err = errand_claim(es, u, why);
	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e) {
		err = -ENOMEM;
		goto failed;
	}
	e->task.ready = on_ready;
	e->task.over = on_over;
	e->all = es;
	e->user = u;
	err = helper_start(es->helpers, &e->task, job, arg, len, fds, nfds, ms);
	if (err)
		goto failed;
	*out = e;
	return 0;
failed:
	free(e);
	user_give(es->users, u, POOL_HELPERS, 1);
	waits_look(es);
	return deny(why, err, "pmcbpfd has no helper process for this: %s", strerror(-err));
}

int errand_next(struct errand *e, struct helper_part *part)
{
	struct errands *es = e->all;

	for (;;) {
		switch (helper_read(es->helpers, &e->task, part)) {
		case HELPER_PART:
			return 1;
		case HELPER_END:
			return e->task.result;
		case HELPER_LATER:
			break;
		}
		e->waits = fiber_current(es->fibers);
		if (fibers_hurried(es->fibers))
			helper_cancel(es->helpers, &e->task);
		else if (e->waits)
			fiber_park(es->fibers);
		else
			helper_wait(es->helpers, &e->task);
		e->waits = NULL;
	}
}

void errand_end(struct errand *e)
{
	if (!e)
		return;
	helper_leave(&e->task);
	e->left = true;
	errand_free(e);
}
