/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an entry to its text.  The trace point of an entry's descriptor is looked up and compiled
 * once, and strings are cached.  Both caches are bounded, whatever the rings contain.
 */
#ifndef PMCBPF_CLI_TRACE_POINTS_H
#define PMCBPF_CLI_TRACE_POINTS_H

#include "lib/base/index.h"

#include "format.h"
#include "objects.h"
#include "rings.h"
#include "save.h"

#define POINT_FILE 256u		/* bytes of a source file's name */

struct point {
	uint64_t key;		/* the entry's descriptor; the kernel's: without the CPU */
	enum { POINT_GOOD, POINT_UNKNOWN, POINT_CORRUPT } state;
	struct trace_format format;
	struct trace_format six;	/* CTR6: for six parameters; else empty */
	bool sixth;		/* CTR6's second entry */
	uint32_t line, classes, argtypes;
	const char *name;	/* the kernel's tracepoint, else NULL */
	const char *file;	/* without leading ../, "" if unknown */
	char text[];		/* the format; behind it the file's name */
};

struct points {
	const struct rings *rings;
	struct objects *objects;	/* a program's files, or NULL */
	const struct saved *saved;	/* a saved file's points and strings, or NULL */
	struct saver *saver;	/* records all lookups for a file to be saved, or NULL */
	bool no_cache;		/* of strings */
	struct index index;		/* of `list` */
	struct point **list;
	size_t count, room;
	struct point_string *strings;
	const struct point *last;
	bool failed;		/* memory ran out */
};

void points_open(struct points *points, const struct rings *rings, struct objects *objects);
void points_close(struct points *points);

/* The trace point of a descriptor; NULL: out of memory.  Valid until the next call. */
const struct point *points_get(struct points *points, uint64_t desc);

/*
 * Writes the text of an entry at `point` (NULL: corrupt), at most FORMAT_ROOM bytes.  Returns its
 * end.
 */
char *points_text(struct points *points, const struct point *point, const struct item *item,
		  char *to);

#endif
