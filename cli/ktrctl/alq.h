/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drains trace rings into a file while they are written, so that a trace may be longer than the
 * rings.  The file is itself a region, sparse while it grows: each ring has room for every entry,
 * and at the end the rings are moved together.  Entries are renumbered, because those that were
 * overwritten before they were read are missing.
 */
#ifndef PMCBPF_CLI_ALQ_H
#define PMCBPF_CLI_ALQ_H

#include <stddef.h>
#include <stdint.h>

#include <sys/ktr_region.h>

/* Bytes of the rings' region.  0 or -errno. */
typedef int alq_read(const void *source, uint64_t offset, void *data, size_t len);

struct alq {
	alq_read *read;
	const void *source;
	struct ktr_region head;	/* the source's, checked */
	int fd;			/* the new file's */
	uint64_t max;		/* bytes of entries */
	const char *files;	/* mappings of the process, "": none; may change between calls */

	/* private to alq.c */
	struct alq_ring *rings;
	struct ktr_entry *batch;
	uint64_t kept, failed;	/* entries written; overwritten before they were read */
	uint32_t entries;	/* entries of each of the file's rings */
};

/*
 * Begins with entries that are written from now on; writes empty rings.  0 or -errno; in either
 * case call alq_free().
 */
int alq_begin(struct alq *alq);

/* Appends new entries; *more: there were many.  0; -ENOBUFS: `max` is reached; or -errno. */
int alq_pass(struct alq *alq, int *more);

/* Entries ever written to the source's rings. */
uint64_t alq_written(const struct alq *alq);

/* Cuts the file to its contents. */
int alq_end(struct alq *alq);
void alq_free(struct alq *alq);

#endif
