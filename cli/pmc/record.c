/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc record: a log with samples of a command, of processes or of all CPUs, and its report.  The
 * measurement is pmcstat's, with defaults for the choices that pmcstat leaves to its user.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "cli/measure/measure.h"
#include "pmc.h"
#include "pmc_log.h"

#define LOG_NAME      "pmc.log"
#define HARDWARE      "unhalted-cycles"	/* the default event */
#define SOFTWARE      "CPU_CLOCK"	/* the default on machines without that event */
#define OFFCPU	      "OFFCPU_TIME"
#define FLUSH_SECONDS 1.0

struct pmc_record {
	struct measure m;
	const char **events;
	size_t nevents;
	pmc_value_t count;	/* 0: the event's default */
	pmc_value_t hz;		/* 0: see `count` */
	char **steered;		/* specifiers with freq=, for events without a fixed rate */
	size_t nsteered;
	bool system, no_chain;
	bool off_cpu, wall, wakers;
	bool report;		/* show it … */
	int said;		/* … by this option, if not 0 */
	struct stat log;	/* once it is written */
};

static const struct opt options[] = {
	{ 'e', "event", "EVENT", "sample this; may be repeated; cycles, or " SOFTWARE },
	{ 'c', "count", "COUNT", "a sample every COUNT events" },
	{ 'F', "frequency", "HZ", "so many samples a second, by a period that may be steered" },
	{ 'a', "all-cpus", NULL, "all CPUs, whatever runs there" },
	{ 'p', "process", "PROCESS", "a process by number, or those whose name matches a regex" },
	{ 'l', "duration", "SECONDS", "end after this time" },
	{ 'o', "output", "LOG", "the log; " LOG_NAME },
	{ 'g', "callchain", NULL, "with call chains, which is the default" },
	{ 'N', "no-callchain", NULL, "without call chains" },
	{ OPT_REPORT, "report", NULL, "show the report, also when it goes to no terminal" },
	{ OPT_NO_REPORT, "no-report", NULL, "show no report" },
	{ OPT_OFF_CPU, "off-cpu", NULL, "where threads wait for 1 ms or more: " OFFCPU },
	{ OPT_WALL, "wall", NULL, "that, and the time on the CPUs (" SOFTWARE "), on one scale" },
	{ OPT_WAKERS, "wakers", NULL, "with --off-cpu or --wall: wakers, with their chains" },
	{ OPT_FROM_EXEC, "from-exec", NULL, "sample -p processes from their next exec on as well" },
	{ OPT_FROM_FORK, "from-fork", NULL, "sample the command from before its exec on" },
	{ OPT_EXIT_STATUS, "exit-status", NULL, "exit as the command did also if asked to end" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void pmc_record_usage(FILE *file)
{
	fputs("usage: pmc record [-e EVENT]... [--off-cpu | --wall] [-c COUNT | -F HZ] [-a] "
	      "[-p PROCESS]...\n                  "
	      "[-l SECONDS]\n                  [-o LOG] [-N] [--from-exec | --from-fork] "
	      "[--report | --no-report]\n                  [--exit-status] [--] "
	      "[COMMAND [ARGUMENT...]]\n", file);
}

/* --- the event and its period --------------------------------------------------------------- */

static enum pmc_mode pmc_record_mode(const struct pmc_record *r)
{
	return r->system ? PMC_MODE_SS : PMC_MODE_TS;
}

/*
 * Called before an old log is overwritten: a wrong event must not destroy it.  The address of a
 * symbol shows later.
 */
static bool pmc_record_can_sample(const struct pmc_record *r, const char *spec, int cpu)
{
	const struct column column = { .spec = spec, .mode = pmc_record_mode(r) };
	bool can = true;
	char **specs;
	pmc_id_t id;
	int n;

	if (place_waits(&column))
		return true;
	n = kinds_find(spec, column.mode, &specs);
	for (int i = 0; i < (n ? n : 1) && can; i++) {
		can = pmc_allocate(n ? specs[i] : spec, column.mode, 0, cpu, &id, 0) == 0;
		if (can)
			pmc_release(id);
	}
	free(specs);
	return can;
}

/* The specifier with freq=, before a filter, which takes all that follows.  NULL: no memory. */
static const char *pmc_record_steer(struct pmc_record *r, const char *spec)
{
	const char *filter = strstr(spec, ",filter=");
	char *steered = NULL;

	if (array_extend(r->steered, r->nsteered) != 0 ||
	    asprintf(&steered, "%.*s,freq=%llu%s", (int)(filter ? filter - spec :
			    (ptrdiff_t)strlen(spec)), spec, (unsigned long long)r->hz,
		     filter ? filter : "") < 0)
		return NULL;
	return r->steered[r->nsteered++] = steered;
}

/* The kernel's limit of samples a second; 0: unknown. */
static unsigned long kernel_max_rate(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long most = 0;

	if (f && fscanf(f, "%lu", &most) != 1)
		most = 0;
	if (f)
		fclose(f);
	return most;
}

static int pmc_record_find_rate(struct pmc_record *r, const char **event, pmc_value_t *rate)
{
	const char *spec = *event;
	unsigned long most = r->hz ? kernel_max_rate() : 0;
	uint64_t ticks = clock_hz_spec(spec);

	*rate = r->count;
	if (!r->hz)
		return 0;
	if (most && r->hz > most)
		return fail(EX_USAGE, "ERROR: -F %llu: the kernel takes at most %lu samples a "
			    "second (kernel.perf_event_max_sample_rate)",
			    (unsigned long long)r->hz, most);
	if (!ticks) {
		*event = pmc_record_steer(r, spec);
		return *event ? 0 : fail_errno(EX_OSERR, "ERROR");
	}
	*rate = (ticks + r->hz / 2) / r->hz;
	if (r->hz > ticks)
		return fail(EX_USAGE, "ERROR: \"%s\" is sampled at most %llu times a second",
			    spec, (unsigned long long)ticks);
	return 0;
}

static int pmc_record_add_event(struct pmc_record *r, const char *spec, const struct cpulist *cpus)
{
	struct column column = { .spec = spec, .mode = pmc_record_mode(r), .cpu = PMC_CPU_ANY };
	int code = pmc_record_find_rate(r, &column.spec, &column.rate);

	if (!r->no_chain)
		column.flags |= PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN;
	if (!r->system && !targets_are_thread(&r->m) && targets_cgroup(&r->m) < 0)
		column.flags |= PMC_F_DESCENDANTS;
	if (!r->system && !code)
		return pmcs_add(&r->m, &column);
	for (int cpu = cpulist_next(cpus, 0); cpu >= 0 && !code;
	     cpu = cpulist_next(cpus, cpu + 1)) {
		column.cpu = cpu;
		code = pmcs_add(&r->m, &column);
	}
	return code;
}

static int pmc_record_choose_events(struct pmc_record *r)
{
	static const char *const defaults[] = { HARDWARE, SOFTWARE };
	struct cpulist cpus;
	int code = 0, cpu = PMC_CPU_ANY;

	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	if (cpulist_online(&cpus) != 0)
		return fail(EX_OSERR, "ERROR: Cannot determine which CPUs are online");
	if (r->system)
		cpu = cpulist_next(&cpus, 0);
	if (!r->nevents)
		return pmc_record_add_event(r, defaults[!pmc_record_can_sample(r, HARDWARE, cpu)],
					    &cpus);
	for (size_t i = 0; i < r->nevents && !code; i++) {
		if (*r->events[i] == '{')
			return fail(EX_USAGE, "ERROR: \"%s\": a group is counted, because each "
				    "sampled event has a period of its own: sample its events by "
				    "several -e, or count it with pmcstat -p", r->events[i]);
		if (!pmc_record_can_sample(r, r->events[i], cpu))
			return fail_pmc(EX_OSERR, "ERROR: Cannot sample \"%s\"", r->events[i]);
		code = pmc_record_add_event(r, r->events[i], &cpus);
	}
	return code;
}

/* --- the log -------------------------------------------------------------------------------- */

/* record_begin() overwrites an old log, so everything that may be refused comes before it. */
static int pmc_record_measure(struct pmc_record *r)
{
	static measure_phase *const phases[] = {
		pmcs_allocate, run_prepare, child_spawn, targets_find, pmcs_attach,
		record_begin,  pmcs_start,  child_go,	 place_all,    run_loop,   run_finish,
	};
	int code = guard_output(r->m.log, GUARD_LOG) ?: child_check(&r->m) ?:
		   pmc_record_choose_events(r);

	return code ? code : MEASURE_RUN(&r->m, phases);
}

static int pmc_record_count_sample(void *arg, const struct pmclog_ev *ev)
{
	uint64_t *samples = arg;

	*samples += ev->pl_type == PMCLOG_TYPE_CALLCHAIN || ev->pl_type == PMCLOG_TYPE_PCSAMPLE;
	return 0;
}

/* Shows this instead of a report. */
static int pmc_record_summarize(const struct pmc_record *r)
{
	const char *name = r->m.log, *said = strcmp(name, LOG_NAME) == 0 ? "" : name;
	uint64_t samples = 0;
	struct log_user user = { .record = pmc_record_count_sample, .arg = &samples };
	int fd = -1, code = log_open_input(name, &fd);

	if (code)
		return code;
	code = pmc_log_each(fd, name, &user);
	close(fd);
	if (!code)
		note("%llu samples in \"%s\" (%.0f kB); pmc report%s%s shows them",
		     (unsigned long long)samples, name, (double)r->log.st_size / 1e3,
		     *said ? " " : "", said);
	return code;
}

static int pmc_record_show(const struct pmc_record *r)
{
	char *argv[] = { "report", r->wall ? "--wall" : "--", (char *)r->m.log, NULL };

	if (!S_ISREG(r->log.st_mode))
		return 0;	/* a pipe: its reader has the log */
	if (!r->report)
		return pmc_record_summarize(r);
	/* From here on Ctrl-C ends the report, and SIGIO from PMCs without targets has no use. */
	signal(SIGIO, SIG_IGN);
	sigprocmask(SIG_SETMASK, &r->m.old_mask, NULL);
	optind = 0;
	return analysis_command(3, argv);
}

/* --- the command line ----------------------------------------------------------------------- */

static int pmc_record_note_event(struct pmc_record *r, const char *event)
{
	if (array_extend(r->events, r->nevents))
		return fail_errno(EX_OSERR, "ERROR");
	r->events[r->nevents++] = event;
	return 0;
}

static int pmc_record_option(struct pmc_record *r, int letter)
{
	switch (letter) {
	case 'e':
		return pmc_record_note_event(r, optarg);
	case 'c':
		return opt_count(optarg, "count", &r->count);
	case 'F':
		return opt_count(optarg, "frequency", &r->hz);
	case 'a':
		r->system = true;
		return 0;
	case 'p':
		return targets_want(&r->m, optarg);
	case 'l':
		if (opt_seconds(optarg, &r->m.duration) != 0)
			return fail(EX_USAGE, "ERROR: Illegal duration time value \"%s\".", optarg);
		return 0;
	case 'o':
		r->m.log = optarg;
		return 0;
	case 'g':
	case 'N':
		r->no_chain = letter == 'N';
		return 0;
	case OPT_REPORT:
	case OPT_NO_REPORT:
		if (r->said && r->said != letter)
			return fail(EX_USAGE, "ERROR: options --report and --no-report are "
				    "mutually exclusive.");
		r->said = letter;
		r->report = letter == OPT_REPORT;
		return 0;
	case OPT_OFF_CPU:
		r->off_cpu = true;
		return 0;
	case OPT_WALL:
		r->wall = true;
		return 0;
	case OPT_WAKERS:
		r->wakers = true;
		return 0;
	case OPT_FROM_EXEC:
	case OPT_FROM_FORK:
		targets_from(&r->m, letter);
		return 0;
	case OPT_EXIT_STATUS:
		r->m.seen |= SEEN_EXIT_STATUS;
		return 0;
	default:
		pmc_record_usage(stderr);
		return EX_USAGE;
	}
}

static int pmc_record_check(const struct pmc_record *r)
{
	if (r->wall && (r->nevents || r->off_cpu))
		return fail(EX_USAGE, "ERROR: option --wall has its own events, without -e and "
			    "--off-cpu.");
	if (r->wakers && !r->wall && !r->off_cpu)
		return fail(EX_USAGE, "ERROR: option --wakers is for waits: give --off-cpu or "
			    "--wall, or -e " OFFCPU ",wakers.");
	if (r->hz && (r->wall || r->off_cpu))
		return fail(EX_USAGE, "ERROR: waits have no rate: give -c, which is the length of "
			    "the shortest in ns, instead of -F");
	if (r->count && r->hz)
		return fail(EX_USAGE, "ERROR: options -c and -F are mutually exclusive.");
	if (r->system && r->m.nwanted)
		return fail(EX_USAGE, "ERROR: options -a and -p are mutually exclusive.");
	if (!r->system && !r->m.nwanted && !r->m.command) {
		pmc_record_usage(stderr);
		return fail(EX_USAGE, "ERROR: a command, -p or -a is needed");
	}
	return targets_check(&r->m, !r->system);
}

/* The events of --off-cpu and --wall. */
static int pmc_record_add_time(struct pmc_record *r)
{
	int code = r->wall ? pmc_record_note_event(r, SOFTWARE) : 0;

	if (code || !(r->wall || r->off_cpu))
		return code;
	return pmc_record_note_event(r, r->wakers ? OFFCPU ",wakers" : OFFCPU);
}

static int pmc_record_parse(struct pmc_record *r, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	r->report = isatty(STDOUT_FILENO);
	r->m.log = LOG_NAME;
	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		*ended = letter == OPT_HELP;
		if (*ended)
			return opt_show_help(pmc_record_usage, options, NOPTIONS,
					     sizeof(options[0]));
		code = pmc_record_option(r, letter);
	}
	if (optind < argc)
		r->m.command = argv + optind;
	r->m.seen |= SEEN_SAMPLING | (r->system ? SEEN_SYSTEM_PMC : SEEN_PROCESS_PMC);
	r->m.interval = FLUSH_SECONDS;
	r->m.reported = r->report;
	/* On one terminal, progress would be mixed with the command's output. */
	r->m.progress = isatty(STDERR_FILENO) && !(r->m.command && isatty(STDOUT_FILENO));
	out_use(&r->m.out, STDERR_FILENO, "standard error");
	return code ?: pmc_record_check(r) ?: pmc_record_add_time(r);
}

int pmc_cmd_record(int argc, char *argv[])
{
	struct pmc_record r = { .nevents = 0 };
	bool ended = false;
	int code, closing;

	measure_begin(&r.m, &format_table);
	code = pmc_record_parse(&r, argc, argv, &ended);
	if (!code && !ended)
		code = pmc_record_measure(&r);
	closing = measure_end(&r.m);
	if (!code)
		code = closing;
	if (!code && !ended && stat(r.m.log, &r.log) == 0)
		code = pmc_record_show(&r);
	if (!code)
		code = child_exit_code(&r.m.child, r.m.seen & SEEN_EXIT_STATUS);
	free(r.events);
	for (size_t i = 0; i < r.nsteered; i++)
		free(r.steered[i]);
	free(r.steered);
	return code;
}
