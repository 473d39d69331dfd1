/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable mappings and names of threads as /proc has them, and the parts in which a helper sends
 * them to the daemon.
 */
#ifndef PMCBPF_MAPPINGS_READ_H
#define PMCBPF_MAPPINGS_READ_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/helper.h"
#include "buildid.h"

#define MAPPINGS_OF_ALL (-1)

struct mappings_request {
	int32_t pid;			/* or MAPPINGS_OF_ALL */
	uint32_t from;			/* entries that have been read already */
	uint32_t without_ids;
};

enum mapping_what { MAPPING_PROCESS, MAPPING_THREAD, MAPPING_FILE };

struct mapping {
	enum mapping_what what;
	pid_t pid, tid;
	uint64_t start;			/* FILE: where the file's first byte would be */
	struct buildid id;
	const char *name;		/* of the process, the thread or the file; in the part */
};

/* The entry at *at of a part; false at its end. */
bool mappings_read_next(const uint8_t *data, size_t len, size_t *at, struct mapping *m);

/* The kernel's number of a device. */
static inline uint32_t mappings_device(unsigned int major, unsigned int minor)
{
	return major << 20 | minor;
}

/*
 * Opens the file with this inode that the process maps executable; `device` is the kernel's number.
 * -ENOENT: there is none; -EOPNOTSUPP: another machine or a program answers for its file system.
 */
int mappings_read_open(pid_t pid, uint32_t device, uint64_t inode);

/* The helper's job: serves a struct mappings_request. */
int mappings_read_job(struct helper_call *call);

#endif
