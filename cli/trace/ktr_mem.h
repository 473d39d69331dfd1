/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory to read, and never to write: a file's bytes, a process's, a core's, a mapping, a machine's
 * behind a debugger's port.  All of them look the same to what decodes trace rings.
 */
#ifndef PMCBPF_CLI_KTR_MEM_H
#define PMCBPF_CLI_KTR_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Some of the addresses, and where the bytes are in what is below. */
struct mem_range {
	uint64_t start, end;
	uint64_t at;
};

struct mem {
	/* As pread(2), but -errno: fewer bytes than wanted where the memory ends, 0 beyond it. */
	ssize_t (*read)(struct mem *mem, uint64_t at, void *to, size_t len);
	int fd;
	const uint8_t *map;	/* `size` bytes, instead of fd */
	uint64_t size;		/* 0: not known */
	bool live;		/* somebody writes while we read */
	struct mem_range *ranges;	/* sorted: addresses that there are, if with gaps */
	size_t nranges;
	struct remote *remote;	/* ktr_remote.c's */
	void (*done)(struct mem *mem);	/* first on closing, or NULL */
};

void mem_file(struct mem *mem, int fd, uint64_t size);
void mem_map(struct mem *mem, const void *map, uint64_t size);

/* What mem_file() gives is then read through `ranges`, which the caller has allocated. */
void mem_ranges(struct mem *mem, struct mem_range *ranges, size_t nranges);

/* All of `len` bytes: 0, -EFAULT where they are not all there, or another -errno. */
int mem_get(struct mem *mem, uint64_t at, void *to, size_t len);

/* A string and its NUL, in `size` bytes: its length; -ENAMETOOLONG: cut to size - 1; or -errno. */
int mem_string(struct mem *mem, uint64_t at, char *to, size_t size);

/* Closes the descriptor, frees the ranges; a mapping is the caller's. */
void mem_close(struct mem *mem);

#endif
