/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat's command line.  -c, -C and -d act on the PMCs that follow them, so options are obeyed in
 * the order given; whether they go together is stat_check.c's question, after the last one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpulist.h"
#include "measure.h"
#include "msg.h"
#include "opt.h"

/* What the options so far mean for the next PMC. */
struct parse {
	struct measure *m;
	struct cpulist online, cpus;
	bool cumulative, descendants;
	bool ended;
};

struct stat_opt {
	struct opt opt;
	int (*obey)(struct parse *p, const struct opt *opt, const char *arg);
};

static int no_memory(void)
{
	errno = ENOMEM;
	return fail_errno(EX_OSERR, "ERROR");
}

static int add_column(struct parse *p, const char *spec, enum pmc_mode mode, int cpu)
{
	struct measure *m = p->m;
	struct column *columns = reallocarray(m->columns, m->ncolumns + 1, sizeof(*columns));
	struct column *column;

	if (!columns)
		return no_memory();
	m->columns = columns;
	column = &columns[m->ncolumns];
	*column = (struct column){ .spec = spec, .mode = mode, .cpu = cpu, .id = PMC_ID_INVALID,
				   .cumulative = p->cumulative };
	/* FreeBSD's pmcstat asks for call chains on counting PMCs too; log readers know the bit. */
	column->flags = PMC_F_CALLCHAIN;
	if (p->descendants && PMC_IS_VIRTUAL_MODE(mode))
		column->flags |= PMC_F_DESCENDANTS;
	column->name = column_name(spec);
	if (!column->name)
		return no_memory();
	m->ncolumns++;
	return 0;
}

static int obey_process_pmc(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_PROCESS_PMC;
	return add_column(p, arg, PMC_MODE_TC, PMC_CPU_ANY);
}

static int obey_system_pmc(struct parse *p, const struct opt *opt, const char *arg)
{
	int code = 0;

	p->m->seen |= SEEN_SYSTEM_PMC;
	for (int cpu = cpulist_next(&p->cpus, 0); cpu >= 0 && !code;
	     cpu = cpulist_next(&p->cpus, cpu + 1))
		code = add_column(p, arg, PMC_MODE_SC, cpu);
	return code;
}

static int obey_cpus(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CPUS;
	if (strcmp(arg, "*") == 0) {
		p->cpus = p->online;
		return 0;
	}
	if (cpulist_parse(arg, &p->cpus) != 0)
		return fail(EX_USAGE, "ERROR: Illegal CPU specification \"%s\".", arg);
	return 0;
}

static int obey_cumulative(struct parse *p, const struct opt *opt, const char *arg)
{
	p->cumulative = !p->cumulative;
	return 0;
}

static int obey_descendants(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_DESCENDANTS;
	p->descendants = !p->descendants;
	return 0;
}

/* A number is a process, anything else an extended regular expression for process names. */
static int obey_target(struct parse *p, const struct opt *opt, const char *arg)
{
	struct measure *m = p->m;
	struct wanted *wanted = reallocarray(m->wanted, m->nwanted + 1, sizeof(*wanted));
	char *end;
	long pid;
	int err;

	if (!wanted)
		return no_memory();
	m->wanted = wanted;
	wanted += m->nwanted;
	*wanted = (struct wanted){ .text = arg };
	m->seen |= SEEN_TARGET;

	errno = 0;
	pid = strtol(arg, &end, 10);
	if (end != arg && !*end) {
		if (errno || pid <= 0 || (pid_t)pid != pid)
			return fail(EX_USAGE, "ERROR: Illegal process id \"%s\".", arg);
		wanted->pid = (pid_t)pid;
		m->nwanted++;
		return 0;
	}
	err = regcomp(&wanted->name, arg, REG_EXTENDED | REG_NOSUB);
	if (err) {
		char why[128];

		regerror(err, &wanted->name, why, sizeof(why));
		return fail(EX_DATAERR, "ERROR: Failed to compile regex \"%s\": %s", arg, why);
	}
	m->nwanted++;
	return 0;
}

static int obey_duration(struct parse *p, const struct opt *opt, const char *arg)
{
	if (opt_seconds(arg, &p->m->duration) != 0)
		return fail(EX_USAGE, "ERROR: Illegal duration time value \"%s\".", arg);
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
	return out_open(&p->m->out, arg);
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

static int obey_json(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_JSON;
	p->m->format = &format_json;
	return 0;
}

static int obey_csv(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_CSV;
	p->m->format = &format_csv;
	return 0;
}

static int obey_exit_status(struct parse *p, const struct opt *opt, const char *arg)
{
	p->m->seen |= SEEN_EXIT_STATUS;
	return 0;
}

static int obey_version(struct parse *p, const struct opt *opt, const char *arg)
{
	p->ended = true;
	return opt_version("pmcstat");
}

static int obey_help(struct parse *p, const struct opt *opt, const char *arg);

/* Sampling, its log, and the analysis of logs. */
static int refuse(struct parse *p, const struct opt *opt, const char *arg)
{
	return fail(EX_USAGE, "ERROR: option -%c is for sampling and logs, "
		    "which are not part of this version.", opt->code);
}

static const struct stat_opt options[] = {
	{ { 'p', "process-pmc", "EVENT", "count EVENT in the command or the -t processes" },
	  obey_process_pmc },
	{ { 's', "system-pmc", "EVENT", "count EVENT on whole CPUs" }, obey_system_pmc },
	{ { 'c', "cpus", "LIST", "CPUs of the -s that follow: 0,2,4-7 or * (all, the default)" },
	  obey_cpus },
	{ { 'C', "cumulative", NULL, "toggle running totals for the PMCs that follow" },
	  obey_cumulative },
	{ { 'd', "descendants", NULL, "toggle counting descendants for the -p that follow" },
	  obey_descendants },
	{ { 't', "target", "PROCESS", "a process by number, or those whose name matches a regex" },
	  obey_target },
	{ { 'w', "interval", "SECONDS", "time between rows, 5" }, obey_interval },
	{ { 'l', "duration", "SECONDS", "end after this time" }, obey_duration },
	{ { 'o', "output", "FILE", "rows go to FILE, not to standard error" }, obey_output },
	{ { OPT_JSON, "json", NULL, "rows as JSON objects, one a line" }, obey_json },
	{ { OPT_CSV, "csv", NULL, "rows as comma-separated values" }, obey_csv },
	{ { OPT_EXIT_STATUS, "exit-status", NULL, "exit as the command did; 128+N: signal N" },
	  obey_exit_status },
	{ { 'q', "quiet", NULL, "no warnings" }, obey_quiet },
	{ { 'v', "verbose", NULL, "say which PMCs were allocated and attached" }, obey_verbose },
	{ { OPT_HELP, "help", NULL, "this text" }, obey_help },
	{ { OPT_VERSION, "version", NULL, "the version" }, obey_version },
	{ { 'D', NULL, "DIR", NULL }, refuse },
	{ { 'E', NULL, NULL, NULL }, refuse },
	{ { 'F', NULL, "FILE", NULL }, refuse },
	{ { 'G', NULL, "FILE", NULL }, refuse },
	{ { 'M', NULL, "FILE", NULL }, refuse },
	{ { 'N', NULL, NULL, NULL }, refuse },
	{ { 'O', NULL, "FILE", NULL }, refuse },
	{ { 'P', NULL, "EVENT", NULL }, refuse },
	{ { 'R', NULL, "FILE", NULL }, refuse },
	{ { 'S', NULL, "EVENT", NULL }, refuse },
	{ { 'T', NULL, NULL, NULL }, refuse },
	{ { 'W', NULL, NULL, NULL }, refuse },
	{ { 'a', NULL, "FILE", NULL }, refuse },
	{ { 'e', NULL, NULL, NULL }, refuse },
	{ { 'f', NULL, "OPTION", NULL }, refuse },
	{ { 'g', NULL, NULL, NULL }, refuse },
	{ { 'k', NULL, "PATH", NULL }, refuse },
	{ { 'm', NULL, "FILE", NULL }, refuse },
	{ { 'n', NULL, "COUNT", NULL }, refuse },
	{ { 'r', NULL, "DIR", NULL }, refuse },
	{ { 'z', NULL, "DEPTH", NULL }, refuse },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void show_usage(FILE *file)
{
	fprintf(file, "usage: pmcstat [options] {-p EVENT | -s EVENT}... [command [argument...]]\n"
		"Counts hardware and software events of a command, of processes and of CPUs.\n");
	opt_help(file, options, NOPTIONS, sizeof(options[0]));
	fprintf(file, "EVENT: see \"pmccontrol -L\" for the names.\n");
}

static int obey_help(struct parse *p, const struct opt *opt, const char *arg)
{
	p->ended = true;
	show_usage(stdout);
	return opt_flush_stdout();
}

int args_usage(void)
{
	show_usage(stderr);
	return EX_USAGE;
}

static int obey(struct parse *p, int code)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (options[i].opt.code == code)
			return options[i].obey(p, &options[i].opt, optarg);
	}
	return args_usage();	/* getopt has named the wrong option */
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
	while (!code && !p.ended && (letter = opt_next(&scan, argc, argv)) != -1)
		code = obey(&p, letter);
	*ended = p.ended;
	if (optind < argc) {
		m->command = argv + optind;
		m->seen |= SEEN_COMMAND;
	}
	return code;
}
