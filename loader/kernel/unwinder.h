/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs' tables for unwinding (bpf/unwind/unwind_abi.h): chunks of memory that the daemon
 * fills and the walk reads, files by number, and the mappings of processes.
 *
 * A table is put into chunks while its file's generation is odd, and is valid from the next even
 * one on; so readers need no lock.  Chunks are made when they are needed, several at a time,
 * because the kernel waits for a grace period whenever user space changes a map of maps.
 */
#ifndef PMCBPF_UNWINDER_H
#define PMCBPF_UNWINDER_H

#include "bpf/unwind/unwind_abi.h"
#include "loader/base/base.h"
#include "loader/unwind/unwind.h"

struct engine;
struct unwinder;

int unwinder_new(struct engine *e, struct unwinder **out, struct reason *why);
void unwinder_free(struct unwinder *u);
/* The memory that tables may take, in MB. */
void unwinder_limit(struct unwinder *u, unsigned int mb);

/* Readable when there are notes. */
int unwinder_fd(const struct unwinder *u);
void unwinder_notes(struct unwinder *u, void (*fn)(void *arg, const struct unwind_note *note),
		    void *arg);
/* Makes unwinder_fd() readable in so many ns, at least one. */
void unwinder_call_again(struct unwinder *u, uint64_t ns);

enum unwind_file_state unwinder_state(const struct unwinder *u, uint32_t file);
/* True if the file's table may come: it is being built, or notes have not been read yet. */
bool unwinder_builds(const struct unwinder *u, uint32_t file);
/* How often notes have been read: a file that is still NEW then has no note. */
uint64_t unwinder_turns(const struct unwinder *u);
/* A file and a chunk's words as walks see them; NULL: there is none. */
struct unwind_file *unwinder_file(const struct unwinder *u, uint32_t file);
const uint32_t *unwinder_words(const struct unwinder *u, uint32_t chunk);
/* Any state but READY. */
void unwinder_set_state(struct unwinder *u, uint32_t file, enum unwind_file_state state);
/* Makes the file READY.  -ENOMEM: no memory within the limit; -E2BIG: it can have no place. */
int unwinder_publish(struct unwinder *u, uint32_t file, const struct unwind_table *t,
		     struct reason *why);
/* Takes the table back; the file is NEW. */
void unwinder_withdraw(struct unwinder *u, uint32_t file);

/*
 * Reads the mappings of a process: `pid` in the daemon's namespace, `tgid` in the initial one.
 * From then on the programs of NEED_MAPPINGS keep them.
 */
int unwinder_visit(struct unwinder *u, uint32_t pid, uint32_t tgid);
/*
 * While those programs are not attached: no process is known any more.  If many files have numbers,
 * these are free again, and the tables' memory too.
 */
void unwinder_forget(struct unwinder *u);

#endif
