/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options as tables.  Each tool has a static const array named `options`; its help text and the
 * shells' completions (packaging/completions/tables.awk) come from it.  The order of options
 * matters, and a measured command has options of its own, so scanning stops at the first word that
 * is not an option, as BSD's getopt(3) does.
 */
#ifndef PMCBPF_CLI_OPT_H
#define PMCBPF_CLI_OPT_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
	OPT_POLICY,
	OPT_OPENMETRICS,
	OPT_TUNABLE,
	OPT_FOLDED,
	OPT_FLAMEGRAPH,
	OPT_PPROF,
	OPT_SPEEDSCOPE,
	OPT_PERF_DATA,
	OPT_GNU,
	OPT_NO_INLINES,
	OPT_DEBUGINFOD,
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
	OPT_OFF_CPU,
	OPT_WAKERS,
	OPT_WALL,
	OPT_PER_CPU,
	OPT_PER_CORE,
	OPT_PER_SOCKET,
	OPT_PER_NODE,
	OPT_PER_MACHINE,
	OPT_PER_THREAD,
	OPT_FOR_EACH_CGROUP,
};

struct opt {
	int code;		/* the letter, or one of enum opt_code */
	const char *name;	/* long name or NULL */
	/* The argument's name in --help; NULL: takes none; "[…": it may be missing */
	const char *arg;
	const char *help;	/* NULL: --help does not show the option */
};

struct opt_scan {
	char letters[2 * OPT_MAX + 5];
	bool help;		/* -h means --help: no option of the table has that letter */
	bool quiet;		/* the caller reports wrong options ('?', ':' no argument) */
	struct option names[OPT_MAX + 1];
};

/* `table` has `count` elements of `stride` bytes, each beginning with a struct opt. */
void opt_compile(struct opt_scan *scan, const void *table, size_t count, size_t stride);

/* Returns the next option's code, '?' after a message about a wrong one, or -1 at the end. */
int opt_next(struct opt_scan *scan, int argc, char *argv[]);

/* Returns an optional argument: the text after "=", or the next word unless it is an option. */
char *opt_optional(int argc, char *argv[]);

/* The same for a file: the next word is taken only if it is "-", others are operands. */
char *opt_dash(int argc, char *argv[]);

void opt_help(FILE *file, const void *table, size_t count, size_t stride);

/* Prints the usage and the options.  Returns as opt_flush_stdout(). */
int opt_show_help(void (*usage)(FILE *file), const void *table, size_t count, size_t stride);

/* Parses a time in seconds, at least a millisecond.  0 or -EINVAL. */
int opt_seconds(const char *text, double *seconds);

/* Parses a number that begins with a digit, by strtoull(3)'s `base`.  0 or -EINVAL. */
int opt_number(const char *text, int base, uint64_t least, uint64_t most, uint64_t *number);

/* Parses a number of 1 or more, which messages call `what`.  0, or EX_USAGE and its line. */
int opt_count(const char *text, const char *what, uint64_t *count);

/* Flushes stdout.  0, EX_READER_LEFT, or EX_OSERR and its line. */
int opt_flush_stdout(void);

/* Prints "NAME VERSION".  Returns as opt_flush_stdout(). */
int opt_version(const char *name);

#endif
