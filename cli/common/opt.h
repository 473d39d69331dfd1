/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options as tables.  Order matters to these tools and a command's own options are not theirs, so
 * scanning stops at the first word that is no option, as BSD's getopt(3) does.
 */
#ifndef PMCBPF_CLI_OPT_H
#define PMCBPF_CLI_OPT_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPT_MAX 64

/* Codes of options without a letter. */
enum opt_code {
	OPT_HELP = 256,
	OPT_VERSION,
	OPT_JSON,
	OPT_CSV,
	OPT_EXIT_STATUS,
	OPT_DOCTOR,
	OPT_TUNABLE,
	OPT_FOLDED,
	OPT_FLAMEGRAPH,
	OPT_PPROF,
	OPT_SPEEDSCOPE,
	OPT_PERF_DATA,
	OPT_GNU,
	OPT_NO_INLINES,
	OPT_EVENT,
	OPT_PROCESS,
	OPT_TIME,
	OPT_HTML,
	OPT_LINES,
	OPT_FUNCTION,
	OPT_SOURCE,
	OPT_FORCE,
	OPT_REPORT,
	OPT_NO_REPORT,
	OPT_FROM_EXEC,
	OPT_FROM_FORK,
};

struct opt {
	int code;		/* the letter, or one of enum opt_code */
	const char *name;	/* long name or NULL */
	/* What --help calls the argument; NULL if there is none, "[…" if it may be missing. */
	const char *arg;
	const char *help;	/* NULL: not shown by --help */
};

struct opt_scan {
	char letters[2 * OPT_MAX + 5];
	bool help;		/* -h is --help, as no option of the table has the letter */
	bool quiet;		/* the caller reports wrong options; ':': no argument */
	struct option names[OPT_MAX + 1];
};

/* `table` has `count` elements of `stride` bytes, each beginning with a struct opt. */
void opt_compile(struct opt_scan *scan, const void *table, size_t count, size_t stride);

/* The next option's code, '?' after a wrong one (its line is printed), -1: no more. */
int opt_next(struct opt_scan *scan, int argc, char *argv[]);

/* The argument of an option that may lack it: behind "=", or the next word if it is no option. */
char *opt_optional(int argc, char *argv[]);

/* The same of one whose file may only be a word if that is "-": other words are operands. */
char *opt_dash(int argc, char *argv[]);

void opt_help(FILE *file, const void *table, size_t count, size_t stride);

/* What --help prints: the usage, and the options.  As opt_flush_stdout(). */
int opt_show_help(void (*usage)(FILE *file), const void *table, size_t count, size_t stride);

/* A time in seconds, a millisecond or more.  0 or -EINVAL. */
int opt_seconds(const char *text, double *seconds);

/* Writes what stdout still holds.  0, or EX_OSERR and an error line: a full disk, a closed pipe. */
int opt_flush_stdout(void);

/* "NAME VERSION" on stdout; returns what the process should exit with. */
int opt_version(const char *name);

#endif
