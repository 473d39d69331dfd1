/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-task events, which the kernel switches with their task: for rows that count different events
 * for different targets, and for owners that read their own threads without the daemon.  New
 * threads (and with DESCENDANTS new processes) inherit them in the kernel, before they run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page.h"
#include "task_cover.h"
#include "task_events.h"

/* Events are enabled before their watches and disabled after them. */
static int task_events_switch_all(struct count *c, pid_t tgid, bool on, pid_t *failed)
{
	const struct task_events *first = on ? &c->events : &c->watches;
	const struct task_events *then = on ? &c->watches : &c->events;
	int err = 0;

	for (unsigned int i = 0; !err && i < first->n + then->n; i++) {
		const struct task_event *event = i < first->n ? &first->list[i] :
								&then->list[i - first->n];

		if (tgid && event->tgid != tgid)
			continue;
		err = on ? perf_enable(event->fd) : perf_disable(event->fd);
		*failed = event->tid;
	}
	return err;
}

/* *ns: for a timed event the time for which it has counted, else 0. */
static int task_event_read(const struct task_event *event, uint64_t *value, uint64_t *ns)
{
	*ns = 0;
	return event->timed ? perf_read_timed(event->fd, value, ns) : perf_read(event->fd, value);
}

/* Sums a process's events, or all; -EBUSY if one has been without a counter. */
static int task_events_read_all(const struct count *c, pid_t tgid, uint64_t *sum)
{
	uint64_t value, ns, should = 0, did = 0;
	int err = 0;

	*sum = 0;
	for (unsigned int i = 0; !err && i < c->watches.n; i++) {
		if (tgid && c->watches.list[i].tgid != tgid)
			continue;
		err = perf_read_timed(c->watches.list[i].fd, &value, &ns);
		should += err ? 0 : ns;
	}
	for (unsigned int i = 0; !err && i < c->events.n; i++) {
		const struct task_event *event = &c->events.list[i];

		if (tgid && event->tgid != tgid)
			continue;
		err = task_event_read(event, &value, &ns);
		did += err ? 0 : ns;
		*sum += err ? 0 : value;
	}
	return err ?: did < should ? -EBUSY : 0;
}

static void task_event_close(const struct count *c, const struct task_event *event)
{
	if (event->fd < 0)	/* it counts by another member's, see task_group.c */
		return;
	count_state_close_event(c, event->fd);
	task_open_repay(c, 1);
}

/* Closes the events of a process on a CPU; 0 and TASK_ANY_CPU stand for all of them. */
static void task_events_close_some(const struct count *c, struct task_events *l, pid_t tgid,
				   int cpu)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < l->n; i++) {
		const struct task_event *event = &l->list[i];

		if ((tgid && event->tgid != tgid) || (cpu != TASK_ANY_CPU && event->cpu != cpu))
			l->list[kept++] = *event;
		else
			task_event_close(c, event);
	}
	l->n = kept;
	if (!kept) {
		free(l->list);
		l->list = NULL;
	}
}

/* Closes a process's events; their count stays in the PMC. */
void task_events_detach(struct count *c, pid_t tgid)
{
	uint64_t value;
	pid_t unused;

	(void)task_events_switch_all(c, tgid, false, &unused);
	if (task_events_read_all(c, tgid, &value))
		c->lost = true;
	c->base += value;
	task_events_close_some(c, &c->watches, tgid, TASK_ANY_CPU);
	task_events_close_some(c, &c->events, tgid, TASK_ANY_CPU);
	c->generation++;
}

void task_events_drop_one(struct count *c, pid_t tid, int cpu)
{
	struct task_events *l = &c->events;
	uint64_t value, ns;
	unsigned int i = 0;
	int err;

	while (i < l->n && (l->list[i].tid != tid || l->list[i].cpu != cpu))
		i++;
	if (i == l->n)
		return;
	err = task_event_read(&l->list[i], &value, &ns);
	c->base += err ? 0 : value;
	c->lost |= err != 0;
	task_event_close(c, &l->list[i]);
	l->list[i] = l->list[--l->n];
	c->generation++;
}

int task_events_reopen(struct count *c, pid_t tgid, struct reason *why)
{
	task_events_detach(c, tgid);
	return task_open_process(c, tgid, why);
}

int task_events_enable(struct count *c, pid_t tgid)
{
	pid_t unused;

	return task_events_switch_all(c, tgid, true, &unused);
}

int task_events_enable_cpu(struct count *c, unsigned int cpu)
{
	int err = 0;

	for (unsigned int i = 0; i < c->events.n && !err; i++) {
		const struct task_event *event = &c->events.list[i];

		if (event->cpu == (int)cpu && !target_waits(c->e->targets, c, event->tgid))
			err = perf_enable(event->fd);
	}
	return err;
}

void task_events_drop_cpu(struct count *c, unsigned int cpu)
{
	task_events_close_some(c, &c->events, 0, (int)cpu);
	c->generation++;
}

void task_events_close_last(struct count *c)
{
	task_event_close(c, &c->events.list[--c->events.n]);
}

/* With thousands of threads this takes long, so other operations run between. */
static void task_events_close_slowly(struct count *c, struct task_events *l)
{
	while (l->n) {
		task_event_close(c, &l->list[--l->n]);
		engine_breathe(c->e);
	}
	free(l->list);
	l->list = NULL;
}

void task_events_close(struct count *c)
{
	task_events_close_slowly(c, &c->watches);
	task_events_close_slowly(c, &c->events);
	c->generation++;
}

struct renew_args {
	struct count *c;
	int err;
	struct reason *why;
};

static void task_events_renew_target(void *arg, pid_t tgid)
{
	struct renew_args *a = arg;
	int err = a->err ? 0 : task_open_process(a->c, tgid, a->why);

	if (err && err != -ESRCH)
		a->err = err;
}

int task_events_renew(struct count *c, struct reason *why)
{
	struct renew_args a = { .c = c, .why = why };
	int err;

	task_events_close(c);
	err = target_each(c->e->targets, c, task_events_renew_target, &a);
	return err ? deny(why, err, "the processes of row %u (%s) cannot be listed: %s",
			  c->spec.row, c->spec.row_name, strerror(-err)) : a.err;
}

struct switch_args {
	struct count *c;
	pid_t tid;
	int err;
};

static void task_events_enable_target(void *arg, pid_t tgid)
{
	struct switch_args *a = arg;

	if (!a->err && !target_waits(a->c->e->targets, a->c, tgid))
		a->err = task_events_switch_all(a->c, tgid, true, &a->tid);
}

/*
 * The kernel itself enables an event that waits for an exec, and only closing the event undoes
 * that: PMCs whose targets may wait have events only while they run.
 */
static int task_events_switch_waiting(struct switch_args *a, bool on)
{
	int err = 0;

	if (on)
		err = target_each(a->c->e->targets, a->c, task_events_enable_target, a) ?: a->err;
	else
		task_events_detach(a->c, 0);
	if (err)
		task_events_close(a->c);
	return err;
}

static int task_events_switch(struct count *c, bool on, struct reason *why)
{
	struct switch_args a = { .c = c };
	int err = c->had_waiting ? task_events_switch_waiting(&a, on) :
				   task_events_switch_all(c, 0, on, &a.tid);

	if (!err)
		return 0;
	return deny(why, err, "cannot %s the event of thread %d: %s", on ? "start" : "stop", a.tid,
		    strerror(-err));
}

static int task_events_sum(struct count *c, uint64_t *sum, struct reason *why)
{
	int err = task_events_read_all(c, 0, sum);

	return err ? count_state_lost(c, err, why) : 0;
}

static int task_events_hold(struct count *c, struct reason *why)
{
	int err = 0;

	if (c->had_waiting) {
		c->starting = true;
		err = task_events_renew(c, why);
		c->starting = false;
	}
	err = err ?: task_cover_prepare(c, why);
	if (err && c->had_waiting)
		task_events_close(c);
	return err;
}

static int task_events_start(struct count *c, struct reason *why)
{
	struct reason unused;
	int err = task_events_switch(c, true, why);

	err = err ?: task_cover_started(c, why);
	if (err)
		(void)task_events_switch(c, false, &unused);
	return err;
}

static int task_events_stop(struct count *c, struct reason *why)
{
	int err = task_events_switch(c, false, why);
	uint64_t unused;

	if (!err && c->spec.sampling)	/* its owner does not read it: a lost counter shows here */
		(void)task_events_sum(c, &unused, why);
	return err;
}

static int task_events_read(struct count *c, uint64_t *raw, struct reason *why)
{
	return c->lost ? count_state_lost(c, -EBUSY, why) : task_events_sum(c, raw, why);
}

/*
 * The kernel has removed all perf events from a process that is set-id now; their counts can still
 * be read.  For an owner that may follow, they are opened anew.
 */
static void task_events_follow(struct count *c, pid_t tgid, bool dropped)
{
	bool stays = target_row(c->e->targets, tgid, c->spec.row) == c;
	struct reason unused;
	int err = 0;

	if (stays && !dropped)
		return;
	task_events_detach(c, tgid);
	/* The thread that has executed the program has the process's number now, the others end. */
	if (stays && c->spec.thread)
		err = -EXDEV;
	else if (stays)
		err = task_open_process(c, tgid, &unused) ?: task_cover_started(c, &unused);
	/* Mark the count as lost rather than report a wrong one. */
	c->lost |= err && err != -ESRCH;
	page_update(c);
}


static bool task_events_cpu_missed(const struct count *c, unsigned int cpu,
				   const struct cpu_state *now, uint64_t missed)
{
	return now->here && task_open_lacks_cpu(c, cpu);
}

static enum wire_how task_events_how(const struct count *c)
{
	/* A copy of the descriptor would keep a breakpoint's register, or a probe in its place. */
	return count_state_self_only(c) && !c->spec.event.breakpoint && !c->sites ?
		       WIRE_HOW_EVENTS : WIRE_HOW_ASK;
}

static void task_events_fill(struct count *c, struct wire_page_pmc *p)
{
	struct reason unused;
	uint64_t sum = 0;

	if (p->how != WIRE_HOW_VALUE)
		return;
	if (task_events_sum(c, &sum, &unused))
		p->how = WIRE_HOW_ASK;
	p->base += sum;
}

static unsigned int task_events_fds(const struct count *c, int *fds, unsigned int max)
{
	if (task_events_how(c) != WIRE_HOW_EVENTS || c->events.n > max)
		return 0;
	for (unsigned int i = 0; i < c->events.n; i++)
		fds[i] = c->events.list[i].fd;
	return c->events.n;
}

const struct backend backend_task_events = {
	.name = "per-task events", .hold = task_events_hold, .start = task_events_start,
	.stop = task_events_stop, .read = task_events_read, .attach = task_open_process,
	.detach = task_events_detach, .follow = task_events_follow,
	.cpu_missed = task_events_cpu_missed, .how_stopped = WIRE_HOW_VALUE,
	.how = task_events_how, .fill = task_events_fill, .fds = task_events_fds,
};
