/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-task events, which the kernel switches with their task: for rows that count different events for
 * different targets, and for owners that read their own threads without asking.  New threads (and with
 * DESCENDANTS new processes) inherit them in the kernel, before they run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_impl.h"

static bool has_thread(const struct count *c, pid_t tid)
{
	for (unsigned int i = 0; i < c->nevents; i++)
		if (c->events[i].tid == tid)
			return true;
	return false;
}

static int events_push(struct count *c, int fd, pid_t tid, pid_t tgid)
{
	struct task_event *more = realloc(c->events, (c->nevents + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	c->events = more;
	c->events[c->nevents++] = (struct task_event){ .fd = fd, .tid = tid, .tgid = tgid };
	return 0;
}

/* One thread: one event, or one per CPU where user space can read only such. */
static int thread_open(struct count *c, pid_t tid, pid_t tgid)
{
	struct perf_event_spec spec = c->spec.event;
	int ncpu = (int)engine_ncpu(c->e), err = 0;

	spec.inherit = true;
	spec.inherit_children = c->spec.descendants;
	if (tgid == c->owner->tgid && !c->spec.descendants)
		perf_ask_user_read(&spec);
	for (int cpu = spec.user_read ? 0 : -1; cpu < (spec.user_read ? ncpu : 0) && !err; cpu++) {
		int fd;

		if (cpu >= 0 && !perf_cpu_online((unsigned int)cpu))
			continue;
		fd = perf_open_task(&spec, tid, cpu);
		if (fd == -ESRCH)
			return 0;	/* it exited between the listing and here */
		err = fd < 0 ? fd : events_push(c, fd, tid, tgid);
	}
	return err;
}

int events_attach(struct count *c, pid_t tgid, struct why *why)
{
	char path[64];
	bool found = true;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	/* A thread born of one that has no event yet inherits none: list until nobody is new. */
	while (found && !err) {
		DIR *dir = opendir(path);
		struct dirent *d;

		found = false;
		if (!dir)
			return deny(why, -ESRCH, "process %d has exited", tgid);
		while (!err && (d = readdir(dir))) {
			pid_t tid = (pid_t)atoi(d->d_name);

			if (tid <= 0 || has_thread(c, tid))
				continue;
			found = true;
			err = thread_open(c, tid, tgid);
		}
		closedir(dir);
	}
	if (!err)
		return 0;
	events_detach(c, tgid);
	return deny(why, err, "cannot count in the threads of process %d: %s", tgid, strerror(-err));
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
		if (err) {
			c->lost = true;
			return deny(why, err, "row %u lost its counter to another user of the PMU; "
				    "release the PMC and allocate again", c->spec.row);
		}
		*sum += value;
	}
	return 0;
}
