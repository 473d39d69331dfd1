/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(8): the choice of a subcommand. */
#include <stdio.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "pmc.h"

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char *argv[]);
	const char *help;
} subcommands[] = {
	{ "stat", pmc_cmd_stat, "run a command and count its events" },
	{ "stat-system", pmc_cmd_stat_system, "the same on all CPUs, whatever runs there" },
	{ "filter", pmc_cmd_filter, "copy a log without some of its samples" },
	{ "summary", pmc_cmd_summary, "count the samples in a log" },
	{ "record", pmc_cmd_record, "sample a command, processes or all CPUs, and report" },
	{ "report", analysis_command, "show what a log's samples say" },
	{ "list-events", pmc_cmd_list_events, "list the events, or describe some" },
};
#define NSUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void pmc_usage(FILE *file)
{
	fputs("usage: pmc SUBCOMMAND [OPTION...] [ARGUMENT...]\n"
	      "       pmc SUBCOMMAND --help\n"
	      "       pmc --help | --version\n", file);
	for (size_t i = 0; i < NSUBCOMMANDS; i++)
		fprintf(file, "  %-26s %s\n", subcommands[i].name, subcommands[i].help);
}

static void pmc_reject_word(const char *word)
{
	struct nearest near;

	nearest_begin(&near, word);
	for (size_t i = 0; i < NSUBCOMMANDS; i++)
		nearest_offer(&near, subcommands[i].name);
	fail(EX_USAGE, "ERROR: there is no subcommand \"%s\"%s", word, nearest_hint(&near, ""));
}

int main(int argc, char *argv[])
{
	const char *word = argc > 1 ? argv[1] : "";

	msg_open_standard();
	for (size_t i = 0; i < NSUBCOMMANDS; i++) {
		if (strcmp(word, subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		pmc_usage(stdout);
		return opt_flush_stdout();
	}
	if (strcmp(word, "--version") == 0)
		return opt_version("pmc");
	if (*word)
		pmc_reject_word(word);
	pmc_usage(stderr);
	return EX_USAGE;
}
