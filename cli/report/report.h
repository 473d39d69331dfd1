/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a profile to text for users and files for other tools.
 *
 * Each format is a writer in a file of its own: it takes a struct report, reads the profile
 * (cli/profile/profile.h), and appends the whole output to a buffer, which the caller writes to the
 * file or terminal.  Formats in which each single sample counts (-m, -a, perf.data) are written
 * while the log is walked instead.  analysis/ (pmcstat -R, pmc report) calls in; top/ and
 * pmcannotate/ use print.h, kgmon/ uses gmon.h.  All in the caller's thread, without state.
 *
 * Shared by the writers: frames.h (events, chains of frames, labels), fold.h (stacks merged by
 * name), rows.h (sorted lists), pairs.h (numbers for parts of a file), print.h (untrusted names).
 *
 * Rules: names in logs and files are untrusted, so every writer passes them through the quoting of
 * its format or print.h.  No weight is shown for an event without a period in the log.  If samples
 * are missing, the output says so (report_is_partial()).
 */
#ifndef PMCBPF_CLI_REPORT_REPORT_H
#define PMCBPF_CLI_REPORT_REPORT_H

#include "lib/base/buf.h"
#include "cli/profile/profile.h"
#include "gmon.h"
#include "print.h"

struct report {
	struct profile *profile;
	const char *log;	/* its name, for titles */
	double threshold;	/* percent: smaller shares may be left out; -f threshold= */
	unsigned int depth;	/* -z: levels of a call graph, 0: all */
	bool offsets;		/* -I: symbol+0x12 */
	bool colour;		/* the text goes to a terminal that has it */
	unsigned int width;	/* columns of that terminal, 0: no limit */
};

/* text.c: the functions with the most samples, for each event. */
void report_functions(const struct report *r, struct buf *out);
/* graph.c: -G. */
void report_graph(const struct report *r, struct buf *out);
/* callgrind.c: -F. */
void report_callgrind(const struct report *r, struct buf *out);
/* folded.c, flame.c, pprof.c (gzip), speedscope.c, table.c. */
void report_folded(const struct report *r, struct buf *out);
void report_flamegraph(const struct report *r, struct buf *out);
/* flame.c: 0, or an exit code: the events are in one picture, so their units have to be one. */
int report_check_flamegraph(const struct report *r);
void report_pprof(const struct report *r, struct buf *out);
void report_speedscope(const struct report *r, struct buf *out);
void report_json(const struct report *r, struct buf *out);
void report_csv(const struct report *r, struct buf *out);
/* stats.c: the conversion statistics, and notes on missing data. */
void report_statistics(const struct report *r, bool zeros, struct buf *out);
/* … their figures alone, in walk_stats().  -ENOMEM or 0. */
int report_count(const struct report *r);

/*
 * gmon.c: -g.  DIR/EVENT/BASENAME.gmon, and none if `dir` is NULL; `wide`: -e; `map`: -M, may be
 * NULL.  0 or an exit code.
 */
int report_gmon(const struct report *r, const char *dir, bool wide, bool gnu, struct buf *map);

/*
 * Writes the lines of -m and -a, sample by sample as the log is walked.  `out` is emptied by `push`
 * when it is full; 0 or an exit code.
 */
struct report_lines {
	struct symbols *symbols;
	struct buf *out;
	int (*push)(void *arg);
	void *arg;
};
int report_pc_lines(struct report_lines *l, struct walk *w, const struct walk_sample *sample);
int report_chain_lines(struct report_lines *l, struct walk *w, const struct walk_sample *sample);

/*
 * perfdata.c: the log in `fd`, which was read once, as a file that perf report reads.  0 or an exit
 * code.
 */
int report_perf_data(int fd, const char *log, struct symbols *symbols, const struct filter *filter,
		     const char *file);

#endif
