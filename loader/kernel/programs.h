/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs of a kernel: chosen before they are loaded, attached while they are needed. */
#ifndef PMCBPF_PROGRAMS_H
#define PMCBPF_PROGRAMS_H

#include "engine.h"

struct pmcbpf;
struct programs;

/*
 * Leaves out what this kernel has no place for; `reads_msr`: slices read registers.  -EINVAL: /proc
 * is of another PID namespace.
 */
int programs_choose(struct pmcbpf *skel, bool reads_msr, struct why *why);
/* After they have been loaded: passes them the PID namespace. */
int programs_level(struct pmcbpf *skel, struct why *why);

/* After that. */
struct programs *programs_new(const struct engine *e, struct pmcbpf *skel);
void programs_free(struct programs *p);
/* They close what the kernel makes wait; without them detaching waits itself. */
struct helpers;
void programs_helpers_from(struct programs *p, struct helpers *helpers);

int programs_need(struct programs *p, enum engine_need what, struct why *why);
void programs_unneed(struct programs *p, enum engine_need what);
/* Needed, or not yet detached. */
/* Attached, and not only for the moment after the last need. */
bool programs_needed(const struct programs *p, enum engine_need what);
bool programs_attached(const struct programs *p, enum engine_need what);
/* Does this kernel have the tracepoint of an enum abi_hook? */
bool programs_have_hook(const struct programs *p, uint32_t hook);
/* As engine_peer() */
int programs_peer(struct pmcbpf *skel, int fd, struct abi_cred *cred);
/*
 * The daemon's PID namespace, whose numbers the programs use; NULL: the initial one, which has all
 * processes.
 */
const struct abi_level *programs_nested(const struct programs *p);
/* From now on the numbers of all that is born are noted, or as far as this caller is concerned. */
int programs_numbers(struct programs *p, bool on, struct why *why);
/* Of a thread by the daemon's number of it; -ENOENT: it was not noted, or long ago. */
int programs_number(const struct programs *p, uint32_t tid, struct abi_number *number);
/* As engine_settle() */
int programs_settle(struct programs *p);

#endif
