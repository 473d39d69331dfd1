/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs: chosen before they are loaded, and attached while they are needed. */
#ifndef PMCBPF_PROGRAMS_H
#define PMCBPF_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "loader/base/base.h"

struct btf;
struct engine;
struct helpers;
struct pmcbpf;
struct programs;

/* Reasons to attach programs. */
enum engine_need {
	NEED_SWITCH,	/* slices */
	NEED_FINAL,	/* last switches of threads, where there are no slices */
	NEED_LIFE,	/* fork and exit of targets */
	NEED_EXEC,	/* exec of targets and of processes with connections: always */
	NEED_FAULT,	/* the hooks' counters */
	NEED_LOCK,
	NEED_KIND,
	NEED_CALL_ENTER, /* hits of tracepoints: of system calls … */
	NEED_CALL_EXIT,
	NEED_SWITCH_HIT, /* … and of context switches */
	NEED_MIGRATE,	/* migrations of targets' threads … */
	NEED_CGROUP_MIGRATE, /* … and of threads in cgroups that are counted */
	NEED_OFFCPU,	/* waits of threads */
	NEED_CGROUP,	/* slices of cgroups */
	NEED_UNMAP,	/* executable memory that targets unmap; takes tracefs, except where
			   programs may be attached to functions */
	NEED_MAPPINGS,	/* executable mappings of all processes, for unwinding; likewise */
	NEEDS
};

/*
 * Leaves out programs that this kernel cannot run, and sets e->scheduler_ends; `reads_msr`: slices
 * read registers.  -EINVAL: /proc belongs to another PID namespace.
 */
int programs_choose(struct engine *e, bool reads_msr, struct reason *why);
/* True if the types name it, a BTF_KIND_…; false also if there are none: NULL. */
bool programs_btf_has(const struct btf *btf, const char *name, uint32_t kind);
/* Passes the PID namespace to the programs, after they have been loaded. */
int programs_level(struct pmcbpf *skel, struct reason *why);

/* Call it after programs_level(). */
struct programs *programs_new(const struct engine *e);
void programs_free(struct programs *p);
/* Lets helpers close links that the kernel delays; without helpers detaching waits itself. */
void programs_helpers_from(struct programs *p, struct helpers *helpers);

int programs_need(struct programs *p, enum engine_need what, struct reason *why);
void programs_unneed(struct programs *p, enum engine_need what);
/* True while needed; false while attached only because it lingers. */
bool programs_needed(const struct programs *p, enum engine_need what);
/* True while needed, or not yet detached. */
bool programs_attached(const struct programs *p, enum engine_need what);
/* True if this kernel can run the programs of a need. */
bool programs_have(const struct programs *p, enum engine_need what);
/* NEED_OFFCPU includes NEED_FINAL. */
bool programs_offcpu_finals(const struct programs *p);
/* The maps that the programs of waits share with those that record them: loader/kernel/waits.c. */
void programs_offcpu_maps(const struct programs *p, int *pmcs, int *waits);
/* True if this kernel has the tracepoint of an enum abi_hook. */
bool programs_have_hook(const struct programs *p, uint32_t hook);
/* Reads the credentials with which the other end of an accepted socket connected. */
int programs_peer(const struct programs *p, int fd, struct abi_cred *cred);
/*
 * The PID namespace of the numbers that the programs use; NULL: the initial one, which has all
 * processes.
 */
const struct abi_level *programs_nested(const struct programs *p);
/* Begins or ends, for this caller, the noting of new threads' numbers in nested namespaces. */
int programs_numbers(struct programs *p, bool on, struct reason *why);
/* Looks up the numbers of a thread by the daemon's number; -ENOENT: not noted, or too long ago. */
int programs_number(const struct programs *p, uint32_t tid, struct abi_number *number);
/* See engine_settle(). */
int programs_settle(struct programs *p);
/* The map of per-CPU rings for the logs' records; see samplers_new(). */
int programs_rings(const struct programs *p);
/* Number of records, of no PMC, that found no room so far. */
uint64_t programs_lost_records(const struct programs *p);
/* With NEED_UNMAP: unmaps of every process are reported, not only targets'. */
void programs_unmap_all(struct programs *p, bool all);

#endif
