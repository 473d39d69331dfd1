/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tdump(8): prints the entries of trace rings.
 *
 * args.c reads the options; sources.c opens the rings that they name (of a process, a core, a saved
 * file, a machine, the kernel) through cli/trace/trace.h; tdump.c takes one entry after another
 * from the merged trace and filters; text.c, json.c or chrome.c prints it through out.c, save.c
 * writes a file instead.  One thread does all of it.
 *
 * An entry's line may have the time to the next newer entry, so it is printed when its neighbour is
 * known.  Functions that return int return 0, or an exit code and its line.
 */
#ifndef PMCBPF_CLI_TDUMP_H
#define PMCBPF_CLI_TDUMP_H

#include <limits.h>
#include <sys/types.h>

#include "cli/common/common.h"
#include "cli/trace/trace.h"

#define TDUMP_RINGS 2u		/* a program's, and the kernel's */

enum tdump_form { FORM_TEXT, FORM_DEBUGGER, FORM_KTRDUMP, FORM_JSON, FORM_CHROME };
enum tdump_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* The command line. */
struct tdump_options {
	bool ktrdump;		/* called as ktrdump */
	pid_t pid;
	const char *core, *exec, *input, *output, *saved, *remote;
	bool kernel;		/* -k */
	bool absolute, decimal, verbose, quiet, stamps, relative, files, cpus, threads;
	bool oldest, apart, follow, freeze, no_cache;
	double clocks;		/* clock ticks in a microsecond; 0: not given */
	enum tdump_form form;
	enum tdump_color color;
	bool has_classes, has_cpus, has_tid;
	uint32_t classes, tid;
	struct cpulist cpu_list;
};

/* Buffered output; room is checked once for each line. */
struct tdump_out {
	int fd;
	const char *file;	/* -o, or NULL */
	struct output output;	/* the file's, once it is open … */
	bool complete;		/* … and everything is written but `data` */
	pid_t pager;
	struct held held;
	bool color;
	char *data;
	size_t len;
};

struct tdump {
	struct tdump_options opt;
	struct tdump_out out;
	/* Sources: each has memory with rings in it, and their trace points. */
	struct ring_source *sources;
	struct rings *rings[TDUMP_RINGS];
	struct points *points[TDUMP_RINGS];
	size_t nrings;
	struct merge merge;
	/* The form's state. */
	int cpu_width, index_width;
	bool started;
	uint64_t newest;	/* the newest entry's time; ktrdump: the time of the line above */
	struct chrome *chrome;
	struct buf text;	/* of JSON */
};

/* An entry to print. */
struct tdump_line {
	const struct item *item;
	const struct point *point;	/* NULL: corrupt */
	struct points *points;
	uint64_t delta;		/* time to the next newer entry */
};

int args_parse(struct tdump *t, int argc, char *argv[], bool *ended);

/* sources.c: opens the rings that the options name. */
int sources_open(struct tdump *t);
void sources_close(struct tdump *t);

/* The trace point, NULL if the entry is corrupt; *own: it makes a line of its own, see CTR6. */
const struct point *tdump_point(const struct tdump *t, struct item *item, struct points *points,
				bool *own);

/* The current time on a region's clock; false: this machine has no such clock. */
bool sources_stamp(uint32_t clock, struct ktr_stamp *stamp);

#define OUT_LINE (FORMAT_ROOM + 4096u)	/* a line of any form */
int out_begin(struct tdump_out *out, const struct tdump_options *opt);

/* Room for OUT_LINE bytes at out->data + out->len: the caller adds to len. */
int out_room(struct tdump_out *out);
int out_flush(struct tdump_out *out);

/* Writes all of a text and empties it. */
int out_text(struct tdump_out *out, struct buf *text);

/* Writes the rest and waits for the pager.  0 or an exit code: `code` if it is not 0. */
int out_end(struct tdump_out *out, int code);

/* A form's header, an entry, its trailer.  text.c, json.c, chrome.c */
int tdump_form_begin(struct tdump *t);
int tdump_form_line(struct tdump *t, const struct tdump_line *line);
int tdump_form_end(struct tdump *t);
int text_begin(struct tdump *t);
char *text_line(struct tdump *t, const struct tdump_line *line, char *to);
int json_line(struct tdump *t, const struct tdump_line *line);
int chrome_begin(struct tdump *t);
int chrome_line(struct tdump *t, const struct tdump_line *line);
int chrome_end(struct tdump *t);

/* save.c: a file with all rings. */
int save_rings(struct tdump *t);

#endif
