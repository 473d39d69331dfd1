/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory to read from: a file's, a process's, a core's, a mapping, or a machine's behind a
 * debugger's port.  The decoder sees no difference.  Nothing here writes.
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
	/*
	 * As pread(2), but returns -errno; fewer bytes than requested if the memory ends, 0 beyond
	 * it.
	 */
	ssize_t (*read)(struct memory *mem, uint64_t at, void *to, size_t len);
	int fd;
	const uint8_t *map;	/* a mapping of `size` bytes, used instead of fd */
	uint64_t size;		/* 0: unknown */
	bool live;		/* it may change while it is read */
	bool slow;		/* each piece of 2 KB takes a message: scan.c looks at less */
	struct memory_range *ranges;	/* the addresses that exist, sorted; NULL: no gaps */
	size_t nranges;
	struct remote *remote;	/* private to remote.c */
	void (*done)(struct memory *mem);	/* called first by memory_close(), or NULL */
};

void memory_file(struct memory *mem, int fd, uint64_t size);
void memory_map(struct memory *mem, const void *map, uint64_t size);

/*
 * Called after memory_file(): addresses are looked up in `ranges`, which the caller has allocated.
 */
void memory_ranges(struct memory *mem, struct memory_range *ranges, size_t nranges);

/* Copies all of `len` bytes: 0, -EFAULT if some are missing, or another -errno. */
int memory_get(struct memory *mem, uint64_t at, void *to, size_t len);

/*
 * Copies a string and its NUL into `size` bytes.  Returns its length; -ENAMETOOLONG: cut to size -
 * 1; or -errno.
 */
int memory_string(struct memory *mem, uint64_t at, char *to, size_t size);

/* Closes the descriptor, frees the ranges; a mapping is the caller's. */
void memory_close(struct memory *mem);

#endif
