/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCALLOCATE: the choice of a hardware row, and its reasons; the checks are in tests/ops.tsv. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "tests/unit/loader/fixture.h"
#include "unit.h"

#define ANY	 (uint32_t)PMC_CPU_ANY

static struct wire_allocate_req process(uint32_t class)
{
	struct wire_allocate_req a = {
		.caps = PMC_CAP_READ | PMC_CAP_WRITE,
		.cpu = ANY,
		.class = class,
		.mode = PMC_MODE_TC,
		.event = class == PMC_CLASS_SOFT ? 0x20004 : 0x40000,
		.config = 0xc0,
		.event_name = "instructions",
	};

	return a;
}

static struct wire_allocate_req system_wide(uint32_t class, uint32_t cpu)
{
	struct wire_allocate_req a = process(class);

	a.mode = PMC_MODE_SC;
	a.cpu = cpu;
	return a;
}

static int allocate(struct actor *who, struct wire_allocate_req a)
{
	return ask(who, WIRE_OP_PMCALLOCATE, &a, sizeof(a));
}

static uint32_t id(void)
{
	const struct wire_allocate_rep *r = payload();

	assert_int_equal(payload_len(), sizeof(*r));
	return r->pmcid;
}

static uint32_t row_of(struct actor *who, struct wire_allocate_req a)
{
	assert_int_equal(allocate(who, a), 0);
	return PMC_ID_TO_ROWINDEX(id());
}

static void release(struct actor *who, uint32_t pmcid)
{
	struct wire_id_req r = { .pmcid = pmcid };

	assert_int_equal(ask(who, WIRE_OP_PMCRELEASE, &r, sizeof(r)), 0);
}

/* Resources without a quota. */
static void no_quotas(void)
{
	harness.config.value[TUN_USER_RESERVE] = 0;
	harness.config.value[TUN_USER_SHARE] = 100;
	harness.config.value[TUN_SYSPMCS] = 1;
}

/* If all may count CPUs, one user leaves rows to the others, in both scopes. */
static void test_share_of_rows(void **state)
{
	struct actor other;

	actor_join(&other, USER_PID + 1, USER_UID + 1);
	harness.config.value[TUN_SYSPMCS] = 1;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(row_of(&user, system_wide(PMC_CLASS_SOFT, 0)), i);
	assert_int_equal(allocate(&user, system_wide(PMC_CLASS_SOFT, 0)), -EINVAL);
	assert_contains(reason(), "11 free, but you alone have as many as one user may "
			"(user.share=25 percent)");
	assert_int_equal(allocate(&user, process(PMC_CLASS_SOFT)), -EINVAL);
	/* On other CPUs the same rows will do, and rows that others have opened. */
	assert_int_equal(row_of(&user, system_wide(PMC_CLASS_SOFT, 1)), 0);
	for (unsigned int i = 4; i < 8; i++)
		assert_int_equal(row_of(&other, process(PMC_CLASS_SOFT)), i);
	assert_int_equal(allocate(&other, system_wide(PMC_CLASS_SOFT, 1)), 0);
	assert_int_equal(row_of(&user, process(PMC_CLASS_SOFT)), 4);
	/* In their own processes alone, users may use all rows. */
	harness.config.value[TUN_SYSPMCS] = 0;
	assert_int_equal(row_of(&user, process(PMC_CLASS_SOFT)), 5);
	assert_int_equal(row_of(&user, process(PMC_CLASS_SOFT)), 6);
	assert_int_equal(row_of(&user, process(PMC_CLASS_SOFT)), 7);
	assert_int_equal(row_of(&user, process(PMC_CLASS_SOFT)), 8);
	actor_leave(&other);
}

/* Every row has its reason, in one line; processes that the client may not see are not named. */
static void test_many_reasons(void **state)
{
	no_quotas();
	row_disable(&harness.rows.rows[20], 1);
	assert_int_equal(row_of(&user, system_wide(PMC_CLASS_IAP, 1)), 17);
	assert_int_equal(row_of(&user, system_wide(PMC_CLASS_IAP, 1)), 18);
	assert_int_equal(row_of(&root, process(PMC_CLASS_IAP)), 19);
	assert_int_equal(allocate(&root, system_wide(PMC_CLASS_IAP, 1)), -EINVAL);
	assert_string_equal(reason(), "no row of class IAP (4) is left for this: 2 in use on "
			    "CPU 1, held by pid 1000002 (test); IAP-2 counting for processes, held "
			    "by this process; IAP-3 disabled on CPU 1 (pmccontrol -e enables); "
			    "release one of yours first");
	release(&user, PMC_ID_MAKE_ID(1, PMC_MODE_SC, PMC_CLASS_IAP, 18));
	assert_int_equal(row_of(&root, system_wide(PMC_CLASS_IAP, 1)), 18);
	assert_int_equal(allocate(&user, system_wide(PMC_CLASS_IAP, 1)), -EINVAL);
	assert_string_equal(reason(), "no row of class IAP (4) is left for this: IAP-0 held by "
			    "this process; IAP-1 in use on CPU 1, held by another "
			    "user's process; IAP-2 counting for processes, held by another user's "
			    "process; IAP-3 disabled on CPU 1 (pmccontrol -e enables); release one "
			    "of yours first");
	fake.watchdog = true;
	assert_int_equal(allocate(&root, system_wide(PMC_CLASS_IAP, 1)), -EINVAL);
	assert_contains(reason(), "NMI watchdog may have one more (sysctl kernel.nmi_watch");
	assert_true(strlen(reason()) < WIRE_MAX_REASON);
	/* A row that was tried and failed comes first in the reason, the others after it. */
	release(&root, PMC_ID_MAKE_ID(1, PMC_MODE_SC, PMC_CLASS_IAP, 18));
	fake.refuse_new[18] = -EINVAL;
	assert_int_equal(allocate(&root, system_wide(PMC_CLASS_IAP, 1)), -EINVAL);
	assert_contains(reason(), "fake: row 18; the other rows: IAP-0 in use on CPU 1");
	row_enable(&harness.rows.rows[20], 1);
}

/* A container's pids are not the daemon's: holders are named by the viewer's pids only. */
static void test_holder_in_a_container(void **state)
{
	no_quotas();
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(row_of(&user, system_wide(PMC_CLASS_IAP, 2)), 17 + i);
	root.session.owner->cred.pid_ns++;
	assert_int_equal(allocate(&root, process(PMC_CLASS_IAP)), -EINVAL);
	assert_null(strstr(reason(), "1000002"));
	root.session.owner->cred.pid_ns--;
	assert_int_equal(allocate(&root, process(PMC_CLASS_IAP)), -EINVAL);
	assert_contains(reason(), "held by pid 1000002 (test)");
}

static void test_preference(void **state)
{
	fake.rank[17] = 1;
	assert_int_equal(row_of(&root, process(PMC_CLASS_IAP)), 18);
	fake.rank[17] = 0;
	assert_int_equal(row_of(&user, process(PMC_CLASS_IAP)), 18); /* counts this event already */
	fake.rank[19] = 1;
	fake.rank[20] = 1;
	assert_int_equal(row_of(&user, process(PMC_CLASS_IAP)), 17);	/* free */
	assert_int_equal(row_of(&user, process(PMC_CLASS_IAP)),
			 19); /* per-task, as a last resort */
}

/* REQ-152, REQ-169 */
static void test_rows_that_do_not_work_out(void **state)
{
	fake.refuse_new[17] = -EINVAL;
	fake.refuse_new[18] = -EBUSY;
	assert_int_equal(row_of(&root, process(PMC_CLASS_IAP)), 19);
	fake.refuse_new[20] = -EINVAL;
	assert_int_equal(allocate(&root, process(PMC_CLASS_IAP)), -EINVAL);
	assert_contains(reason(), "fake: row 20");
	fake.refuse_new[17] = -ENOMEM;
	assert_int_equal(allocate(&root, process(PMC_CLASS_IAP)), -ENOMEM);
	fake.refuse_new[17] = -ENXIO;
	assert_int_equal(allocate(&root, process(PMC_CLASS_IAP)), -ENXIO);
	fake.refuse_owner = -ENOMEM;
	assert_int_equal(allocate(&user, process(PMC_CLASS_SOFT)), -ENOMEM);
	assert_contains(reason(), "PMCALLOCATE");
}

static void test_what_counting_is_told(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);

	a.caps |= PMC_CAP_USER;
	a.config1 = 1;
	a.config2 = 2;
	a.flags = PMC_F_DESCENDANTS;
	assert_int_equal(allocate(&root, a), 0);
	assert_ptr_equal(fake.last.holder, &holder_counter);
	assert_int_equal(fake.last.event.type, 4);
	assert_int_equal(fake.last.event.config, 0xc0);
	assert_int_equal(fake.last.event.config1, 1);
	assert_int_equal(fake.last.event.config2, 2);
	assert_true(fake.last.event.user && !fake.last.event.kernel);
	assert_true(fake.last.descendants && !fake.last.system);
	assert_int_equal(fake.last.pmcid, id());
	assert_int_equal(allocate(&root, system_wide(PMC_CLASS_SOFT, 2)), 0);
	assert_ptr_equal(fake.last.holder, &holder_own);
	assert_int_equal(fake.last.event.config, soft_by_code(0x20004)->perf_config);
	assert_true(fake.last.system && fake.last.cpu == 2);
}

static struct wire_allocate_req sampled(uint32_t class, uint32_t values)
{
	struct wire_allocate_req a = process(class);

	a.mode = PMC_MODE_TS;
	a.count = 1000;
	a.values = values;
	return a;
}

/* PERF-170, PERF-171, PERF-172, PERF-173, PERF-356: as precise as the PMU can be, or refused. */
static void test_precise(void **state)
{
	struct wire_allocate_req a = sampled(PMC_CLASS_IAP, 0);

	for (a.precise = 1; a.precise <= 3; a.precise++) {
		assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
		assert_contains(reason(), "PMU cpu0 samples where the interrupt comes");
	}
	a.precise = 0;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.samples.precise, 0);
	fake.precise = 2;
	a.precise = 2;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.samples.precise, 2);
	a.precise = 3;
	assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
	assert_contains(reason(), "PMU cpu0 has precise=2 at most");
	a.precise = 4;
	assert_int_equal(allocate(&root, a), -EINVAL);
	a = sampled(PMC_CLASS_SOFT, 0);
	a.precise = 1;
	assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
	assert_contains(reason(), "class SOFT has no precise samples");
}

/* PERF-115, PERF-116, PERF-118, PERF-276: the hardware's values come with its precise samples. */
static void test_values_of_hardware(void **state)
{
	const uint32_t values = PMCLOG_VALUE_ADDR | PMCLOG_VALUE_WEIGHT | PMCLOG_VALUE_DATA_SRC |
				PMCLOG_VALUE_TXN | PMCLOG_VALUE_PHYS_ADDR;
	struct wire_allocate_req a = sampled(PMC_CLASS_IAP, values);

	fake.precise = 1;
	fake.collects = true;
	assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
	a.precise = 1;
	assert_int_equal(allocate(&root, a), 0);
	assert_true(fake.last.samples.sample_type ==
		    (PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
		     PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR));
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "phys-addr: it needs CAP_PERFMON");
	fake.collects = false;
	assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
	assert_contains(reason(), "phys-addr: this kernel collects it after the sampling program");
	a.values = 1u << PMCLOG_VALUES;
	assert_int_equal(allocate(&root, a), -EINVAL);
}

/* PERF-188, PERF-189, PERF-191, PERF-192, PERF-357: the sides and kinds of branches. */
static void test_branches(void **state)
{
	struct wire_allocate_req a = sampled(PMC_CLASS_IAP, PMCLOG_VALUE_BRANCHES);

	a.branch = PERF_SAMPLE_BRANCH_ANY;
	assert_int_equal(allocate(&root, a), -EOPNOTSUPP);
	assert_contains(reason(), "PMU cpu0 does not record such branches");
	fake.branches = true;
	assert_int_equal(allocate(&root, a), 0);
	assert_true(fake.last.samples.branch == (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER |
						 PERF_SAMPLE_BRANCH_KERNEL));
	assert_true(fake.last.samples.sample_type == PERF_SAMPLE_BRANCH_STACK);
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "use branch=usr");
	a.caps |= PMC_CAP_USER;		/* the side of the event */
	assert_int_equal(allocate(&user, a), 0);
	assert_true(fake.last.samples.branch == (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER));
	a.branch |= PERF_SAMPLE_BRANCH_KERNEL;
	assert_int_equal(allocate(&user, a), -EPERM);
	a.branch = 0;
	assert_int_equal(allocate(&root, a), -EINVAL);
	a.values = 0;
	a.branch = PERF_SAMPLE_BRANCH_ANY;
	assert_int_equal(allocate(&root, a), -EINVAL);
}

/* PERF-098, PERF-341: a rate, and its limits; a steered PMC has no period. */
static void test_rates(void **state)
{
	struct wire_allocate_req a = sampled(PMC_CLASS_IAP, PMCLOG_VALUE_PERIOD);

	a.rate = 5000;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "the kernel steers the period of a PMC with a rate");
	a.count = 0;
	assert_int_equal(allocate(&root, a), 0);
	assert_true(fake.last.samples.hz == 5000 && !fake.last.samples.sample_type);
	fake.max_rate = 4999;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "freq=5000: the kernel takes at most 4999 samples a second");
	fake.max_rate = 0;
	a.class = PMC_CLASS_SOFT;
	a.event = 0x20009;
	a.rate = 100001;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "at most 100000 samples a second (of a software clock)");
	a.mode = PMC_MODE_SS;
	a.cpu = 0;
	a.rate = 100;
	a.flags = PMC_F_KGMON;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "a kernel profile has addresses only, at one period");
	a.values = a.flags = 0;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "samples at a rate (freq=) need their periods");
}

static void test_event_names(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);

	memset(a.event_name, 'x', sizeof(a.event_name));
	assert_int_equal(allocate(&root, a), -EINVAL);
	strcpy(a.event_name, "a\033[2Jb");
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "printable");
}

/* PERF-033, PERF-036, PERF-040: an event that the kernel encodes is named by its number of ours. */
static void test_generic(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);
	const struct row *on;

	a.config = 0;
	a.event = PMC_EV_PERF_FIRST + 3;
	strcpy(a.event_name, "a name that proves nothing");
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.event.type, PERF_TYPE_HARDWARE);
	assert_int_equal(fake.last.event.config, PERF_COUNT_HW_CACHE_MISSES);
	assert_int_equal(fake.last.event.pmu, 4);
	on = &harness.rows.rows[PMC_ID_TO_ROWINDEX(id())];
	assert_string_equal(LIST_FIRST(&on->pmcs)->event_name, "cache-misses");
	a.event = PMC_EV_PERF_FIRST + 22;
	a.caps |= PMC_CAP_USER;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.event.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(fake.last.event.config, PERF_COUNT_HW_CACHE_LL);
	assert_true(fake.last.event.user && !fake.last.event.kernel);
	a.config1 = 1;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "LLC-loads: the kernel encodes it, so that it takes no");
	a.config1 = 0;
	a.event = PMC_EV_PERF_FIRST;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "the kernel's driver of PMU cpu0 has no event cpu-cycles");
}

/* Where CPUs differ, the number of the PMU is in the configuration. */
static void test_generic_of_one_kind(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);
	struct row_class *class = &harness.rows.classes[harness.rows.rows[17].class];

	class->everywhere = false;
	a.config = 0;
	a.event = PMC_EV_PERF_FIRST + 1;
	assert_int_equal(allocate(&root, a), 0);
	assert_true(fake.last.event.config == (4ull << 32 | PERF_COUNT_HW_INSTRUCTIONS));
}

/* Nobody knows its number: it may be one that a rule excludes, and is none that a rule admits. */
static void test_generic_rules(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);

	a.config = 0;
	a.event = PMC_EV_PERF_FIRST + 1;
	actor_rules(&user, "events=\"SOFT,IAP:0xc0\"");
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "IAP:instructions is not among the events");
	actor_rules(&user, "events=\"~IAP:0x3c\"");
	assert_int_equal(allocate(&user, a), -EPERM);
	actor_rules(&user, "events=\"~SOFT:CLOCK.*\"");
	assert_int_equal(allocate(&user, a), 0);
	actor_rules(&user, "events=\"IAP:*\"");
	assert_int_equal(allocate(&user, a), 0);
}

/* A rule goes by the number of a hardware event: its name is only the client's word. */
static void test_rules(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);

	actor_rules(&user, "events=\"SOFT,IAP:0xc0\" kernel=\"no\" pmcs=\"2\"");
	a.caps = PMC_CAP_READ | PMC_CAP_USER;
	assert_int_equal(allocate(&user, a), 0);
	a.config = 0xc1;
	strcpy(a.event_name, "0xc0");
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "IAP:0xc1 is not among the events");
	assert_contains(reason(), "events=\"SOFT,IAP:0xc0\" (test.conf:1)");
	a.config = 0xc0;
	a.config1 = 1;
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "IAP:0xc0/0x1/0x0 is not");
	a.config1 = 0;
	a.caps = PMC_CAP_READ | PMC_CAP_USER | PMC_CAP_SYSTEM;
	assert_int_equal(allocate(&user, a), -EPERM);
	assert_contains(reason(), "kernel=\"no\"");
	/* Neither side means both. */
	a.caps = PMC_CAP_READ;
	assert_int_equal(allocate(&user, a), -EPERM);
	a.caps = PMC_CAP_READ | PMC_CAP_USER;
	assert_int_equal(allocate(&user, a), 0);
	assert_int_equal(user.session.owner->user->pmcs, 2);
	assert_int_equal(allocate(&user, a), -EAGAIN);
	assert_contains(reason(), "uid 77 has 2 PMCs, the most that it may have");
	release(&user, TAILQ_FIRST(&user.session.owner->pmcs)->id);
	/* What fails later takes none of them. */
	a.class = PMC_CLASS_SOFT;
	a.event = 0x20005;
	assert_int_equal(allocate(&user, a), -EOPNOTSUPP);
	assert_int_equal(user.session.owner->user->pmcs, 1);
}

static void test_unregistered_event(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_SOFT);

	a.event = 0x20003;
	assert_int_equal(allocate(&root, a), 0);
	release(&root, id());
	fake.lacks_hooks = 1u << ABI_HOOK_LOCK;
	assert_int_equal(allocate(&root, a), -EINVAL);
}

/* Class PERF: on the PMU's CPUs in system scope, while sysfs has the PMU, on rows of its own. */
static void test_uncore(void **state)
{
	struct wire_allocate_req a = system_wide(PMC_CLASS_PERF, 1), b;
	struct reason why;

	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "no counters of class PERF");
	fake.uncore = true;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "no PMU of type 0 counts for CPUs");
	a.pmu = 40;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.event.type, 40);
	assert_int_equal(fake.last.event.config, 0xc0);
	assert_string_equal(fake.last.row_name, "PERF-fake_uncore-0");
	b = a;
	b.cpu = 0;
	assert_int_equal(allocate(&root, b), -EINVAL);
	assert_contains(reason(), "PMU fake_uncore counts on CPU 1, not on CPU 0");
	b = process(PMC_CLASS_PERF);
	b.pmu = 40;
	assert_int_equal(allocate(&root, b), -EOPNOTSUPP);
	assert_contains(reason(), "counts for CPUs, not for processes");
	b = a;
	b.caps |= PMC_CAP_USER;
	assert_int_equal(allocate(&root, b), -EOPNOTSUPP);
	b = a;
	b.event_name[3] = '\n';
	assert_int_equal(allocate(&root, b), -EINVAL);
	fake.uncore_gone = true;
	assert_int_equal(allocate(&root, a), -ENXIO);
	assert_contains(reason(), "PMU fake_uncore has gone");
	fake.uncore_gone = false;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "no row of this PMU is left");
}

/* Rules name an event of a PMU by the PMU and its number, not by the client's name. */
static void test_uncore_rules(void **state)
{
	struct wire_allocate_req a = system_wide(PMC_CLASS_PERF, 1);
	struct reason why;

	fake.uncore = true;
	a.pmu = 40;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	harness.config.value[TUN_SYSPMCS] = 1;
	actor_rules(&user, "events=\"PERF:fake_uncore/0xc0\"");
	assert_int_equal(allocate(&user, a), 0);
	a.config = 0xc1;
	assert_int_equal(allocate(&user, a), -EPERM);
	actor_rules(&user, "events=\"~PERF:*/0xc1\"");
	assert_int_equal(allocate(&user, a), -EPERM);
	actor_rules(&user, "events=\"PERF:fake_*\"");
	assert_int_equal(allocate(&user, a), 0);
}

/* Two kinds of CPUs: the PMU of a request decides, and without one the first. */
static void test_two_kinds(void **state)
{
	struct wire_allocate_req a = process(PMC_CLASS_IAP);
	struct reason why;

	fake.pmus = 2;
	fake.same_class = true;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.event.type, 4);
	a.pmu = 5;
	assert_int_equal(allocate(&root, a), 0);
	assert_int_equal(fake.last.event.type, 5);
	assert_true(fake.last.row >= 4);
	a.pmu = 6;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "no counters of class IAP");
}

/* A CPU of the other kind is refused, and the PMU's own are named. */
static void test_other_kind(void **state)
{
	struct wire_allocate_req a = system_wide(PMC_CLASS_IAP, 1);
	struct reason why;

	fake.one_kind = true;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	assert_int_equal(allocate(&root, a), 0);
	a.cpu = 0;
	assert_int_equal(allocate(&root, a), -EINVAL);
	assert_contains(reason(), "PMU cpu0 counts on CPU 1, not on CPU 0");
}

/* The pages are sent once to each connection, with the first PMC that they serve. */
static void test_pages(void **state)
{
	const struct wire_allocate_rep *rep;

	fake.no_page = 1;
	assert_int_equal(allocate(&root, process(PMC_CLASS_SOFT)), 0);
	rep = payload();
	assert_int_equal(rep->pos, ~0u);
	assert_int_equal(last_reply()->nfds, 0);
	fake.no_page = 0;
	assert_int_equal(allocate(&root, process(PMC_CLASS_SOFT)), 0);
	assert_int_equal(rep->nfds, 2);
	assert_int_equal(rep->ncpu, FAKE_CPUS);
	assert_int_equal(last_reply()->nfds, 2);
	assert_int_equal(allocate(&root, process(PMC_CLASS_SOFT)), 0);
	assert_int_equal(rep->nfds, 0);
	assert_int_equal(last_reply()->nfds, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_share_of_rows), T(test_many_reasons), T(test_holder_in_a_container),
		T(test_preference), T(test_rows_that_do_not_work_out),
		T(test_what_counting_is_told), T(test_precise), T(test_values_of_hardware),
		T(test_branches), T(test_rates), T(test_event_names), T(test_generic),
		T(test_generic_of_one_kind), T(test_generic_rules),
		T(test_rules),
		T(test_unregistered_event),
		T(test_pages), T(test_uncore), T(test_uncore_rules), T(test_two_kinds),
		T(test_other_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
