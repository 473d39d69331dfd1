/* SPDX-License-Identifier: BSD-2-Clause */
/* What the BPF programs tell the daemon: a ring of notes, and which clients have exec'd. */
#ifndef PMCBPF_NOTES_H
#define PMCBPF_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/pmc_abi.h"
#include "why.h"

struct notes;

/* `ring` and `clients` are maps, `lost` what the programs count; all outlive the notes. */
int notes_new(int ring, int clients, const volatile __u64 *lost, struct notes **out,
	      struct why *why);
void notes_free(struct notes *n);

/* Readable while there are notes. */
int notes_fd(const struct notes *n);
/* Calls fn for each note that there is, in order; ABI_NOTE_LOST where some found no room. */
void notes_each(struct notes *n, void (*fn)(void *arg, const struct abi_note *note), void *arg);

/* From now on, until the end, an exec of this process makes a note; it may have begun before. */
int notes_owner_begin(struct notes *n, pid_t tgid);
void notes_owner_end(struct notes *n, pid_t tgid);
/* Has it exec'd since? */
bool notes_owner_execed(const struct notes *n, pid_t tgid);

#endif
