/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc(8).  pmc.c chooses the subcommand; each has a file: record.c and stat.c prepare a measurement
 * (measure/), pmc_filter.c and summary.c pass over a log with the names that pmc_log.c keeps,
 * list.c lists events.  `pmc report` is in analysis/.  Everything runs in the main thread.
 *
 * A subcommand gets its own words, its name first.  It returns the exit code, and has printed its
 * line if that is not 0.
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
