/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc list-events: the names of all events, or descriptions of the hardware's events. */
#include <stdio.h>

#include <pmc.h>

#include "cli/common/common.h"
#include "pmc.h"

static const struct opt options[] = {
	{ 'u', "desc", NULL, "a line of description of each event" },
	{ 'U', "long-desc", NULL, "the long description" },
	{ 'f', "full", NULL, "everything that is known" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void list_usage(FILE *file)
{
	fputs("usage: pmc list-events [SUBSTRING]\n"
	      "       pmc list-events -u | -U | -f SUBSTRING\n", file);
}

int pmc_cmd_list_events(int argc, char *argv[])
{
	struct opt_scan scan;
	int letter, wanted = 0, code;
	const char *substr;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while ((letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == OPT_HELP)
			return opt_show_help(list_usage, options, NOPTIONS, sizeof(options[0]));
		if (letter == '?') {
			list_usage(stderr);
			return EX_USAGE;
		}
		wanted = letter;
	}
	substr = argv[optind];
	if (wanted && !substr)
		return fail(EX_USAGE, "ERROR: event or event substring required when option "
			    "provided");
	if (substr && argv[optind + 1]) {
		list_usage(stderr);
		return EX_USAGE;
	}
	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	code = wanted ? events_describe(wanted, substr) : events_print(substr);
	return code;
}
