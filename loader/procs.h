/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes do, as the kernel tells it to every profiler: births, ends, execs, executable
 * mappings, of all processes, in the order of time.  Open only while a log wants it.
 */
#ifndef PMCBPF_PROCS_H
#define PMCBPF_PROCS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buildid.h"
#include "why.h"

enum proc_what {
	PROC_FORK,			/* pid is the child, other the parent */
	PROC_EXIT,			/* the last thread of pid */
	PROC_EXEC,			/* text: the path; addr: dynamic linker, len: load base */
	PROC_MAP,			/* text: the file; addr, len; an executable mapping */
	PROC_UNMAP,			/* addr, len: of executable memory; not from here */
	PROC_THREAD,			/* tid is new in pid */
	PROC_THREAD_EXIT,
	PROC_LOST,			/* records are missing here */
	PROC_NOTHING,			/* it did not happen after all */
};

#define PROC_TEXT 1024u

struct proc_event {
	uint64_t time;			/* CLOCK_MONOTONIC, ns */
	enum proc_what what;
	pid_t pid, tid, other;
	uint64_t addr, len;
	const char *text;		/* "" if there is none */
	struct buildid id;		/* MAP: of the file */
};

struct procs;

int procs_new(unsigned int ncpu, struct procs **out, struct why *why);
void procs_free(struct procs *p);
/* What is known of a CPU now; `downs` grows whenever it goes. */
int procs_cpu(struct procs *p, unsigned int cpu, bool here, uint32_t downs);
/* Readable when a buffer is half full. */
int procs_fd(const struct procs *p);

/*
 * Reads what has happened up to `horizon`, for procs_next().  Returns up to when all is known: an
 * earlier time while an exec is in progress.
 */
uint64_t procs_collect(struct procs *p, uint64_t horizon);
/* The next event up to `until`, NULL: none.  It is valid until the next call. */
const struct proc_event *procs_next(struct procs *p, uint64_t until);

#endif
