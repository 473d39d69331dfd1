/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors that the library keeps in the program's process.  They have high numbers, because
 * programs expect the next open(2) to return 0, 1 or 2.  A program may close every number above 2,
 * as daemons do, and open its own files there: the library checks the identity of a descriptor
 * before each use, so that it never reads, writes or closes a file of the program.
 */
#ifndef PMCBPF_OWNFD_H
#define PMCBPF_OWNFD_H

#include <stdbool.h>
#include <stdint.h>

enum ownfd_kind {
	OWNFD_NONE,
	OWNFD_SOCKET,		/* number: the socket's cookie */
	OWNFD_EVENT,		/* number: the perf event's id */
	OWNFD_FILE,		/* number, device: the inode */
};

struct ownfd {
	int fd;
	enum ownfd_kind kind;
	uint64_t number, device;
};

#define OWNFD_INITIALIZER { .fd = -1 }

/* Moves a descriptor to a high number, never below 3; the old number is closed.  -errno. */
int ownfd_raise(int fd);

/* Records the identity of a descriptor; a bad one is OWNFD_NONE. */
struct ownfd ownfd_identify(int fd);

/* False: the program has closed this descriptor; its number may be another file by now. */
bool ownfd_valid(const struct ownfd *own);

/* Closes it if it is still ours. */
void ownfd_close(struct ownfd *own);

#endif
