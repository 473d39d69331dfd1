/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat's command line.  -c, -C and -d act on the PMCs that follow them, so options are obeyed in
 * the order given; after the last one check.c decides whether they go together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "pmcstat.h"
#include "cli/top/top.h"

/* The settings for the next PMC, from the options so far. */
struct parse {
	struct measure *m;
	struct cpulist online, cpus;
	bool chosen;			/* -c has named CPUs */
	const char *idle_cpus;		/* the value of a -c that no -s or -S has followed yet */
	bool cumulative, descendants, exits, switches, no_chain, both_sides;
	pmc_value_t rate;
	const char *json, *csv;		/* the files of --json and --csv, or NULL */
	bool ended;
};

struct stat_opt {
	struct opt opt;
	int (*obey)(struct parse *p, const struct opt *opt, const char *arg);
};

static int parse_add_column(struct parse *p, const char *spec, enum pmc_mode mode, int cpu)
{
	struct column column = { .spec = spec, .mode = mode, .cpu = cpu,
				 .cumulative = p->cumulative };

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

static int obey_process_pmc(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_PROCESS_PMC | SEEN_COUNTING;
	return parse_add_column(p, arg, PMC_MODE_TC, PMC_CPU_ANY);
}

static int obey_process_sampling(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_PROCESS_PMC | SEEN_SAMPLING;
	return parse_add_column(p, arg, PMC_MODE_TS, PMC_CPU_ANY);
}

static int parse_add_on_cpus(struct parse *p, const char *arg, enum pmc_mode mode)
{
	int code = 0;

	p->m->seen |= SEEN_SYSTEM_PMC;
	p->idle_cpus = NULL;
	for (int cpu = cpulist_next(&p->cpus, 0); cpu >= 0 && !code;
	     cpu = cpulist_next(&p->cpus, cpu + 1))
		code = parse_add_column(p, arg, mode, cpu);
	return code;
}

static int obey_system_pmc(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_COUNTING;
	return parse_add_on_cpus(p, arg, PMC_MODE_SC);
}

static int obey_system_sampling(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_SAMPLING;
	return parse_add_on_cpus(p, arg, PMC_MODE_SS);
}

static int obey_rate(struct parse *p, const struct opt *opt, const char *arg)
{
	unsigned long long rate;
	char *end;

	errno = 0;
	rate = strtoull(arg, &end, 0);
	if (end == arg || *end || errno || !rate || strchr(arg, '-'))
		return fail(EX_USAGE, "ERROR: Illegal count value \"%s\".", arg);
	p->m->seen |= SEEN_RATE;
	p->rate = rate;
	return 0;
}

static int obey_chains(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CHAIN;
	p->no_chain = !p->no_chain;
	return 0;
}

static int obey_both_sides(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_BOTH_SIDES;
	p->both_sides = !p->both_sides;
	return 0;
}

static int obey_exits(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_EXIT_LOG;
	p->exits = !p->exits;
	return 0;
}

static int obey_switches(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_SWITCH_LOG;
	p->switches = !p->switches;
	return 0;
}

static int obey_log(struct parse *p, const struct opt *opt, const char *arg)
{
	if (p->m->seen & SEEN_LOG)
		return fail(EX_USAGE, "ERROR: option -O may only be specified once.");
	p->m->seen |= SEEN_LOG;
	p->m->log = arg;
	return 0;
}

static int obey_cpus(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CPUS;
	p->idle_cpus = arg;
	p->chosen = strcmp(arg, "*") != 0;
	if (!p->chosen) {
		p->cpus = p->online;
		return 0;
	}
	if (cpulist_parse(arg, &p->cpus) != 0)
		return fail(EX_USAGE, "ERROR: Illegal CPU specification \"%s\".", arg);
	return 0;
}

static int obey_cumulative(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CUMULATIVE;
	p->cumulative = !p->cumulative;
	return 0;
}

static int obey_descendants(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_DESCENDANTS;
	p->descendants = !p->descendants;
	return 0;
}

static int obey_target(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_TARGET;
	return targets_want(p->m, arg);
}

static int obey_duration(struct parse *p, const struct opt *opt, const char *arg)
{
	if (opt_seconds(arg, &p->m->duration) != 0)
		return fail(EX_USAGE, "ERROR: Illegal duration time value \"%s\".", arg);
	p->m->seen |= SEEN_DURATION;
	return 0;
}

static int obey_interval(struct parse *p, const struct opt *opt, const char *arg)
{
	if (opt_seconds(arg, &p->m->interval) != 0)
		return fail(EX_USAGE, "ERROR: Illegal wait interval value \"%s\".", arg);
	return 0;
}

static int obey_output(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_OUTPUT;
	p->m->output = arg;
	return 0;
}

static int obey_input(struct parse *p, const struct opt *opt, const char *arg)
{
	if (p->m->seen & SEEN_INPUT)
		return fail(EX_USAGE, "ERROR: option -R may only be specified once.");
	p->m->seen |= SEEN_INPUT;
	p->m->input = arg;
	return 0;
}

static int obey_top(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->analysis->seen |= ANALYSIS_TOP;
	p->m->live = top_live;
	return 0;
}

static int obey_quiet(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->verbosity = 0;
	return 0;
}

static int obey_verbose(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->verbosity++;
	return 0;
}

/* Rows in that form; with a file, or of a log, a report. */
static int obey_json(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_JSON;
	p->m->format = &format_json;
	p->json = arg;
	return 0;
}

static int obey_csv(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CSV;
	p->m->format = &format_csv;
	p->csv = arg;
	return 0;
}

static int obey_analysis(struct parse *p, const struct opt *opt, const char *arg)
{
	return analysis_option(p->m->analysis, opt->code, arg);
}

static int obey_exit_status(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_EXIT_STATUS;
	return 0;
}

static int obey_from(struct parse *p, const struct opt *opt, const char *arg)
{
	targets_from(p->m, opt->code);
	return 0;
}

static int obey_events(struct parse *p, const struct opt *opt, const char *arg)
{
	p->ended = true;
	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	return opt->code == 'L' ? events_print(NULL) : events_describe(opt->code, arg);
}

static int obey_version(struct parse *p, const struct opt *opt, const char *arg)
{
	p->ended = true;
	return opt_version("pmcstat");
}

static int obey_help(struct parse *p, const struct opt *opt, const char *arg);

#define ANALYSIS_ROW(code, name, arg, help) { { code, name, arg, help }, obey_analysis },
static const struct stat_opt options[] = {
	{ { 'p', "process-pmc", "EVENT", "count EVENT in the command or the -t processes" },
	  obey_process_pmc },
	{ { 's', "system-pmc", "EVENT", "count EVENT on whole CPUs" }, obey_system_pmc },
	{ { 'P', "process-sampling", "EVENT", "sample EVENT in the command or the -t processes" },
	  obey_process_sampling },
	{ { 'S', "system-sampling", "EVENT", "sample EVENT on whole CPUs" }, obey_system_sampling },
	{ { 'n', "rate", "COUNT", "events between two samples, for the -P and -S that follow" },
	  obey_rate },
	{ { 'N', "no-callchain", NULL, "toggle call chains of the -P and -S that follow" },
	  obey_chains },
	{ { 'U', "user-callchain", NULL, "toggle chains of the kernel that go on into its caller" },
	  obey_both_sides },
	{ { 'E', "log-exits", NULL, "toggle logging each process's count for the -p that follow" },
	  obey_exits },
	{ { 'W', "log-switches", NULL, "toggle logging each time slice for the -p that follow" },
	  obey_switches },
	{ { 'O', "log", "FILE", "the log goes to FILE, - or host:port, not out as text" },
	  obey_log },
	{ { 'c', "cpus", "LIST", "CPUs of the -s that follow: 0,2,4-7 or * (all, the default)" },
	  obey_cpus },
	{ { 'C', "cumulative", NULL, "toggle running totals for the PMCs that follow" },
	  obey_cumulative },
	{ { 'd', "descendants", NULL, "toggle counting descendants for the -p that follow" },
	  obey_descendants },
	{ { 't', "target", "PROCESS", "a process by number, or those whose name matches a regex" },
	  obey_target },
	{ { OPT_FROM_EXEC, "from-exec", NULL, "count -t processes from their next exec on, too" },
	  obey_from },
	{ { OPT_FROM_FORK, "from-fork", NULL, "count the command from before its exec on" },
	  obey_from },
	{ { 'w', "interval", "SECONDS", "time between rows, 5" }, obey_interval },
	{ { 'l', "duration", "SECONDS", "end after this time" }, obey_duration },
	{ { 'o', "output", "FILE", "rows go to FILE, not to standard error" }, obey_output },
	{ { 'R', "read-log", "FILE", "read a log from FILE, - or host:port" },
	  obey_input },
	{ { 'T', "top", NULL, "show where samples are, while they are taken or from a log" },
	  obey_top },
	{ { OPT_JSON, "json", "[FILE]", "rows as JSON, one a line; with -R or =FILE a report" },
	  obey_json },
	{ { OPT_CSV, "csv", "[FILE]", "… as comma-separated values" }, obey_csv },
	ANALYSIS_OPTIONS(ANALYSIS_ROW)
	{ { OPT_EXIT_STATUS, "exit-status", NULL, "exit as the command did also if asked to end" },
	  obey_exit_status },
	{ { 'q', "quiet", NULL, "no warnings" }, obey_quiet },
	{ { 'v', "verbose", NULL, "say which PMCs were allocated and attached" }, obey_verbose },
	{ { 'L', "list-events", NULL, "the names of all events" }, obey_events },
	{ { 'u', "describe", "EVENT", "what events are whose names contain this" }, obey_events },
	{ { OPT_HELP, "help", NULL, "this text" }, obey_help },
	{ { OPT_VERSION, "version", NULL, "the version" }, obey_version },
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

static int obey_help(struct parse *p, const struct opt *opt, const char *arg)
{
	p->ended = true;
	args_show_usage(stdout);
	return opt_flush_stdout();
}

int args_usage(void)
{
	args_show_usage(stderr);
	return EX_USAGE;
}

static int parse_option(struct parse *p, int code)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (options[i].opt.code == code)
			return options[i].obey(p, &options[i].opt, optarg);
	}
	return args_usage();	/* opt_next() has printed the wrong option */
}

/* -c, --json and --csv have another meaning if samples come from a log. */
static int parse_finish_analysis(struct parse *p)
{
	struct analysis *a = p->m->analysis;
	bool log = p->m->seen & SEEN_INPUT;
	int code = 0;

	if (p->m->seen & SEEN_JSON && (log || p->json))
		code = analysis_option(a, OPT_JSON, p->json);
	if (!code && p->m->seen & SEEN_CSV && (log || p->csv))
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
		code = parse_option(&p, letter);
	}
	*ended = p.ended;
	if (!code && p.idle_cpus && m->seen & SEEN_SYSTEM_PMC && m->verbosity > 0)
		note("WARNING: -c %s changes nothing: it is for the -s and -S that follow it",
		     p.idle_cpus);
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
