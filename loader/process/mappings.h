/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable mappings that exist already, as MAP_IN records.  Those of processes are read by a
 * helper (mappings_read.c): a process may have many thousands of them, of files that never answer.
 */
#ifndef PMCBPF_MAPPINGS_H
#define PMCBPF_MAPPINGS_H

#include <sys/types.h>

#include "buildid.h"
#include "loader/log/logfile.h"
#include "lib/base/helper.h"

struct errands;
struct user;

/*
 * Where a file's beginning lies, also if only its text is mapped.  The errand is charged to the
 * user; what could not be read is marked as a gap of the log.
 *
 * `shows` is asked after a part was read and before it is written: may the log have it?  No: that
 * part and all others are left out, without a gap.
 */
typedef bool mappings_show_fn(void *arg, pid_t pid);
/* Is given the name of each thread that the log has got. */
typedef void mappings_name_fn(void *arg, pid_t tid, const char *name);
void mappings_of_process(struct errands *es, struct user *u, struct logfile *l, pid_t pid,
			 mappings_show_fn *shows, mappings_name_fn *named, void *arg);
/* Then the names of its threads.  Of all: every process with its threads, then its mappings. */
void mappings_of_all(struct errands *es, struct user *u, struct logfile *l);
/* A name for what stands for all processes that have no number in the daemon's PID namespace. */
void mappings_of_outside(struct logfile *l);
/* The kernel and its modules, pid -1.  False: it hides its addresses, and there is no record. */
bool mappings_of_kernel(struct logfile *l);

/* --- between the daemon and its helper ------------------------------------------------------ */

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
bool mapping_next(const uint8_t *data, size_t len, size_t *at, struct mapping *m);

/* In a helper. */
int mappings_job(struct helper_call *call);

#endif
