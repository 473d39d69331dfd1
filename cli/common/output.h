/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that the tools write.  Root runs the tools in folders of other users, and must not be
 * led to write elsewhere.  So the file is always a new one, made exclusively in its folder, and
 * replaces an old one by rename(2).  A link, anywhere in the path, is followed only if it belongs
 * to the caller or to root, or if no other user can write to its folder.  A path that leads to
 * anything but a regular file (/dev/stdout, /dev/null, a FIFO) is opened and written to directly.
 */
#ifndef PMCBPF_CLI_OUTPUT_H
#define PMCBPF_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum output_kind {
	OUTPUT_WHOLE,		/* appears when it is complete; until then an old file stays */
	OUTPUT_GROWING,		/* exists from the beginning, for its readers */
};

struct output {
	int fd;			/* -1: none */
	int folder;		/* where the file will appear; -1: it has its name already */
	char name[NAME_MAX + 1];
	char temporary[64];	/* its name until then; "": none */
	char why[256];		/* the reason of an error */
};

#define OUTPUT_NONE ((struct output){ .fd = -1, .folder = -1 })

/*
 * Makes a new file, open for reading and writing; anything but a file is opened for writing.  If
 * `mode` is 0666, the new file keeps the permission bits of the caller's old one.  0, or -errno and
 * o->why.
 */
int output_create(struct output *o, const char *path, enum output_kind kind, mode_t mode);

/* Closes the file, which appears if it is `complete` and else vanishes.  0 or -errno. */
int output_finish(struct output *o, bool complete);

/* Makes a folder for outputs if it is missing.  0 or -errno, with o->why. */
int output_folder(struct output *o, const char *path);

#endif
