/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol(8): lists rows, events and statistics; enables and disables rows; sets tunables. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmc.h>

#include "lib/base/nearest.h"
#include "cli/common/common.h"
#include "pmccontrol.h"

static const struct opt options[] = {
	{ 'L', "list-events", NULL, "list the events of every class" },
	{ 'l', "list", NULL, "list the rows of every CPU" },
	{ 's', "statistics", NULL, "show the driver's statistics" },
	{ OPT_DOCTOR, "doctor", NULL, "what prevents or limits counting, and what to do" },
	{ 'c', "cpu", "CPU", "the -e and -d that follow are for this CPU, * for all" },
	{ 'e', "enable", "ROW", "enable a row, * for all" },
	{ 'd', "disable", "ROW", "disable a row, * for all" },
	{ OPT_TUNABLE, "tunable", "[NAME[=VALUE]]",
	  "list the daemon's tunables, show one, or set one" },
	{ OPT_POLICY, "policy", NULL, "the administrator's rules: all for root, else yours" },
	{ OPT_JSON, "json", NULL, "output of -L, -l, -s, --doctor, --policy, --tunable as JSON" },
	{ OPT_OPENMETRICS, "openmetrics", NULL, "output of -s as OpenMetrics" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void control_usage(FILE *file)
{
	fputs("Usage:\n"
	      "       pmccontrol -L [--json]\n"
	      "       pmccontrol -l [--json]\n"
	      "       pmccontrol -s [--json | --openmetrics]\n"
	      "       pmccontrol --doctor [--json]\n"
	      "       pmccontrol --policy [--json]\n"
	      "       pmccontrol [-e ROW | -d ROW | -c CPU] ...\n"
	      "       pmccontrol --tunable [NAME[=VALUE]] [--json]\n", file);
}

static int control_reject_usage(void)
{
	control_usage(stderr);
	return EX_USAGE;
}

/* FreeBSD's messages instead of getopt(3)'s. */
static int control_wrong_option(const struct opt_scan *scan, int letter, char *argv[])
{
	const char *word = argv[optind - 1];
	struct nearest near;

	if (letter == ':')
		return fail(EX_USAGE, "Missing argument to option '-%c'", optopt);
	if (strncmp(word, "--", 2) == 0)
		fail(EX_USAGE, "Unrecognized option \"%s\"%s", word,
		     nearest_option(&near, word, scan->names));
	else
		fail(EX_USAGE, "Unrecognized option \"-%c\"", optopt);
	return control_reject_usage();
}

static int control_choose(struct control *control, char command, const char *option)
{
	if (control->command && control->command != command)
		return fail(EX_USAGE, "options %s and %s may not be used together",
			    control->command_option, option);
	control->command = command;
	control->command_option = option;
	return 0;
}

/* A number or "*".  `what` is "CPU" or "PMC". */
static int control_parse_id(const char *text, const char *what, int *id)
{
	uint64_t number;

	*id = CTL_ALL;
	if (strcmp(text, "*") == 0)
		return 0;
	if (opt_number(text, 0, 0, INT_MAX, &number) != 0)
		return fail(EX_DATAERR, "\"%s\" is not a valid %s id", text, what);
	*id = (int)number;
	return 0;
}

static int control_admin(struct control *control, char letter, const char *arg)
{
	static const char *const names[] = { ['c'] = "-c", ['d'] = "-d", ['e'] = "-e" };
	int id, code = control_choose(control, 'e', names[(unsigned char)letter]);

	if (!code)
		code = control_parse_id(arg, letter == 'c' ? "CPU" : "PMC", &id);
	if (code)
		return code;
	if (letter == 'c') {
		control->cpu = id;
		return 0;
	}
	return admin_add(control, letter == 'e', id);
}

static int control_tunable(struct control *control, const char *arg)
{
	if (control->command == 'T')
		return fail(EX_USAGE, "option --tunable is used only once");
	control->tunable = arg;
	return control_choose(control, 'T', "--tunable");
}

static int control_help(void)
{
	return opt_show_help(control_usage, options, NOPTIONS, sizeof(options[0]));
}

static int control_option(struct control *control, int letter, const char *arg, bool *ended)
{
	switch (letter) {
	case 'L':
		return control_choose(control, 'L', "-L");
	case 'l':
		return control_choose(control, 'l', "-l");
	case 's':
		return control_choose(control, 's', "-s");
	case OPT_DOCTOR:
		return control_choose(control, 'D', "--doctor");
	case OPT_POLICY:
		return control_choose(control, 'P', "--policy");
	case OPT_TUNABLE:
		return control_tunable(control, arg);
	case OPT_JSON:
		control->json = true;
		return 0;
	case OPT_OPENMETRICS:
		control->openmetrics = true;
		return 0;
	case OPT_HELP:
		*ended = true;
		return control_help();
	case OPT_VERSION:
		*ended = true;
		return opt_version("pmccontrol");
	default:
		return control_admin(control, (char)letter, arg);
	}
}

static int control_parse(struct control *control, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	scan.quiet = true;
	while (!code && !*ended && (letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == '?' || letter == ':')
			return control_wrong_option(&scan, letter, argv);
		if (letter == OPT_TUNABLE)
			optarg = opt_optional(argc, argv);
		code = control_option(control, letter, optarg, ended);
	}
	if (code || *ended)
		return code;
	if (!control->command || optind < argc)
		return control_reject_usage();
	if (control->command == 'e' && control->json)
		return fail(EX_USAGE, "option --json is used only with -L, -l, -s, --doctor, "
			    "--policy and --tunable");
	if (control->openmetrics && (control->command != 's' || control->json))
		return fail(EX_USAGE, "option --openmetrics is used only with -s, and without "
			    "--json");
	if (control->command == 'e' && !control->nadmin)
		return fail(EX_USAGE, "No PMCs specified to enable or disable");
	return 0;
}

static int control_run(const struct control *control)
{
	if (control->command == 'D')
		return doctor_run(control);
	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE, "Initialization of the pmc(3) library failed");
	switch (control->command) {
	case 'L':
		return show_events(control);
	case 'l':
		return show_rows(control);
	case 's':
		return statistics_show(control);
	case 'P':
		return policy_run(control);
	case 'T':
		return tunable_run(control);
	default:
		return admin_run(control);
	}
}

int main(int argc, char *argv[])
{
	struct control control = { .cpu = CTL_ALL };
	bool ended = false;
	int code;

	msg_open_standard();
	code = control_parse(&control, argc, argv, &ended);
	if (!code && !ended)
		code = control_run(&control);
	free(control.admin);
	return code;
}
