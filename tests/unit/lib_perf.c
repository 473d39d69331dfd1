/* SPDX-License-Identifier: BSD-2-Clause */
/* What perf's users type, and the specifiers that mean the same; the reasons of refusals. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/generic.h"
#include "lib/event/event.h"
#include "unit.h"

#include <sys/pmc.h>

/* A machine with so many core PMUs. */
static struct machine machine(unsigned int pmus)
{
	struct machine m = {
		.cpu = { .nclass = 1 + pmus, .classes = { { .class = PMC_CLASS_SOFT } } },
	};

	for (unsigned int i = 0; i < pmus; i++) {
		m.cpu.classes[1 + i].class = PMC_CLASS_IAP;
		strcpy(m.cpu.classes[1 + i].pmu, i ? "cpu_atom" : pmus > 1 ? "cpu_core" : "cpu");
	}
	return m;
}

static void spelled(const char *text, const char *ours)
{
	const struct machine m = machine(1);
	char out[EVSPEC_MAX + 1];
	struct reason why = { "" };

	if (perf_spell(&m, text, out, &why) != 1)
		fail_msg("%s: not taken: %s", text, why.text);
	assert_string_equal(out, ours);
}

static void foreign(const char *text)
{
	const struct machine m = machine(1);
	char out[EVSPEC_MAX + 1];
	struct reason why = { "" };

	assert_int_equal(perf_spell(&m, text, out, &why), 0);
	assert_string_equal(why.text, "");
	assert_false(perf_spell_certain(text));
}

static void declined_on(unsigned int pmus, const char *text, const char *part)
{
	const struct machine m = machine(pmus);
	char out[EVSPEC_MAX + 1];
	struct reason why = { "" };

	assert_int_equal(perf_spell(&m, text, out, &why), -EINVAL);
	assert_contains(why.text, part);
}

static void declined(const char *text, const char *part)
{
	declined_on(1, text, part);
}

/* PERF-159, PERF-160 */
static void test_sides(void **state)
{
	spelled("page-faults:u", "page-faults,usr");
	spelled("page-faults:k", "page-faults,os");
	spelled("instructions:uk", "instructions,usr,os");
	spelled("instructions:ku", "instructions,usr,os");
	spelled("SOFT-page_fault.all:u", "SOFT-page_fault.all,usr");
	spelled("cpu-cycles:u,cmask=1,edge", "cpu-cycles,usr,cmask=1,edge");
	spelled("cpu/event=0x3c,umask=1/u", "cpu/event=0x3c,umask=1/,usr");
	spelled("cpu/event=0x3c/uk,inv", "cpu/event=0x3c/,usr,os,inv");
	spelled("u:u", "u,usr");
	assert_true(perf_spell_certain("cpu/event=0x3c/u"));
	assert_false(perf_spell_certain("cycles:u"));
}

static void test_precise(void **state)
{
	spelled("cycles:p", "cycles,precise=1");
	spelled("cycles:pp", "cycles,precise=2");
	spelled("cycles:uppp", "cycles,usr,precise=3");
	spelled("cycles:P", "cycles,precise=3");
	declined("cycles:pppp", "perf has p, pp, ppp and P, no more");
	declined("cycles:Pp", "no more");
}

/* PERF-161, PERF-162: sides and states that counts do not separate, and the other letters. */
static void test_declined_modifiers(void **state)
{
	declined("cycles:h", "modifier h has no meaning here: counts have a side of user code");
	declined("cycles:G", "guests are processes here");
	declined("cycles:H", "the host's and its guests' events are not separated");
	declined("cycles:I", "counts of a CPU contain its idle time");
	declined("cycles:uD", "\"cycles:uD\": perf's modifier D has no meaning here: every PMC");
	declined("cycles:S", "samples have no values of other PMCs");
	declined("cycles:W", "no group has to be split");
	declined("cycles:e", "never takes all counters");
	declined("cycles:b", "counted by a BPF program");
	declined("cycles:R", "no weights");
	declined("cpu/event=1/G", "guests are processes here");
}

/* PERF-037 */
static void test_raw(void **state)
{
	spelled("r1a2", "cpu/config=0x1a2/");
	spelled("rFFFF", "cpu/config=0xFFFF/");
	spelled("r8:u", "cpu/config=0x8/,usr");
	spelled("r8,os", "cpu/config=0x8/,os");
	spelled("r0123456789abcdef", "cpu/config=0x0123456789abcdef/");
	foreign("r");
	foreign("r,usr");
	foreign("r0123456789abcdef0");
	foreign("r8x");
	foreign("R8");
	declined_on(2, "r8", "several kinds of CPUs, each with numbers of its own: write "
		    "cpu_core/config=0x8/");
}

/* PERF-094 */
static void test_raw_without_counters(void **state)
{
	declined_on(0, "r8:u", "\"r8\" is a number of the core's PMU, and here are no hardware");
}

/*
 * PERF-079, PERF-087, PERF-088, PERF-089, PERF-090, PERF-091: each of the 42 names, by its parts.
 */
static void test_cache(void **state)
{
	static const char *const ids[] = { "L1D", "L1I", "LL", "DTLB", "ITLB", "BPU", "NODE" };
	static const char *const ops[] = { "READ", "WRITE", "PREFETCH" };
	static const char *const results[] = { "ACCESS", "MISS" };

	for (unsigned int i = 0; i < 42; i++) {
		unsigned int id = i / 6, op = i / 2 % 3, result = i % 2;
		const struct generic_event *e = generic_by_code(generic_cache_code(id, op, result));
		char text[64];

		assert_non_null(e);
		assert_int_equal(e->type, PERF_TYPE_HW_CACHE);
		assert_true(e->config == (id | op << 8 | result << 16));
		snprintf(text, sizeof(text), "cache:%s.%s.%s", ids[id], ops[op], results[result]);
		assert_true(perf_spell_certain(text));
		spelled(text, e->name);
	}
	/* PERF-080, PERF-081, PERF-082, PERF-083, PERF-084, PERF-085, PERF-086 */
	spelled("cache:l1d.read.miss:u,os", "L1-dcache-load-misses,usr,os");
	spelled("cache:L1I.READ.ACCESS", "L1-icache-loads");
	spelled("cache:LL.WRITE.MISS", "LLC-store-misses");
	spelled("cache:DTLB.PREFETCH.ACCESS", "dTLB-prefetches");
	spelled("cache:ITLB.READ.MISS", "iTLB-load-misses");
	spelled("cache:BPU.READ.ACCESS", "branch-loads");
	spelled("cache:NODE.PREFETCH.MISS", "node-prefetch-misses");
}

/* PERF-092 */
static void test_cache_wrong(void **state)
{
	static const char *const wrong[] = {
		"cache:", "cache:L1D", "cache:L1D.READ", "cache:L1D.READ.", "cache:L2.READ.MISS",
		"cache:L1D.LOAD.MISS", "cache:L1D.READ.HIT", "cache:L1D.READ.MISS.", "cache:S",
		"cache:.READ.MISS", "cache:L1D.READ.MISS.MISS", "cache:,usr",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		declined(wrong[i], "write cache:ID.OP.RESULT with one of L1D");
}

static void test_foreign(void **state)
{
	foreign("cycles");
	foreign("cycles,usr");
	foreign(":u");
	foreign("cycles:");
	foreign("cycles:,usr");
	foreign("sched:sched_switch");
	foreign("cpu/event=1/");
	foreign("cpu/event=1/usr");
	foreign("cpu/event=1");
	foreign("/u");
	foreign("");
	foreign("caches:L1D.READ.MISS");
}

static void test_longest(void **state)
{
	const struct machine m = machine(1);
	char text[EVSPEC_MAX + 1], out[EVSPEC_MAX + 1];
	struct reason why = { "" };

	memset(text, 'a', EVSPEC_MAX);
	text[EVSPEC_MAX] = '\0';
	memcpy(text + EVSPEC_MAX - 4, ",usr", 4);
	memcpy(text, "x:u", 3);
	text[3] = ',';
	assert_int_equal(perf_spell(&m, text, out, &why), -EINVAL);
	assert_contains(why.text, "at most 512");
	/* Two characters shorter: the longest that fits. */
	memmove(text + 4, text + 6, EVSPEC_MAX - 5);
	assert_int_equal(perf_spell(&m, text, out, &why), 1);
	assert_int_equal(strlen(out), EVSPEC_MAX);
}

/*
 * PERF-050, PERF-052, PERF-053, PERF-054, PERF-055, PERF-056, PERF-057, PERF-058, PERF-059: perf's
 * numbers of its ten events.
 */
static void test_generic_hardware(void **state)
{
	static const char *const names[] = {
		"cpu-cycles", "instructions", "cache-references", "cache-misses",
		"branch-instructions", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
		"stalled-cycles-backend", "ref-cycles",
	};

	for (unsigned int i = 0; i < 10; i++) {
		const struct generic_event *e = generic_by_code(PMC_EV_PERF_FIRST + i);

		assert_non_null(e);
		assert_int_equal(e->type, PERF_TYPE_HARDWARE);
		assert_true(e->config == i);
		assert_string_equal(e->name, names[i]);
	}
	assert_null(generic_by_code(PMC_EV_PERF_FIRST + GENERIC_EVENTS));
	assert_null(generic_by_code(PMC_EV_PERF_FIRST - 1));
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_sides), T(test_precise), T(test_declined_modifiers), T(test_raw),
		T(test_raw_without_counters), T(test_cache), T(test_cache_wrong), T(test_foreign),
		T(test_longest), T(test_generic_hardware),
	};

	return cmocka_run_group_tests_name("lib_perf", tests, NULL, NULL);
}
