/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GATES, behind pmccontrol --doctor (REQ-133): its findings for each kind of caller; hostile files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/op/doctor.h"
#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

/* The gate of that name in a new answer, or one without a name. */
static const struct wire_gate *look(struct actor *who, const char *name)
{
	static const struct wire_gate none;
	const struct wire_gates_rep *rep;
	const struct wire_gate *g, *found = &none;

	assert_int_equal(ask(who, WIRE_OP_GATES, NULL, 0), 0);
	rep = payload();
	g = (const struct wire_gate *)(rep + 1);
	assert_true(rep->count > 0 && rep->count <= WIRE_GATES_MAX);
	assert_int_equal(payload_len(), sizeof(*rep) + rep->count * sizeof(*g));
	for (unsigned int i = 0; i < rep->count; i++) {
		assert_true(memchr(g[i].name, 0, sizeof(g[i].name)) && g[i].name[0]);
		assert_true(memchr(g[i].finding, 0, sizeof(g[i].finding)) && g[i].finding[0]);
		assert_true(memchr(g[i].remedy, 0, sizeof(g[i].remedy)) != NULL);
		assert_true(g[i].state <= WIRE_GATE_CLOSED && !g[i].reserved);
		if (!strcmp(g[i].name, name))
			found = &g[i];
	}
	return found;
}

static void hardware(struct actor *who, uint32_t mode, int err)
{
	struct wire_allocate_req a = {
		.caps = PMC_CAP_READ, .class = PMC_CLASS_IAP, .mode = mode, .event = 0x40000,
		.cpu = PMC_IS_SYSTEM_MODE(mode) ? 1 : (uint32_t)PMC_CPU_ANY, .event_name = "x",
	};

	assert_int_equal(ask(who, WIRE_OP_PMCALLOCATE, &a, sizeof(a)), err);
}

static void test_plain(void **state)
{
	const struct wire_gate *g = look(&root, "daemon");

	assert_contains(g->finding, "pmcbpfd " PMCBPF_VERSION " answers");
	assert_int_equal(look(&root, "perf_event_open(2)")->state, WIRE_GATE_OPEN);
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_OPEN);
	assert_contains(g->finding, "4 of every CPU with PMU cpu0: 4 FREE, 0 THREAD, 0 STANDALONE");
	assert_contains(g->finding, "4 counters can be had now");
	assert_string_equal(look(&root, "hardware counters")->name, "");
	assert_int_equal(ask(&root, WIRE_OP_GATES, "x", 1), -EFAULT);
}

static void test_missing_feature(void **state)
{
	const struct wire_gate *g;

	fake.lacks_perf = "refused";
	g = look(&user, "perf_event_open(2)");
	assert_int_equal(g->state, WIRE_GATE_CLOSED);
	assert_string_equal(g->finding, "refused");
	assert_string_equal(g->remedy, "fake remedy");
}

/* A kernel that does not report every context switch. */
static void test_hidden_switches(void **state)
{
	const struct wire_gate *g = look(&user, "cgroups");

	assert_int_equal(g->state, WIRE_GATE_OPEN);
	g = look(&user, "context switches");

	assert_int_equal(g->state, WIRE_GATE_OPEN);
	fake.hidden = 7;
	g = look(&user, "context switches");
	assert_int_equal(g->state, WIRE_GATE_LIMITS);
	assert_contains(g->finding, "it has hidden 7 since pmcbpfd started");
	assert_contains(g->finding, "EBUSY");
	assert_contains(g->remedy, "SOFT events");
}

/* The daemon's own counters are not attributed to others. */
static void test_rows(void **state)
{
	const struct wire_gate *g;

	hardware(&root, PMC_MODE_TC, 0);
	hardware(&root, PMC_MODE_SC, 0);
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_OPEN);
	assert_contains(g->finding, "2 FREE, 1 THREAD, 1 STANDALONE");
	assert_null(strstr(g->finding, "others"));
	assert_contains(g->finding, "2 to 3 counters can be had now");
	fake.moved = true;		/* the counter of a target that does not run is free … */
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_OPEN);
	assert_contains(g->finding, "2 to 3 counters can be had now");	/* … and reserved for it */
	fake.moved = false;
	fake.foreign[0] = 2;
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_LIMITS);
	assert_contains(g->finding, "others hold 2 on CPU 0");
	assert_contains(g->finding, "1 to 3 counters can be had now");
	assert_true(g->remedy[0]);
	fake.offline[0] = true;		/* nothing is tried on that CPU */
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_OPEN);
}

static void test_more_than_rows(void **state)
{
	const struct wire_gate *g;

	for (unsigned int cpu = 0; cpu < FAKE_CPUS; cpu++)
		fake.foreign[cpu] = (unsigned int)-1;
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_LIMITS);
	assert_contains(g->finding, "others have given 1 back");
	assert_contains(g->remedy, "SIGHUP");
}

static void test_watchdog(void **state)
{
	const struct wire_gate *g;

	fake.watchdog = true;
	g = look(&root, "IAP rows");
	assert_int_equal(g->state, WIRE_GATE_LIMITS);
	assert_contains(g->finding, "NMI watchdog");
	assert_contains(g->remedy, "kernel.nmi_watchdog=0");
}

static void test_no_hardware(void **state)
{
	struct reason why;
	const struct wire_gate *g;

	fake.pmus = 0;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	g = look(&user, "hardware counters");
	assert_int_equal(g->state, WIRE_GATE_LIMITS);
	assert_contains(g->finding, "none");
	assert_true(g->remedy[0]);
	fake.pmu_taken = true;
	g = look(&user, "hardware counters");
	assert_contains(g->finding, "every counter of some CPU was held");
}

/* --- files ----------------------------------------------------------------------------------- */

static char tree[] = "/tmp/gatesXXXXXX";

static int setup_tree(void **state)
{
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

static int teardown_tree(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command);
}

static const char *path(const char *name)
{
	static char p[400];

	snprintf(p, sizeof(p), "%s/%s", tree, name);
	for (char *s = strchr(p + sizeof(tree), '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(p, 0755);
		*s = '/';
	}
	return p;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(path(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_perf_users(void **state)
{
	struct perf_user users[2];
	bool all;

	assert_int_equal(symlink("anon_inode:[perf_event]", path("12/fd/3")), 0);
	put("12/comm", "pe\nrf");
	assert_int_equal(symlink("anon_inode:[perf_event]", path("7/fd/0")), 0);
	put("7/comm", "self");
	assert_int_equal(symlink("anon_inode:[eventfd]", path("13/fd/0")), 0);
	assert_int_equal(symlink("/tmp/anon_inode:[perf_event]", path("14/fd/0")), 0);
	assert_int_equal(symlink("anon_inode:[perf_event]x", path("14/fd/1")), 0);
	assert_int_equal(symlink("anon_inode:[perf_event]", path("12x/fd/0")), 0);
	assert_int_equal(symlink("anon_inode:[perf_event]", path("-5/fd/0")), 0);
	assert_int_equal(symlink("anon_inode:[perf_event]", path("99999999999/fd/0")), 0);
	assert_int_equal(symlink("anon_inode:[perf_event]", path("self/fd/0")), 0);
	put("15", "a file");
	assert_int_equal(doctor_perf_users(tree, 7, users, 2, &all), 1);
	assert_true(all);
	assert_int_equal(users[0].pid, 12);
	assert_string_equal(users[0].name, "pe");
	put("12/comm", "\x1b[2J\x07 a name that is far too long");
	assert_int_equal(doctor_perf_users(tree, 7, users, 2, &all), 1);
	assert_string_equal(users[0].name, "?[2J? a name tha");
	assert_int_equal(doctor_perf_users(tree, 0, users, 1, &all), 1);
	assert_false(all);
	assert_int_equal(doctor_perf_users("/nonexistent", 0, users, 1, &all), 0);
	assert_false(all);
}

static void test_virtual(void **state)
{
	char name[64];

	assert_false(doctor_virtual(tree, name, sizeof(name)));
	put("proc/cpuinfo", "flags\t\t: fpu hypervisor_not vme\n");
	assert_false(doctor_virtual(tree, name, sizeof(name)));
	put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
	assert_true(doctor_virtual(tree, name, sizeof(name)));
	assert_string_equal(name, "");
	put("sys/class/dmi/id/sys_vendor", "QEMU\x1b\n");
	assert_true(doctor_virtual(tree, name, sizeof(name)));
	assert_string_equal(name, "QEMU?");
	put("proc/cpuinfo", "");
	put("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
	assert_false(doctor_virtual(tree, name, sizeof(name)));
}

static void test_cpu_list(void **state)
{
	static const int of_cpu[] = { 1, 1, 1, 0, 1, 0, 1, 1 };
	char text[64];

	doctor_cpu_list(of_cpu, 8, 1, text, sizeof(text));
	assert_string_equal(text, "0-2,4,6-7");
	doctor_cpu_list(of_cpu, 8, 2, text, sizeof(text));
	assert_string_equal(text, "");
	doctor_cpu_list(of_cpu, 8, 1, text, 5);
	assert_string_equal(text, "0-2,");
}

/* REQ-133: each obstacle to the kernel's names has its finding and its remedy. */
static void names(int err, bool syslog, int paranoid, int kptr, enum kernel_view view,
		  const char *found, const char *helps)
{
	const struct kernel_shown k = { err, syslog, { paranoid, kptr }, view };
	char finding[WIRE_GATE_TEXT];
	const char *remedy;

	assert_int_equal(doctor_kernel_names(&k, finding, sizeof(finding), &remedy), !*helps);
	if (!strstr(finding, found) || !strstr(remedy, helps) || (!*helps && *remedy))
		fail_msg("%s; %s: wanted %s; %s", finding, remedy, found, helps);
	assert_true(strlen(finding) < sizeof(finding) - 1 && strlen(remedy) < WIRE_GATE_TEXT);
}

static void test_kernel_names(void **state)
{
	names(0, true, 2, 1, KERNEL_NAMES, "addresses and names", "");
	names(0, true, 2, 1, KERNEL_ADDRESSES, "but no names (kernel.kptr_restrict=1", "as root");
	names(0, true, 2, 0, KERNEL_HIDDEN, "one address (kernel.kptr_restrict=0, "
	      "kernel.perf_event_paranoid=2)", "sysctl kernel.kptr_restrict=0");
	/* The daemon's own reasons come first: without its names no log has any. */
	names(-EPERM, true, 2, 2, KERNEL_NAMES, "from everybody (kernel.kptr_restrict=2)",
	      "sysctl kernel.kptr_restrict=1");
	names(-EPERM, false, 3, 1, KERNEL_NAMES, "no CAP_SYSLOG", "CapabilityBoundingSet=");
	names(-EPERM, true, 3, 1, KERNEL_NAMES, "although it has CAP_SYSLOG", "security module");
	names(-ENODATA, true, 2, 1, KERNEL_NAMES, "(it is empty): a sandbox",
	      "ProtectKernelTunables=");
	names(-EACCES, true, 2, 1, KERNEL_NAMES, "(Permission denied): a sandbox",
	      "InaccessiblePaths=");
	names(-ENOENT, true, 2, 1, KERNEL_HIDDEN, "finds no /proc/kallsyms", "ProcSubset=pid");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define F(f) cmocka_unit_test_setup_teardown(f, setup_tree, teardown_tree)
	const struct CMUnitTest tests[] = {
		T(test_plain), T(test_missing_feature), T(test_hidden_switches), T(test_rows),
		T(test_more_than_rows), T(test_watchdog), T(test_no_hardware), F(test_perf_users),
		F(test_virtual), cmocka_unit_test(test_cpu_list),
		cmocka_unit_test(test_kernel_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
