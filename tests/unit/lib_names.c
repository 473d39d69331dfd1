/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc_name_of_*, layouts that FreeBSD programs rely on, the functions before pmc_init(), and lists
 * of events.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "lib/event/pmu.h"
#include "lib/pmc/pmc.h"
#include "unit.h"

#define expect_invalid(call)								\
	do {										\
		errno = 0;								\
		assert_null(call);							\
		assert_int_equal(errno, EINVAL);					\
		assert_true(*pmc_errstr());						\
	} while (0)

/* What compiles works: pmc_allocate() makes no members of groups, and nothing is scaled. */
#if defined(PMC_F_GROUP_DEFER) || defined(PMC_F_SCALED)
#error "flags without their functions"
#endif

static void test_names(void **state)
{
	assert_string_equal(pmc_name_of_mode(PMC_MODE_SS), "SS");
	assert_string_equal(pmc_name_of_mode(PMC_MODE_TC), "TC");
	expect_invalid(pmc_name_of_mode((enum pmc_mode)4));
	assert_string_equal(pmc_name_of_state(PMC_STATE_DELETED), "DELETED");
	expect_invalid(pmc_name_of_state((enum pmc_state)6));
	assert_string_equal(pmc_name_of_disposition(PMC_DISP_THREAD), "THREAD");
	expect_invalid(pmc_name_of_disposition(PMC_DISP_UNKNOWN));
	assert_string_equal(pmc_name_of_class(PMC_CLASS_SOFT), "SOFT");
	assert_string_equal(pmc_name_of_class(PMC_CLASS_ARMV8), "ARMV8");
	assert_string_equal(pmc_name_of_class(PMC_CLASS_P4), "P4");
	expect_invalid(pmc_name_of_class((enum pmc_class)5));
	assert_string_equal(pmc_name_of_cputype(PMC_CPU_INTEL_HASWELL), "INTEL_HASWELL");
	assert_string_equal(pmc_name_of_cputype(PMC_CPU_GENERIC), "GENERIC");
	expect_invalid(pmc_name_of_cputype((enum pmc_cputype)0x7f));
}

static void test_capabilities(void **state)
{
	uint32_t bit;

	assert_string_equal(pmc_name_of_capability(PMC_CAP_INTERRUPT), "INTERRUPT");
	assert_string_equal(pmc_name_of_capability(PMC_CAP_DOMWIDE), "DOMWIDE");
	for (bit = PMC_CAP_FIRST; bit <= PMC_CAP_LAST; bit <<= 1)
		assert_non_null(pmc_name_of_capability(bit));
	expect_invalid(pmc_name_of_capability((enum pmc_caps)0));
	expect_invalid(pmc_name_of_capability((enum pmc_caps)3));
	expect_invalid(pmc_name_of_capability((enum pmc_caps)0x4000));
}

static void test_events(void **state)
{
	const char *kept;
	uint32_t event = intern_event("inst_retired", &kept);

	assert_string_equal(pmc_name_of_event(PMC_EV_TSC_TSC), "TSC");
	assert_string_equal(pmc_name_of_event(PMC_EV_IAF_CPU_CLK_UNHALTED_REF),
			    "CPU_CLK_UNHALTED_REF");
	assert_ptr_equal(pmc_name_of_event(event), kept);
	assert_string_equal(kept, "inst_retired");
	assert_int_equal(intern_event("inst_retired", NULL), event);
	assert_int_not_equal(intern_event("cpu_cycles", NULL), event);
	expect_invalid(pmc_name_of_event((enum pmc_event)0));
	expect_invalid(pmc_name_of_event(PMC_EV_SOFT_FIRST));
	expect_invalid(pmc_name_of_event((enum pmc_event)(PMC_EV_PMU_FIRST + 60000)));
}

/* Every number the table has can be used; the next name is refused, not mixed up with another. */
static void test_events_full(void **state)
{
	char name[32];
	unsigned int i;
	uint32_t last = 0, event;

	for (i = 0; (event = (snprintf(name, sizeof(name), "event%u", i),
			      intern_event(name, NULL))) != 0; i++)
		last = event;
	assert_int_equal(last, PMC_EV_PMU_LAST);
	assert_int_equal(intern_event("event7", NULL), intern_event("event7", NULL));
	assert_string_equal(pmc_name_of_event((enum pmc_event)intern_event("event7", NULL)),
			    "event7");
}

static void test_layout(void **state)
{
	assert_int_equal(sizeof(struct pmc_classinfo), 16);
	assert_int_equal(sizeof(struct pmc_cpuinfo), 272);
	assert_int_equal(sizeof(struct pmc_info), 104);
	assert_int_equal(offsetof(struct pmc_info, pm_ownerpid), 76);
	assert_int_equal(offsetof(struct pmc_info, pm_reloadcount), 96);
	assert_int_equal(offsetof(struct pmc_pmcinfo, pm_pmcs), 8);
	assert_int_equal(sizeof(struct pmc_driverstats), 32);
	assert_int_equal(sizeof(enum pmc_event), 4);
	assert_int_equal(PMC_ID_MAKE_ID(PMC_CPU_ANY, PMC_MODE_TS, PMC_CLASS_SOFT, 0), 0xfff20f00);
	assert_int_equal(PMC_ID_TO_CPU(0xfff20f07), 0xfff);
	assert_int_equal(PMC_ID_TO_MODE(0xfff20f07), PMC_MODE_TS);
	assert_int_equal(PMC_ID_TO_CLASS(0xfff20f07), PMC_CLASS_SOFT);
	assert_int_equal(PMC_ID_TO_ROWINDEX(0xfff20f07), 7);
	assert_int_equal(EDOOFUS, EBADRQC);
	assert_int_equal(EPROGMISMATCH, EPROTO);
}

static void test_before_init(void **state)
{
	const struct pmc_cpuinfo *info;
	struct pmc_pmcinfo *rows;
	struct pmc_driverstats stats;
	pmc_id_t id = 7;
	pmc_value_t value;
	uint32_t word;

	expect_errno(pmc_ncpu(), ENXIO);
	expect_errno(pmc_npmc(0), ENXIO);
	expect_errno(pmc_cpuinfo(&info), ENXIO);
	expect_errno(pmc_pmcinfo(0, &rows), ENXIO);
	assert_contains(pmc_errstr(), "pmc_init()");
	expect_errno(pmc_capabilities(0xfff20f00, &word), EINVAL);
	expect_errno(pmc_width(0xfff20f00, &word), EINVAL);
	expect_errno(pmc_allocate("TSC", (enum pmc_mode)4, 0, 0, &id, 0), EINVAL);
	expect_errno(pmc_allocate("TSC", PMC_MODE_SC, 0, 0, &id, 0), ENOSYS);
	assert_int_equal(id, 7);
	expect_errno(pmc_allocate(NULL, PMC_MODE_SC, 0, 0, &id, 0), EFAULT);
	expect_errno(pmc_read(id, &value), ENOSYS);
	expect_errno(pmc_read(id, NULL), EFAULT);
	expect_errno(pmc_start(id), ENOSYS);
	expect_errno(pmc_attach(id, 0), ENOSYS);
	expect_errno(pmc_release(id), ENOSYS);
	expect_errno(pmc_disable(0, 0), ENOSYS);
	expect_errno(pmc_get_driver_stats(&stats), ENOSYS);
	assert_int_equal(pmc_pmu_enabled(), 0);
	assert_int_equal(pmc_pmu_sample_rate_get("instructions"), 65536);
}

static void test_event_lists_before_init(void **state)
{
	const char **names;
	int n;

	assert_int_equal(pmc_event_names_of_class(PMC_CLASS_TSC, &names, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(names[0], "TSC");
	free(names);
	assert_int_equal(pmc_event_names_of_class(PMC_CLASS_SOFT, &names, &n), 0);
	assert_int_equal(n, 0);
	free(names);
	expect_errno(pmc_event_names_of_class((enum pmc_class)5, &names, &n), EINVAL);
	expect_errno(pmc_event_names_of_class(PMC_CLASS_TSC, NULL, &n), EFAULT);
}

/* What a function prints for the events that contain `name`. */
static void prints(void (*print)(const char *), const char *name, const char *wanted)
{
	char got[1024] = "";
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	print(name);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	assert_in_range(pread(fileno(file), got, sizeof(got) - 1, 0), 0, sizeof(got) - 1);
	fclose(file);
	assert_string_equal(got, wanted);
}

/* A class with a PMU of this machine: its events are the kernel's files, each with its terms. */
static void test_hardware_events(void **state)
{
	struct fake *f = *state;
	char pmu[32], name[64], terms[128], text[512], path[256];
	const char **names;
	bool listed = false;
	FILE *file;
	glob_t g;
	int n;

	if (glob(PMU_ROOT "/msr/events/tsc", 0, NULL, &g) &&
	    glob(PMU_ROOT "/*/events/*[a-z0-9]", 0, NULL, &g))
		skip();
	assert_int_equal(sscanf(g.gl_pathv[0], PMU_ROOT "/%31[^/]/events/%63s", pmu, name), 2);
	globfree(&g);
	snprintf(path, sizeof(path), PMU_ROOT "/%s/events/%s", pmu, name);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%127[^\n]", terms), 1);
	fclose(file);
	f->pmu = pmu;
	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_pmu_enabled(), 1);
	assert_int_equal(pmc_event_names_of_class(PMC_CLASS_K8, &names, &n), 0);
	for (int i = 0; i < n; i++)
		listed |= !strcmp(names[i], name);
	assert_true(listed);
	free(names);
	snprintf(text, sizeof(text), "\t%s\n", name);
	prints(pmc_pmu_print_counters, name, text);
	snprintf(text, sizeof(text), "%s:\t%s\n", name, terms);
	prints(pmc_pmu_print_counter_desc, name, text);
	snprintf(text, sizeof(text), "%s:\n%s\n", name, terms);
	prints(pmc_pmu_print_counter_desc_long, name, text);
	snprintf(text, sizeof(text), "name: %s\n\tdesc: %s\n\tevent: %s\n\tpmu: %s\n", name, terms,
		 terms, pmu);
	prints(pmc_pmu_print_counter_full, name, text);
	prints(pmc_pmu_print_counter_full, "no such event", "");
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	/* The last one leaves no room for names of events. */
	const struct CMUnitTest tests[] = {
		T(test_names), T(test_capabilities), T(test_events), T(test_layout),
		T(test_before_init), T(test_event_lists_before_init),
		cmocka_unit_test_setup_teardown(test_hardware_events, fake_setup_unconnected,
						fake_teardown),
		T(test_events_full),
	};

	return cmocka_run_group_tests_name("lib_names", tests, NULL, NULL);
}
