/* SPDX-License-Identifier: BSD-2-Clause */
/* libpfm4's names: folded, with unit masks, encoded as the kernel wants them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/event/event.h"
#include "unit.h"

#include <sys/pmc.h>

static void expect_event(const char *name, const char *canonical, uint64_t config)
{
	struct pmu_event event = { .usr = false };
	struct reason why = { "" };
	int err = pfm_event(name, 4, &event, &why);

	if (err)
		fail_msg("%s: %s (%s)", name, strerror(-err), why.text);
	assert_string_equal(event.name, canonical);
	/* The kernel sets the bits of ring, interrupt and enable itself. */
	assert_true(event.config[0] == config);
}

static void test_names(void **state)
{
	struct pmu_event event = { .usr = false };
	struct reason why = { "" };

	expect_event("inst_retired.any_p", "INST_RETIRED.ANY_P", 0xc0);
	expect_event("INST-RETIRED:ANY_P", "INST_RETIRED.ANY_P", 0xc0);
	expect_event("longest lat cache.miss", "LONGEST_LAT_CACHE.MISS", 0x412e);
	expect_event("br_misp_retired.all_branches", "BR_MISP_RETIRED.ALL_BRANCHES", 0xc5);
	assert_int_equal(pfm_event("inst_retired.nothing", 4, &event, &why), -ENOENT);
	assert_int_equal(pfm_event("inst_retired.", 4, &event, &why), -ENOENT);
	assert_int_equal(pfm_event("", 4, &event, &why), -ENOENT);
	/* perf's generic events have no place in the core PMU's configuration words. */
	assert_int_equal(pfm_event("PERF_COUNT_SW_CPU_CLOCK", 4, &event, &why), -ENOENT);
}

static int count_one(void *arg, const struct pfm_event *event)
{
	unsigned int *n = arg;

	assert_non_null(event->name);
	assert_non_null(event->desc);
	(*n)++;
	return 0;
}

static void test_each(void **state)
{
	unsigned int n = 0;

	assert_int_equal(pfm_each(count_one, &n), 0);
	assert_true(n > 200);
}

static void test_fixed_qualifiers(void **state)
{
	struct wire_classinfo class = { .class = PMC_CLASS_IAP, .perf_type = 4, .pmu = "none" };
	struct evspec_machine m = { .family = EVSPEC_INTEL,
				    .nclass = 1,
				    .class = { PMC_CLASS_IAP } };
	struct evspec spec;
	struct pmu_event event;
	struct reason why = { "" };

	/* No such PMU in the kernel: the name is libpfm4's, and no field can back a qualifier. */
	assert_int_equal(evspec_parse("iap-inst_retired.any_p,usr", &m, &spec, &why), 0);
	assert_int_equal(pmu_event_find(PMU_ROOT, &class, &spec, &event, &why), 0);
	assert_true(event.usr && !event.os);
	assert_int_equal(evspec_parse("iap-inst_retired.any_p,edge", &m, &spec, &why), 0);
	assert_int_equal(pmu_event_find(PMU_ROOT, &class, &spec, &event, &why), -EINVAL);
	assert_contains(why.text, "edge");
	assert_int_equal(evspec_parse("iap-inst_retired.any_q", &m, &spec, &why), 0);
	assert_int_equal(pmu_event_find(PMU_ROOT, &class, &spec, &event, &why), -ENOENT);
	assert_contains(why.text, "any_q");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names), cmocka_unit_test(test_each),
		cmocka_unit_test(test_fixed_qualifiers),
	};

#if !defined(__x86_64__)
	puts("1..1\nok 1 - lib_pfm # SKIP libpfm4 knows the forced CPU on x86-64 only");
	return 0;
#endif
	/* The tables of one known CPU, whatever this machine is. */
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	return cmocka_run_group_tests_name("lib_pfm", tests, NULL, NULL);
}
