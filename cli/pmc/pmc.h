/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc(8): subcommands.  Each gets its own words, its name first, and returns what the process
 * exits with, having printed its line when that is not 0.
 */
#ifndef PMCBPF_CLI_PMC_H
#define PMCBPF_CLI_PMC_H

int pmc_cmd_stat(int argc, char *argv[]);
int pmc_cmd_stat_system(int argc, char *argv[]);
int pmc_cmd_record(int argc, char *argv[]);
int pmc_cmd_filter(int argc, char *argv[]);
int pmc_cmd_summary(int argc, char *argv[]);
int pmc_cmd_list_events(int argc, char *argv[]);

#endif
