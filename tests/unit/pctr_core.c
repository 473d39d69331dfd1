/* SPDX-License-Identifier: BSD-2-Clause */
/* pctrd's core: checks in the driver's order, and counters of a fake source. */
#include <stdio.h>
#include <stdlib.h>

#include "pctr/core.h"
#include "pctr/request.h"
#include "unit.h"

#define CPUS  3u
#define PMCS  64u
#define COUNTED (PCTR_EN | PCTR_U | PCTR_K)

/* --- counters controlled by the test ------------------------------------------------------- */

struct pmc {
	bool used, running;
	unsigned int cpu;
	uint64_t value;
	char spec[FUNCTION_SPEC_MAX];
};

static struct fake {
	struct pmc pmc[PMCS];
	bool gone, absent, hardware;	/* pmcbpfd: has died; does not run; has counters */
	bool offline[CPUS];
	unsigned int room;		/* counters of a CPU */
	int lost, stuck;		/* errors of reading, and of starting */
	unsigned int starts, reasons;
	unsigned int connects, reads;
	uint64_t now;
} fake;

static int fake_connect(void *arg)
{
	fake.connects++;
	if (fake.absent)
		return -ENOENT;
	if (fake.gone)
		memset(fake.pmc, 0, sizeof(fake.pmc));
	fake.gone = false;
	return fake.hardware;
}

static int fake_allocate(void *arg, const char *spec, unsigned int cpu, uint32_t *id)
{
	unsigned int same = 0;

	if (fake.gone)
		return -ENOSYS;
	if (fake.offline[cpu])
		return -ENXIO;
	for (unsigned int i = 0; i < PMCS; i++)
		same += fake.pmc[i].used && fake.pmc[i].cpu == cpu;
	if (same >= fake.room)
		return -EBUSY;
	for (unsigned int i = 0; i < PMCS; i++) {
		struct pmc *p = &fake.pmc[i];

		if (p->used)
			continue;
		*p = (struct pmc){ .used = true, .cpu = cpu };
		snprintf(p->spec, sizeof(p->spec), "%s", spec);
		*id = i;
		return 0;
	}
	return -ENOMEM;
}

static int turn(uint32_t id, bool on)
{
	assert_true(fake.gone || fake.pmc[id].used);
	fake.pmc[id].running = on;
	return fake.gone ? -ENOSYS : 0;
}

static int fake_start(void *arg, uint32_t id)
{
	fake.starts++;
	return fake.stuck ? fake.stuck : turn(id, true);
}

static int fake_stop(void *arg, uint32_t id)
{
	return turn(id, false);
}

static int fake_read(void *arg, uint32_t id, uint64_t *value)
{
	fake.reads++;
	if (fake.gone)
		return -ENOSYS;
	assert_true(fake.pmc[id].used);
	if (fake.offline[fake.pmc[id].cpu])
		return -ENXIO;
	fake.now += 10;
	*value = fake.pmc[id].value;
	return fake.lost;
}

static void fake_release(void *arg, uint32_t id)
{
	assert_true(fake.gone || fake.pmc[id].used);
	fake.pmc[id].used = false;
}

static int fake_pmu(void *arg, unsigned int cpu, char *name, size_t size)
{
	if (fake.offline[cpu])
		return -ENXIO;
	snprintf(name, size, "%s", cpu == 2 ? "cpu_atom" : "cpu_core");
	return 0;
}

static uint64_t fake_tsc(void *arg)
{
	return fake.now;
}

static const char *fake_reason(void *arg)
{
	fake.reasons++;
	return "the test says so";
}

static const struct source source = {
	.connect = fake_connect, .allocate = fake_allocate, .start = fake_start,
	.stop = fake_stop, .read = fake_read, .release = fake_release, .pmu = fake_pmu,
	.tsc = fake_tsc, .reason = fake_reason,
};

/* --- a device --------------------------------------------------------------------------------- */

static struct core core;
static const struct messages quiet = { .background = true };

static int begin(void **state)
{
	struct core_config amd = { .vendor = VENDOR_AMD, .ncpu = CPUS, .counters = 4,
				   .width = 40 };

	fake = (struct fake){ .hardware = true, .room = 4, .now = 1000 };
	return core_init(&core, &amd, &source, &quiet);
}

static int end(void **state)
{
	core_free(&core);
	for (unsigned int i = 0; i < PMCS; i++)
		assert_false(fake.pmc[i].used && !fake.gone);
	return 0;
}

static int set(unsigned int n, uint32_t fn)
{
	struct core_caller who = { .writes = true };
	struct pctrst st;

	return core_request(&core, (int)n, &who, fn, &st);
}

static int set_read_only(unsigned int n, uint32_t fn)
{
	struct core_caller who = { .writes = false };
	struct pctrst st;

	return core_request(&core, (int)n, &who, fn, &st);
}

static int read_on(unsigned int cpu, struct pctrst *st)
{
	struct core_caller who = { .cpu = cpu };

	return core_request(&core, REQUEST_READ, &who, 0, st);
}

/* The only PMC of a CPU, or the n-th of those. */
static struct pmc *on_cpu(unsigned int cpu, unsigned int n)
{
	for (unsigned int i = 0; i < PMCS; i++)
		if (fake.pmc[i].used && fake.pmc[i].cpu == cpu && n-- == 0)
			return &fake.pmc[i];
	return NULL;
}

static unsigned int pmcs(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < PMCS; i++)
		n += fake.pmc[i].used;
	return n;
}

/* --- setting without counting --------------------------------------------------------------- */

/* PCTR-24, PCTR-26: without a mode, or without PCTR_EN, nothing is opened; the value is 0. */
static void test_words_that_count_nothing(void **state)
{
	static const uint32_t words[] = { PCTR_EN | 0xc0, PCTR_U | 0xc0, PCTR_K | 0xc0,
					  PCTR_U | PCTR_K | 0xc0, 0xc0, 0 };
	struct pctrst st;

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(set(i % 4, words[i]), 0);
		assert_int_equal(pmcs(), 0);
		assert_int_equal(read_on(0, &st), 0);
		assert_int_equal(st.pctr_fn[i % 4], words[i]);
		assert_int_equal(st.pctr_hwc[i % 4], 0);
	}
	assert_false(core_active(&core));
}

/* --- checks ----------------------------------------------------------------------------------- */

/* PCTR-42, PCTR-39, PCTR-40, PCTR-41: no service, no counters, number, mode, function. */
static void test_order_of_checks(void **state)
{
	core.config.counters = 2;
	fake.absent = true;
	assert_int_equal(set_read_only(3, FUNCTION_RESERVED), -ENXIO);
	fake.absent = fake.hardware = false;
	assert_int_equal(set_read_only(3, FUNCTION_RESERVED), -ENODEV);
	core_free(&core);
	fake.hardware = true;
	assert_int_equal(core_init(&core, &core.config, &source, &quiet), 0);
	assert_int_equal(set_read_only(2, FUNCTION_RESERVED), -EINVAL);
	assert_int_equal(set_read_only(1, FUNCTION_RESERVED), -EPERM);
	assert_int_equal(set(1, FUNCTION_RESERVED), -EINVAL);
	assert_int_equal(set_read_only(1, COUNTED), -EPERM);
	assert_int_equal(set_read_only(1, 0), -EPERM);
	assert_int_equal(pmcs(), 0);
	assert_int_equal(set(1, COUNTED), 0);
}

/* PCTR-02: a counter that the CPU lacks. */
static void test_number_of_counters(void **state)
{
	assert_int_equal(set(3, COUNTED), 0);
	core.config.counters = 2;
	assert_int_equal(set(1, COUNTED), 0);
	assert_int_equal(set(2, COUNTED), -EINVAL);
	core.config.counters = 0;
	assert_int_equal(set(0, COUNTED), -ENODEV);
}

/* PCTR-01, PCTR-14: reading works without counters, and without pmcbpfd. */
static void test_reading_without_counters(void **state)
{
	struct pctrst st;

	fake.absent = true;
	memset(&st, 0xff, sizeof(st));
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_tsc, 1000);
	for (unsigned int i = 0; i < PCTR_NUM; i++) {
		assert_int_equal(st.pctr_fn[i], 0);
		assert_int_equal(st.pctr_hwc[i], 0);
	}
	assert_int_equal(read_on(CPUS, &st), -EINVAL);
}

/* --- counting --------------------------------------------------------------------------------- */

/* PCTR-47, PCTR-48, PCTR-08: one PMC on every CPU, of that CPU's kind. */
static void test_every_cpu(void **state)
{
	struct pctrst st;

	assert_int_equal(set(2, 0x410076), 0);
	assert_int_equal(pmcs(), CPUS);
	assert_string_equal(on_cpu(0, 0)->spec, "cpu_core/config=0x76/,usr");
	assert_true(on_cpu(0, 0)->running && on_cpu(1, 0)->running && on_cpu(2, 0)->running);
	assert_string_equal(on_cpu(2, 0)->spec, "cpu_atom/config=0x76/,usr");
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_fn[2], 0x410076);
}

/* PCTR-03, PCTR-09: the value is the caller's CPU's, of 40 bits or as the knob says. */
static void test_values(void **state)
{
	struct pctrst st;

	assert_int_equal(set(0, COUNTED), 0);
	on_cpu(0, 0)->value = (UINT64_C(1) << 40) - 1;
	on_cpu(1, 0)->value = (UINT64_C(5) << 48) + (UINT64_C(3) << 40) + 7;
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[0], (UINT64_C(1) << 40) - 1);
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 7);
	core.config.width = 48;
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_hwc[0], (UINT64_C(3) << 40) + 7);
	core.config.width = 64;
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_hwc[0], (UINT64_C(5) << 48) + (UINT64_C(3) << 40) + 7);
	assert_int_equal(read_on(2, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 0);
}

/* PCTR-09: the sum of the CPUs, without those that are offline. */
static void test_sum(void **state)
{
	struct pctrst st;

	core.config.all = true;
	assert_int_equal(set(3, COUNTED), 0);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		on_cpu(cpu, 0)->value = 1u << cpu;
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_hwc[3], 7);
	fake.offline[2] = true;
	assert_int_equal(read_on(1, &st), 0);
	assert_int_equal(st.pctr_hwc[3], 3);
}

/* PCTR-16, PCTR-10: the time is that halfway through the counters. */
static void test_time(void **state)
{
	struct pctrst st;

	assert_int_equal(set(0, COUNTED), 0);
	assert_int_equal(set(1, COUNTED), 0);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(fake.now, 1020);
	assert_int_equal(st.pctr_tsc, 1010);
	fake.now = UINT64_MAX - 9;
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_tsc, 0);
}

/* PCTR-45, PCTR-46: setting begins at 0, the same, too, unless the knob says not; 0 is off. */
static void test_setting_again(void **state)
{
	struct pctrst st;

	assert_int_equal(set(0, COUNTED), 0);
	on_cpu(0, 0)->value = 5;
	assert_int_equal(set(0, COUNTED), 0);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 0);
	core.config.keep_same = true;
	on_cpu(0, 0)->value = 5;
	assert_int_equal(set(0, COUNTED), 0);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 5);
	assert_int_equal(set(0, COUNTED | 1), 0);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 0);
	assert_int_equal(set(0, 0), 0);
	assert_int_equal(pmcs(), 0);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_fn[0], 0);
}

/* PCTR-27: with the knob, nothing runs without the enable bit of counter 0, and keeps its value. */
static void test_enable_of_counter_0(void **state)
{
	struct pctrst st;

	core.config.en0 = true;
	assert_int_equal(set(1, COUNTED), 0);
	assert_int_equal(fake.starts, 0);
	assert_false(on_cpu(0, 0)->running);
	assert_int_equal(set(0, PCTR_EN), 0);
	assert_true(on_cpu(0, 0)->running);
	on_cpu(0, 0)->value = 9;
	assert_int_equal(set(0, 0), 0);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		assert_false(on_cpu(cpu, 0)->running);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[1], 9);
	core.config.en0 = false;
	assert_int_equal(set(2, COUNTED), 0);
	assert_true(on_cpu(0, 1)->running);
}

/* PCTR-51: another user has the hardware; earlier counters are given back, others continue. */
static void test_busy(void **state)
{
	struct pctrst st;

	fake.room = 2;
	assert_int_equal(set(0, COUNTED), 0);
	assert_int_equal(set(1, COUNTED), 0);
	assert_int_equal(set(2, COUNTED), -EBUSY);
	assert_int_equal(pmcs(), 2 * CPUS);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_fn[2], 0);
	/* A function takes the place of the one it replaces. */
	assert_int_equal(set(1, COUNTED | 1), 0);
	fake.room = 1;
	assert_int_equal(set(1, COUNTED | 2), -EBUSY);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_fn[1], 0);
	assert_int_equal(pmcs(), CPUS);
	fake.room = 4;
	fake.stuck = -EBUSY;
	assert_int_equal(set(1, COUNTED), -EBUSY);
	assert_int_equal(pmcs(), CPUS);
	/* A function lost later is reported, never guessed. */
	fake.lost = -EBUSY;
	assert_int_equal(read_on(0, &st), -EBUSY);
}

/* PCTR-44: the settings reach new CPUs, and return to those that were offline. */
static void test_hotplug(void **state)
{
	struct pctrst st;

	fake.offline[1] = true;
	assert_int_equal(set(0, COUNTED), 0);
	assert_int_equal(pmcs(), 2);
	assert_int_equal(read_on(1, &st), -ENXIO);
	core_tick(&core);
	assert_int_equal(pmcs(), 2);
	fake.offline[1] = false;
	core_tick(&core);
	assert_int_equal(pmcs(), 3);
	fake.offline[2] = true;
	assert_int_equal(read_on(2, &st), -ENXIO);
	fake.offline[2] = false;
	on_cpu(2, 0)->value = 4;
	core_tick(&core);
	assert_int_equal(read_on(2, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 4);
	assert_int_equal(pmcs(), 3);
}

/* A CPU that cannot be counted on is reported once, not every second; an offline one is not. */
static void test_told_once(void **state)
{
	assert_int_equal(set(0, COUNTED), 0);
	fake.gone = fake.offline[0] = true;
	fake.room = 0;
	for (int i = 0; i < 3; i++)
		core_tick(&core);
	assert_int_equal(fake.reasons, 1);
	assert_int_equal(set(1, COUNTED), -EBUSY);
	assert_int_equal(fake.reasons, 2);
}

/* PCTR-44: pmcbpfd dies and comes back: the functions stay, the counters begin at 0. */
static void test_pmcbpfd_gone(void **state)
{
	struct pctrst st;

	assert_int_equal(set(0, COUNTED), 0);
	on_cpu(0, 0)->value = 5;
	fake.gone = fake.absent = true;
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_fn[0], COUNTED);
	assert_int_equal(st.pctr_hwc[0], 0);
	core_tick(&core);
	assert_int_equal(set(1, COUNTED), -ENXIO);
	fake.absent = false;
	core_tick(&core);
	assert_int_equal(pmcs(), CPUS);
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_fn[0], COUNTED);
	assert_int_equal(st.pctr_fn[1], 0);
	/* Another one, between two requests. */
	on_cpu(0, 0)->value = 5;
	fake.gone = true;
	assert_int_equal(set(1, COUNTED), 0);
	assert_int_equal(pmcs(), 2 * CPUS);
	fake.gone = true;
	assert_int_equal(read_on(0, &st), 0);
	assert_int_equal(st.pctr_hwc[0], 0);
	assert_int_equal(pmcs(), 2 * CPUS);
	fake.gone = true;
	core_tick(&core);
	assert_int_equal(pmcs(), 2 * CPUS);
	/* Without counters pmcbpfd is not polled. */
	assert_int_equal(set(0, 0), 0);
	assert_int_equal(set(1, 0), 0);
	fake.reads = fake.connects = 0;
	core_tick(&core);
	assert_int_equal(fake.reads + fake.connects, 0);
}

/* PCTR-55: on ARM all 16 bits are the event; edge, inversion and threshold are no functions. */
static void test_arm(void **state)
{
	core.config.vendor = VENDOR_ARM;
	assert_int_equal(set(3, 0x410008), 0);
	assert_string_equal(on_cpu(0, 0)->spec, "cpu_core/config=0x8/,usr");
	assert_int_equal(set(3, 0x450008), -EINVAL);
	assert_int_equal(set(3, 0xc10008), -EINVAL);
	assert_int_equal(set(3, 0x01410008), -EINVAL);
}

/* The mode for machines without counters, where pmcbpfd has no hardware. */
static void test_soft(void **state)
{
	fake.hardware = false;
	assert_int_equal(set(0, 0x430076), -ENODEV);
	core.config.soft = true;
	assert_int_equal(set(0, 0x430076), 0);
	assert_string_equal(on_cpu(0, 0)->spec, "CPU_CLOCK");
	assert_int_equal(set(0, 0x4300c0), 0);
	assert_string_equal(on_cpu(0, 0)->spec, "PAGE_FAULT.ALL");
	assert_int_equal(set(0, 0x430000), 0);
	assert_string_equal(on_cpu(0, 0)->spec, "CONTEXT_SWITCHES");
	assert_int_equal(set(0, FUNCTION_RESERVED), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words_that_count_nothing),
		TEST(test_order_of_checks),
		TEST(test_number_of_counters),
		TEST(test_reading_without_counters),
		TEST(test_every_cpu),
		TEST(test_values),
		TEST(test_sum),
		TEST(test_time),
		TEST(test_setting_again),
		TEST(test_enable_of_counter_0),
		TEST(test_busy),
		TEST(test_hotplug),
		TEST(test_told_once),
		TEST(test_pmcbpfd_gone),
		TEST(test_arm),
		TEST(test_soft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
