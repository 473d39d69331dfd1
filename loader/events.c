/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-task events, which the kernel switches with their task: for rows that count different events
 * for different targets, and for owners that read their own threads without asking.  New threads
 * (and with DESCENDANTS new processes) inherit them in the kernel, before they run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_impl.h"

#define ANY_CPU (-1)

static bool has_event(const struct count *c, pid_t tid, int cpu)
{
	for (unsigned int i = 0; i < c->nevents; i++)
		if (c->events[i].tid == tid && c->events[i].cpu == cpu)
			return true;
	return false;
}

/*
 * Opens the event of one thread, on one CPU or on any; a thread that has just exited is no failure.
 */
static int event_add(struct count *c, const struct perf_event_spec *spec, pid_t tgid, pid_t tid,
		     int cpu)
{
	struct task_event *more = realloc(c->events, (c->nevents + 1) * sizeof(*more));
	int fd, err;

	if (!more)
		return -ENOMEM;
	c->events = more;
	fd = perf_open_task(spec, tid, cpu);
	if (fd < 0)
		return fd == -ESRCH ? 0 : fd;
	err = c->running ? perf_enable(fd) : 0;
	if (err) {
		close(fd);
		return err;
	}
	c->events[c->nevents++] =
		(struct task_event){ .fd = fd, .tid = tid, .tgid = tgid, .cpu = cpu };
	return 0;
}

/*
 * Every thread of a process.  A thread born of one that has no event yet inherits none, so the list
 * is read until it names nobody new.
 */
static int process_add(struct count *c, const struct perf_event_spec *spec, pid_t tgid, int cpu)
{
	char path[64];
	bool found = true;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	while (found && !err) {
		DIR *dir = opendir(path);
		struct dirent *d;
		unsigned int before = c->nevents;

		if (!dir)
			return -ESRCH;
		while (!err && (d = readdir(dir))) {
			pid_t tid = (pid_t)atoi(d->d_name);

			if (tid > 0 && !has_event(c, tid, cpu))
				err = event_add(c, spec, tgid, tid, cpu);
		}
		closedir(dir);
		found = c->nevents != before;
	}
	return err;
}

static struct perf_event_spec task_spec(const struct count *c)
{
	struct perf_event_spec spec = c->spec.event;

	spec.inherit = true;
	spec.inherit_children = c->spec.descendants;
	return spec;
}

int events_attach(struct count *c, pid_t tgid, struct why *why)
{
	struct perf_event_spec spec = task_spec(c);
	int err = 0;

	if (tgid == c->owner->tgid && !c->spec.descendants)
		perf_ask_user_read(&spec);
	if (!spec.user_read)
		err = process_add(c, &spec, tgid, ANY_CPU);
	/* User space can only read an inherited event that is bound to a CPU. */
	for (unsigned int cpu = 0; spec.user_read && !err && cpu < engine_ncpu(c->e); cpu++)
		if (perf_cpu_online(cpu))
			err = process_add(c, &spec, tgid, (int)cpu);
	if (!err)
		return 0;
	events_detach(c, tgid);
	return deny(why, err,
		    "cannot count in the threads of process %d: %s", tgid, strerror(-err));
}

struct cpu_args {
	struct count *c;
	int cpu, err;
};

static void cpu_target(void *arg, pid_t tgid)
{
	struct cpu_args *a = arg;
	struct perf_event_spec spec = task_spec(a->c);
	int err = a->err ? 0 : process_add(a->c, &spec, tgid, a->cpu);

	if (err && err != -ESRCH)
		a->err = err;
}

int events_attach_cpu(struct count *c, unsigned int cpu)
{
	struct cpu_args a = { .c = c, .cpu = (int)cpu };
	unsigned int before;

	/* A child of a target may be born meanwhile of a thread that had no event yet. */
	do {
		before = c->nevents;
		target_each(engine_targets(c->e), c, cpu_target, &a);
	} while (!a.err && c->nevents != before);
	return a.err;
}

/* What they counted stays in the PMC. */
void events_detach(struct count *c, pid_t tgid)
{
	unsigned int kept = 0;
	uint64_t value;

	for (unsigned int i = 0; i < c->nevents; i++) {
		if (c->events[i].tgid != tgid) {
			c->events[kept++] = c->events[i];
			continue;
		}
		perf_disable(c->events[i].fd);
		if (!perf_read(c->events[i].fd, &value))
			c->base += value;
		close(c->events[i].fd);
	}
	c->nevents = kept;
	c->generation++;
}

void events_close(struct count *c)
{
	for (unsigned int i = 0; i < c->nevents; i++)
		close(c->events[i].fd);
	free(c->events);
	c->events = NULL;
	c->nevents = 0;
	c->generation++;
}

int events_switch(struct count *c, bool on, struct why *why)
{
	int err;

	for (unsigned int i = 0; i < c->nevents; i++) {
		err = on ? perf_enable(c->events[i].fd) : perf_disable(c->events[i].fd);
		if (err)
			return deny(why, err, "cannot %s the event of thread %d: %s",
				    on ? "start" : "stop", c->events[i].tid, strerror(-err));
	}
	return 0;
}

int events_sum(struct count *c, uint64_t *sum, struct why *why)
{
	uint64_t value;
	int err;

	*sum = 0;
	for (unsigned int i = 0; i < c->nevents; i++) {
		err = perf_read(c->events[i].fd, &value);
		if (err)
			return count_lost(c, err, why);
		*sum += value;
	}
	return 0;
}
