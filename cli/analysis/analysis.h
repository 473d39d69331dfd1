/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the outputs of a log that options request.  Callers are pmcstat -R, a measurement that ends
 * with a report, and `pmcstat report` and `pmc report`, which share one function here.  Everything
 * runs in the calling program's main thread.
 *
 * A struct analysis is filled by options (options.c), checked, and run once (analysis.c):
 *
 *   1. outputs that are files are opened, so that a wrong path fails before a long read;
 *   2. a log that can be read only once is copied, if an output reads it a second time;
 *   3. one pass over the log (profile/) makes a profile of all samples that pass the filter;
 *   4. each writer (report/) turns the profile into text; -m and -a need each single sample with
 *      all names known, so they share a second pass;
 *   5. files appear under their names when everything is written, and not at all after an error.
 *
 * A damaged log is an error, but the outputs show the records before the damage.  Functions that
 * return int return 0 or an exit code, and have printed its line.
 */
#ifndef PMCBPF_CLI_ANALYSIS_H
#define PMCBPF_CLI_ANALYSIS_H

#include "cli/common/common.h"
#include "cli/report/report.h"

/* Kinds of options, for a caller that checks them together with its own. */
enum analysis_seen {
	ANALYSIS_OUTPUT = 1 << 0,	/* any output */
	ANALYSIS_GPROF = 1 << 1,	/* -g */
	ANALYSIS_GRAPH = 1 << 2,	/* -G */
	ANALYSIS_PC_LINES = 1 << 3,	/* -m */
	ANALYSIS_CHAIN_LINES = 1 << 4,	/* -a */
	ANALYSIS_WIDE = 1 << 5,		/* -e */
	ANALYSIS_FOLDER = 1 << 6,	/* -D */
	ANALYSIS_MAP = 1 << 7,		/* -M */
	ANALYSIS_KERNEL = 1 << 8,	/* -k */
	ANALYSIS_FILTER = 1 << 9,
	ANALYSIS_TOP = 1 << 10,		/* -T */
	ANALYSIS_LOOK = 1 << 11,	/* -A, -I, -r, -z, --wall, --no-inlines */
	ANALYSIS_GNU = 1 << 12,		/* --gnu */
	ANALYSIS_THRESHOLD = 1 << 13,	/* -f threshold= */
	ANALYSIS_LINKS = 1 << 14,	/* -f skiplink= */
};

struct writer;
struct analysis;

struct analysis_output {
	const struct writer *writer;
	const char *path;		/* NULL: to the common output */
	struct out file;
};

struct analysis {
	unsigned int seen;
	struct symbols_config symbols;
	struct filter filter;
	struct analysis_output *outputs;
	size_t noutputs;
	double threshold;		/* negative: each writer has its own */
	unsigned int depth;
	bool offsets, wide, gnu;
	bool skip_links;		/* -f skiplink=1, for -T */
	unsigned int width;		/* of the terminal that shows the text; 0: none */
	bool colour;
	const char *folder;		/* of -g */
	int verbosity;
	int fd;				/* the log, while it is read */
	bool page;			/* the common output goes to a pager */
	pid_t pager;			/* once there is text to show; 0: none */
	int terminal;			/* for progress: standard error, or a copy of it */
};

void analysis_begin(struct analysis *a);
void analysis_end(struct analysis *a);

/* One of ANALYSIS_OPTIONS, or an output of OPT_JSON or OPT_CSV. */
int analysis_option(struct analysis *a, int code, const char *arg);

/* A kind of output; one of the three functions makes it. */
struct writer {
	int code;		/* the option's */
	bool opens;		/* opens its file itself */
	bool lists;		/* its entries below the threshold are omitted */
	bool machine;		/* for programs: no other text may go to the same file */
	double threshold;	/* percent, unless -f threshold= overrides it */
	int (*check)(const struct report *r);	/* of the profile; NULL: it takes any */
	void (*write)(const struct report *r, struct buf *out);
	int (*line)(struct report_lines *l, struct walk *w, const struct walk_sample *s);
	int (*files)(const struct analysis *a, const struct analysis_output *o,
		     const struct report *r, struct buf *out);
};

/*
 * Makes all outputs of the log in *fd; those without a file go to `out`.  If the log has to be
 * copied, *fd becomes the copy.
 */
int analysis_run(struct analysis *a, int *fd, const char *log, struct out *out);

/* Do the options go together? */
int analysis_check(const struct analysis *a);
/* … those of -f alone? */
int analysis_check_plugin(const struct analysis *a);

/*
 * Refuses an output that would replace the log being read, another log, a program or another
 * output.  `text` is the path of the common output; `text` and `log` may be NULL.
 */
int analysis_check_outputs(const struct analysis *a, const char *text, const char *log);

/* Adds the default output: the functions with the most samples. */
int analysis_default(struct analysis *a);

/* Sets width and colours from `fd`, the destination of text, if it is a terminal. */
void analysis_terminal(struct analysis *a, int fd);

/* Is the common output text for people? */
bool analysis_is_text(const struct analysis *a);

/* Opens a temporary file without a name. */
int analysis_temporary(int *fd);

/* command.c: `pmc report` and `pmcstat report`. */
int analysis_command(int argc, char *argv[]);

#define ANALYSIS_OPTIONS(ROW) \
	ROW('G', "call-graph", "FILE", "who called the functions that were sampled, to FILE or -") \
	ROW('F', "callgrind", "FILE", "a profile that KCachegrind reads, to FILE or -") \
	ROW('g', "gprof", NULL, "profiles that gprof reads, a file for each program and library") \
	ROW(OPT_GNU, "gnu", NULL, "those of -g for GNU gprof") \
	ROW('D', "gprof-dir", "DIR", "where -g makes its folders, .") \
	ROW('e', "wide", NULL, "those of -g with counters of 64 bits") \
	ROW('M', "gprof-map", "FILE", "which program has which file of -g, to FILE or -") \
	ROW('m', "pc-lines", "FILE", "each sample's address and function, to FILE or -") \
	ROW('a', "chain-lines", "FILE", "each sample's call chain with lines, to FILE or -") \
	ROW(OPT_FOLDED, "folded", "FILE", "a line for each different call chain, to FILE or -") \
	ROW(OPT_FLAMEGRAPH, "flamegraph", "FILE", "a flame graph for a browser, to FILE.svg or -") \
	ROW(OPT_PPROF, "pprof", "FILE", "a profile that pprof reads, to FILE or -") \
	ROW(OPT_SPEEDSCOPE, "speedscope", "FILE", "a profile that speedscope reads, to FILE or -") \
	ROW(OPT_PERF_DATA, "perf-data", "FILE", "a file that perf report reads") \
	ROW('f', "plugin-option", "NAME=VALUE", "threshold=PERCENT: leave out what is below") \
	ROW('z', "depth", "LEVELS", "callers that -G shows, 16") \
	ROW('k', "kernel", "PATH", "the kernel's file, or the folder it is in") \
	ROW('r', "root", "DIR", "where the recorded machine's files are") \
	ROW('A', "no-symbols", NULL, "addresses, no names") \
	ROW('I', "offsets", NULL, "addresses apart, as function+0x12") \
	ROW(OPT_NO_INLINES, "no-inlines", NULL, "inlined code belongs to the function around it") \
	ROW(OPT_DEBUGINFOD, "debuginfod", "SECONDS", \
	    "get what stripped programs lack from $DEBUGINFOD_URLS, and wait so long for it") \
	ROW(OPT_WALL, "wall", NULL, "time on and off the CPUs on one scale, in ns") \
	ROW(OPT_EVENT, "event", "NAME", "only samples of this event; may be repeated") \
	ROW(OPT_PROCESS, "process", "PROCESS", "… of a process by number, or whose name matches") \
	ROW('i', "thread", "TID", "… of this thread") \
	ROW(OPT_TIME, "time", "FROM:TO", "… between these seconds of the log; each may be missing")

#endif
