/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens per-task events: for all threads of a process, for one, and on a CPU that takes over. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "count_period.h"
#include "hold_breakpoint.h"
#include "task_events.h"
#include "task_open.h"

static bool task_events_have(const struct task_events *l, pid_t tid, int cpu)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->list[i].tid == tid && l->list[i].cpu == cpu)
			return true;
	return false;
}

/* Charges one descriptor.  This cannot fail if a hand-over has reserved room for it. */
int task_open_pay(const struct count *c, struct reason *why)
{
	struct user *u = c->owner->user;

	if (!c->prepaid)
		return user_take(u->table, u, POOL_EVENTS, 1, why);
	user_charge(u->table, u, POOL_EVENTS, 1);
	return 0;
}

void task_open_repay(const struct count *c, unsigned int n)
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
	err = task_open_pay(c, why);
	if (err)
		return err;
	do
		fd = watches ? perf_open_watch(spec, tid) : perf_open_task(spec, tid, cpu);
	while (hold_breakpoint_comes(c, fd, &since));
	if (fd < 0) {
		task_open_repay(c, 1);
		return fd == -ESRCH ? 0 : fd;
	}
	if (c->spec.sampling && !watches)
		err = perf_set_program(fd, c->spec.program);
	else if (spec->filter && !watches)
		err = perf_set_filter(fd, spec->filter);
	/* The kernel opens no event during an exec: the thread waits, or has exec'd by now. */
	if (!err && c->running && !c->deferred &&
	    !(spec->on_exec && target_waits(c->e->targets, c, tgid)))
		err = perf_enable(fd);
	if (err) {
		task_open_repay(c, 1);
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
		err = task_event_add(c, &c->events, &at, tgid, c->tid, TASK_ANY_CPU, why);
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
	spec.on_exec = (c->running || c->starting) && target_waits(c->e->targets, c, tgid);
	return spec;
}

/* True if the owner may read the events directly. */
static bool task_is_own(const struct count *c, pid_t tgid)
{
	return tgid == c->owner->tgid && !c->spec.descendants && !c->spec.sampling;
}

bool task_open_bound(const struct count *c, pid_t tgid)
{
	for (unsigned int i = 0; i < c->events.n; i++)
		if (c->events.list[i].tgid == tgid)
			return c->events.list[i].cpu != TASK_ANY_CPU;
	/* It has inherited all of its events: from a process whose events are like all others. */
	return c->events.n && c->events.list[0].cpu != TASK_ANY_CPU;
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

		if (event->tgid == tgid && !task_events_have(&c->watches, event->tid, TASK_ANY_CPU))
			err = task_event_add(c, &c->watches, &spec, tgid, event->tid,
					     TASK_ANY_CPU, why);
	}
	return err;
}

int task_open_process(struct count *c, pid_t tgid, struct reason *why)
{
	struct perf_event_spec spec = task_event_spec(c, tgid);
	int err = 0;

	if (c->spec.thread)
		err = task_events_add_thread(c, &spec, tgid, why);
	else if (task_is_own(c, tgid))
		perf_ask_user_read(&spec);
	if (!spec.user_read && !c->spec.thread)
		err = task_events_add_process(c, &spec, tgid, TASK_ANY_CPU, why);
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

int task_open_one(struct count *c, pid_t tgid, pid_t tid, int cpu, struct reason *why)
{
	struct perf_event_spec spec = task_event_spec(c, tgid);
	int err;

	if (cpu != TASK_ANY_CPU && task_is_own(c, tgid))
		perf_ask_user_read(&spec);
	err = task_event_add(c, &c->events, &spec, tgid, tid, cpu, why);
	/* A hand-over opens them once the events count. */
	return err || c->deferred ? err : task_events_add_watches(c, tgid, why);
}

struct cpu_args {
	struct count *c;
	int cpu, err;
	bool waiting;
};

static void task_events_cpu_target(void *arg, pid_t tgid)
{
	struct cpu_args *a = arg;
	struct perf_event_spec spec = task_event_spec(a->c, tgid);
	struct reason unused;
	int err;

	if (a->err || target_waits(a->c->e->targets, a->c, tgid) != a->waiting)
		return;
	err = task_events_add_process(a->c, &spec, tgid, a->cpu, &unused);
	if (err && err != -ESRCH)
		a->err = err;
}

int task_open_cpu(struct count *c, unsigned int cpu, bool waiting)
{
	struct cpu_args a = { .c = c, .cpu = (int)cpu, .waiting = waiting };
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

int task_open_watches(struct count *c)
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

int task_open_expect(const struct count *c, unsigned int *n)
{
	unsigned int threads = 0, each = 1;	/* the watch */
	int err = target_each(c->e->targets, c, task_events_expect_target, &threads);

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++)
		each += perf_has_cpu(&c->spec.event, cpu);
	*n = threads * each;
	return err;
}

bool task_open_lacks_cpu(const struct count *c, unsigned int cpu)
{
	bool bound = false;

	for (unsigned int i = 0; i < c->events.n; i++) {
		if (c->events.list[i].cpu == (int)cpu)
			return false;
		bound |= c->events.list[i].cpu != TASK_ANY_CPU;
	}
	return bound && perf_has_cpu(&c->spec.event, cpu);
}
