/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are no event's: each refusal has the reason, and the name that was meant. */
#include <errno.h>
#include <string.h>

#include "lib/event/event.h"
#include "unit.h"

#include <sys/pmc.h>

static void refused(const struct machine *m, const char *spec, const char *part)
{
	struct wire_allocate_req req = { .caps = 0 };
	struct reason why = { "" };

	assert_int_equal(resolve_event(m, "/nonexistent", spec, &req, &why), -EINVAL);
	assert_contains(why.text, part);
}

static void taken(const struct machine *m, const char *spec)
{
	struct wire_allocate_req req = { .caps = 0 };
	struct reason why = { "" };

	assert_int_equal(resolve_event(m, "/nonexistent", spec, &req, &why), 0);
	assert_int_equal(req.probe, WIRE_PROBE_UPROBE);
}

/* Names with a colon are tracepoints; those of another PMU or without a count have their reason. */
static void test_mistaken_names(void **state)
{
	static struct machine_event tracepoints[] = {
		{ "sched:sched_switch", 0, 0 }, { "syscalls:sys_enter_openat", 0, 0 },
	};
	static struct machine_event registers[] = { { "MSR-TSC", PMC_EV_MSR_FIRST, 0 } };
	struct machine none = { .cpu = { .nclass = 2, .classes = {
		{ .class = PMC_CLASS_SOFT }, { .class = PMC_CLASS_TRACEPOINT } } } };
	struct machine cpu = none;

	none.tracepoint = (struct machine_events){ tracepoints, 2 };
	cpu.tracepoint = none.tracepoint;
	strcpy(cpu.cpu.classes[cpu.cpu.nclass].pmu, "cpu");
	cpu.cpu.classes[cpu.cpu.nclass++].class = PMC_CLASS_IAP;
	none.msr = (struct machine_events){ registers, 1 };
	refused(&none, "SYSCALLS:sys_enter_openat",
		"(did you mean \"syscalls:sys_enter_openat\"?)");
	refused(&none, "sched:Sched_Switch", "(did you mean \"sched:sched_switch\"?)");
	refused(&none, "sched:Sched_Switch,os", "(did you mean \"sched:sched_switch\"?)");
	refused(&none, "syscalls:sys_enter_open*", "(did you mean \"syscalls:sys_enter_openat\"?)");
	refused(&none, "sched:sched_switch ", "(did you mean \"sched:sched_switch\"?)");
	refused(&none, "NOSUCH:nosuch", "names with a colon are tracepoints, of which \"pmc list-");
	refused(&none, "NOSUCH:nosuch", "hardware counters, of which there are none");
	refused(&none, "dummy", "for perf it counts nothing, but carries records");
	refused(&none, "bpf-output:u", "for perf it counts nothing, but carries records");
	refused(&none, "msr/tsc/", "registers have names of their own: write MSR-TSC");
	refused(&none, "msr/smi/", "registers have names of their own: MSR-NAME");
	refused(&cpu, "dummy", "for perf it counts nothing");
	refused(&cpu, "sched:Sched_Switch", "(did you mean \"sched:sched_switch\"?)");
	none.cpu.classes[1].class = PMC_CLASS_PROBE;
	taken(&none, "UPROBE:/a:f");
	taken(&none, "uprobe:/a:u");
	refused(&none, "kprobe:vfs_read:u", "a place in the kernel: leave \":u\" out");
	refused(&none, "kprobe:a:b", "write kprobe:FUNCTION");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mistaken_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
