/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiling clock's events: see profclock.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "loader/base/base.h"
#include "perf.h"
#include "profclock.h"

struct tick_source {
	int fd;				/* -1: none */
	uint32_t downs;			/* of its CPU when it was opened */
};

struct profclock {
	struct profclock_config config;
	uint64_t seen;			/* cpu_bell_changes() that were handled */
	unsigned int ncpu;
	struct tick_source cpu[];
};

static int tick_source_open(struct profclock *c, unsigned int cpu)
{
	const struct perf_event_spec spec = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.period = NS_PER_S / c->config.rate, .tag = c->config.tag,
	};
	int fd = perf_open_cpu(&spec, cpu), err;

	if (fd < 0)
		return fd;
	err = perf_set_program(fd, c->config.program);
	if (!err)
		err = perf_enable(fd);
	if (err) {
		close(fd);
		return err;
	}
	c->cpu[cpu].fd = fd;
	return 0;
}

/* Opens the event if the CPU lacks it and is online.  -ENXIO: the CPU has just gone. */
static int tick_source_renew(struct profclock *c, unsigned int cpu)
{
	const struct cpu_state now = cpu_bell_cpu(c->config.engine->cpu_bell, cpu);
	struct tick_source *s = &c->cpu[cpu];

	if (s->fd >= 0 && s->downs != now.downs) {
		close(s->fd);
		s->fd = -1;
	}
	if (s->fd >= 0 || !now.here)
		return 0;
	s->downs = now.downs;
	return tick_source_open(c, cpu);
}

/* The kernel pauses an event that samples more often, and then most samples would be missing. */
static int profclock_check_limit(unsigned int rate, struct reason *why)
{
	char limit[16];

	if (file_line("/proc/sys/kernel/perf_event_max_sample_rate", limit, sizeof(limit)) ||
	    strtoul(limit, NULL, 10) >= rate)
		return 0;
	return deny(why, -EINVAL, "the profiling clock samples %u times a second, and the kernel "
		    "allows %s (kernel.perf_event_max_sample_rate, which it lowers by itself): set "
		    "that to more, or let a PMC with PMC_F_KGMON sample less often", rate, limit);
}

int profclock_new(const struct profclock_config *config, struct profclock **out, struct reason *why)
{
	unsigned int ncpu = config->engine->ncpu;
	struct profclock *c = calloc(1, sizeof(*c) + ncpu * sizeof(c->cpu[0]));
	int err;

	if (!c)
		return deny(why, -ENOMEM, "no memory for the profiling clock");
	err = profclock_check_limit(config->rate, why);
	c->config = *config;
	c->ncpu = ncpu;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		c->cpu[cpu].fd = -1;
	c->seen = cpu_bell_changes(config->engine->cpu_bell);
	for (unsigned int cpu = 0; !err && cpu < ncpu; cpu++) {
		err = tick_source_renew(c, cpu);
		if (err == -ENXIO)
			err = 0;
		else if (err)
			deny(why, err, "CPU %u does not take the profiling clock: %s", cpu,
			     perf_error(err));
	}
	if (err) {
		profclock_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void profclock_free(struct profclock *c)
{
	if (!c)
		return;
	for (unsigned int cpu = 0; cpu < c->ncpu; cpu++)
		if (c->cpu[cpu].fd >= 0) {
			(void)perf_disable(c->cpu[cpu].fd);
			close(c->cpu[cpu].fd);
		}
	free(c);
}

unsigned int profclock_cpus(struct profclock *c)
{
	uint64_t changes = cpu_bell_changes(c->config.engine->cpu_bell);
	unsigned int failed = 0;

	if (changes == c->seen)
		return 0;
	c->seen = changes;
	for (unsigned int cpu = 0; cpu < c->ncpu; cpu++) {
		int err = tick_source_renew(c, cpu);

		failed += err && err != -ENXIO;
	}
	return failed;
}
