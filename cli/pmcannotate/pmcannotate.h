/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcannotate(8): the samples of a log beside the source lines and instructions they hit.
 *
 * pmcannotate.c reads the log into a profile (cli/profile/profile.h).  binary.c opens the binary,
 * hits.c finds its samples in the profile and divides them into functions.  For each function above
 * the limit, listing.c makes a list of rows from source lines (source.c) and instructions
 * (disasm.c, with Capstone), which text.c or html.c prints.  Single-threaded.
 *
 * Binary, source files and log are untrusted: names are printed without control characters.
 */
#ifndef PMCBPF_CLI_PMCANNOTATE_H
#define PMCBPF_CLI_PMCANNOTATE_H

#include "lib/base/buf.h"
#include "cli/profile/profile.h"
#include "cli/report/report.h"

/* --- binary.c: the annotated file ----------------------------------------------------------- */

struct code_segment {
	uint64_t offset, address, size;	/* size: in the file */
};

struct binary {
	const char *name;	/* as given */
	char *path;		/* absolute */
	int fd;
	void *elf;
	uint8_t id[IMAGE_ID_MAX];
	uint8_t idlen;		/* 0: it has none */
	unsigned int machine;	/* EM_… */
	bool kernel;		/* it exports symbols to modules */
	time_t changed;
	struct code_segment *segments;	/* those that hold code */
	size_t nsegments;
};

/* 0 or an exit code; binary_close() in either case. */
int binary_open(struct binary *b, const char *name);
void binary_close(struct binary *b);

/* Returns at most *len bytes of code at this address and sets *len; NULL: there is none. */
const uint8_t *binary_code(const struct binary *b, uint64_t address, size_t *len);

/* --- disasm.c: instructions ----------------------------------------------------------------- */

struct disasm;

/* Appends the name of an address to `out`, if it has one. */
typedef void (*disasm_name)(void *arg, uint64_t address, struct buf *out);

/* NULL: no instructions of this machine can be shown; *why is the reason. */
struct disasm *disasm_open(const struct binary *b, disasm_name name, void *arg, const char **why);
void disasm_close(struct disasm *d);

/* Stores the instruction at the address as text.  Returns its length, 1 for a byte of none. */
size_t disasm_step(struct disasm *d, const uint8_t *code, size_t len, uint64_t address,
		   struct buf *out);

/* --- source.c: lines of source files -------------------------------------------------------- */

struct sources {
	const char *dir;	/* --source, NULL: files are where they were compiled */
	time_t compiled;	/* newer files may have other lines */
	struct source_file *files;
	size_t nfiles;
};

/* The line, *len bytes; NULL: it cannot be shown, which is noted once for a file. */
const char *source_line(struct sources *s, const char *file, unsigned int line, size_t *len);
/* An exit code if an output of this path would take the place of a source file that was read. */
int sources_guard(const struct sources *s, const char *path);
void sources_free(struct sources *s);

/* --- hits.c: samples of each instruction ---------------------------------------------------- */

/* Counts are vectors with an element for each event. */
struct hit_function {
	const struct symbol *symbol;
	uint64_t start, end;	/* file offsets; the end is a guess if the symbol has no size */
	size_t first, n;	/* of hits.offsets */
	uint64_t *counts;
	double share;		/* percent, of the event of which it has most */
};

struct hits {
	struct image *image;	/* of the binary */
	size_t nevents;
	const char **events;	/* names */
	uint64_t *totals;	/* samples in the log */
	uint64_t *offsets;	/* sorted, no two are equal */
	uint64_t *counts;	/* nevents for each offset */
	size_t noffsets;
	struct hit_function *functions;	/* greatest share first */
	size_t nfunctions;
};

/*
 * The binary's hits of this event, NULL for all that have samples.  `force`: even if the log names
 * another build.  0 or an exit code; hits_free() in either case.
 */
int hits_find(struct hits *h, const struct profile *p, const struct binary *b, const char *event,
	      bool force);
void hits_free(struct hits *h);

/* --- listing.c: a function's rows ----------------------------------------------------------- */

enum listing_view {
	VIEW_MIXED,	/* source, each line before its instructions */
	VIEW_ASSEMBLY,
	VIEW_LINES,	/* source, each line once with the samples of all its instructions */
};

enum row_kind { ROW_SOURCE, ROW_CODE, ROW_PLACE };

struct listing_row {
	enum row_kind kind;
	unsigned int line;	/* of ROW_SOURCE */
	size_t text;		/* in listing.text, with a NUL */
	const struct frame *frame;	/* of ROW_SOURCE: the code of the line */
};

struct listing {
	size_t nevents;
	struct listing_row *rows;
	uint64_t *counts;	/* nevents for each row */
	size_t nrows, rows_room, counts_room;
	struct buf text;
	bool failed;		/* no memory */
};

struct annotate {
	struct symbols *symbols;
	struct binary binary;
	struct hits hits;
	struct sources sources;
	struct disasm *disasm;	/* NULL: no instructions */
	uint64_t bias;		/* addresses minus file offsets in the current function */
	enum listing_view view;
	const char *log;
	double limit;		/* percent */
	const char *function;	/* the only one to be shown, NULL: all above the limit */
};

/* The rows of a function; listing_free() in either case.  0 or an exit code. */
int listing_make(struct listing *l, struct annotate *a, const struct hit_function *f);
/* A disasm_name for a struct annotate. */
void listing_name(void *arg, uint64_t address, struct buf *out);
void listing_free(struct listing *l);

/* --- text.c, html.c: all functions above the limit ------------------------------------------ */

bool pmcannotate_wants(const struct annotate *a, const struct hit_function *f);
int pmcannotate_text(struct annotate *a, struct buf *out);
int pmcannotate_html(struct annotate *a, struct buf *out);

#endif
