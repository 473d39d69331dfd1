/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs of a cgroup that perf counts: on each CPU an event that the kernel switches with the cgroup
 * of the task that runs.  The events exist while the PMC runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroup_events.h"
#include "count_period.h"

static void cgroup_events_close(struct count *c)
{
	int *fds = c->cgroup->fds;

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++) {
		if (fds[cpu] < 0)
			continue;
		(void)perf_disable(fds[cpu]);	/* fails if the CPU has gone */
		count_state_close_event(c, fds[cpu]);
		fds[cpu] = -1;
	}
}

int cgroup_events_new(struct count *c)
{
	c->backend = &backend_cgroup_events;
	c->cgroup->fds = malloc(c->e->ncpu * sizeof(*c->cgroup->fds));
	if (!c->cgroup->fds)
		return -ENOMEM;
	memset(c->cgroup->fds, 0xff, c->e->ncpu * sizeof(*c->cgroup->fds));
	return 0;
}

void cgroup_events_free(struct count *c)
{
	if (!c->cgroup->fds)
		return;
	cgroup_events_close(c);
	free(c->cgroup->fds);
}

/*
 * All events are open before the first one counts.  A CPU that is offline, or of another kind, has
 * none.
 */
static int cgroup_events_start(struct count *c, struct reason *why)
{
	struct perf_event_spec spec = count_state_event(c);
	struct cgroup_state *g = c->cgroup;
	int err = 0;

	count_period_fill(c, &spec);
	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++) {
		int fd = cgroup_open_event(c, &spec, g->folder, cpu);

		if (fd >= 0)
			g->fds[cpu] = fd;
		else if (fd != -ENXIO && !perf_other_kind(&spec, fd))
			err = fd;
		if (fd >= 0 && c->spec.sampling)
			err = perf_set_program(fd, c->spec.program);
	}
	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++)
		if (g->fds[cpu] >= 0)
			err = perf_enable(g->fds[cpu]);
	if (!err)
		return 0;
	cgroup_events_close(c);
	return cgroup_refused(c, g->folder, err, why);
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
			return deny(why, err,
				    "CPU %u: the counter of row %u (%s) cannot be read: "
				    "%s",
				    cpu, c->spec.row, c->spec.row_name, strerror(-err));
		*sum += value;
	}
	return 0;
}

static int cgroup_events_stop(struct count *c, struct reason *why)
{
	struct cgroup_state *g = c->cgroup;
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

const struct backend backend_cgroup_events = {
	.name = "cgroup events", .start = cgroup_events_start, .stop = cgroup_events_stop,
	.read = cgroup_events_read, .cpu_missed = cgroup_events_missed,
	.deny_lost = cgroup_deny_lost, .how_stopped = WIRE_HOW_ASK,
};
