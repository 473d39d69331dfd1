/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that the tools write.  Root uses them in folders of other users, who must not decide what
 * is written to: a file is always a new one, made exclusively in its folder, and takes the place
 * of an old one of its name by rename(2).  A link is followed, anywhere in the path, only if it
 * belongs to the caller or to root, or if nobody else can write in its folder.  What is no file, as
 * /dev/stdout, /dev/null or a FIFO, is written to directly.
 */
#ifndef PMCBPF_CLI_OUTPUT_H
#define PMCBPF_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum output_kind {
	OUTPUT_WHOLE,		/* appears when it is complete; until then an old file stays */
	OUTPUT_GROWING,		/* there from the beginning, for its readers */
};

struct output {
	int fd;			/* -1: none */
	int folder;		/* where the file is to appear; -1: it is there already */
	char name[NAME_MAX + 1];
	char temporary[64];	/* its name so far; "": it has none */
	char why[256];		/* of an error: what is in the way */
};

#define OUTPUT_NONE ((struct output){ .fd = -1, .folder = -1 })

/*
 * Opens a new file for reading and writing, or what is no file for writing.  An old file of the
 * caller's own passes on its permission bits, if `mode` is 0666.  0 or -errno, with o->why.
 */
int output_create(struct output *o, const char *path, enum output_kind kind, mode_t mode);

/* Closes; the file appears if it is `complete`, else nothing is left of it.  0 or -errno. */
int output_finish(struct output *o, bool complete);

/* Makes a folder for outputs if it is missing.  0 or -errno, with o->why. */
int output_folder(struct output *o, const char *path);

#endif
