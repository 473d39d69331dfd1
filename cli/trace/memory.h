/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory to read from: of a file, a process, a core, a mapping, or a machine behind a debugger's
 * port.  The decoder sees no difference.  Nothing here writes.
 */
#ifndef PMCBPF_CLI_TRACE_MEMORY_H
#define PMCBPF_CLI_TRACE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A range of addresses, and the offset of its bytes in the file. */
struct memory_range {
	uint64_t start, end;
	uint64_t at;
};

struct memory {
	/* As pread(2), but -errno: fewer bytes than wanted where the memory ends, 0 beyond it. */
	ssize_t (*read)(struct memory *mem, uint64_t at, void *to, size_t len);
	int fd;
	const uint8_t *map;	/* `size` bytes, instead of fd */
	uint64_t size;		/* 0: not known */
	bool live;		/* it may change while it is read */
	struct memory_range *ranges;	/* sorted: addresses that there are, if with gaps */
	size_t nranges;
	struct remote *remote;	/* of remote.c */
	void (*done)(struct memory *mem);	/* first on closing, or NULL */
};

void memory_file(struct memory *mem, int fd, uint64_t size);
void memory_map(struct memory *mem, const void *map, uint64_t size);

/* After memory_file(): addresses are looked up in `ranges`, which the caller has allocated. */
void memory_ranges(struct memory *mem, struct memory_range *ranges, size_t nranges);

/* All of `len` bytes: 0, -EFAULT where they are not all there, or another -errno. */
int memory_get(struct memory *mem, uint64_t at, void *to, size_t len);

/* A string and its NUL, in `size` bytes: its length; -ENAMETOOLONG: cut to size - 1; or -errno. */
int memory_string(struct memory *mem, uint64_t at, char *to, size_t size);

/* Closes the descriptor, frees the ranges; a mapping is the caller's. */
void memory_close(struct memory *mem);

#endif
