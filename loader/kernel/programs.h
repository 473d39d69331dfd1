/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs of a kernel: chosen before they are loaded, attached while they are needed. */
#ifndef PMCBPF_PROGRAMS_H
#define PMCBPF_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "loader/base/base.h"

struct engine;
struct helpers;
struct pmcbpf;
struct programs;

/* What programs are attached for. */
enum engine_need {
	NEED_SWITCH,	/* slices */
	NEED_FINAL,	/* CPU time of exited threads, where there are no slices */
	NEED_LIFE,	/* fork and exit of targets */
	NEED_EXEC,	/* exec of targets and of processes with connections: always */
	NEED_FAULT,	/* the hooks' counters */
	NEED_LOCK,
	NEED_KIND,
	NEED_UNMAP,	/* executable memory that targets unmap; takes tracefs */
	NEEDS
};

/*
 * Leaves out what this kernel has no place for; `reads_msr`: slices read registers.  -EINVAL: /proc
 * is of another PID namespace.
 */
int programs_choose(struct pmcbpf *skel, bool reads_msr, struct reason *why);
/* After they have been loaded: passes them the PID namespace. */
int programs_level(struct pmcbpf *skel, struct reason *why);

/* After that. */
struct programs *programs_new(const struct engine *e);
void programs_free(struct programs *p);
/* Helpers close what the kernel delays; without them detaching waits itself. */
void programs_helpers_from(struct programs *p, struct helpers *helpers);

int programs_need(struct programs *p, enum engine_need what, struct reason *why);
void programs_unneed(struct programs *p, enum engine_need what);
/* Attached, and not only for the moment after the last need. */
bool programs_needed(const struct programs *p, enum engine_need what);
/* Needed, or not yet detached. */
bool programs_attached(const struct programs *p, enum engine_need what);
/* Does this kernel have the tracepoint of an enum abi_hook? */
bool programs_have_hook(const struct programs *p, uint32_t hook);
/* With which credentials the other end of an accepted socket has connected. */
int programs_peer(const struct programs *p, int fd, struct abi_cred *cred);
/*
 * The daemon's PID namespace, whose numbers the programs use; NULL: the initial one, which has all
 * processes.
 */
const struct abi_level *programs_nested(const struct programs *p);
/* From now on the numbers of all that is born are noted, or as far as this caller is concerned. */
int programs_numbers(struct programs *p, bool on, struct reason *why);
/* Of a thread by the daemon's number of it; -ENOENT: it was not noted, or long ago. */
int programs_number(const struct programs *p, uint32_t tid, struct abi_number *number);
/* As engine_settle(). */
int programs_settle(struct programs *p);
/* The map of per-CPU rings that records for logs go into, for samplers_new(). */
int programs_rings(const struct programs *p);
/* Records of no PMC that found no room so far. */
uint64_t programs_lost_records(const struct programs *p);
/* With NEED_UNMAP: unmaps of every process are reported, not of targets only. */
void programs_unmap_all(struct programs *p, bool all);

#endif
