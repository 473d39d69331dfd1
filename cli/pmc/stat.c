/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc stat: a fixed set of counts of a command, with ratios of one to another.  The measurement is
 * pmcstat's; the set of PMCs and the form of the report are its own.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "cli/measure/measure.h"
#include "pmc.h"

#define NSLOTS	    6
#define MAX_CHOSEN  4		/* of -j */
#define DISPLAY_SECONDS 1.0	/* between the reports of -d */
#define NO_ROWS	    1e9		/* seconds */

enum { CYCLES, INSTRUCTIONS, BRANCHES, BRANCH_MISSES, REFERENCES, CACHE_MISSES };

/* The counts by default.  `of`: the slot that this one is divided by, or -1. */
static const struct stat_kind {
	const char *label, *spec, *tabs;
	int of;
	double scale;
	const char *unit;
} kinds[NSLOTS] = {
	{ "cycles", "unhalted-cycles", "", -1, 0, "" },
	/* Not "instructions", which counts clock ticks on a machine without an event for them. */
	{ "instructions", "instruction-retired", "\t\t", CYCLES, 1, " inst/cycle" },
	{ "branches", "branches", "", -1, 0, "" },
	{ "branch-misses", "branch-mispredicts", "\t\t", BRANCHES, 100, "%" },
	{ "cache-references", "LLC-REFERENCE", "\t", INSTRUCTIONS, 1, " refs/inst" },
	{ "cache-misses", "LLC-MISSES", "\t\t", REFERENCES, 100, "%" },
};

/* A count of the report: in system scope the sum of all CPUs. */
struct stat_slot {
	const struct stat_kind *kind;	/* NULL: chosen by -j */
	const char *spec;
	size_t first, ncolumns;		/* 0: not counted */
};

struct stat_run {
	struct measure m;
	struct stat_slot slots[NSLOTS];
	bool system, display;
	double seconds;
	struct rusage before;		/* of children other than the command */
	struct buf missing;		/* labels not counted, all for the same reason */
	char why[512];
	int why_errno;
};

static const struct opt options[] = {
	{ 'd', "display", NULL, "print the counts every second too" },
	{ 'j', "events", "LIST", "count these instead of the last of the set; up to 4" },
	{ OPT_FROM_EXEC, "from-exec", NULL, "count the command from its exec on, the default" },
	{ OPT_FROM_FORK, "from-fork", NULL, "count it from before its exec on" },
	{ OPT_EXIT_STATUS, "exit-status", NULL, "exit as the command did also if asked to end" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

/* --- the report ------------------------------------------------------------------------------ */

static uint64_t slot_value(const struct stat_run *s, const struct stat_slot *slot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < slot->ncolumns; i++)
		sum += s->m.columns[slot->first + i].value;
	return sum;
}

static void stat_put_counts(struct buf *out, const struct stat_run *s)
{
	for (int i = 0; i < NSLOTS; i++) {
		const struct stat_slot *slot = &s->slots[i];
		const struct stat_kind *kind = slot->kind;
		const struct stat_slot *of = kind && kind->of >= 0 ? &s->slots[kind->of] : NULL;
		uint64_t value = slot_value(s, slot), base;

		if (!slot->ncolumns)
			continue;
		buf_printf(out, "%16llu  %s", (unsigned long long)value,
			   kind ? kind->label : slot->spec);
		/* -j may have put another event into that slot. */
		base = of && of->kind ? slot_value(s, of) : 0;
		if (base)
			buf_printf(out, "%s#\t%.3f%s", kind->tabs,
				   kind->scale * (double)value / (double)base, kind->unit);
		buf_add(out, "\n", 1);
	}
}

static struct timeval time_subtract(struct timeval now, struct timeval then)
{
	now.tv_sec -= then.tv_sec;
	now.tv_usec -= then.tv_usec;
	if (now.tv_usec < 0) {
		now.tv_usec += 1000000;
		now.tv_sec--;
	}
	return now;
}

static double time_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void stat_put_rate(struct buf *out, long count, const char *what, double cpu)
{
	buf_printf(out, "%16ld  %s#\t%.3f M/sec\n", count, what,
		   cpu > 0 ? (double)count / cpu / 1e6 : 0.0);
}

static void stat_put_time(struct buf *out, double seconds, const char *what, double part,
			  double real)
{
	long long hundredths = (long long)(seconds * 100 + 0.5);

	buf_printf(out, "%13lld.%02lld  %s\t\t\t#\t%.2f%% cpu\n", hundredths / 100,
		   hundredths % 100, what, real > 0 ? 100 * part / real : 0.0);
}

static struct stat_run *table_owner(const struct count_table *table)
{
	return (struct stat_run *)((uintptr_t)table - offsetof(struct stat_run, m.table));
}

/* A row each second with -d; the last row is part of the report. */
static void stat_put_row(struct buf *out, struct count_table *table, double seconds,
			 const struct column *columns, size_t count)
{
	struct stat_run *s = table_owner(table);

	(void)columns;
	(void)count;
	s->seconds = seconds;
	if (!s->display || s->m.done)
		return;
	stat_put_counts(out, s);
	buf_add(out, "\n", 1);
}

static void stat_put_end(struct buf *out, const struct count_table *table)
{
	const struct stat_run *s = table_owner(table);
	struct rusage now;
	double user, sys;

	getrusage(RUSAGE_CHILDREN, &now);
	user = time_seconds(time_subtract(now.ru_utime, s->before.ru_utime));
	sys = time_seconds(time_subtract(now.ru_stime, s->before.ru_stime));
	if (s->m.child.collected) {
		stat_put_rate(out, now.ru_minflt + now.ru_majflt - s->before.ru_minflt -
			      s->before.ru_majflt, "page faults\t\t", user + sys);
		stat_put_rate(out, now.ru_nvcsw - s->before.ru_nvcsw, "voluntary csw\t\t",
			      user + sys);
		stat_put_rate(out, now.ru_nivcsw - s->before.ru_nivcsw, "involuntary csw\t",
			      user + sys);
	}
	stat_put_counts(out, s);
	if (!s->m.child.collected)
		return;
	stat_put_time(out, s->seconds, "real", user + sys, s->seconds);
	stat_put_time(out, user, "user", user, s->seconds);
	stat_put_time(out, sys, "sys", sys, s->seconds);
}

static const struct count_format report = { .row = stat_put_row, .end = stat_put_end };

/* --- the counts ------------------------------------------------------------------------------ */

/* One line for all counts that are missing for the same reason. */
static void stat_note_missing(struct stat_run *s)
{
	if (s->missing.len)
		note("not counted: %.*s: %s", (int)s->missing.len, s->missing.data, s->why);
	buf_free(&s->missing);
}

static void stat_miss(struct stat_run *s, const char *label, int err)
{
	if (s->missing.len && err != s->why_errno)
		stat_note_missing(s);
	if (!s->missing.len)
		snprintf(s->why, sizeof(s->why), "%s", pmc_errstr());
	s->why_errno = err;
	buf_printf(&s->missing, "%s%s", s->missing.len ? ", " : "", label);
}

/* An event of the default set that cannot be counted is left out; one of -j is an error. */
static int stat_refuse_slot(struct stat_run *s, const struct stat_slot *slot)
{
	int err = errno;

	if (errno == ENOSYS)
		return fail_pmc(EX_UNAVAILABLE, "ERROR: Cannot allocate \"%s\"", slot->spec);
	if (errno == EPERM && s->system)
		return fail_pmc(EX_USAGE,
				"ERROR: system mode counters can only be used as root");
	if (!slot->kind && errno == EINVAL)
		return fail_pmc(EX_USAGE, "ERROR: %s not recognized on host", slot->spec);
	if (!slot->kind)
		return fail_pmc(EX_OSERR, "ERROR: Cannot allocate \"%s\"", slot->spec);
	stat_miss(s, slot->kind->label, err);
	return 0;
}

/* 1 + the index of the column whose group this one joins, perhaps its own. */
static size_t stat_leader(const struct stat_run *s, const struct column *column)
{
	for (size_t i = 0; i < s->m.ncolumns; i++)
		if (s->m.columns[i].leader && s->m.columns[i].cpu == column->cpu)
			return 1 + i;
	return 1 + (size_t)(column - s->m.columns);
}

/* The counts of the default set, which have ratios, are a group. */
static int stat_allocate_column(struct stat_run *s, const struct stat_slot *slot,
				struct column *column)
{
	if (!slot->kind)
		return pmc_allocate(column->spec, column->mode, column->flags, column->cpu,
				    &column->id, 0);
	column->leader = stat_leader(s, column);
	return pmc_allocate_group(column->spec, column->mode, column->flags, column->cpu,
				  &column->id, 0);
}

static int slot_allocate_on(struct stat_run *s, struct stat_slot *slot, const char *spec, int cpu,
			    bool *gone)
{
	const struct column one = {
		.spec = spec,
		.mode = s->system ? PMC_MODE_SC : PMC_MODE_TC,
		.flags = s->system ? 0 : PMC_F_DESCENDANTS,
		.cpu = cpu,
	};
	int code = pmcs_add(&s->m, &one);
	struct column *column;

	if (code)
		return code;
	column = &s->m.columns[s->m.ncolumns - 1];
	slot->ncolumns++;
	if (place_waits(column))
		return 0;
	if (stat_allocate_column(s, slot, column) != 0) {
		*gone = true;
		return stat_refuse_slot(s, slot);	/* slot_drop() drops the column */
	}
	column->allocated = true;
	return 0;
}

/* Releases all PMCs of a slot: a sum without some CPU would be wrong. */
static void slot_drop(struct stat_run *s, struct stat_slot *slot)
{
	while (s->m.ncolumns > slot->first) {
		struct column *column = &s->m.columns[--s->m.ncolumns];

		if (column->allocated)
			pmc_release(column->id);
		column_free(column);
	}
	slot->ncolumns = 0;
}

/* In processes: on all CPUs, or on those of each kind. */
static int slot_allocate_process(struct stat_run *s, struct stat_slot *slot, bool *gone)
{
	char **specs;
	int n = kinds_find(slot->spec, PMC_MODE_TC, &specs);
	int code = n ? 0 : slot_allocate_on(s, slot, slot->spec, PMC_CPU_ANY, gone);

	for (int i = 0; i < n && !code && !*gone; i++)
		code = slot_allocate_on(s, slot, specs[i], PMC_CPU_ANY, gone);
	if (n && slot->ncolumns)
		s->m.columns[slot->first].specs = specs;
	else
		free(specs);
	return code;
}

static int slot_allocate(struct stat_run *s, struct stat_slot *slot, const struct cpulist *cpus)
{
	bool gone = false;
	int code = 0;

	slot->first = s->m.ncolumns;
	if (!s->system)
		code = slot_allocate_process(s, slot, &gone);
	for (int cpu = s->system ? cpulist_next(cpus, 0) : -1; cpu >= 0 && !code && !gone;
	     cpu = cpulist_next(cpus, cpu + 1))
		code = slot_allocate_on(s, slot, slot->spec, cpu, &gone);
	if (gone)
		slot_drop(s, slot);
	return code;
}

static int stat_allocate(struct stat_run *s)
{
	struct cpulist cpus;
	int code = 0;

	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	if (cpulist_online(&cpus) != 0)
		return fail(EX_OSERR, "ERROR: Cannot determine which CPUs are online");
	for (int i = 0; i < NSLOTS && !code; i++)
		code = slot_allocate(s, &s->slots[i], &cpus);
	stat_note_missing(s);
	if (!code)
		code = groups_commit(&s->m);
	if (s->m.ncolumns)
		s->m.seen |= s->system ? SEEN_SYSTEM_PMC : SEEN_PROCESS_PMC;
	getrusage(RUSAGE_CHILDREN, &s->before);
	return code;
}

/* --- the command line ------------------------------------------------------------------------ */

static void stat_use_all(struct stat_run *s)
{
	for (int i = 0; i < NSLOTS; i++)
		s->slots[i] = (struct stat_slot){ .kind = &kinds[i], .spec = kinds[i].spec };
}

/* The last slots hold the list's events, in its order. */
static int stat_choose_events(struct stat_run *s, char *list)
{
	char *names[MAX_CHOSEN], *name;
	int count = 0;

	for (bool last = false; !last;) {
		name = list;
		list += groups_member(list, ",");
		last = !*list;
		*list++ = '\0';
		if (!*name)
			return fail(EX_USAGE, "ERROR: an event without a name in the list of -j");
		if (strcspn(name, "{}") < strcspn(name, ","))
			return fail(EX_USAGE, "ERROR: \"%s\": pmc stat counts the events of -j one "
				    "by one, and its own as a group; pmcstat -p counts groups",
				    name);
		if (count == MAX_CHOSEN)
			return fail(EX_USAGE, "ERROR: -j takes at most %d events; pmcstat(8) "
				    "counts more", MAX_CHOSEN);
		names[count++] = name;
	}
	stat_use_all(s);
	for (int i = 0; i < count; i++)
		s->slots[NSLOTS - count + i] = (struct stat_slot){ .spec = names[i] };
	return 0;
}

static void stat_usage(FILE *file, const struct stat_run *s)
{
	fprintf(file, "usage: pmc %s [-d] [-j LIST] [--exit-status] COMMAND [ARGUMENT...]\n",
		s->system ? "stat-system" : "stat");
}

static int stat_parse(struct stat_run *s, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	stat_use_all(s);
	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == OPT_HELP) {
			*ended = true;
			stat_usage(stdout, s);
			opt_help(stdout, options, NOPTIONS, sizeof(options[0]));
			return opt_flush_stdout();
		}
		if (letter == 'd')
			s->display = true;
		else if (letter == 'j')
			code = stat_choose_events(s, optarg);
		else if (targets_from(&s->m, letter))
			continue;
		else if (letter == OPT_EXIT_STATUS)
			s->m.seen |= SEEN_EXIT_STATUS;
		else
			code = EX_USAGE;
	}
	if (!code && optind >= argc)
		code = fail(EX_USAGE, "ERROR: a command is needed");
	if (!code)
		code = targets_check(&s->m, !s->system);
	if (code) {
		stat_usage(stderr, s);
		return code;
	}
	s->m.command = argv + optind;
	s->m.interval = s->display ? DISPLAY_SECONDS : NO_ROWS;
	out_use(&s->m.out, STDERR_FILENO, "standard error");
	return 0;
}

static int stat_count(struct stat_run *s)
{
	static measure_phase *const phases[] = {
		run_prepare, child_spawn, pmcs_attach, pmcs_start, child_go, place_all,
		run_loop, run_finish,
	};
	int code = stat_allocate(s);

	return code ? code : MEASURE_RUN(&s->m, phases);
}

static int stat_main(bool system, int argc, char *argv[])
{
	struct stat_run s = { .system = system };
	bool ended = false;
	int code, closing;

	measure_begin(&s.m, &report);
	code = stat_parse(&s, argc, argv, &ended);
	if (!code && !ended)
		code = stat_count(&s);
	closing = measure_end(&s.m);
	if (!code)
		code = closing;
	if (!code)
		code = child_exit_code(&s.m.child, s.m.seen & SEEN_EXIT_STATUS);
	return code;
}

int pmc_cmd_stat(int argc, char *argv[])
{
	return stat_main(false, argc, argv);
}

int pmc_cmd_stat_system(int argc, char *argv[])
{
	return stat_main(true, argc, argv);
}
