/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Execs of targets in progress.  The kernel writes perf's records of an exec (the name, then the
 * mappings) before it is known whether every owner may see the new image.  An exec is *pending*
 * from the BPF programs' note of its beginning, which precedes those records, to their verdict,
 * which precedes the image's first instruction; meanwhile the records wait.  A secure exec (of
 * a set-id program) stays in the table until the caller has stored an event for it.
 */
#ifndef PMCBPF_EXECS_H
#define PMCBPF_EXECS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "bpf/count/count_abi.h"

struct exec {
	LIST_ENTRY(exec) in_bucket;	/* of its pid */
	LIST_ENTRY(exec) in_all;
	pid_t pid;
	uint64_t time;			/* of the beginning; 1: not known */
	bool secure;			/* the verdict has come; not pending */
	bool left;			/* the process was no target at the last check */
};

#define EXECS_BUCKETS 256u

/* The latest verdicts, of targets and of others. */
#define EXECS_ENTRIES 1024u
struct exec_entry {
	pid_t pid;
	uint64_t time, entry;
};

struct execs {
	LIST_HEAD(exec_bucket, exec) bucket[EXECS_BUCKETS];
	LIST_HEAD(, exec) all;
	bool blind;			/* notes are missing */
	struct exec_entry entries[EXECS_ENTRIES];
	unsigned int nentries;		/* written so far, the overwritten ones included */
};

void execs_init(struct execs *x);
void execs_clear(struct execs *x);

/* A note of the programs. */
void execs_note(struct execs *x, const struct abi_exec *note);
/* The process is in an exec; the note of its beginning may be missing. */
void execs_suspect(struct execs *x, pid_t pid);

/* The pending exec of a process, NULL: none. */
struct exec *execs_pending(const struct execs *x, pid_t pid);
/* True if an exec of the process is in the table, pending or secure. */
bool execs_knows(const struct execs *x, pid_t pid);
void execs_drop(struct exec *e);

/*
 * The entry address of the image of the process's first exec since `time`.  False: there is no
 * verdict yet, or it was overwritten by later ones.
 */
bool execs_entry(const struct execs *x, pid_t pid, uint64_t time, uint64_t *entry);

#endif
