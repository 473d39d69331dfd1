/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of saved rings: a region as it is in memory, followed by the trace points and strings that
 * its addresses refer to.  Such a file can be decoded anywhere, without the program.
 */
#ifndef PMCBPF_CLI_TRACE_SAVE_H
#define PMCBPF_CLI_TRACE_SAVE_H

#include "lib/base/buf.h"
#include "merge.h"

struct saved_point {
	uint64_t key;
	struct ktr_site site;
	const char *text, *file;
};

struct saved_text {
	uint64_t address;
	const char *text;
};

struct saved {
	char *data;
	struct saved_point *points;	/* sorted */
	struct saved_text *strings;	/* sorted */
	size_t npoints, nstrings;
};

/* Reads the part behind the rings.  0; -ENOENT: no such part; -EBADMSG: damaged; or -errno. */
int saved_open(struct saved *saved, const struct rings *rings);
void saved_close(struct saved *saved);
const struct saved_point *saved_point(const struct saved *saved, uint64_t key);
const char *saved_string(const struct saved *saved, uint64_t address);

/* The part behind the rings, while it is built. */
struct saver {
	struct buf text;
};

void saver_point(struct saver *saver, uint64_t key, const struct ktr_site *site, const char *text,
		 const char *file);
void saver_string(struct saver *saver, uint64_t address, const char *text);

/* Writes the first part of a new file: header and formats.  All of these return 0 or -errno. */
int saver_begin(int fd, const struct rings *rings, const struct ktr_stamp *now);
int saver_entry(int fd, const struct item *item);
int saver_end(int fd, const struct merge *merge, const struct saver *saver);

#endif
