/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See breakpoints.h.  The kernel reserves a register when an event is opened, whether it runs or
 * not, so that disabled events of this thread find all that is free beside the events of the CPUs.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "breakpoints.h"

#define REGISTERS_MAX 16u	/* of a kind; no architecture has more */

const char *breakpoints_reason(const struct breakpoints *b)
{
	if (b->silent)
		return "the CPU has registers for them, which do not count pmcbpfd's own accesses";
	if (!b->data && !b->code)
		return "perf has no free register for them";
	return NULL;
}

/* perf_event_attr has the address in config1 and the length in config2. */
struct perf_event_spec breakpoints_spec(uint64_t address, uint64_t length, uint32_t type)
{
	return (struct perf_event_spec){
		.type = PERF_TYPE_BREAKPOINT, .config1 = address, .config2 = length,
		.breakpoint = type,
	};
}

/* The events of this file watch these two.  Nothing else uses them. */
static volatile uint64_t watched_data;
static __attribute__((noinline)) void watched_code(void)
{
	__asm__ volatile("" : : : "memory");
}

static int breakpoint_open(uint64_t length, uint32_t type)
{
	const uintptr_t at = type == HW_BREAKPOINT_X ? (uintptr_t)watched_code :
						       (uintptr_t)&watched_data;
	struct perf_event_spec spec = breakpoints_spec(at, length, type);

	spec.user = true;
	return perf_open_task(&spec, 0, -1);
}

static bool breakpoint_works(uint64_t length, uint32_t type)
{
	int fd = breakpoint_open(length, type);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* False: one access does not count as one.  Some hypervisors keep the exceptions from guests. */
static bool breakpoint_counts(uint64_t length, uint32_t type)
{
	int fd = breakpoint_open(length, type);
	uint64_t n = 0;
	bool good = fd >= 0 && !perf_enable(fd);

	if (type == HW_BREAKPOINT_X)
		watched_code();
	else
		watched_data = 1;
	good = good && !perf_read(fd, &n) && n == 1;
	if (fd >= 0)
		close(fd);
	return good;
}

static uint32_t breakpoint_open_all(uint64_t length, uint32_t type, int *fds)
{
	uint32_t n = 0;

	while (n < REGISTERS_MAX && (fds[n] = breakpoint_open(length, type)) >= 0)
		n++;
	return n;
}

static void breakpoint_close_all(const int *fds, uint32_t n)
{
	while (n)
		close(fds[--n]);
}

void breakpoints_discover(struct breakpoints *b)
{
	int data[REGISTERS_MAX], code[REGISTERS_MAX];

	*b = (struct breakpoints){
		.reads = breakpoint_works(4, HW_BREAKPOINT_R),
		.any_length = breakpoint_works(3, HW_BREAKPOINT_W),
		.short_code = breakpoint_works(4, HW_BREAKPOINT_X),
	};
	/*
	 * 64-bit ARM has these lengths.  Its exceptions for user addresses are masked in the
	 * kernel.  The kernel steps over an access of its own with the register off; an interrupt
	 * before that takes the step, and the access is reported again.
	 */
	b->user_only = b->repeats = b->any_length;
	b->data = breakpoint_open_all(8, HW_BREAKPOINT_W, data);
	b->code = breakpoint_open_all(sizeof(long), HW_BREAKPOINT_X, code);
	breakpoint_close_all(code, b->code);
	breakpoint_close_all(data, b->data);
	b->silent = b->data && !(breakpoint_counts(8, HW_BREAKPOINT_W) &&
				 breakpoint_counts(sizeof(long), HW_BREAKPOINT_X));
}
