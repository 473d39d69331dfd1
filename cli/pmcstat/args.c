/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat's command line.  -c, -C and -d act on the PMCs that follow them, so options are obeyed in
 * the order given; after the last one check.c decides whether they go together.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "cli/top/top.h"
#include "pmcstat.h"

/* Options for the PMCs of these letters that follow them. */
static const struct {
	const char *pmcs, *shown;
	unsigned int seen;	/* without all of these, check.c refuses the option */
	char letter;
} followed[] = {
	{ "PS", "-P and -S", SEEN_SAMPLING, 'n' },
	{ "PS", "-P and -S", SEEN_SAMPLING, 'N' },
	{ "PS", "-P and -S", SEEN_SAMPLING, 'U' },
	{ "ps", "-p and -s", SEEN_COUNTING, 'C' },
	{ "pP", "-p and -P", SEEN_PROCESS_PMC, 'd' },
	{ "p", "-p", SEEN_PROCESS_PMC, 'E' },
	{ "p", "-p", SEEN_PROCESS_PMC | SEEN_COUNTING, 'W' },
};
#define FOLLOWED (sizeof(followed) / sizeof(followed[0]))

/* The settings for the next PMC, from the options so far. */
struct parse {
	struct measure *m;
	struct cpulist online, cpus;
	bool chosen;			/* -c has named CPUs */
	enum topology_unit unit;	/* of --per-core and its like … */
	const char *idle_unit;		/* … its name, if no -s has followed yet */
	const char *idle_cpus;		/* the value of a -c that no -s or -S has followed yet */
	bool cumulative, descendants, exits, switches, no_chain, both_sides;
	pmc_value_t rate;
	bool idle[FOLLOWED];		/* options that no PMC has followed yet */
	const char *json, *csv;		/* the files of --json and --csv, or NULL */
	bool ended;
};

static const struct {
	int code;
	enum topology_unit unit;
	const char *name;
} units[] = {
	{ OPT_PER_CPU, UNIT_CPU, "cpu" },
	{ OPT_PER_CORE, UNIT_CORE, "core" },
	{ OPT_PER_SOCKET, UNIT_SOCKET, "socket" },
	{ OPT_PER_NODE, UNIT_NODE, "node" },
	{ OPT_PER_MACHINE, UNIT_MACHINE, "machine" },
};
#define UNITS (sizeof(units) / sizeof(units[0]))

static const char *unit_name(enum topology_unit unit)
{
	size_t i = 0;

	while (i < UNITS - 1 && units[i].unit != unit)
		i++;
	return units[i].name;
}

/* If the option is --per-core or its like, 0, or an exit code; else -1. */
static int parse_unit(struct parse *p, int code)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (units[i].code != code)
			continue;
		if (p->idle_unit)
			return fail(EX_USAGE, "ERROR: option --per-%s is for the -s that follow "
				    "it, before --per-%s.", p->idle_unit, units[i].name);
		p->unit = units[i].unit;
		p->idle_unit = units[i].name;
		return 0;
	}
	return -1;
}

static int parse_add_column(struct parse *p, const char *spec, enum pmc_mode mode, int cpu,
			    size_t leader)
{
	struct column column = { .spec = spec, .mode = mode, .cpu = cpu, .leader = leader,
				 .cumulative = p->cumulative };

	if (mode == PMC_MODE_SC && topology_name("", cpu, p->unit, column.unit) != 0)
		return fail(EX_OSERR, "ERROR: the kernel does not report the %s of CPU %d.",
			    unit_name(p->unit), cpu);
	/* As FreeBSD's pmcstat, also on counting PMCs, where only the log shows the bit. */
	if (!p->no_chain)
		column.flags = PMC_F_CALLCHAIN;
	if (PMC_IS_SAMPLING_MODE(mode)) {
		column.rate = p->rate;
		if (p->both_sides && !p->no_chain)
			column.flags |= PMC_F_USERCALLCHAIN;
	}
	if (mode == PMC_MODE_TC && p->exits)
		column.flags |= PMC_F_LOG_PROCEXIT;
	if (mode == PMC_MODE_TC && p->switches)
		column.flags |= PMC_F_LOG_PROCCSW;
	if (p->descendants && PMC_IS_VIRTUAL_MODE(mode))
		column.flags |= PMC_F_DESCENDANTS;
	return pmcs_add(p->m, &column);
}

/* One event, or all of a group. */
static int parse_add_events(struct parse *p, const char *arg, const struct event_list *list,
			    enum pmc_mode mode, int cpu)
{
	const size_t leader = p->m->ncolumns + 1;
	int code = 0;

	if (!list)
		return parse_add_column(p, arg, mode, cpu, 0);
	for (size_t i = 0; i < list->n && !code; i++)
		code = parse_add_column(p, list->member[i], mode, cpu, leader);
	return code;
}

static int parse_add(struct parse *p, const char *arg, enum pmc_mode mode)
{
	const struct event_list *list;
	int code = groups_split(p->m, arg, &list);

	return code ? code : parse_add_events(p, arg, list, mode, PMC_CPU_ANY);
}

static int parse_add_on_cpus(struct parse *p, const char *arg, enum pmc_mode mode)
{
	const struct event_list *list;
	int code = groups_split(p->m, arg, &list);

	if (mode == PMC_MODE_SS && p->unit != UNIT_CPU)
		return fail(EX_USAGE, "ERROR: option --per-%s is for counts: write --per-cpu "
			    "before -S %s.", unit_name(p->unit), arg);
	p->idle_cpus = NULL;
	p->idle_unit = NULL;
	for (int cpu = cpulist_next(&p->cpus, 0); cpu >= 0 && !code;
	     cpu = cpulist_next(&p->cpus, cpu + 1))
		code = parse_add_events(p, arg, list, mode, cpu);
	return code;
}

static int parse_cpus(struct parse *p, const char *arg)
{
	p->idle_cpus = arg;
	p->chosen = strcmp(arg, "*") != 0;
	if (!p->chosen)
		p->cpus = p->online;
	else if (cpulist_parse(arg, &p->cpus) != 0)
		return fail(EX_USAGE, "ERROR: Illegal CPU specification \"%s\".", arg);
	return 0;
}

static int parse_seconds(const char *arg, const char *what, double *seconds)
{
	return opt_seconds(arg, seconds) == 0 ? 0 :
	       fail(EX_USAGE, "ERROR: Illegal %s value \"%s\".", what, arg);
}

static int parse_cgroups(struct parse *p, const char *arg)
{
	if (p->m->each)
		return fail(EX_USAGE, "ERROR: option --for-each-cgroup takes all its cgroups at "
			    "once: \"%s,%s\".", p->m->each, arg);
	p->m->each = arg;
	return 0;
}

static int parse_once(char letter, const char *arg, const char **path)
{
	if (*path)
		return fail(EX_USAGE, "ERROR: option -%c may only be specified once.", letter);
	*path = arg;
	return 0;
}

/* -L and -u: the program ends after them. */
static int parse_show_events(struct parse *p, int letter, const char *arg)
{
	p->ended = true;
	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	return letter == 'L' ? events_print(NULL) : events_describe(letter, arg);
}

#define ANALYSIS_ROW(code, name, arg, help) { code, name, arg, help },
static const struct opt options[] = {
	{ 'p', "process-pmc", "EVENT", "count EVENT, or a group {A,B}, in the processes" },
	{ 's', "system-pmc", "EVENT", "count EVENT on whole CPUs" },
	{ 'P', "process-sampling", "EVENT", "sample EVENT in the command or the -t processes" },
	{ 'S', "system-sampling", "EVENT", "sample EVENT on whole CPUs" },
	{ 'n', "rate", "COUNT", "events between two samples, for the -P and -S that follow" },
	{ 'N', "no-callchain", NULL, "toggle call chains of the -P and -S that follow" },
	{ 'U', "user-callchain", NULL, "toggle chains of the kernel that go on into its caller" },
	{ 'E', "log-exits", NULL, "toggle logging each process's count for the -p that follow" },
	{ 'W', "log-switches", NULL, "toggle logging each time slice for the -p that follow" },
	{ 'O', "log", "FILE", "the log goes to FILE, - or host:port, not out as text" },
	{ 'c', "cpus", "LIST", "CPUs of the -s that follow: 0,2,4-7 or * (all, the default)" },
	{ OPT_PER_CPU, "per-cpu", NULL, "count of each CPU, for the -s that follow; the default" },
	{ OPT_PER_CORE, "per-core", NULL, "… sum of each core" },
	{ OPT_PER_SOCKET, "per-socket", NULL, "… of each socket" },
	{ OPT_PER_NODE, "per-node", NULL, "… of each memory node" },
	{ OPT_PER_MACHINE, "per-machine", NULL, "… of all CPUs" },
	{ OPT_PER_THREAD, "per-thread", NULL, "a row for each thread that the -p have counted" },
	{ OPT_FOR_EACH_CGROUP, "for-each-cgroup", "NAMES",
	  "a row for each of these cgroups: names or regexes, with commas" },
	{ 'C', "cumulative", NULL, "toggle running totals for the PMCs that follow" },
	{ 'd', "descendants", NULL, "toggle counting descendants for the -p that follow" },
	{ 't', "target", "PROCESS", "a process by number, or those whose name matches a regex" },
	{ OPT_FROM_EXEC, "from-exec", NULL, "count -t processes from their next exec on, too" },
	{ OPT_FROM_FORK, "from-fork", NULL, "count the command from before its exec on" },
	{ 'w', "interval", "SECONDS", "time between rows, 5" },
	{ 'l', "duration", "SECONDS", "end after this time" },
	{ 'o', "output", "FILE", "rows go to FILE, not to standard error" },
	{ 'R', "read-log", "FILE", "read a log from FILE, - or host:port" },
	{ 'T', "top", NULL, "show where samples are, while they are taken or from a log" },
	{ OPT_JSON, "json", "[FILE]", "rows as JSON, one a line; with -R or =FILE a report" },
	{ OPT_CSV, "csv", "[FILE]", "… as comma-separated values" },
	ANALYSIS_OPTIONS(ANALYSIS_ROW)
	{ OPT_EXIT_STATUS, "exit-status", NULL, "exit as the command did also if asked to end" },
	{ 'q', "quiet", NULL, "no warnings" },
	{ 'v', "verbose", NULL, "say which PMCs were allocated and attached" },
	{ 'L', "list-events", NULL, "the names of all events" },
	{ 'u', "describe", "EVENT", "describe the events whose names contain this" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void args_show_usage(FILE *file)
{
	fprintf(file, "usage: pmcstat [options] {-p EVENT | -s EVENT}... [command [argument...]]\n"
		"       pmcstat [options] -R LOG\n"
		"       pmcstat report [options] [LOG]\n"
		"Counts hardware and software events of a command, of processes and of CPUs.\n");
	opt_help(file, options, NOPTIONS, sizeof(options[0]));
	fprintf(file, "EVENT: see \"pmcstat -L\" for the names.\n");
}

int args_usage(void)
{
	args_show_usage(stderr);
	return EX_USAGE;
}

static uint64_t seen_of(int code)
{
	switch (code) {
	case 'p': return SEEN_PROCESS_PMC | SEEN_COUNTING;
	case 's': return SEEN_SYSTEM_PMC | SEEN_COUNTING;
	case 'P': return SEEN_PROCESS_PMC | SEEN_SAMPLING;
	case 'S': return SEEN_SYSTEM_PMC | SEEN_SAMPLING;
	case 'n': return SEEN_RATE;
	case 'N': return SEEN_CHAIN;
	case 'U': return SEEN_BOTH_SIDES;
	case 'E': return SEEN_EXIT_LOG;
	case 'W': return SEEN_SWITCH_LOG;
	case 'O': return SEEN_LOG;
	case 'c': return SEEN_CPUS;
	case 'C': return SEEN_CUMULATIVE;
	case 'd': return SEEN_DESCENDANTS;
	case OPT_FOR_EACH_CGROUP: return SEEN_CGROUPS;
	case 't': return SEEN_TARGET;
	case 'w': return SEEN_PACE;
	case 'l': return SEEN_DURATION;
	case 'o': return SEEN_OUTPUT;
	case 'R': return SEEN_INPUT;
	case OPT_JSON: return SEEN_JSON;
	case OPT_CSV: return SEEN_CSV;
	case OPT_EXIT_STATUS: return SEEN_EXIT_STATUS;
	default: return 0;
	}
}

/* Notes an option for the PMCs that follow, or that one has followed. */
static void parse_idle(struct parse *p, int code)
{
	for (size_t i = 0; i < FOLLOWED; i++) {
		if (followed[i].letter == code)
			p->idle[i] = true;
		else if (code > 0 && code < 256 && strchr(followed[i].pmcs, code))
			p->idle[i] = false;
	}
}

/* check.c refuses those for which there is no PMC at all. */
static int parse_check_idle(const struct parse *p)
{
	for (size_t i = 0; i < FOLLOWED; i++)
		if (p->idle[i] && (p->m->seen & followed[i].seen) == followed[i].seen &&
		    !(p->m->seen & SEEN_INPUT))
			return fail(EX_USAGE, "ERROR: the last -%c changes nothing: it is for the "
				    "%s that follow it.", followed[i].letter, followed[i].shown);
	return 0;
}

static int parse_option(struct parse *p, int code, const char *arg)
{
	struct measure *m = p->m;
	int unit = parse_unit(p, code);

	m->seen |= seen_of(code);
	if (unit >= 0)
		return unit;
	parse_idle(p, code);
	switch (code) {
	case 'p': return parse_add(p, arg, PMC_MODE_TC);
	case 's': return parse_add_on_cpus(p, arg, PMC_MODE_SC);
	case 'P': return parse_add(p, arg, PMC_MODE_TS);
	case 'S': return parse_add_on_cpus(p, arg, PMC_MODE_SS);
	case 'n': return opt_count(arg, "count", &p->rate);
	case 'N': p->no_chain = !p->no_chain; return 0;
	case 'U': p->both_sides = !p->both_sides; return 0;
	case 'E': p->exits = !p->exits; return 0;
	case 'W': p->switches = !p->switches; return 0;
	case 'C': p->cumulative = !p->cumulative; return 0;
	case 'd': p->descendants = !p->descendants; return 0;
	case 'O': return parse_once('O', arg, &m->log);
	case 'R': return parse_once('R', arg, &m->input);
	case 'c': return parse_cpus(p, arg);
	case 't': return targets_want(m, arg);
	case 'w': return parse_seconds(arg, "wait interval", &m->interval);
	case 'l': return parse_seconds(arg, "duration time", &m->duration);
	case 'o': m->output = arg; return 0;
	case 'q': m->verbosity = 0; return 0;
	case 'v': m->verbosity++; return 0;
	case 'T': m->analysis->seen |= ANALYSIS_TOP; m->live = top_live; return 0;
	case 'L':
	case 'u': return parse_show_events(p, code, arg);
	case OPT_FROM_EXEC:
	case OPT_FROM_FORK: targets_from(m, code); return 0;
	case OPT_EXIT_STATUS: return 0;
	case OPT_FOR_EACH_CGROUP: return parse_cgroups(p, arg);
	case OPT_PER_THREAD: m->threads = true; return 0;
	/* The form of rows; with a file, or with a log to read, a report. */
	case OPT_JSON: m->format = &format_json; p->json = arg; return 0;
	case OPT_CSV: m->format = &format_csv; p->csv = arg; return 0;
	case OPT_HELP: p->ended = true; args_show_usage(stdout); return opt_flush_stdout();
	case OPT_VERSION: p->ended = true; return opt_version("pmcstat");
	case '?': return args_usage();	/* opt_next() has printed the wrong option */
	default: return analysis_option(m->analysis, code, arg);
	}
}

/* A file of --json or --csv, where there are rows only. */
static int parse_rows_file(struct parse *p, const char *file)
{
	if (p->m->output)
		return fail(EX_USAGE, "ERROR: rows go to one file: \"%s\" or \"%s\".",
			    p->m->output, file);
	if (strcmp(file, "-") == 0)
		out_use(&p->m->out, STDOUT_FILENO, "standard output");
	else
		p->m->output = file;
	return 0;
}

/* -c, --json and --csv have another meaning if samples come from a log. */
static int parse_finish_analysis(struct parse *p)
{
	struct analysis *a = p->m->analysis;
	bool log = p->m->seen & SEEN_INPUT, rows = !log && !(p->m->seen & SEEN_SAMPLING);
	int code = 0;

	if (rows && (p->json || p->csv))
		code = parse_rows_file(p, p->json ? p->json : p->csv);
	if (!rows && p->m->seen & SEEN_JSON && (log || p->json))
		code = analysis_option(a, OPT_JSON, p->json);
	if (!code && !rows && p->m->seen & SEEN_CSV && (log || p->csv))
		code = analysis_option(a, OPT_CSV, p->csv);
	if (log && p->chosen) {
		a->filter.cpus = p->cpus;
		a->filter.by_cpu = true;
	}
	a->verbosity = p->m->verbosity;
	p->m->seen |= SEEN_OF(a->seen);
	return code;
}

int args_parse(struct measure *m, int argc, char *argv[], bool *ended)
{
	struct parse p = { .m = m };
	struct opt_scan scan;
	int err = cpulist_online(&p.online);
	int letter, code = 0;

	if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "ERROR: Cannot determine the root set of CPUs");
	}
	p.cpus = p.online;
	out_use(&m->out, STDERR_FILENO, "standard error");
	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && !p.ended && (letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == OPT_JSON || letter == OPT_CSV)
			optarg = opt_dash(argc, argv);
		code = parse_option(&p, letter, optarg);
	}
	*ended = p.ended;
	if (!code && p.idle_cpus && m->seen & SEEN_SYSTEM_PMC && m->verbosity > 0)
		note("WARNING: -c %s changes nothing: it is for the -s and -S that follow it",
		     p.idle_cpus);
	if (!code && !p.ended && p.idle_unit)
		code = fail(EX_USAGE, "ERROR: option --per-%s is for the -s that follow it.",
			    p.idle_unit);
	if (!code && !p.ended)
		code = parse_check_idle(&p);
	if (!code && m->threads && m->seen & SEEN_PACE)
		code = fail(EX_USAGE, "ERROR: --per-thread prints its rows at the end: no -w goes "
			    "with it.");
	if (!code)
		code = parse_finish_analysis(&p);
	/* No command writes to standard output here: text of a log is the program's result. */
	if (m->seen & (SEEN_INPUT | SEEN_OF(ANALYSIS_OUTPUT | ANALYSIS_TOP)) &&
	    !(m->seen & SEEN_OUTPUT))
		out_use(&m->out, STDOUT_FILENO, "standard output");
	if (optind < argc) {
		m->command = argv + optind;
		m->seen |= SEEN_COMMAND;
	}
	return code;
}
