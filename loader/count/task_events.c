/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-task events, which the kernel switches with their task: for rows that count different events
 * for different targets, and for owners that read their own threads without the daemon.  New
 * threads (and with DESCENDANTS new processes) inherit them in the kernel, before they run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "count_period.h"
#include "hold_breakpoint.h"
#include "page.h"
#include "task_events.h"

#define ANY_CPU (-1)

static void task_events_detach(struct count *c, pid_t tgid);

static bool task_events_have(const struct task_events *l, pid_t tid, int cpu)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->list[i].tid == tid && l->list[i].cpu == cpu)
			return true;
	return false;
}

/* Charges one descriptor.  This cannot fail if a hand-over has reserved room for it. */
static int task_event_pay(const struct count *c, struct reason *why)
{
	struct user *u = c->owner->user;

	if (!c->prepaid)
		return user_take(u->table, u, POOL_EVENTS, 1, why);
	user_charge(u->table, u, POOL_EVENTS, 1);
	return 0;
}

static void task_events_repay(const struct count *c, unsigned int n)
{
	user_give(c->owner->user->table, c->owner->user, POOL_EVENTS, n);
}

/*
 * Opens the event, or the watch, of one thread, on one CPU or on any; a thread that has just exited
 * is no error.
 */
static int task_event_add(struct count *c, struct task_events *l,
			  const struct perf_event_spec *spec, pid_t tgid, pid_t tid, int cpu,
			  struct reason *why)
{
	const bool watches = l == &c->watches;
	uint64_t since = 0;
	int fd, err;

	if (array_extend(l->list, l->n) != 0)
		return -ENOMEM;
	err = task_event_pay(c, why);
	if (err)
		return err;
	do
		fd = watches ? perf_open_watch(spec, tid) : perf_open_task(spec, tid, cpu);
	while (hold_breakpoint_comes(c, fd, &since));
	if (fd < 0) {
		task_events_repay(c, 1);
		return fd == -ESRCH ? 0 : fd;
	}
	if (c->spec.sampling && !watches)
		err = perf_set_program(fd, c->spec.program);
	else if (spec->filter && !watches)
		err = perf_set_filter(fd, spec->filter);
	/* The kernel opens no event during an exec: the thread waits, or has exec'd by now. */
	if (!err && c->running &&
	    !(spec->on_exec && target_waits(c->e->targets, c, tgid)))
		err = perf_enable(fd);
	if (err) {
		task_events_repay(c, 1);
		count_state_close_event(c, fd);
		return err;
	}
	l->list[l->n++] = (struct task_event){
		.fd = fd, .tid = tid, .tgid = tgid, .cpu = cpu, .timed = spec->timed,
	};
	return 0;
}

/*
 * Opens events for every thread of a process.  A thread created by one without an event inherits
 * none, so the list is read until it has no new thread.
 */
static int task_events_add_process(struct count *c, const struct perf_event_spec *spec,
				   pid_t tgid, int cpu, struct reason *why)
{
	struct task_events *l = &c->events;
	char path[64];
	bool found = true;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	while (found && !err) {
		DIR *dir = opendir(path);
		struct dirent *d;
		unsigned int before = l->n;

		if (!dir)
			return -ESRCH;
		while (!err && (d = readdir(dir))) {
			pid_t tid = (pid_t)atoi(d->d_name);

			engine_breathe(c->e);
			if (tid > 0 && !task_events_have(l, tid, cpu))
				err = task_event_add(c, l, spec, tgid, tid, cpu, why);
		}
		closedir(dir);
		found = l->n != before;
	}
	return err;
}

/*
 * Opens the event of the PMC's only thread, or one for each place of a probe.  If the thread has
 * ended, its number may be another process's by now; the process's list shows whether the event is
 * a thread's of this process.
 */
static int task_events_add_thread(struct count *c, const struct perf_event_spec *spec, pid_t tgid,
				  struct reason *why)
{
	unsigned int n = c->sites ? probe_sites_n(c->sites) : 1;
	struct perf_event_spec at = *spec;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		if (c->sites)
			probe_sites_event(c->sites, i, &at);
		err = task_event_add(c, &c->events, &at, tgid, c->tid, ANY_CPU, why);
	}
	return err ?: count_state_check_thread(c, tgid, c->events.n > 0, why);
}

/* An event that its owner reads directly has one value only, and no time. */
static struct perf_event_spec task_event_spec(const struct count *c, pid_t tgid)
{
	struct perf_event_spec spec = count_state_event(c);

	count_period_fill(c, &spec);
	spec.inherit = !c->spec.thread;
	spec.inherit_children = c->spec.descendants;
	spec.timed &= tgid != c->owner->tgid || c->spec.descendants;
	spec.on_exec = c->running && target_waits(c->e->targets, c, tgid);
	return spec;
}

/*
 * A pinned event that gets no counter reports an error, but only if it is read before its thread
 * ends; inherited copies never do.  They show it by a running time shorter than a watch's.  Watches
 * are opened after each CPU has its events, so that none runs longer than its events; threads
 * created in between may inherit an event and no watch, never the reverse.
 */
static int task_events_add_watches(struct count *c, pid_t tgid, struct reason *why)
{
	struct perf_event_spec spec = task_event_spec(c, tgid);
	int err = 0;

	for (unsigned int i = 0; spec.timed && !err && i < c->events.n; i++) {
		const struct task_event *event = &c->events.list[i];

		if (event->tgid == tgid && !task_events_have(&c->watches, event->tid, ANY_CPU))
			err = task_event_add(c, &c->watches, &spec, tgid, event->tid, ANY_CPU, why);
	}
	return err;
}

int task_events_attach(struct count *c, pid_t tgid, struct reason *why)
{
	struct perf_event_spec spec = task_event_spec(c, tgid);
	int err = 0;

	if (c->spec.thread)
		err = task_events_add_thread(c, &spec, tgid, why);
	else if (tgid == c->owner->tgid && !c->spec.descendants && !c->spec.sampling)
		perf_ask_user_read(&spec);
	if (!spec.user_read && !c->spec.thread)
		err = task_events_add_process(c, &spec, tgid, ANY_CPU, why);
	/*
	 * User space can only read an inherited event that is bound to a CPU.  An event of an
	 * offline CPU counts as soon as the thread runs there.
	 */
	for (unsigned int cpu = 0; spec.user_read && !err && cpu < c->e->ncpu; cpu++)
		if (perf_cpu_present(cpu))
			err = task_events_add_process(c, &spec, tgid, (int)cpu, why);
	err = err ?: task_events_add_watches(c, tgid, why);
	if (!err)
		return 0;
	task_events_detach(c, tgid);
	/* A quota, or the end of the only thread, as `why` says. */
	if (err == -EAGAIN || (err == -ESRCH && c->spec.thread))
		return err;
	return deny(why, err,
		    "row %u (%s) cannot count in the threads of a process: %s", c->spec.row,
		    c->spec.row_name, perf_error(err));
}

struct cpu_args {
	struct count *c;
	int cpu, err;
};

static void task_events_cpu_target(void *arg, pid_t tgid)
{
	struct cpu_args *a = arg;
	struct perf_event_spec spec = task_event_spec(a->c, tgid);
	struct reason unused;
	int err = a->err ? 0 : task_events_add_process(a->c, &spec, tgid, a->cpu, &unused);

	if (err && err != -ESRCH)
		a->err = err;
}

int task_events_attach_cpu(struct count *c, unsigned int cpu)
{
	struct cpu_args a = { .c = c, .cpu = (int)cpu };
	unsigned int before;
	int err;

	/* A thread that has no event yet may create a target's child meanwhile. */
	do {
		before = c->events.n;
		err = target_each(c->e->targets, c, task_events_cpu_target, &a);
	} while (!err && !a.err && c->events.n != before);
	return err ?: a.err;
}

static void task_events_watch_target(void *arg, pid_t tgid)
{
	struct cpu_args *a = arg;
	struct reason unused;
	int err = a->err ? 0 : task_events_add_watches(a->c, tgid, &unused);

	if (err && err != -ESRCH)
		a->err = err;
}

int task_events_watch(struct count *c)
{
	struct cpu_args a = { .c = c };
	int err = target_each(c->e->targets, c, task_events_watch_target, &a);

	return err ?: a.err;
}

static void task_events_expect_target(void *arg, pid_t tgid)
{
	unsigned int *threads = arg;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	if (!stat(path, &st) && st.st_nlink > 2)
		*threads += (unsigned int)st.st_nlink - 2;
}

int task_events_expect(const struct count *c, unsigned int *n)
{
	unsigned int threads = 0, each = 1;	/* the watch */
	int err = target_each(c->e->targets, c, task_events_expect_target, &threads);

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++)
		each += perf_cpu_present(cpu);
	*n = threads * each;
	return err;
}

static bool task_events_lack_cpu(const struct count *c, unsigned int cpu)
{
	bool bound = false;

	for (unsigned int i = 0; i < c->events.n; i++) {
		if (c->events.list[i].cpu == (int)cpu)
			return false;
		bound |= c->events.list[i].cpu != ANY_CPU;
	}
	return bound;
}

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
		ns = 0;
		err = event->timed ? perf_read_timed(event->fd, &value, &ns) :
				     perf_read(event->fd, &value);
		did += err ? 0 : ns;
		*sum += err ? 0 : value;
	}
	return err ?: did < should ? -EBUSY : 0;
}

/* Closes a process's events, or all. */
static void task_events_close_process(const struct count *c, struct task_events *l, pid_t tgid)
{
	unsigned int kept = 0, before = l->n;

	for (unsigned int i = 0; i < l->n; i++) {
		if (tgid && l->list[i].tgid != tgid)
			l->list[kept++] = l->list[i];
		else
			count_state_close_event(c, l->list[i].fd);
	}
	l->n = kept;
	task_events_repay(c, before - kept);
	if (!kept) {
		free(l->list);
		l->list = NULL;
	}
}

/* Closes a process's events; their count stays in the PMC. */
static void task_events_detach(struct count *c, pid_t tgid)
{
	uint64_t value;
	pid_t unused;

	(void)task_events_switch_all(c, tgid, false, &unused);
	if (task_events_read_all(c, tgid, &value))
		c->lost = true;
	c->base += value;
	task_events_close_process(c, &c->watches, tgid);
	task_events_close_process(c, &c->events, tgid);
	c->generation++;
}

/* With thousands of threads this takes long, so other operations run between. */
static void task_events_close_slowly(struct count *c, struct task_events *l)
{
	while (l->n) {
		count_state_close_event(c, l->list[--l->n].fd);
		task_events_repay(c, 1);
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
	int err = a->err ? 0 : task_events_attach(a->c, tgid, a->why);

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

/*
 * The kernel itself enables an event that waits for an exec, and only closing the event undoes
 * that: PMCs whose targets may wait have events only while they run.
 */
static int task_events_switch_waiting(struct count *c, bool on, struct reason *why)
{
	int err = on ? task_events_renew(c, why) : 0;

	if (!on)
		task_events_detach(c, 0);
	else if (err)
		task_events_close(c);
	return err;
}

static int task_events_switch(struct count *c, bool on, struct reason *why)
{
	pid_t tid = 0;
	int err;

	if (c->had_waiting)
		return task_events_switch_waiting(c, on, why);
	err = task_events_switch_all(c, 0, on, &tid);
	if (!err)
		return 0;
	return deny(why, err, "cannot %s the event of thread %d: %s", on ? "start" : "stop", tid,
		    strerror(-err));
}

static int task_events_sum(struct count *c, uint64_t *sum, struct reason *why)
{
	int err = task_events_read_all(c, 0, sum);

	return err ? count_state_lost(c, err, why) : 0;
}

static int task_events_start(struct count *c, struct reason *why)
{
	return task_events_switch(c, true, why);
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
		err = task_events_attach(c, tgid, &unused);
	/* Mark the count as lost rather than report a wrong one. */
	c->lost |= err && err != -ESRCH;
	page_update(c);
}


static bool task_events_cpu_missed(const struct count *c, unsigned int cpu,
				   const struct cpu_state *now, uint64_t missed)
{
	return now->here && task_events_lack_cpu(c, cpu);
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
	.name = "per-task events", .start = task_events_start, .stop = task_events_stop,
	.read = task_events_read, .attach = task_events_attach, .detach = task_events_detach,
	.follow = task_events_follow, .cpu_missed = task_events_cpu_missed,
	.how_stopped = WIRE_HOW_VALUE, .how = task_events_how, .fill = task_events_fill,
	.fds = task_events_fds,
};
