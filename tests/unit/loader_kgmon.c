/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel profile: its sources, its sums and its end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmclog.h>
#include <sys/pmc.h>

#include "loader/pmc/kgmon.h"
#include "unit.h"

static const struct profile_source faults = {
	.class = PMC_CLASS_SOFT, .period = 10, .event = "PAGE_FAULT.ALL",
};

static struct kgmon *k;
static struct reason why;

static int begin(void **state)
{
	k = kgmon_new();
	return k ? 0 : -1;
}

static int end(void **state)
{
	kgmon_free(k);
	return 0;
}

static struct wire_kgmon info_now(void)
{
	struct wire_kgmon info;

	kgmon_info(k, &info);
	return info;
}

/* The clock, unless PMCs run; samples of the other source, or while it is off, are ignored. */
static void sources(void **state)
{
	kgmon_sample(k, true, false, 0x1000);
	kgmon_lost(k, true, 7);
	assert_int_equal(info_now().source, WIRE_KGMON_NONE);
	assert_int_equal(info_now().samples + info_now().lost, 0);
	assert_int_equal(kgmon_start(k, &why), 0);
	assert_true(kgmon_takes_clock(k));
	kgmon_sample(k, false, false, 0x1000);
	kgmon_lost(k, false, 7);
	kgmon_sample(k, true, false, 0x1000);
	kgmon_sample(k, true, true, 0x2000);
	kgmon_lost(k, true, 2);
	assert_int_equal(info_now().source, WIRE_KGMON_CLOCK);
	assert_int_equal(info_now().rate, KGMON_RATE);
	assert_int_equal(info_now().samples, 1);
	assert_int_equal(info_now().user, 1);
	assert_int_equal(info_now().lost, 2);
	kgmon_stop(k);
	assert_false(kgmon_takes_clock(k));
	kgmon_sample(k, true, false, 0x1000);
	assert_int_equal(info_now().samples, 1);
	assert_int_equal(kgmon_join(k, &faults, &why), 0);
	assert_int_equal(kgmon_start(k, &why), -EBUSY);
	assert_contains(why.text, "holds samples of the profiling clock");
	kgmon_reset(k);
	assert_int_equal(info_now().source, WIRE_KGMON_NONE);
	assert_int_equal(kgmon_start(k, &why), 0);
	assert_false(kgmon_takes_clock(k));
	assert_int_equal(info_now().source, WIRE_KGMON_PMCS);
	assert_int_equal(info_now().period, 10);
	assert_string_equal(info_now().event, "PAGE_FAULT.ALL");
	kgmon_sample(k, true, false, 0x1000);
	assert_int_equal(info_now().samples, 0);
	kgmon_sample(k, false, false, 0x1000);
	assert_int_equal(info_now().samples, 1);
}

/* One event at one period, for running PMCs and a profile that is on. */
static void differing(void **state)
{
	struct profile_source other[5] = { faults, faults, faults, faults, faults };

	other[0].period = 11;
	other[1].class = PMC_CLASS_IAP;
	strcpy(other[2].event, "PAGE_FAULT.MINOR");
	other[3].config[1] = 1;
	other[4].sides = PMC_CAP_SYSTEM;
	assert_int_equal(kgmon_join(k, &faults, &why), 0);
	assert_int_equal(kgmon_join(k, &faults, &why), 0);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(kgmon_join(k, &other[i], &why), -EBUSY);
		assert_contains(why.text, "run with PAGE_FAULT.ALL every 10");
	}
	assert_int_equal(kgmon_start(k, &why), 0);
	kgmon_leave(k);
	kgmon_leave(k);
	/* It waits for PMCs of this kind, and takes no clock meanwhile. */
	assert_int_equal(kgmon_join(k, &other[0], &why), -EBUSY);
	assert_contains(why.text, "takes PAGE_FAULT.ALL every 10 now");
	assert_false(kgmon_takes_clock(k));
	assert_int_equal(kgmon_join(k, &faults, &why), 0);
	kgmon_leave(k);
	kgmon_stop(k);
	assert_int_equal(kgmon_join(k, &other[0], &why), 0);
	kgmon_leave(k);
	/* Nothing has been sampled: the clock may have it. */
	assert_int_equal(kgmon_start(k, &why), 0);
	assert_true(kgmon_takes_clock(k));
	assert_int_equal(kgmon_join(k, &faults, &why), -EBUSY);
	assert_contains(why.text, "takes the profiling clock now");
}

/* A sealed file: the addresses ascend, and their samples add up. */
static void dump(void **state)
{
	struct wire_kgmon_hit hit = { 0 };
	uint64_t last = 0, samples = 0;
	struct stat st;
	int fd;

	assert_int_equal(kgmon_start(k, &why), 0);
	fd = kgmon_dump(k, &why);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	for (uint64_t i = 0; i < 30000; i++)
		kgmon_sample(k, true, false, 0xffffffff81000000 + i % 10000 * 4096);
	assert_int_equal(info_now().hits, 10000);
	fd = kgmon_dump(k, &why);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 10000 * sizeof(hit));
	while (read(fd, &hit, sizeof(hit)) == sizeof(hit)) {
		assert_true(hit.address > last);
		assert_int_equal(hit.samples, 3);
		last = hit.address;
		samples += hit.samples;
	}
	assert_int_equal(samples, info_now().samples);
	assert_int_equal(pwrite(fd, &hit, sizeof(hit), 0), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
}

/* Memory is bounded: a sample at a new address is lost, at a known one it is counted. */
static void bounded(void **state)
{
	assert_int_equal(kgmon_start(k, &why), 0);
	for (uint64_t i = 0; i < KGMON_HITS; i++)
		kgmon_sample(k, true, false, 0xffffffff80000000 + i);
	assert_int_equal(info_now().hits, KGMON_HITS);
	assert_int_equal(info_now().lost, 0);
	kgmon_sample(k, true, false, 1);
	assert_int_equal(info_now().lost, 1);
	kgmon_sample(k, true, false, 0xffffffff80000000);
	assert_int_equal(info_now().samples, KGMON_HITS + 1);
	assert_int_equal(info_now().lost, 1);
	/* The placeholder address is not counted as an address. */
	kgmon_reset(k);
	kgmon_sample(k, true, false, PMCLOG_PC_KERNEL);
	assert_int_equal(info_now().hits, 0);
	assert_int_equal(info_now().lost, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(sources), T(differing), T(dump), T(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
