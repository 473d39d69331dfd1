/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What shall be made of a log, as options say it, and making it: pmcstat -R, pmcstat report and
 * pmc report alike.  Functions that return int return 0 or the exit code, with their line printed.
 */
#ifndef PMCBPF_CLI_ANALYSIS_H
#define PMCBPF_CLI_ANALYSIS_H

#include "cli/common/common.h"
#include "cli/report/report.h"

/* Kinds of options, for the checks of those who have others as well. */
enum analysis_seen {
	ANALYSIS_OUTPUT = 1 << 0,	/* anything to be made */
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
};

struct writer;
struct analysis;

struct analysis_output {
	const struct writer *writer;
	const char *path;		/* NULL: where all text goes */
	struct out file;
};

struct analysis {
	unsigned int seen;
	struct symbols_config symbols;
	struct filter filter;
	struct analysis_output *outputs;
	size_t noutputs;
	double threshold;		/* negative: each writer's own */
	unsigned int depth;
	bool offsets, wide, gnu;
	bool skip_links;		/* -f skiplink=1: of -T */
	unsigned int width;		/* of the terminal that text goes to; 0: it is none */
	bool colour;
	const char *folder;		/* of -g */
	int verbosity;
	int fd;				/* the log, while it is read */
	bool page;			/* what goes where text goes is for the pager */
	pid_t pager;			/* once there is something to show; 0: none */
	int terminal;			/* for progress: standard error, or what it was */
};

void analysis_begin(struct analysis *a);
void analysis_end(struct analysis *a);

/* One of ANALYSIS_OPTIONS, or an output of OPT_JSON or OPT_CSV. */
int analysis_option(struct analysis *a, int code, const char *arg);

/* What makes an output of a log: one of these functions. */
struct writer {
	int code;		/* the option's */
	bool opens;		/* its file itself */
	bool machine;		/* its reader wants nothing else in the file */
	double threshold;	/* percent, unless -f says another */
	void (*write)(const struct report *r, struct buf *out);
	int (*line)(struct report_lines *l, struct walk *w, const struct walk_sample *s);
	int (*files)(const struct analysis *a, const struct analysis_output *o,
		     const struct report *r, struct buf *out);
};

/*
 * Everything that was asked for, of the log in *fd; what has no file of its own goes to `out`.  A
 * log that can be read once only is replaced by a copy.
 */
int analysis_run(struct analysis *a, int *fd, const char *log, struct out *out);

/* Is the kernel of -k one? */
int analysis_check_kernel(const struct analysis *a);

/* Do they go together? */
int analysis_check(const struct analysis *a);

/*
 * No output, nor `text` (where all text goes), takes the place of the log that is read, of another
 * log, a program or another output.  `text` and `log` may be NULL.
 */
int analysis_check_outputs(const struct analysis *a, const char *text, const char *log);

/* The functions with the most samples, where text goes. */
int analysis_default(struct analysis *a);

/* Text will be seen on the terminal behind this descriptor, if it is one. */
void analysis_terminal(struct analysis *a, int fd);

/* Is what goes where text goes for people? */
bool analysis_is_text(const struct analysis *a);

/* A file without a name. */
int analysis_temporary(int *fd);

/* `pmc report` and `pmcstat report`. */
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
	ROW(OPT_EVENT, "event", "NAME", "only samples of this event; may be repeated") \
	ROW(OPT_PROCESS, "process", "PROCESS", "… of a process by number, or whose name matches") \
	ROW('i', "thread", "TID", "… of this thread") \
	ROW(OPT_TIME, "time", "FROM:TO", "… between these seconds of the log; each may be missing")

#endif
