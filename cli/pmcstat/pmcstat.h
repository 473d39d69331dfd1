/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat(8).  This room has its command line only: args.c obeys the options in the order given,
 * check.c decides whether they go together, pmcstat.c runs the phases of a measurement (measure/),
 * of a log that is read (measure/log.c, analysis/) or of a live view (top/).  All of it runs in the
 * program's main thread.
 */
#ifndef PMCBPF_CLI_PMCSTAT_H
#define PMCBPF_CLI_PMCSTAT_H

#include "cli/measure/measure.h"

/* Obeys the options.  *ended: --help, --version or -L has printed all there is. */
int args_parse(struct measure *m, int argc, char *argv[], bool *ended);

/* Prints the usage on standard error.  EX_USAGE. */
int args_usage(void);

/* check.c: do the options go together?  Then -o is opened. */
int check_options(struct measure *m);

#endif
