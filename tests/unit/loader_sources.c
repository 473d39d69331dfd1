/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers as sources: which ones the programs receive, their number, and unsuitable ones. */
#include <stdlib.h>

#include "loader/base/debug.h"
#include "loader/kernel/sources.h"
#include "unit.h"

#define NCPU 3u

static struct abi_cpu cpus[NCPU];
static struct abi_register registers[ABI_MSR_SOURCES];
static __u64 lost, switches;
static unsigned int opened;		/* perf events */
static struct sources *s;
static struct reason why;

/* --- functions that registers do not use ------------------------------------------------------ */

int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu)
{
	opened++;
	return -ENOENT;
}

bool perf_cpu_online(unsigned int cpu) { return true; }
int perf_disable(int fd) { return 0; }
const char *perf_error(int err) { return "no event"; }

static int setup(void **state)
{
	static const struct debug silent;
	const struct sources_place place = { .debug = &silent, .events = -1,
					     .ncpu = NCPU, .cpus = cpus,
					     .lost = &lost, .registers = registers,
					     .switches = &switches };

	memset(cpus, 0, sizeof(cpus));
	memset(registers, 0, sizeof(registers));
	lost = opened = 0;
	s = sources_new(&place);
	return s ? 0 : -1;
}

static int teardown(void **state)
{
	sources_free(s);
	return 0;
}

static int reg_open(uint64_t reg, uint64_t mask)
{
	const struct perf_event_spec spec = { .msr = true, .config = reg, .config1 = mask };

	return sources_open(s, &spec, &why);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_told(void **state)
{
	assert_int_equal(reg_open(0xc0000103, 0xffffffff), ABI_SOURCE_MSR);
	assert_int_equal(reg_open(0xe8, ~0ull), ABI_SOURCE_MSR + 1);
	assert_int_equal(registers[0].reg, 0xc0000103);
	assert_int_equal(registers[0].mask, 0xffffffff);
	assert_int_equal(registers[1].reg, 0xe8);
	assert_true(registers[1].mask == ~0ull);
	assert_int_equal(opened, 0);
	sources_close(s, ABI_SOURCE_MSR);
	assert_int_equal(registers[0].mask, 0);
	assert_int_equal(reg_open(0xe7, 1), ABI_SOURCE_MSR);
	assert_int_equal(registers[0].reg, 0xe7);
}

static void test_full(void **state)
{
	const struct perf_event_spec event = { .type = 1 };

	for (uint32_t i = 0; i < ABI_MSR_SOURCES; i++)
		assert_true(reg_open(0x100 + i, ~0ull) >= ABI_SOURCE_MSR);
	assert_int_equal(reg_open(0x200, ~0ull), -EINVAL);
	assert_contains(why.text, "release one");
	/* Events have sources of their own. */
	assert_int_equal(sources_open(s, &event, &why), -ENOENT);
	assert_int_equal(opened, 1);
	sources_close(s, ABI_SOURCE_HOOK - 1);
	assert_int_equal(reg_open(0x200, ~0ull), ABI_SOURCE_HOOK - 1);
}

/* Differences are taken modulo a power of two. */
static void test_bits(void **state)
{
	assert_int_equal(reg_open(0xe8, 0), -EINVAL);
	assert_int_equal(reg_open(0xe8, 0xff00), -EINVAL);
	assert_contains(why.text, "0xff00");
	assert_int_equal(reg_open(0xe8, 0xff), ABI_SOURCE_MSR);
	assert_int_equal(reg_open(1ull << 32, ~0ull), -EINVAL);
}

/* A CPU that comes back needs nothing; failed reads are forgotten with their PMC. */
static void test_lost(void **state)
{
	int source = reg_open(0xe8, ~0ull);

	cpus[1].downs++;
	assert_int_equal(sources_renew(s, 1), 0);
	assert_false(sources_lost(s, source));
	lost = cpus[1].lost = 1ull << source;
	assert_true(sources_lost(s, source));
	sources_close(s, source);
	assert_false(sources_lost(s, source));
	assert_int_equal(cpus[1].lost, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_told), T(test_full), T(test_bits), T(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
