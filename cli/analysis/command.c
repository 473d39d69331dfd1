/* SPDX-License-Identifier: BSD-2-Clause */
/* `pmc report` and `pmcstat report`: a log on the terminal, or any output of it. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "cli/log/log.h"
#include "analysis.h"

static const char default_log[] = "pmc.log";

struct report_command {
	struct analysis analysis;
	struct out out;
	const char *output;	/* -o */
	int argc;
	char **argv;
	struct held held;	/* messages, while a pager has the terminal */
};

#define ROW(code, name, arg, help) { code, name, arg, help },
static const struct opt options[] = {
	ANALYSIS_OPTIONS(ROW)
	{ OPT_JSON, "json", "[FILE]", "the report as JSON, to =FILE or out" },
	{ OPT_CSV, "csv", "[FILE]", "the report as comma-separated values, to =FILE or out" },
	{ 'c', "cpus", "LIST", "only samples of these CPUs: 0,2,4-7" },
	{ 'o', "output", "FILE", "text goes to FILE, not to standard output" },
	{ 'q', "quiet", NULL, "no statistics, no warnings" },
	{ 'v', "verbose", NULL, "statistics that are zero too" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void command_usage(FILE *file)
{
	fprintf(file, "usage: %s report [OPTION...] [LOG]\n", program_invocation_short_name);
}

static int command_obey(struct report_command *c, int letter)
{
	struct analysis *a = &c->analysis;

	switch (letter) {
	case OPT_JSON:
	case OPT_CSV:
		return analysis_option(a, letter, opt_dash(c->argc, c->argv));
	case 'c':
		if (cpulist_parse(optarg, &a->filter.cpus) != 0)
			return fail(EX_USAGE, "ERROR: Illegal CPU specification \"%s\".", optarg);
		a->filter.by_cpu = true;
		return 0;
	case 'o':
		c->output = optarg;
		return 0;
	case 'q':
		a->verbosity = 0;
		return 0;
	case 'v':
		a->verbosity++;
		return 0;
	case '?':
		command_usage(stderr);
		return EX_USAGE;
	default:
		return analysis_option(a, letter, optarg);
	}
}

/* Text for people goes through a pager if standard output is a terminal. */
static int command_open_output(struct report_command *c, int input)
{
	struct analysis *a = &c->analysis;
	int code;

	if (c->output) {
		code = guard_input(c->output, input, "log");
		return code ? code : out_open(&c->out, c->output, OUTPUT_WHOLE);
	}
	analysis_terminal(a, STDOUT_FILENO);
	a->page = isatty(STDOUT_FILENO) == 1 && analysis_is_text(a);
	if (a->page) {
		pager_hold(&c->held);
		a->terminal = c->held.text >= 0 ? c->held.terminal : STDERR_FILENO;
	}
	out_use(&c->out, STDOUT_FILENO, "standard output");
	return 0;
}

static int command_run(struct report_command *c, const char *log)
{
	struct analysis *a = &c->analysis;
	int fd = -1, code = 0;

	if (!(a->seen & ANALYSIS_OUTPUT))
		code = analysis_default(a);
	if (!code)
		code = log_open_input(log, &fd);
	if (!code)
		code = command_open_output(c, fd);
	if (!code)
		code = analysis_run(a, &fd, log, &c->out);
	if (out_close(&c->out) && !code)
		code = EX_OSERR;
	pager_wait(a->pager);
	pager_release(&c->held);
	if (fd >= 0)
		close(fd);
	return code;
}

int analysis_command(int argc, char *argv[])
{
	struct report_command c = { .argc = argc, .argv = argv, .held = HELD_NONE };
	const char *log;
	struct opt_scan scan;
	int letter, code = 0;

	signal(SIGPIPE, SIG_IGN);
	analysis_begin(&c.analysis);
	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == OPT_HELP) {
			analysis_end(&c.analysis);
			return opt_show_help(command_usage, options, NOPTIONS, sizeof(options[0]));
		}
		code = command_obey(&c, letter);
	}
	if (!code && argc - optind > 1 && argv[optind + 1][0] == '-' && argv[optind + 1][1])
		code = fail(EX_USAGE, "ERROR: options stand before the log: \"%s\" before \"%s\"",
			    argv[optind + 1], argv[optind]);
	if (!code && argc - optind > 1) {
		command_usage(stderr);
		code = fail(EX_USAGE, "ERROR: one log at a time: \"%s\" or \"%s\"",
			    argv[optind], argv[optind + 1]);
	}
	log = optind < argc ? argv[optind] : default_log;
	if (!code)
		code = analysis_check(&c.analysis);
	if (!code)
		code = analysis_check_outputs(&c.analysis, c.output, log);
	if (!code && log == default_log && access(log, F_OK) != 0)
		code = fail(EX_OSERR, "ERROR: there is no \"%s\" here: name a log, or make one "
			    "with \"pmc record\"", log);
	if (!code)
		code = command_run(&c, log);
	analysis_end(&c.analysis);
	return code;
}
