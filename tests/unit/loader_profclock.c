/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiling clock on CPUs that go offline and come back, over a fake kernel. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/kernel/engine.h"
#include "loader/base/file.h"
#include "loader/kernel/perf.h"
#include "loader/kernel/profclock.h"
#include "unit.h"

#define CPUS 4

static struct {
	struct cpu_state cpu[CPUS];
	uint64_t changes;
	int fd[CPUS];			/* of the open event, 0: none */
	unsigned int opened[CPUS], running;
	int refuse, refuse_program;	/* -errno */
	struct perf_event_spec spec;
	const char *limit;		/* samples a second; NULL: unknown */
} kernel;
static struct engine engine = { .ncpu = CPUS };

uint64_t cpu_bell_changes(const struct cpu_bell *b) { return kernel.changes; }

struct cpu_state cpu_bell_cpu(const struct cpu_bell *b, unsigned int cpu)
{
	return kernel.cpu[cpu];
}

int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu)
{
	if (kernel.refuse)
		return kernel.refuse;
	kernel.spec = *spec;
	kernel.opened[cpu]++;
	kernel.fd[cpu] = dup(0);
	return kernel.fd[cpu];
}

int perf_set_program(int fd, int program)
{
	assert_int_equal(program, 17);
	return kernel.refuse_program;
}

int perf_enable(int fd)
{
	kernel.running++;
	return 0;
}

int perf_disable(int fd)
{
	kernel.running--;
	return 0;
}

int file_line(const char *path, char *line, size_t size)
{
	if (!kernel.limit)
		return -ENOENT;
	snprintf(line, size, "%s", kernel.limit);
	return 0;
}

const char *perf_error(int err) { return strerror(-err); }

static struct profclock *clock_now;
static struct reason why;
static int first_fd;

static int clock_start(void)
{
	const struct profclock_config config = {
		.engine = &engine, .rate = 8128, .program = 17, .tag = 99,
	};

	return profclock_new(&config, &clock_now, &why);
}

static int begin(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	for (unsigned int i = 0; i < CPUS; i++)
		kernel.cpu[i].here = i != 2;
	first_fd = dup(0);
	close(first_fd);
	return 0;
}

/* Nothing stays open. */
static int end(void **state)
{
	int next;

	profclock_free(clock_now);
	clock_now = NULL;
	next = dup(0);
	close(next);
	assert_int_equal(next, first_fd);
	return 0;
}

static void moved(unsigned int cpu, bool here)
{
	kernel.cpu[cpu].here = here;
	kernel.cpu[cpu].downs += !here;
	kernel.changes++;
}

static void every_cpu_that_is_here(void **state)
{
	assert_int_equal(clock_start(), 0);
	assert_int_equal(kernel.spec.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(kernel.spec.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(kernel.spec.period, 123031);
	assert_int_equal(kernel.spec.tag, 99);
	assert_int_equal(kernel.running, 3);
	assert_int_equal(kernel.opened[2], 0);
	assert_int_equal(profclock_cpus(clock_now), 0);
	assert_int_equal(kernel.running, 3);
}

/* A CPU that went and came back has a dead event, however late that is noticed. */
static void cpus_go_and_come(void **state)
{
	assert_int_equal(clock_start(), 0);
	moved(2, true);
	assert_int_equal(profclock_cpus(clock_now), 0);
	assert_int_equal(kernel.opened[2], 1);
	moved(1, false);
	assert_int_equal(profclock_cpus(clock_now), 0);
	assert_int_equal(kernel.opened[1], 1);
	moved(1, true);
	moved(3, false);
	moved(3, true);
	assert_int_equal(profclock_cpus(clock_now), 0);
	assert_int_equal(kernel.opened[1], 2);
	assert_int_equal(kernel.opened[3], 2);
	assert_int_equal(kernel.opened[0], 1);
	/* A CPU that goes again before its event is opened, and one that refuses it. */
	moved(3, false);
	moved(3, true);
	kernel.refuse = -ENXIO;
	assert_int_equal(profclock_cpus(clock_now), 0);
	moved(1, false);
	moved(1, true);
	kernel.refuse = -ENOMEM;
	assert_int_equal(profclock_cpus(clock_now), 2);
	/* Both are tried again when something changes. */
	kernel.refuse = 0;
	kernel.changes++;
	assert_int_equal(profclock_cpus(clock_now), 0);
	assert_int_equal(kernel.opened[1] + kernel.opened[3], 3 + 3);
}

static void what_the_kernel_refuses(void **state)
{
	kernel.limit = "8127";
	assert_int_equal(clock_start(), -EINVAL);
	assert_contains(why.text, "the kernel allows 8127");
	kernel.limit = "8128";
	kernel.refuse = -ENOMEM;
	assert_int_equal(clock_start(), -ENOMEM);
	assert_contains(why.text, "CPU 0 does not take the profiling clock");
	kernel.refuse = 0;
	kernel.refuse_program = -EINVAL;
	assert_int_equal(clock_start(), -EINVAL);
	assert_int_equal(kernel.running, 0);
	assert_null(clock_now);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(every_cpu_that_is_here), T(cpus_go_and_come), T(what_the_kernel_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
