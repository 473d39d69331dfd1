/* SPDX-License-Identifier: BSD-2-Clause */
/* GNU build ids, which identify one build of a file. */
#ifndef PMCBPF_BUILDID_H
#define PMCBPF_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include <pmclog.h>

struct buildid {
	uint8_t len;			/* 0: none */
	uint8_t id[PMCLOG_BUILDID_MAX];
};

/* An id that is too long is dropped. */
void buildid_set(struct buildid *b, const void *id, size_t len);
/* From ELF notes; none, if there are none or they are damaged. */
void buildid_of_notes(struct buildid *b, const void *notes, size_t size);
/* From a small file of notes in /sys; from a 64-bit ELF file, which may be malformed. */
void buildid_of_notes_file(struct buildid *b, const char *path);
void buildid_of_file(struct buildid *b, const char *path);
/* Of the vdso at this address of a process: a 32-bit program's differs from ours. */
void buildid_of_vdso(struct buildid *b, uint64_t address);

#endif
