/* SPDX-License-Identifier: BSD-2-Clause */
/* The doctor's local gates (REQ-133): files of the kernel that are missing, odd or hostile. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pmccontrol/gates.h"
#include "unit.h"

static char root[] = "/tmp/gatesXXXXXX";
static struct gates gates;

static void put_bytes(const char *name, const char *data, size_t len)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *p = strchr(path + sizeof(root), '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static const struct pmc_gate *look(const char *name)
{
	const struct pmc_gate *found = &gates.gate[GATES_MAX - 1];

	gates.count = 0;
	gates_of_kernel(&gates, root);
	gates_of_caller(&gates, root);
	for (size_t i = 0; i < gates.count; i++) {
		const struct pmc_gate *g = &gates.gate[i];

		assert_true(strlen(g->pg_name) > 0 && strlen(g->pg_finding) > 0);
		for (const char *p = g->pg_finding; *p; p++)
			assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
		/* A gate that is not open has a remedy. */
		if (g->pg_state != PMC_GATE_OPEN)
			assert_true(strlen(g->pg_remedy) > 0);
		if (strcmp(g->pg_name, name) == 0)
			found = g;
	}
	assert_string_equal(found->pg_name, name);
	return found;
}

static void is(const char *name, enum pmc_gate_state state, const char *says)
{
	const struct pmc_gate *g = look(name);

	assert_contains(g->pg_finding, says);
	assert_int_equal(g->pg_state, state);
}

static int setup(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void test_nothing_there(void **state)
{
	is("kernel", PMC_GATE_CLOSED, "names no version");
	is("kernel types (/sys/kernel/btf/vmlinux)", PMC_GATE_CLOSED, "missing");
	is("kernel.perf_event_paranoid", PMC_GATE_CLOSED, "no perf events");
	is("kernel lockdown", PMC_GATE_OPEN, "not in this kernel");
	is("kernel.nmi_watchdog", PMC_GATE_OPEN, "not in this kernel");
	is("capabilities", PMC_GATE_LIMITS, "does not show them");
}

static void test_kernel(void **state)
{
	static const struct {
		const char *release;
		enum pmc_gate_state state;
		const char *says;
	} cases[] = {
		{ "6.1.0-56-amd64\n", PMC_GATE_OPEN, "Linux 6.1.0-56-amd64; pmcbpfd needs 6.1" },
		{ "6.0.19\n", PMC_GATE_CLOSED, "Linux 6.0.19 is older than 6.1" },
		{ "5.10.0-46", PMC_GATE_CLOSED, "is older than 6.1" },
		{ "10.0", PMC_GATE_OPEN, "Linux 10.0" },
		{ "", PMC_GATE_CLOSED, "names no version" },
		{ "\n6.1", PMC_GATE_CLOSED, "names no version" },
		{ "six.one", PMC_GATE_CLOSED, "names no version" },
		{ "7.3\x1b[2J", PMC_GATE_OPEN, "Linux 7.3?[2J" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put("/proc/sys/kernel/osrelease", cases[i].release);
		is("kernel", cases[i].state, cases[i].says);
	}
	put("/sys/kernel/btf/vmlinux", "x");
	is("kernel types (/sys/kernel/btf/vmlinux)", PMC_GATE_OPEN, "there");
}

static void test_lockdown(void **state)
{
	static const char *const file = "/sys/kernel/security/lockdown";
	char big[9000];

	put(file, "[none] integrity confidentiality\n");
	is("kernel lockdown", PMC_GATE_OPEN, "none");
	put(file, "none [integrity] confidentiality\n");
	is("kernel lockdown", PMC_GATE_OPEN, "integrity: blocks raw MSRs");
	put(file, "none integrity [confidentiality]\n");
	is("kernel lockdown", PMC_GATE_LIMITS, "confidentiality: counting works");
	put(file, "none ]integrity[ confidentiality\n");
	is("kernel lockdown", PMC_GATE_OPEN, "not in this kernel");
	put(file, "[[[[\n]");
	is("kernel lockdown", PMC_GATE_OPEN, "not in this kernel");
	memset(big, '[', sizeof(big));
	put_bytes(file, big, sizeof(big));
	is("kernel lockdown", PMC_GATE_OPEN, "not in this kernel");
	put_bytes(file, "\0[x]", 4);
	is("kernel lockdown", PMC_GATE_OPEN, "not in this kernel");
}

static void test_numbers(void **state)
{
	static const char *const paranoid = "/proc/sys/kernel/perf_event_paranoid";

	put(paranoid, "-1\n");
	is("kernel.perf_event_paranoid", PMC_GATE_OPEN, "-1: restricts users of perf, not of");
	put(paranoid, "4");
	is("kernel.perf_event_paranoid", PMC_GATE_OPEN, "4: restricts");
	for (const char *const *bad = (const char *const[]){ "", "\n", "x", "1x", "1 2",
			"99999999999999999999", NULL }; *bad; bad++) {
		put(paranoid, *bad);
		is("kernel.perf_event_paranoid", PMC_GATE_OPEN, "cannot be read");
	}
	put("/proc/sys/kernel/nmi_watchdog", "0\n");
	is("kernel.nmi_watchdog", PMC_GATE_OPEN, "takes no counter");
	put("/proc/sys/kernel/nmi_watchdog", "1\n");
	is("kernel.nmi_watchdog", PMC_GATE_LIMITS, "may hold one hardware counter of every CPU");
	assert_contains(look("kernel.nmi_watchdog")->pg_remedy, "kernel.nmi_watchdog=0");
}

/* The rules for debugging, for a caller in a user namespace with and without CAP_SYS_PTRACE. */
static void test_yama(void **state)
{
	static const char *const file = "/proc/sys/kernel/yama/ptrace_scope";
	static const char *const name = "kernel.yama.ptrace_scope";

	is(name, PMC_GATE_OPEN, "not in this kernel");
	put("/proc/self/ns/user", "");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0\n");
	put(file, "0\n");
	is(name, PMC_GATE_OPEN, "0: does not restrict you");
	put(file, "1\n");
	is(name, PMC_GATE_LIMITS, "1: you can measure yourself and your descendants");
	put(file, "2\n");
	is(name, PMC_GATE_LIMITS, "2: you can measure yourself");
	assert_contains(look(name)->pg_remedy, "CAP_SYS_PTRACE");
	put(file, "x");
	is(name, PMC_GATE_LIMITS, "cannot be read");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000080000\n");
	put(file, "2\n");
	is(name, PMC_GATE_OPEN, "2: does not restrict you");
	put(file, "3\n");
	is(name, PMC_GATE_LIMITS, "3: you can measure yourself");
	assert_contains(look(name)->pg_remedy, "CAP_PERFMON");
}

/* The namespaces of these files are not the initial ones: a container. */
static void test_caller(void **state)
{
	static const char *const status = "/proc/self/status";
	char long_name[6000];

	put("/proc/self/ns/user", "");
	put("/proc/self/ns/pid", "");
	put(status, "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	is("capabilities", PMC_GATE_LIMITS, "CAP_SYS_PTRACE: processes of other users in this");
	is("container", PMC_GATE_LIMITS, "user namespace of its own");
	put(status, "Name:\tx\nCapEff:\t0000000000000000\n");
	is("capabilities", PMC_GATE_LIMITS, "none that matters in this user namespace");
	put(status, "Name:\tCapEff:\tffffffffffffffff\nCapPrm:\t0\n");
	is("capabilities", PMC_GATE_LIMITS, "does not show them");
	put(status, "Name:\tx\nCapEff:\tnothing\n");
	is("capabilities", PMC_GATE_LIMITS, "none that matters");
	memset(long_name, 'a', sizeof(long_name));
	put_bytes(status, long_name, sizeof(long_name));
	is("capabilities", PMC_GATE_LIMITS, "does not show them");
}

/* This process, with any credentials: reads the real files. */
static void test_here(void **state)
{
	gates.count = 0;
	gates_of_kernel(&gates, "");
	gates_of_caller(&gates, "");
	assert_int_equal(gates.count, 8);
	assert_int_equal(gates.gate[0].pg_state, PMC_GATE_OPEN);
}

static void test_full(void **state)
{
	gates.count = 0;
	for (int i = 0; i < GATES_MAX + 9; i++)
		gate_add(&gates, PMC_GATE_OPEN, "n", "", "%0500d", i);
	assert_int_equal(gates.count, GATES_MAX);
	assert_int_equal(strlen(gates.gate[0].pg_finding), sizeof(gates.gate[0].pg_finding) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lockdown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_yama, setup, teardown),
		cmocka_unit_test_setup_teardown(test_caller, setup, teardown),
		cmocka_unit_test(test_here),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
