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
/* From ELF notes; none, if there is none or they are damaged. */
void buildid_of_notes(struct buildid *b, const void *notes, size_t size);
/* From a small file of notes, of /sys; from an ELF file of 64 bits, which may be anything. */
void buildid_of_notes_file(struct buildid *b, const char *path);
void buildid_of_file(struct buildid *b, const char *path);
/* Of the vdso that a process has at this address: programs of 32 bits have another than ours. */
void buildid_of_vdso(struct buildid *b, uint64_t address);

#endif
