/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes from the BPF programs: rings of notes and of execs, and the clients that have exec'd. */
#ifndef PMCBPF_NOTES_H
#define PMCBPF_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/count/count_abi.h"
#include "loader/base/base.h"

struct notes;

/* Maps and variables of the programs, which all outlive the notes. */
struct notes_place {
	int ring, execs, clients;
	const volatile __u64 *lost, *execs_put, *execs_lost;
	volatile __u32 *watch_execs;
};
/* Size of the ring of execs, a power of two. */
unsigned int notes_execs_size(unsigned int ncpu);
int notes_new(const struct notes_place *place, struct notes **out, struct reason *why);
void notes_free(struct notes *n);

/* Readable while there are notes. */
int notes_fd(const struct notes *n);
/* Calls fn for each note in the ring, in order; with ABI_NOTE_LOST if some found no room. */
void notes_each(struct notes *n, void (*fn)(void *arg, const struct abi_note *note), void *arg);

/* Begins or ends the noting of targets' execs for notes_execs(). */
void notes_watch_execs(struct notes *n, bool on);
/* Readable when there are many notes of execs. */
int notes_execs_fd(const struct notes *n);
/*
 * Calls fn for each note of an exec, in order.  -ENOSPC: some found no room since the last call;
 * -EAGAIN: one that was begun before this call is not complete yet.
 */
int notes_execs(struct notes *n, void (*fn)(void *arg, const struct abi_exec *exec), void *arg);

/* An exec of this process makes a note from now on, even an exec that has begun already. */
int notes_owner_begin(struct notes *n, pid_t tgid);
void notes_owner_end(struct notes *n, pid_t tgid);
/* True if it has exec'd since. */
bool notes_owner_execed(const struct notes *n, pid_t tgid);

#endif
