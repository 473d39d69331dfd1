/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables are built where a file can do no harm: by a helper process (lib/base/helper.h) that gives
 * up all capabilities and all system calls but those for reading its file, for memory and for its
 * answer, and that has limits of CPU time and memory.  It writes the table into memory that the
 * daemon has made, and ends.  The daemon then seals that memory and checks every word of it.
 */
#ifndef PMCBPF_UNWIND_WORKER_H
#define PMCBPF_UNWIND_WORKER_H

#include "lib/base/helper.h"
#include "unwind.h"

/* The argument of the job; its descriptors are the ELF file, and the memory for the table. */
struct unwind_limits {
	uint32_t cpu_s;			/* seconds of CPU time */
	uint32_t memory_mb;		/* of address space */
};
#define UNWIND_LIMITS ((struct unwind_limits){ .cpu_s = 2, .memory_mb = 512 })

/*
 * In a helper.  0, or the error of unwind_table_build(), whose reason is in the memory; if a limit
 * ends the helper the task's result is -EIO.
 */
int unwind_worker_job(struct helper_call *call);
/* Irrevocable.  Without effect on system calls and memory where sanitizers need more of both. */
int unwind_worker_confine(const struct unwind_limits *limits);

/* Memory for a table: a descriptor, or -errno. */
int unwind_shared_new(void);
/* The worker's side; `t` is NULL if the table could not be built.  0 or -errno. */
int unwind_shared_write(int fd, const struct unwind_table *t, const struct reason *why);

/* A table in sealed memory. */
struct unwind_shared {
	struct unwind_table table;	/* its arrays are in the map */
	const void *map;
	size_t size;
};
/*
 * After the helper's end.  0; -ENODATA: `why` is the worker's reason; -EBADMSG: not what a worker
 * writes; else the error of a system call.  The descriptor stays the caller's.
 */
int unwind_shared_open(struct unwind_shared *s, int fd, struct reason *why);
void unwind_shared_close(struct unwind_shared *s);

#endif
