/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcbpf-bench: what counting costs, by libpmc-compat and a pmcbpfd of its own, beside
 * perf_event_open. Prints one line of tab-separated fields for each figure, of which
 * tests/bench/run makes a table:
 *
 *	figure NAME UNIT OURS MIN MAX OTHER-NAME OTHER MIN MAX JUDGE GOAL
 *	note TEXT
 *	left WHAT: WHY		it is not measured here
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

struct group {
	const char *name;
	void (*run)(struct bench *b);
};

/* `start` always runs, and first: it leaves the daemon that the others need. */
static const struct group groups[] = {
	{ "switch", bench_switch },
	{ "tracepoint", bench_tracepoint },
	{ "probe", bench_probe },
	{ "read", bench_read },
	{ "fork", bench_fork },
	{ "calls", bench_calls },
	{ "ops", bench_ops },
	{ "many", bench_many },
	{ "policy", bench_policy },
	{ "sample", bench_sample },
	{ "stacks", bench_stacks },
	{ "ktr", bench_ktr },
	{ "report", bench_report },
};
#define NGROUPS (sizeof(groups) / sizeof(groups[0]))

static const char usage[] =
	"usage: pmcbpf-bench [-i] [-r REPETITIONS] [-t SECONDS] -d PMCBPFD [GROUP...]\n"
	"  -d PMCBPFD      the daemon to start\n"
	"  -i              one instruction takes 1 ns here (QEMU -icount): call ns instructions\n"
	"  -r REPETITIONS  of every measurement, odd (11; with -i 3)\n"
	"  -t SECONDS      of sampling (10)\n"
	"  GROUP           switch tracepoint probe read fork calls ops many policy sample\n"
	"                  stacks ktr report; all of them by default\n";

static void parse(struct bench *b, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:ir:t:h")) != -1) {
		if (c == 'd') {
			b->daemon = optarg;
		} else if (c == 'i') {
			b->icount = true;
		} else if (c == 'r') {
			b->reps = atoi(optarg);
			if (b->reps < 1 || b->reps > SERIES_MAX || b->reps % 2 == 0)
				die("-r %s: give an odd number below %d", optarg, SERIES_MAX);
		} else if (c == 't') {
			b->seconds = atof(optarg);
			if (!(b->seconds > 0 && b->seconds <= 600))
				die("-t %s: give seconds up to 600", optarg);
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (!b->daemon)
		die("no -d: which pmcbpfd is to be measured?");
	if (!b->reps)
		b->reps = b->icount ? 3 : 11;
	b->unit = b->icount ? "instr" : "ns";
	for (int i = optind; i < argc; i++) {
		unsigned int g = 0;

		while (g < NGROUPS && strcmp(argv[i], groups[g].name))
			g++;
		if (g == NGROUPS)
			die("%s: no such group; there are switch, tracepoint, probe, read, fork, "
			    "calls, ops, many, policy, sample, stacks, ktr and report", argv[i]);
	}
}

/* The first CPU that this process may use, and the last. */
static void choose_cpus(struct bench *b)
{
	if (sched_getaffinity(0, sizeof(b->cpus), &b->cpus))
		die("sched_getaffinity: %s", strerror(errno));
	b->home = -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &b->cpus))
			continue;
		if (b->home < 0)
			b->home = cpu;
		b->arena = cpu;
	}
}

static bool has_hardware(void)
{
	const struct pmc_cpuinfo *info;

	check_pmc(pmc_cpuinfo(&info), "pmc_cpuinfo");
	for (unsigned int i = 0; i < info->pm_nclass; i++)
		if (info->pm_classes[i].pm_class != PMC_CLASS_SOFT &&
		    info->pm_classes[i].pm_class != PMC_CLASS_TSC &&
		    info->pm_classes[i].pm_class != PMC_CLASS_TRACEPOINT &&
		    info->pm_classes[i].pm_class != PMC_CLASS_PROBE &&
		    info->pm_classes[i].pm_class != PMC_CLASS_BREAKPOINT &&
		    info->pm_classes[i].pm_class != PMC_CLASS_MSR)
			return true;
	return false;
}

static bool has_registers(void)
{
	pmc_id_t id;

	if (pmc_allocate(msr_events[1].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0)) {
		note("no registers of processes: %s", pmc_errstr());
		return false;
	}
	check_pmc(pmc_release(id), "pmc_release");
	return true;
}

static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = optind; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return optind == argc;
}

int main(int argc, char **argv)
{
	struct bench b = { .dir = "/tmp/pmcbpf-bench.XXXXXX", .seconds = 10 };

	parse(&b, argc, argv);
	if (geteuid() != 0)
		die("must be run as root: it starts pmcbpfd and measures at realtime priority");
	choose_cpus(&b);
	b.log = memfd_create("pmcbpfd", MFD_CLOEXEC);
	if (b.log < 0 || !mkdtemp(b.dir))
		die("%s: %s", b.dir, strerror(errno));
	b.perf = !b.icount && has_program("perf");
	bench_start(&b);
	check_pmc(pmc_init(), "pmc_init");
	/* The daemon runs on any CPU; the measuring and the measured process are pinned. */
	pin(b.home);
	b.hardware = has_hardware();
	if (!b.hardware)
		note("no hardware counters here: see make bench VM=1");
	b.tracepoints = bench_has_tracepoints();
	b.registers = has_registers();
	for (unsigned int i = 0; i < NGROUPS; i++)
		if (chosen(groups[i].name, argc, argv))
			groups[i].run(&b);
	daemon_end(b.main_daemon);
	if (rmdir(b.dir))
		die("%s: pmcbpfd left something behind: %s", b.dir, strerror(errno));
	return 0;
}
