/* SPDX-License-Identifier: BSD-2-Clause */
/* See cgroup_events.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_events.h"
#include "count_pay.h"
#include "holder.h"

struct cgroup_events {
	int folder;			/* of the cgroup, -1: not named yet */
	int *fds;			/* by CPU, -1: none */
};

static void cgroup_event_close(const struct count *c, int fd)
{
	if (c->spec.from == COUNT_FROM_TRACEPOINT)
		tracepoints_close_event(c->e->tracepoints, fd);
	else
		close(fd);
}

static void cgroup_events_close(struct count *c)
{
	struct cgroup_events *g = c->cgroup;

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++) {
		if (g->fds[cpu] < 0)
			continue;
		(void)perf_disable(g->fds[cpu]);	/* fails if the CPU has gone */
		cgroup_event_close(c, g->fds[cpu]);
		g->fds[cpu] = -1;
	}
}

int cgroup_events_new(struct count *c, struct reason *why)
{
	int err = count_pay(c, c->e->ncpu + 1, 0, why);
	struct cgroup_events *g;

	if (err)
		return err;
	c->backend = &backend_cgroup_events;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->folder = -1;
	g->fds = malloc(c->e->ncpu * sizeof(*g->fds));
	if (!g->fds) {
		free(g);
		return -ENOMEM;
	}
	memset(g->fds, 0xff, c->e->ncpu * sizeof(*g->fds));
	c->cgroup = g;
	return 0;
}

void cgroup_events_free(struct count *c)
{
	struct cgroup_events *g = c->cgroup;

	if (!g)
		return;
	cgroup_events_close(c);
	if (g->folder >= 0)
		close(g->folder);
	free(g->fds);
	free(g);
}

bool count_has_cgroup(const struct count *c)
{
	return c->cgroup && c->cgroup->folder >= 0;
}

static int cgroup_event_refused(const struct count *c, int folder, int err, struct reason *why)
{
	if (faccessat(folder, "cgroup.procs", F_OK, 0))
		return deny(why, -ENOENT, "the cgroup has been removed");
	if (err == -EBADF)
		return deny(why, -EOPNOTSUPP, "perf does not count by this hierarchy of cgroups: "
			    "name a cgroup of version 2, or of the perf_event controller where "
			    "that is mounted as version 1");
	if (err == -ENOENT)
		return deny(why, -EOPNOTSUPP, "the kernel does not count by this cgroup, or has no "
			    "such event; before any controller is enabled in version 2's root, "
			    "write \"+pids\" to its cgroup.subtree_control");
	return deny(why, err, "cannot count row %u (%s) for a cgroup: %s", c->spec.row,
		    c->spec.row_name, perf_error(err));
}

/* Opens the event on the first CPU that is online, to learn whether the kernel takes it. */
static int cgroup_events_try(const struct count *c, int folder, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	int fd = -ENXIO;

	for (unsigned int cpu = 0; cpu < c->e->ncpu && fd == -ENXIO; cpu++)
		fd = perf_open_cgroup(&spec, folder, cpu);
	if (fd < 0)
		return cgroup_event_refused(c, folder, fd, why);
	cgroup_event_close(c, fd);
	return 0;
}

int count_attach_cgroup(struct count *c, int folder, struct reason *why)
{
	int fd, err;

	if (count_has_cgroup(c))
		return deny(why, -EBUSY, "this PMC counts a cgroup already; allocate another PMC");
	err = cgroup_events_try(c, folder, why);
	if (err)
		return err;
	fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return deny(why, -errno, "no descriptor is left for the cgroup: %m");
	c->cgroup->folder = fd;
	return 0;
}

/* All events are open before the first one counts.  A CPU that is offline has none. */
static int cgroup_events_start(struct count *c, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	struct cgroup_events *g = c->cgroup;
	int err = 0;

	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++) {
		int fd = perf_open_cgroup(&spec, g->folder, cpu);

		if (fd >= 0)
			g->fds[cpu] = fd;
		else if (fd != -ENXIO)
			err = fd;
	}
	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++)
		if (g->fds[cpu] >= 0)
			err = perf_enable(g->fds[cpu]);
	if (!err)
		return 0;
	cgroup_events_close(c);
	return cgroup_event_refused(c, g->folder, err, why);
}

/* The event of a CPU that has gone keeps its count. */
static int cgroup_events_sum(struct count *c, uint64_t *sum, struct reason *why)
{
	*sum = 0;
	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++) {
		uint64_t value = 0;
		int fd = c->cgroup->fds[cpu];
		int err = fd >= 0 ? perf_read(fd, &value) : 0;

		if (err == -EBUSY)
			return count_state_lost(c, err, why);
		if (err)
			return deny(why, err, "CPU %u: the counter of row %u (%s) cannot be read: "
				    "%s", cpu, c->spec.row, c->spec.row_name, strerror(-err));
		*sum += value;
	}
	return 0;
}

static int cgroup_events_stop(struct count *c, struct reason *why)
{
	struct cgroup_events *g = c->cgroup;
	uint64_t sum = 0;
	int err;

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++)
		if (g->fds[cpu] >= 0)
			(void)perf_disable(g->fds[cpu]);
	err = c->lost ? 0 : cgroup_events_sum(c, &sum, why);
	c->lost |= err != 0;
	c->raw += sum;
	cgroup_events_close(c);
	return err;
}

static int cgroup_events_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err;

	if (c->lost)
		return count_state_lost(c, -EBUSY, why);
	err = c->running ? cgroup_events_sum(c, raw, why) : 0;
	*raw = c->raw + (c->running ? *raw : 0);
	return err;
}

/* What ran on a CPU before the daemon knew of it is in no event. */
static bool cgroup_events_missed(const struct count *c, unsigned int cpu,
				 const struct cpu_state *now, uint64_t missed)
{
	(void)cpu;
	(void)missed;
	return c->running && now->here;
}

static int cgroup_events_deny_lost(const struct count *c, int err, struct reason *why)
{
	if (c->lost_cpu >= 0)
		return deny(why, err, "CPU %d came online while this PMC counted a cgroup: what "
			    "ran there before the counter was open is missing; stop, release and "
			    "allocate again", c->lost_cpu);
	return deny(why, err, "row %u (%s)%s", c->spec.row, c->spec.row_name,
		    c->spec.holder->lost);
}

const struct backend backend_cgroup_events = {
	.name = "cgroup events", .start = cgroup_events_start, .stop = cgroup_events_stop,
	.read = cgroup_events_read, .cpu_missed = cgroup_events_missed,
	.deny_lost = cgroup_events_deny_lost, .how_stopped = WIRE_HOW_ASK,
};
