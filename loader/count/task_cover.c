/* SPDX-License-Identifier: BSD-2-Clause */
/* See task_cover.h; bpf/count/cover.bpf.c looks at the threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/base/base.h"
#include "loader/kernel/kernel.h"
#include "task_cover.h"
#include "task_events.h"

#define COVER_TIME (2 * NS_PER_S)
#define COVER_HERE (2 * NS_PER_S / 1000)	/* while targets cannot run on this CPU */

enum cover_way {
	COVER_PREPARES,			/* events are disabled: opens and closes them */
	COVER_CHECKS,			/* events are disabled: changes nothing */
	COVER_STARTS,			/* events are being enabled: enables the others */
	COVER_COUNTS,			/* all events should count: changes nothing */
};

struct task_cover {
	struct count *c;
	enum cover_way way;
	int here;			/* the CPU to look at, on which it runs; -1: all */
	int cpu;			/* to which the events are bound, -1: to none */
	uint64_t until;			/* for one process, or for all if `here` */
	bool copies;			/* all copies of this process's events are enabled */
	bool unprogrammed;		/* some copy of its events has no program */
	bool changed;			/* the round has opened or enabled events, or met forks */
	int err;
	struct reason *why;
	struct abi_cover now;
	unsigned int nunderway;
	struct abi_forking underway[ABI_MAX_COVERED];	/* forks that began before the change */
};

static int task_cover_deny(const struct task_cover *v, pid_t tgid)
{
	return deny(v->why, -EAGAIN, "process %d creates threads faster than events can be opened "
		    "for them: try again", (int)tgid);
}

/* Looks at the events on a CPU, or at all: at each thread's `events`. */
static int task_cover_look_at(struct task_cover *v, pid_t tgid, int cpu, unsigned int events)
{
	const struct count *c = v->c;

	v->now = (struct abi_cover){
		.tag = c->tag, .cpu = cpu, .events = events,
	};
	return visit_cover(c->e, (uint32_t)tgid, &v->now);
}

static unsigned int task_cover_listed(uint32_t n)
{
	return n < ABI_MAX_COVERED ? n : ABI_MAX_COVERED;
}

static int task_cover_look(struct task_cover *v, pid_t tgid)
{
	return task_cover_look_at(v, tgid, v->cpu, 1);
}

/* --- forks ----------------------------------------------------------------------------------- */

/* True also if the list is too long for all. */
static bool task_cover_still(const struct task_cover *v, const struct abi_forking *f)
{
	for (unsigned int i = 0; i < task_cover_listed(v->now.nforking); i++)
		if (v->now.forking[i].tid == f->tid)
			return v->now.forking[i].forks == f->forks;
	return v->now.nforking > ABI_MAX_COVERED;
}

/* True if the list of threads in fork(2) is complete. */
static bool task_cover_begin(struct task_cover *v)
{
	v->nunderway = v->now.nforking;
	memcpy(v->underway, v->now.forking, sizeof(v->underway));
	return v->nunderway <= ABI_MAX_COVERED;
}

static void task_cover_drop_ended(struct task_cover *v)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < v->nunderway; i++)
		if (task_cover_still(v, &v->underway[i]))
			v->underway[n++] = v->underway[i];
	v->nunderway = n;
}

/*
 * Looks at the threads once all forks have ended that are under way: their threads are created with
 * the events of a moment ago.
 */
static int task_cover_wait(struct task_cover *v, pid_t tgid)
{
	bool begun = false;
	int err = task_cover_look(v, tgid);

	if (err || !v->now.nforking)
		return err;
	v->changed = true;
	do {
		if (begun)
			task_cover_drop_ended(v);
		else
			begun = task_cover_begin(v);
		if (clock_ns() > v->until)
			return task_cover_deny(v, tgid);
		engine_breathe(v->c->e);
		err = task_cover_look(v, tgid);
	} while (!err && (!begun || v->nunderway));
	return err;
}

/* --- one process ----------------------------------------------------------------------------- */

/* A thread that has inherited its events, and has its own as well, loses its own. */
static int task_cover_mend(struct task_cover *v, pid_t tgid)
{
	int err = 0;

	if (v->unprogrammed)
		return task_events_reopen(v->c, tgid, v->why);
	for (unsigned int i = 0; i < task_cover_listed(v->now.ntwice); i++)
		task_events_drop_one(v->c, (pid_t)v->now.twice[i], v->cpu);
	for (unsigned int i = 0; i < task_cover_listed(v->now.nbare) && !err; i++)
		err = task_open_one(v->c, tgid, (pid_t)v->now.bare[i], v->cpu,
					  v->why);
	return err;
}

static int task_cover_enable(const struct task_cover *v, pid_t tgid)
{
	return v->here < 0 ? task_events_enable(v->c, tgid) :
			     task_events_enable_cpu(v->c, (unsigned int)v->here);
}

/*
 * The forks have ended that were under way when the events were enabled, and may have copied a
 * disabled one.  What they have created is enabled here, seen or not: when one thread follows
 * another on a CPU, the kernel may swap their events, and a look that sees one thread before that
 * and the other one after it lacks some.  Enabling reaches all copies of an event.
 */
static int task_cover_enable_copies(struct task_cover *v, pid_t tgid)
{
	if (v->way != COVER_STARTS || v->copies)
		return 0;
	v->copies = true;
	return task_cover_enable(v, tgid);
}

/* The events should be enabled. */
static bool task_cover_enabled(const struct task_cover *v)
{
	return v->way >= COVER_STARTS;
}

/* A thread that is created between the opening of an event and its program inherits none. */
static int task_cover_look_copies(struct task_cover *v, pid_t tgid)
{
	const struct task_events *l = &v->c->events;
	int n = 0;

	v->unprogrammed = false;
	if (!v->c->spec.sampling)
		return 0;
	for (unsigned int i = 0; i < l->n && n >= 0 && !v->unprogrammed; i++) {
		if (l->list[i].tgid != tgid || l->list[i].fd < 0)
			continue;
		do
			n = visit_copies(v->c->e, l->list[i].fd);
		while (n == -EAGAIN && clock_ns() < v->until);
		v->unprogrammed = n > 0;
	}
	return n == -EAGAIN ? task_cover_deny(v, tgid) : n < 0 ? n : 0;
}

static int task_cover_settle(struct task_cover *v, pid_t tgid)
{
	return task_cover_wait(v, tgid) ?: task_cover_look_copies(v, tgid);
}

/* Mends what has gone wrong until nothing has. */
static int task_cover_events(struct task_cover *v, pid_t tgid, int cpu)
{
	bool mend, enable;
	int err;

	v->cpu = cpu;
	err = task_cover_settle(v, tgid) ?: task_cover_enable_copies(v, tgid);
	for (; !err; err = task_cover_settle(v, tgid)) {
		mend = v->unprogrammed || v->now.nbare || v->now.ntwice;
		enable = task_cover_enabled(v) && v->now.off;
		if (!mend && !enable)
			return 0;
		if (mend ? v->way != COVER_PREPARES : v->way == COVER_COUNTS)
			return task_cover_deny(v, tgid);
		v->changed = true;
		err = mend ? task_cover_mend(v, tgid) : task_cover_enable(v, tgid);
		if (err)
			return err;
	}
	return err;
}

/*
 * Events that are bound to CPUs are opened for one CPU after the other.  A thread that has as many
 * as there are CPUs has one for each: it has two of a CPU only if it was listed when those of that
 * CPU were opened, and then it was listed for the next CPUs, too, so that it has too many.
 */
static int task_cover_process(struct task_cover *v, pid_t tgid)
{
	unsigned int cpus = 0;
	int err;

	v->copies = false;
	if (v->here >= 0)
		return task_cover_events(v, tgid, v->here);
	v->until = clock_ns() + COVER_TIME;
	if (!task_open_bound(v->c, tgid))
		return task_cover_events(v, tgid, -1);
	for (unsigned int cpu = 0; cpu < v->c->e->ncpu; cpu++)
		cpus += perf_has_cpu(&v->c->spec.event, cpu);
	err = task_cover_look_at(v, tgid, ABI_COVER_ALL, cpus);
	if (err || !(v->now.nforking || v->now.nbare || v->now.ntwice ||
		     (task_cover_enabled(v) && v->now.off)))
		return err ?: task_cover_enable_copies(v, tgid);
	for (unsigned int cpu = 0; cpu < v->c->e->ncpu && !err; cpu++)
		if (perf_has_cpu(&v->c->spec.event, cpu))
			err = task_cover_events(v, tgid, (int)cpu);
	return err;
}

static void task_cover_target(void *arg, pid_t tgid)
{
	struct task_cover *v = arg;
	int err;

	/* Its only thread waits, and the kernel enables its events at the exec. */
	if (v->err || target_waits(v->c->e->targets, v->c, tgid))
		return;
	err = task_cover_process(v, tgid);
	if (err != -ESRCH)
		v->err = err;
}

/* --- all targets ----------------------------------------------------------------------------- */

/* A fork that was under way may have made another target, so that a second round is needed. */
static int task_cover_all(struct count *c, enum cover_way way, int here, struct reason *why)
{
	struct task_cover *v;
	int err = 0;

	if (c->spec.thread)	/* inherits nothing */
		return 0;
	v = malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = (struct task_cover){
		.c = c, .way = way, .here = here, .until = clock_ns() + COVER_HERE, .why = why,
	};
	visit_watch_forks(c->e, true);
	do {
		v->changed = false;
		err = target_each(c->e->targets, c, task_cover_target, v) ?: v->err;
	} while (!err && v->changed && c->spec.descendants);
	visit_watch_forks(c->e, false);
	free(v);
	return err;
}

int task_cover_prepare(struct count *c, struct reason *why)
{
	return task_cover_all(c, COVER_PREPARES, -1, why);
}

int task_cover_check(struct count *c, bool counts)
{
	struct reason unused;

	return task_cover_all(c, counts ? COVER_COUNTS : COVER_CHECKS, -1, &unused);
}

int task_cover_started(struct count *c, struct reason *why)
{
	return task_cover_all(c, COVER_STARTS, -1, why);
}

int task_cover_started_on(struct count *c, unsigned int cpu, struct reason *why)
{
	return task_cover_all(c, COVER_STARTS, (int)cpu, why);
}
