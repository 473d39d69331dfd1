/* SPDX-License-Identifier: BSD-2-Clause */
/* Which breakpoints a machine has: by events that can be opened, and by whether these count. */
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <unistd.h>

#include "loader/kernel/breakpoints.h"
#include "unit.h"

#define REGISTERS 4u

static struct {
	uint64_t data, code;		/* what one access counts */
	unsigned int open;
	uint32_t type;			/* of the latest event */
} machine;

int __wrap_perf_open_task(const struct perf_event_spec *spec, int tid, int cpu);
int __wrap_perf_enable(int fd);
int __wrap_perf_read(int fd, uint64_t *value);
int __wrap_close(int fd);
int __real_close(int fd);

int __wrap_perf_open_task(const struct perf_event_spec *spec, int tid, int cpu)
{
	if (spec->breakpoint == HW_BREAKPOINT_R || machine.open == REGISTERS)
		return -EINVAL;
	machine.open++;
	machine.type = spec->breakpoint;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_perf_enable(int fd)
{
	return 0;
}

int __wrap_perf_read(int fd, uint64_t *value)
{
	*value = machine.type == HW_BREAKPOINT_X ? machine.code : machine.data;
	return 0;
}

int __wrap_close(int fd)
{
	machine.open--;
	return __real_close(fd);
}

static struct breakpoints found(uint64_t data, uint64_t code)
{
	struct breakpoints b;

	machine.data = data;
	machine.code = code;
	breakpoints_discover(&b);
	assert_int_equal(machine.open, 0);
	return b;
}

/* A machine that counts one access as none, or as two, has no breakpoints. */
static void test_silent(void **state)
{
	struct breakpoints b = found(1, 1);

	assert_int_equal(b.data, REGISTERS);
	assert_int_equal(b.code, 0);
	assert_false(b.reads);
	assert_false(b.silent);
	assert_null(breakpoints_reason(&b));
	b = found(0, 0);
	assert_true(b.silent);
	assert_non_null(strstr(breakpoints_reason(&b), "do not count"));
	assert_true(found(0, 1).silent);
	assert_true(found(1, 0).silent);
	assert_true(found(2, 1).silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_silent) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
