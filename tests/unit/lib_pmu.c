/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PERF-324, PERF-326, PERF-327: sysfs descriptions of PMUs, and specifiers resolved against them.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pmclog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/event/event.h"
#include "unit.h"

/* A directory like /sys/bus/event_source/devices, with an Intel-like and an arm64-like PMU. */
static char root[] = "/tmp/pmcbpf-unit-XXXXXX";

static const struct {
	const char *path, *text;
} files[] = {
	{ "cpu/format/event", "config:0-7,32-35\n" },
	{ "cpu/format/umask", "config:8-15\n" },
	{ "cpu/format/edge", "config:18\n" },
	{ "cpu/format/inv", "config:23\n" },
	{ "cpu/format/cmask", "config:24-31\n" },
	{ "cpu/format/any", "config:21\n" },
	{ "cpu/format/ldlat", "config1:0-15\n" },
	{ "cpu/format/far", "config3:0-15\n" },
	{ "cpu/format/odd", "konfig:1\n" },
	{ "cpu/events/instructions", "event=0xc0\n" },
	{ "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ "cpu/events/ref-cycles", "event=0x00,umask=0x03\n" },
	{ "cpu/events/inv-test", "event=0x3c,inv,cmask=2\n" },
	{ "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=?\n" },
	{ "cpu/events/mem-loads.unit", "Joules\n" },
	{ "cpu/events/broken", "event=zz\n" },
	{ "cpu/events/wide", "event=0x123c\n" },
	{ "cpu/type", "4\n" },
	{ "core/format/event", "config:0-7\n" },
	{ "core/events/busy", "event=1\n" },
	{ "core/cpus", "0-1\n" },
	{ "atom/format/event", "config:0-7\n" },
	{ "atom/events/busy", "event=2\n" },
	{ "atom/cpus", "2-3\n" },
	{ "imc_0/format/event", "config:0-7\n" },
	{ "imc_0/format/match", "config2:0-3\n" },
	{ "imc_0/events/reads", "event=0x04,match=1\n" },
	{ "imc_0/events/reads.unit", "MiB\n" },
	{ "imc_0/events/reads.scale", "6.1e-5\n" },
	{ "imc_0/events/stalls", "event=0x05\n" },
	{ "imc_0/events/cycles", "event=0x06\n" },
	{ "imc_0/cpumask", "0,4\n" },
	{ "imc_1/format/event", "config:0-7\n" },
	{ "imc_1/events/reads", "event=0x04\n" },
	{ "imc_1/cpus", "2-3\n" },
	{ "armv8_pmuv3_0/format/event", "config:0-15\n" },
	{ "armv8_pmuv3_0/format/long", "config1:0\n" },
	{ "armv8_pmuv3_0/events/cpu_cycles", "event=0x0011\n" },
	{ "armv8_pmuv3_0/events/inst_retired", "event=0x0008\n" },
};

static int make_tree(void **state)
{
	size_t i;

	if (!mkdtemp(root))
		return -1;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[300], *p;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", root, files[i].path);
		for (p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
			*p = '\0';
			mkdir(path, 0755);
		}
		f = fopen(path, "w");
		if (!f || fputs(files[i].text, f) < 0 || fclose(f) != 0)
			return -1;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int remove_tree(void **state)
{
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A machine of the library's view; tests fill in the hardware class. */
static struct machine machine(uint32_t class, const char *pmu)
{
	static struct machine_event soft[] = {
		{ "CLOCK.HARD", 0x20000, 0 }, { "PAGE_FAULT.ALL", 0x20003, 0 },
	};
	struct machine l = {
		.cpu = { .nclass = 2, .ncpu = 1,
			 .classes = { { .class = PMC_CLASS_SOFT }, { .class = PMC_CLASS_TSC } } },
		.soft = { soft, 2 },
	};

	if (pmu) {
		l.cpu.classes[2] = (struct wire_classinfo){
			.class = class, .perf_type = 4,
			.caps = PMC_CAP_USER | PMC_CAP_SYSTEM | PMC_CAP_EDGE,
		};
		strcpy(l.cpu.classes[2].pmu, pmu);
		l.cpu.nclass = 3;
	}
	return l;
}

static struct wire_allocate_req resolved(const struct machine *l, const char *spec)
{
	struct wire_allocate_req req = { .caps = 0 };
	struct reason why = { "" };

	if (resolve_event(l, root, spec, &req, &why) != 0)
		fail_msg("%s: %s", spec, why.text);
	return req;
}

static void refused(const struct machine *l, const char *spec, const char *part)
{
	struct wire_allocate_req req = { .caps = 0 };
	struct reason why = { "" };

	assert_int_equal(resolve_event(l, root, spec, &req, &why), -EINVAL);
	assert_contains(why.text, part);
}

static void test_field_parse(void **state)
{
	static const char *const wrong[] = {
		"", "config", "config:", "config:a", "config:64", "config:-1", "config:3-1",
		"config:1,", "config:1,1", "config:0-7,7-9", "config:1 ", "config:001", "conf:1",
		"config:1-", "config12:1x", ":1", "config:+1",
	};
	struct pmu_field f;
	size_t i;

	assert_int_equal(pmu_field_parse("config:0-7,32-35", &f), 0);
	assert_int_equal(f.word, 0);
	assert_true(f.mask == 0xf000000ffull);
	assert_int_equal(pmu_field_parse("config1:1,6-10,44", &f), 0);
	assert_int_equal(f.word, 1);
	assert_true(f.mask == (1ull << 44 | 0x7c0 | 2));
	assert_int_equal(pmu_field_parse("config2:0-63", &f), 0);
	assert_true(f.mask == ~0ull);
	assert_int_equal(pmu_field_parse("config:63", &f), 0);
	assert_true(f.mask == 1ull << 63);
	assert_int_equal(pmu_field_parse("config3:0-7", &f), -EOPNOTSUPP);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (pmu_field_parse(wrong[i], &f) >= 0)
			fail_msg("\"%s\" was taken", wrong[i]);
}

static void test_field_set(void **state)
{
	const struct pmu_field split = { .word = 0, .mask = 0xf000000ffull };
	const struct pmu_field all = { .word = 2, .mask = ~0ull };
	uint64_t c[3] = { ~0ull, 5, 0 };

	assert_int_equal(pmu_field_set(&split, 0x5a3, c), 0);
	assert_true(c[0] == ((~0ull & ~0xf000000ffull) | 0x5000000a3ull));
	assert_int_equal(c[1], 5);
	assert_int_equal(pmu_field_set(&split, 0x1000, c), -ERANGE);
	assert_int_equal(pmu_field_set(&all, ~0ull, c), 0);
	assert_true(c[2] == ~0ull);
}

static void test_names(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu");
	struct wire_allocate_req r = resolved(&l, "CPU_CYCLES");

	assert_int_equal(r.class, PMC_CLASS_IAP);
	assert_true(r.config == 0x3c);
	assert_string_equal(r.event_name, "cpu-cycles");
	assert_true(r.event >= PMC_EV_PMU_FIRST);
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE);
	assert_true(resolved(&l, "iap-ref.cycles").config == 0x300);
	assert_true(resolved(&l, "inv_test").config == (0x3c | 1 << 23 | 2 << 24));
	assert_true(resolved(&l, "iaf-instr-retired.any").config == 0xc0);
	assert_true(resolved(&l, "instructions").config == 0xc0);
	assert_true(resolved(&l, "unhalted-cycles,usr").config == 0x3c);
	refused(&l, "iaf-cpu-cycles", "fixed counters");
	refused(&l, "mem-loads", "needs a value for \"ldlat\"");
	refused(&l, "mem-loads.unit", "mem-loads.unit");
	refused(&l, "broken", "not a number");
	refused(&l, "wide", "12 bits");
	refused(&l, "../type=1/", "no PMU \"..\"");
	refused(&l, "no-such-event", "no-such-event");
	refused(&l, "dc-misses", "dc-misses");
	refused(&l, "iap-clock.hard", "clock.hard");
}

static void test_qualifiers(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu");
	struct wire_allocate_req r = resolved(&l, "cpu-cycles,cmask=3,edge,INV,umask=0x12,usr");

	assert_true(r.config == (0x3c | 0x1200 | 1 << 18 | 1 << 23 | 3 << 24));
	/* EDGE is the only one of those that the class announces. */
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_EDGE);
	assert_int_equal(resolved(&l, "cpu-cycles,os").caps & (PMC_CAP_USER | PMC_CAP_SYSTEM),
			 PMC_CAP_SYSTEM);
	assert_int_equal(resolved(&l, "cpu-cycles,os,usr").caps & (PMC_CAP_USER | PMC_CAP_SYSTEM),
			 PMC_CAP_USER | PMC_CAP_SYSTEM);
	assert_true(resolved(&l, "cpu-cycles,count=1,mask=2").config == (0x3c | 0x200 | 1 << 24));
	assert_true(resolved(&l, "cpu-cycles,anythread").config == (0x3c | 1 << 21));
	refused(&l, "cpu-cycles,", "unknown qualifier \"\"");
	refused(&l, "cpu-cycles,frob", "unknown qualifier \"frob\"");
	refused(&l, "cpu-cycles,usr=1", "takes no value");
	refused(&l, "cpu-cycles,edge=1", "takes no value");
	refused(&l, "cpu-cycles,cmask", "needs a value");
	refused(&l, "cpu-cycles,cmask=", "not a number");
	refused(&l, "cpu-cycles,cmask=1x", "not a number");
	refused(&l, "cpu-cycles,cmask=256", "8 bits");
}

static void test_arm(void **state)
{
	const struct machine l = machine(PMC_CLASS_ARMV8, "armv8_pmuv3_0");

	assert_true(resolved(&l, "cycles").config == 0x11);
	assert_true(resolved(&l, "instructions,usr").config == 8);
	assert_string_equal(resolved(&l, "ARMV8-INST.RETIRED").event_name, "inst_retired");
	refused(&l, "cycles,edge", "no such field");
	refused(&l, "branches", "branches");
}

/* The fields that pmc_pmu_pmcallocate() fills; the others stay the caller's. */
static void test_operation(void **state)
{
	struct machine l = machine(PMC_CLASS_IAP, "cpu");
	struct pmc_op_pmcallocate op = { .pm_caps = PMC_CAP_INTERRUPT, .pm_mode = PMC_MODE_TS,
					 .pm_flags = PMC_F_CALLCHAIN, .pm_count = 7 };
	struct reason why = { "" };

	op.pm_md.pm_pad[7] = 1;
	assert_int_equal(resolve_operation(&l, root, "instructions,usr,edge", &op, &why), 0);
	assert_int_equal(op.pm_class, PMC_CLASS_IAP);
	assert_string_equal(intern_name((uint32_t)op.pm_ev), "instructions");
	assert_int_equal(op.pm_caps, PMC_CAP_INTERRUPT | PMC_CAP_READ | PMC_CAP_WRITE |
			 PMC_CAP_USER | PMC_CAP_EDGE);
	assert_int_equal(op.pm_flags, PMC_F_CALLCHAIN | PMC_F_EV_PMU);
	assert_int_equal(op.pm_mode, PMC_MODE_TS);
	assert_int_equal(op.pm_count, 7);
	assert_int_equal(op.pm_md.pm_perf.pm_type, 4);
	assert_int_equal(op.pm_md.pm_perf.pm_config, 0x400c0);
	assert_int_equal(op.pm_md.pm_pad[7], 0);
	assert_int_equal(resolve_operation(&l, root, "nonsense", &op, &why), -ENOENT);
	assert_int_equal(resolve_operation(&l, root, "CLOCK.HARD", &op, &why), -ENOENT);
	assert_contains(why.text, "not an event of the hardware counters");
}

/* PERF-187: config2 */
static void test_raw(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu");
	struct wire_allocate_req r = resolved(&l, "cpu/event=0x13c,umask=1,inv,ldlat=9/,usr");

	assert_true(r.config == (1ull << 32 | 0x13c | 1 << 23));
	assert_true(r.config1 == 9);
	assert_int_equal(r.caps & PMC_CAP_USER, PMC_CAP_USER);
	assert_string_equal(r.event_name, "cpu/event=0x13c,umask=1,inv,ldlat=9/");
	assert_true(resolved(&l, "cpu/config=0x1234,config2=7/").config == 0x1234);
	assert_true(resolved(&l, "cpu/config=0x1234,config2=7/").config2 == 7);
	assert_true(resolved(&l, "cpu/cpu-cycles,cmask=1/").config == (0x3c | 1 << 24));
	refused(&l, "cpu/event=?/", "needs a value");
	refused(&l, "cpu/frob=1/", "no field \"frob\"");
	refused(&l, "cpu/frob/", "no field \"frob\"");
	refused(&l, "cpu/event=0x1000/", "12 bits");
	refused(&l, "cpu/event=/", "not a number");
	refused(&l, "cpu/../type=1/", "after the second /");
	refused(&l, "uncore/event=1/", "no PMU \"uncore\"");
	refused(&l, "cpu/odd=1/", "not understood");
	/* A field of a word that the request cannot carry is refused, not dropped. */
	refused(&l, "cpu/far=1/", "not understood");
}

/* PERF-033, PERF-036, PERF-060: perf's own names, where the daemon has listed them. */
static void test_generic(void **state)
{
	static struct machine_event events[] = {
		{ "instructions", PMC_EV_PERF_FIRST + 1, 0 },
		{ "branch-instructions", PMC_EV_PERF_FIRST + 4, 0 },
		{ "stalled-cycles-frontend", PMC_EV_PERF_FIRST + 7, 0 },
		{ "L1-dcache-load-misses", PMC_EV_PERF_FIRST + 11, 0 },
	};
	struct machine l = machine(PMC_CLASS_ARMV8, "armv8_pmuv3_0");
	struct wire_allocate_req r;

	refused(&l, "L1-dcache-load-misses", "knows an event \"L1-dcache-load-misses\"");
	refused(&l, "cache:L1D.READ.MISS", "knows an event \"L1-dcache-load-misses\"");
	l.generic = (struct machine_events){ events, 4 };
	r = resolved(&l, "cache:L1D.READ.MISS:u");
	assert_int_equal(r.class, PMC_CLASS_ARMV8);
	assert_int_equal(r.event, PMC_EV_PERF_FIRST + 11);
	assert_string_equal(r.event_name, "L1-dcache-load-misses");
	assert_true(!r.config && !r.config1 && !r.config2);
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER);
	assert_int_equal(resolved(&l, "l1_dcache.load_misses").event, PMC_EV_PERF_FIRST + 11);
	assert_int_equal(resolved(&l, "idle-cycles-frontend:k").event, PMC_EV_PERF_FIRST + 7);
	assert_int_equal(resolved(&l, "idle-cycles-frontend:k").caps & PMC_CAP_SYSTEM,
			 PMC_CAP_SYSTEM);
	/* An alias without an event, which is a name of perf's as well. */
	assert_int_equal(resolved(&l, "branches").event, PMC_EV_PERF_FIRST + 4);
	/* The kernel's list of the PMU comes first. */
	assert_true(resolved(&l, "instructions").config == 8);
	assert_int_equal(resolved(&l, "ARMV8-instructions").event, PMC_EV_PERF_FIRST + 1);
	refused(&l, "LLC-loads", "knows an event \"LLC-loads\"");
	refused(&l, "cache:LL.READ.HIT", "write cache:ID.OP.RESULT");
	refused(&l, "branches,cmask=1", "\"cmask\" is no qualifier of an event that the kernel "
		"encodes: there are usr and os");
	refused(&l, "branches,usr=1", "usr takes no value");
	assert_int_equal(resolved(&l, "branches:p").precise, 1);
}

/* Qualifiers of samples, which all classes have, and which are none of a PMU's terms. */
static void test_sampling(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu"), none = machine(0, NULL);
	struct wire_allocate_req r = resolved(&l, "cycles,freq=0x3e8,usr,precise=2,weight,cmask=2");
	struct reason why = { "" };

	assert_true(r.rate == 1000 && !r.count && r.precise == 2);
	assert_int_equal(r.values, PMCLOG_VALUE_PERIOD | PMCLOG_VALUE_WEIGHT);
	assert_true(r.config == (0x3c | 2 << 24));
	assert_true(resolved(&none, "page-faults,period=77").count == 77);
	r = resolved(&none, "page-faults,branch=Any_Call+usr,code page size");
	assert_true(r.branch == (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER));
	assert_int_equal(r.values, PMCLOG_VALUE_BRANCHES | PMCLOG_VALUE_CODE_PAGE);
	assert_true(resolved(&none, "page-faults,branch=os").branch ==
		    (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL));
	refused(&l, "cycles,period=1,freq=1", "leave period out");
	refused(&l, "cycles,freq=1,period=1", "leave period out");
	refused(&l, "cycles,cmask=2,count=1", "cmask and count are one qualifier: leave one out");
	refused(&l, "cycles,precise=4", "precise takes a number from 0 to 3: \"4\"");
	r = (struct wire_allocate_req){ .mode = PMC_MODE_TC };
	assert_int_equal(resolve_event(&l, root, "cycles,addr", &r, &why), -EINVAL);
	assert_contains(why.text, "addr is for samples, and this PMC counts");
}

/* PERF-037, PERF-159, PERF-160 */
static void test_perf_spellings(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu"), none = machine(0, NULL);
	struct wire_allocate_req r = resolved(&l, "r13c:uk");

	assert_int_equal(r.config, 0x13c);
	assert_string_equal(r.event_name, "cpu/config=0x13c/");
	assert_int_equal(r.caps & (PMC_CAP_USER | PMC_CAP_SYSTEM), PMC_CAP_USER | PMC_CAP_SYSTEM);
	assert_int_equal(resolved(&l, "cycles:u").caps & PMC_CAP_USER, PMC_CAP_USER);
	assert_true(resolved(&l, "cycles:k,cmask=2").config == (0x3c | 2 << 24));
	assert_int_equal(resolved(&l, "cpu/event=0x3c/u").caps & PMC_CAP_USER, PMC_CAP_USER);
	assert_int_equal(resolved(&none, "page-faults:u").caps & PMC_CAP_USER, PMC_CAP_USER);
	assert_int_equal(resolved(&l, "cycles:ppp").precise, 3);
	assert_int_equal(resolved(&none, "page-faults:pp").precise, 2);
	refused(&l, "cycles:G", "perf's modifier G has no meaning here");
	refused(&none, "page-faults:e", "perf's modifier e has no meaning here");
	refused(&none, "tsc:u", "takes no qualifiers: \"usr\"");
	refused(&none, "r8", "here are no hardware counters");
	refused(&none, "cycles:u", "unknown event \"cycles\"");
	refused(&none, "nonsense:u", "unknown event \"nonsense\"");
}

static void test_raw_long_name(void **state)
{
	const struct machine l = machine(PMC_CLASS_IAP, "cpu");
	struct wire_allocate_req r = resolved(&l, "cpu/event=0x000000000000000000000003c,"
						  "umask=0x0000000000000000000001/");

	assert_int_equal(strlen(r.event_name), sizeof(r.event_name) - 1);
	assert_true(r.config == 0x13c);
}

static void test_soft_and_tsc(void **state)
{
	const struct machine l = machine(0, NULL);
	struct wire_allocate_req r = resolved(&l, "page-fault all");

	assert_int_equal(r.class, PMC_CLASS_SOFT);
	assert_int_equal(r.event, 0x20003);
	assert_string_equal(r.event_name, "PAGE_FAULT.ALL");
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE);
	assert_int_equal(resolved(&l, "soft.page-faults").event, 0x20003);
	assert_int_equal(resolved(&l, "page-faults,usr").caps & (PMC_CAP_USER | PMC_CAP_SYSTEM),
			 PMC_CAP_USER);
	assert_int_equal(resolved(&l, "page-faults,os").caps & (PMC_CAP_USER | PMC_CAP_SYSTEM),
			 PMC_CAP_SYSTEM);
	refused(&l, "page-faults,whatever=1", "\"whatever\" is no qualifier of a software event");
	refused(&l, "page-faults,data", "usr and os, and for samples those of pmc.perf(3)");
	refused(&l, "page-faults,cgroup=/nonexistent", "cgroup takes no value: \"/nonexistent\"");
	refused(&l, "page-faults,usr=1", "usr takes no value");
	refused(&l, "page-faults,", "\"\" is no qualifier");
	refused(&l, "instructions", "no hardware counters");
	refused(&l, "cycles", "no hardware counters");
	r = resolved(&l, "TSC");
	assert_int_equal(r.class, PMC_CLASS_TSC);
	assert_int_equal(r.caps, PMC_CAP_READ);
	assert_int_equal(r.event, PMC_EV_TSC_TSC);
	assert_int_equal(resolved(&l, "tsc").class, PMC_CLASS_TSC);
	refused(&l, "tsc,usr", "takes no qualifiers");
	refused(&l, "tsc,", "takes no qualifiers");
	refused(&l, "soft-nothing", "nothing");
	refused(&l, "unhalted-cycles", "unknown event");
	refused(&l, "cpu/event=1/", "no PMU");
}

static void test_registers(void **state)
{
	static struct machine_event events[] = {
		{ "MSR-TSC", PMC_EV_MSR_FIRST, 0 }, { "MSR-ENERGY.PKG", PMC_EV_MSR_FIRST + 1, 0 },
		{ "MSR-0x20", PMC_EV_MSR_FIRST + 2, 0 },
	};
	struct machine l = machine(PMC_CLASS_MSR, "");
	struct wire_allocate_req r;

	l.msr = (struct machine_events){ events, 3 };
	r = resolved(&l, "MSR-energy_pkg");
	assert_int_equal(r.class, PMC_CLASS_MSR);
	assert_int_equal(r.event, PMC_EV_MSR_FIRST + 1);
	assert_string_equal(r.event_name, "MSR-ENERGY.PKG");
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE);
	assert_int_equal(r.config1, 0);
	assert_int_equal(resolved(&l, "msr.0X20").event, PMC_EV_MSR_FIRST + 2);
	/* Without the prefix it is the class TSC's. */
	assert_int_equal(resolved(&l, "tsc").class, PMC_CLASS_TSC);
	r = resolved(&l, "MSR-0x611,select=0x186:0x4100c0");
	assert_int_equal(r.event, PMC_EV_MSR_RAW);
	assert_int_equal(r.config, 0x611);
	assert_string_equal(r.event_name, "MSR-0x611");
	assert_int_equal(r.config1, WIRE_MSR_SELECT | 0x186);
	assert_int_equal(r.config2, 0x4100c0);
	assert_int_equal(resolved(&l, "MSR-1553").config, 0x611);
	assert_int_equal(resolved(&l, "MSR-0xffffffff,select=0:0xffffffffffffffff").config2, ~0ull);
	refused(&l, "MSR-energy", "no register \"energy\"");
	refused(&l, "MSR-0x100000000", "no register \"0x100000000\"");
	refused(&l, "MSR-0x", "no register \"0x\"");
	refused(&l, "MSR-", "name of an event is missing");
	refused(&l, "energy.pkg", "unknown event");
	refused(&l, "MSR-tsc,usr", "\"usr\" is no qualifier of a register");
	refused(&l, "MSR-tsc,select", "select takes REGISTER:VALUE, as 0x186:0x4100c0, not \"\"");
	refused(&l, "MSR-tsc,select=1", "not \"1\"");
	refused(&l, "MSR-tsc,select=x:1", "\"x\" is not the number of a register");
	refused(&l, "MSR-tsc,select=0x100000000:1", "\"0x100000000\" is not the number");
	refused(&l, "MSR-tsc,select=1:", "\"\" is not a value");
	refused(&l, "MSR-tsc,select=1:0x10000000000000000", "is not a value of 64 bits");
}

/* --- class PERF ------------------------------------------------------------------------------ */

static struct machine uncore(const char *pmu)
{
	static struct machine_event pmus[] = { { "imc_0", 12, 0 }, { "imc_1", 13, 0 } };
	struct machine l = machine(PMC_CLASS_IAP, pmu);

	l.cpu.classes[l.cpu.nclass++] = (struct wire_classinfo){ .class = PMC_CLASS_PERF };
	l.pmus = (struct machine_events){ pmus, 2 };
	return l;
}

/* PERF-039, PERF-327: the PMU, its event's terms, or an event's name that one PMU has. */
static void test_uncore(void **state)
{
	const struct machine l = uncore("cpu");
	struct wire_allocate_req r = resolved(&l, "imc_0/reads/");

	assert_int_equal(r.class, PMC_CLASS_PERF);
	assert_int_equal(r.pmu, 12);
	assert_true(r.config == 4 && !r.config1 && r.config2 == 1);
	assert_int_equal(r.caps, PMC_CAP_READ | PMC_CAP_WRITE);
	assert_string_equal(r.event_name, "imc_0/reads/");
	assert_int_equal(resolved(&l, "imc_1/event=9,config1=7/").pmu, 13);
	assert_true(resolved(&l, "imc_1/event=9,config1=7/").config1 == 7);
	assert_string_equal(resolved(&l, "stalls").event_name, "imc_0/stalls/");
	assert_string_equal(resolved(&l, "PERF-stalls").event_name, "imc_0/stalls/");
	assert_int_equal(resolved(&l, "cpu/event=1/").pmu, 4);
	assert_int_equal(resolved(&l, "cpu-cycles").pmu, 4);
	refused(&l, "reads", "several PMUs: write imc_0/reads/, imc_1/reads/ or another");
	refused(&l, "imc_0/reads/,os", "\"os\" is no qualifier of a PMU that counts for CPUs");
	refused(&l, "imc_1/match=1/", "PMU imc_1 has no field \"match\"");
	refused(&l, "imc_0/macht=1/", "did you mean \"match\"?");
	refused(&l, "imc_0/match=16/", "4 bits");
	refused(&l, "imc_2/reads/", "did you mean \"imc_0\"?");
	refused(&l, "PERF-writes", "no PMU that counts for CPUs has an event \"writes\"");
}

/* cycles are the cores', and never another PMU's that has an event of that name. */
static void test_uncore_cycles(void **state)
{
	const struct machine l = uncore(NULL);

	refused(&l, "cycles", "cycles");
	assert_true(resolved(&l, "imc_0/cycles/").config == 6);
}

/* PERF-039: an event on a CPU is that of its kind; a process runs on all kinds. */
static void test_kinds(void **state)
{
	struct machine l = machine(PMC_CLASS_IAP, "core");
	struct wire_allocate_req r = { .mode = PMC_MODE_SC, .cpu = 2 };
	struct reason why = { "" };
	struct pmc_op_pmcallocate op = { .pm_mode = PMC_MODE_SS, .pm_cpu = 3 };
	struct event_kinds kinds;

	l.cpu.classes[3] = l.cpu.classes[2];
	l.cpu.classes[3].perf_type = 10;
	strcpy(l.cpu.classes[3].pmu, "atom");
	l.cpu.nclass = 4;
	assert_int_equal(resolve_event(&l, root, "busy", &r, &why), 0);
	assert_int_equal(r.pmu, 10);
	assert_int_equal(r.config, 2);
	r.cpu = 1;
	assert_int_equal(resolve_event(&l, root, "IAP-busy", &r, &why), 0);
	assert_int_equal(r.pmu, 4);
	assert_int_equal(r.config, 1);
	assert_int_equal(resolve_operation(&l, root, "busy", &op, &why), 0);
	assert_int_equal(op.pm_md.pm_perf.pm_type, 10);
	r.mode = PMC_MODE_TC;
	assert_int_equal(resolve_event(&l, root, "busy", &r, &why), -EINVAL);
	assert_contains(why.text, "of several kinds");
	assert_contains(why.text, "count core/busy/ and atom/busy/, and add them");
	assert_int_equal(resolve_event(&l, root, "IAP-busy", &r, &why), -EINVAL);
	assert_int_equal(resolve_event(&l, root, "atom/busy/", &r, &why), 0);
	assert_int_equal(r.pmu, 10);
	assert_int_equal(resolve_kinds(&l, root, "IAP-busy,usr,freq=7", PMC_MODE_TS, &kinds, &why),
			 0);
	assert_int_equal(kinds.n, 2);
	assert_string_equal(kinds.spec[0], "core/busy/,usr,freq=7");
	assert_string_equal(kinds.spec[1], "atom/busy/,usr,freq=7");
	assert_int_equal(resolve_kinds(&l, root, "busy:u", PMC_MODE_TC, &kinds, &why), 0);
	assert_string_equal(kinds.spec[0], "core/busy/,usr");
	assert_int_equal(resolve_kinds(&l, root, "atom/busy/", PMC_MODE_TC, &kinds, &why), 0);
	assert_int_equal(kinds.n, 0);
	assert_int_equal(resolve_kinds(&l, root, "CLOCK.HARD", PMC_MODE_TC, &kinds, &why), 0);
	assert_int_equal(kinds.n, 0);
	assert_int_equal(resolve_kinds(&l, root, "nonsense", PMC_MODE_TC, &kinds, &why), -EINVAL);
	l.cpu.nclass = 3;
	assert_int_equal(resolve_event(&l, root, "busy", &r, &why), 0);
}

struct listed {
	unsigned int n;
	char text[400];
};

static int list_one(void *arg, const struct event *event)
{
	struct listed *l = arg;
	size_t used = strlen(l->text);

	l->n++;
	snprintf(l->text + used, sizeof(l->text) - used, "%s %s|", event->name, event->desc);
	return 0;
}

static void test_uncore_list(void **state)
{
	const struct machine m = uncore(NULL);
	struct listed l = { .n = 0 };

	assert_int_equal(class_perf.each(&m, root, NULL, list_one, &l), 0);
	assert_int_equal(l.n, 4);
	assert_contains(l.text, "imc_0/reads/ event=0x04,match=1; each is 6.1e-5 MiB; CPU 0,4|");
	assert_contains(l.text, "imc_1/reads/ event=0x04; CPU 2-3|");
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_field_parse), T(test_field_set), T(test_names), T(test_qualifiers),
		T(test_arm), T(test_operation), T(test_raw), T(test_raw_long_name), T(test_generic),
		T(test_sampling), T(test_perf_spellings),
		T(test_uncore), T(test_uncore_cycles), T(test_uncore_list),
		T(test_kinds),
		T(test_soft_and_tsc), T(test_registers),
	};

	return cmocka_run_group_tests_name("lib_pmu", tests, make_tree, remove_tree);
}
