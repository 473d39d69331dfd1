/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract between the BPF programs and pmcbpfd: what the maps hold.
 *
 * source  a free-running counter that exists on every CPU: a hardware row's pinned event, a
 * software
 *         event, or a counter that a hook program bumps.  The programs only ever read it.
 * member  one PMC inside a set: which source it reads, and where its count goes. set     the
 * PMCs that measure a process.  Processes with the same PMCs have the same set, so that a
 *         switch between them leaves the open slice alone.
 * slice   the time for which one CPU runs one set.
 */
#ifndef PMCBPF_ABI_H
#define PMCBPF_ABI_H

#include "bpf/log/log_abi.h"

#define ABI_MAX_SOURCES	 64	/* per CPU */
#define ABI_MAX_MEMBERS	 16	/* sliced PMCs on one process */
#define ABI_SOFT_ROWS	 16	/* task-figure PMCs on one process: one per SOFT row */
#define ABI_MAX_SETS	 8192	/* half of them for the moment in which a PMC leaves its sets */
#define ABI_MAX_OWNERS	 4096
#define ABI_MAX_CLIENTS	 (ABI_MAX_OWNERS + 1) /* with connections, and one greeted */
#define ABI_MAX_TARGETS	 65536
#define ABI_COUNTS	 63	/* counters of one owner per CPU */
#define ABI_INDEX_BITS	 16	/* of a tgid that index `index` */
#define ABI_INDEX_SIZE	 (1u << ABI_INDEX_BITS)

/*
 * A word of `index`: 0 nobody; SHARED several targets (look in `targets`); else VALID | tgid high |
 * set.
 */
#define ABI_INDEX_VALID	 0x80000000u
#define ABI_INDEX_SHARED 0x40000000u
#define ABI_INDEX(tgid, set) \
	(ABI_INDEX_VALID | (((tgid) >> ABI_INDEX_BITS) & 0x3fff) << 16 | ((set) & 0xffff))

enum abi_hook {
	ABI_HOOK_FAULT_READ,
	ABI_HOOK_FAULT_WRITE,
	ABI_HOOK_LOCK,
	ABI_HOOK_VOLUNTARY,
	ABI_HOOK_INVOLUNTARY,
	ABI_HOOKS
};
/*
 * Figures the kernel keeps per task; the values of enum wire_quantity, asserted equal in loader/.
 */
enum abi_quantity {
	ABI_Q_CPU_NS,
	ABI_Q_MINFLT,
	ABI_Q_MAJFLT,
	ABI_Q_FLT,
	ABI_Q_NVCSW,
	ABI_Q_NIVCSW,
	ABI_Q_CSW,
	ABI_Q_MIGRATIONS,
	ABI_QUANTITIES
};

#define ABI_EVENT(cpu, source) ((cpu) * ABI_MAX_SOURCES + (source))

/* Sources from here on are registers, then the hooks' counters; the others perf events. */
#define ABI_MSR_SOURCES	 8
#define ABI_SOURCE_MSR	 (ABI_SOURCE_HOOK - ABI_MSR_SOURCES)
#define ABI_SOURCE_HOOK	 (ABI_MAX_SOURCES - 8)

/* What a register's source reads; written before any set names the source. */
struct abi_register {
	__u64 mask;			/* the bits that count, from bit 0; 0: not used */
	__u32 reg, reserved;
};

/*
 * Each CPU's open slice, a cache line apart, because a switch between two processes that nobody
 * measures reads this and nothing else of ours.  See bpf/count/seen.bpf.h for `seen`.
 */
#define ABI_MAX_CPUS	 1024
struct abi_open {
	__u32 set;			/* 0: none; and ABI_OPEN_LOGGED */
	__u32 reserved;
	__u64 seen;			/* the switch that was seen last; 0: not known */
	__u64 pad[6];
};

enum abi_away {
	ABI_CPU_UNSEEN,			/* as it was when the programs came */
	ABI_CPU_HERE,
	ABI_CPU_AWAY,			/* perf has no events there */
};

/* In abi_cpu.lost, where no source is: a switch was hidden here, and slices are lost. */
#define ABI_LOST_SLICE (1ull << 63)

/* What a CPU is doing; written by its own programs, but for lost and out. */
struct abi_cpu {
	__u64 lost;			/* bit s: source s could not be read here; ABI_LOST_SLICE */
	__u64 members;			/* that the open slice counts */
	__u64 start[ABI_MAX_SOURCES];	/* each source at the slice's start … */
	__u64 now[ABI_MAX_SOURCES];	/* … and at its end */
	__u64 hook[8];			/* enum abi_hook */
	__u32 busy;			/* an exec changes the slice: a flush comes again */
	__u32 again;			/* … which the last one found set */
	__u32 tgid, tid;		/* of the open slice, if its set is logged */
	__u64 out;			/* bit s: the daemon took source s out; it stands still */
	__u32 away;			/* enum abi_away … */
	__u32 leaving;			/* … and what it is about to be */
	__u32 downs;			/* how often perf has let go of the CPU's events */
	__u32 changes;			/* of away */
	__u32 kind_next;		/* the thread that came at the last counted switch … */
	__u32 due;			/* … and 1 + the hook that has not counted this one yet */
	__u64 pad[112];			/* a power of two: found with a shift at every switch */
};

struct abi_member {
	__u16 source;
	__u16 pos;			/* index in abi_counts.count */
	__u32 owner;			/* index of `owners` */
};
/* A PMC fed by the kernel's own per-task figures; its place is its SOFT row. */
struct abi_soft {
	__u32 used;
	__u32 quantity;			/* enum abi_quantity */
	__u32 owner;
	__u32 pos;
};

/*
 * A logged PMC: what happens is told process by process, so a slice ends at every switch.  What
 * each process has had of it until its exit is kept in `shares`.
 */
#define ABI_LOG_SWITCH 0x80000000u
#define ABI_LOG_EXIT   0x40000000u
#define ABI_LOG_ID(log) ((log) & 0x3fffffffu)
#define ABI_OPEN_LOGGED 0x80000000u	/* in abi_open.set */
#define ABI_MAX_SHARES 262144
struct abi_share {
	__u32 tgid, log;		/* ABI_LOG_ID() */
};

/*
 * What the programs take by themselves is charged to a user's account: the one of the set that a
 * process gets, or of the logged PMC's owner.  Account 0 is all users' together.
 */
#define ABI_MAX_ACCOUNTS ABI_MAX_OWNERS
enum abi_charge {
	ABI_CHARGE_TARGETS,		/* live processes in `targets` */
	ABI_CHARGE_SHARES,		/* elements of `shares` */
	ABI_CHARGES
};
struct abi_account {
	__u32 used[ABI_CHARGES];
	__u32 own[ABI_CHARGES];		/* the most that `used` may be; 0: nobody's account … */
	__u32 all[ABI_CHARGES];		/* … and that account 0's may be for this user */
};
/* By owner, as `owners`. */
struct abi_owner {
	__u32 account;
	__u32 lost_records;		/* of its logged PMCs */
	__u64 missed;			/* bit p: the PMC at position p has lost a slice */
};

/* Written by the daemon, but for ntargets and lost. */
#define ABI_OWNERS_MIXED ~0u
struct abi_set {
	__u64 active;			/* bit i: member i is running */
	__u32 soft_active;		/* bit r: the PMC of SOFT row r is running */
	__u32 child;			/* the set a forked child gets, 0: none */
	__u32 ntargets;			/* live processes */
	__u32 owner;			/* of all members; ABI_OWNERS_MIXED: several */
	__u64 open;			/* bits of the active members' positions, if one owner's */
	__u32 secure;			/* the set after a set-id exec, 0: none */
	__u32 logs;			/* bit i: member i is logged */
	__u32 account;			/* of the user who pays for the set and its processes */
	__u32 lost;			/* children that found no room, and are in no set at all */
	struct abi_member member[ABI_MAX_MEMBERS];
	struct abi_soft soft[ABI_SOFT_ROWS];
	__u32 log[ABI_MAX_MEMBERS];	/* the PMC's number in records, and ABI_LOG_… */
	__u32 exec;			/* the set after any exec, for PMCs that wait; 0: none do */
	__u32 reserved;
	__u64 due;			/* bit i: a slice of member i that is not seen is lost */
};

/*
 * One target process.  `state` changes by compare-and-exchange only, so that an exit, a start and
 * an attach that meet agree on which of them takes the figures.
 */
#define ABI_STATE_SOFT	 0xffffull		/* bit r: figures count for SOFT row r */
#define ABI_STATE_EXIT	 (1ull << 16)		/* gone, its figures are handed over */
#define ABI_STATE_SET(state) ((__u32)((state) >> 32))
struct abi_target {
	__u64 state;			/* set << 32 | EXIT | SOFT */
	__u64 dead_ns;			/* CPU time and migrations of threads that have exited */
	__u64 dead_migrations;
	__u64 start;			/* of a process that joined by birth */
	__u32 last;			/* tid of the last thread, once EXIT is set */
	__u32 exec;			/* the set-id exec seen last, by the kernel's own number */
};

/*
 * What happened while the daemon looked elsewhere, in order.  One that finds no room is counted,
 * and the daemon looks at everything.
 */
#define ABI_NOTES_SIZE	 (1u << 18)	/* bytes of the ring */
enum abi_note_kind {
	ABI_NOTE_LOST,		/* made by the daemon: notes found no room */
	ABI_NOTE_EMPTY,		/* the last process of `set` has gone */
	ABI_NOTE_OWNER,		/* `tgid`, which has connections, is another program now */
	ABI_NOTE_SECURE,	/* a set-id exec has moved `tgid` from `set` to set->secure */
	ABI_NOTE_HIDDEN,	/* the first switch that the kernel has not reported */
};
struct abi_note {
	__u32 kind;		/* enum abi_note_kind */
	__u32 tgid;
	__u32 set;
	__u32 dropped;		/* SECURE: the kernel has taken the process's perf events off */
};

/* Credentials at connect(), as peer_read has found them; ids are enum abi_id. */
enum abi_id {
	ABI_ID_REAL,
	ABI_ID_EFFECTIVE,
	ABI_ID_SAVED,
	ABI_IDS
};
struct abi_cred {
	__u32 uid[ABI_IDS], gid[ABI_IDS];
	__u64 permitted, effective;	/* capabilities in the user namespace … */
	__u64 user_ns;			/* … of this number */
};

/*
 * Execs of targets, noted while any log records processes.  BEGIN is in the ring before the kernel
 * writes the first perf record of the new image (its name, then its mappings), the verdict before
 * the image runs its first instruction.  Every BEGIN has a verdict, unless the exec kills the
 * process.
 */
#define ABI_EXECS_SIZE	 (1u << 15)	/* bytes of the ring for each CPU */
enum abi_exec_kind {
	ABI_EXEC_BEGIN,
	ABI_EXEC_PLAIN,
	ABI_EXEC_SECURE,	/* PMCs whose owners may not follow leave the process */
	ABI_EXEC_OTHER,		/* of a process that is no target, or not any more */
};
struct abi_exec {
	__u64 time;		/* CLOCK_MONOTONIC, ns */
	__u32 tgid;
	__u32 kind;		/* enum abi_exec_kind */
	__u64 entry;		/* verdicts: the address of the new image's first instruction */
};

/*
 * The numbers that a new thread has in the PID namespaces below the daemon's, by the number that it
 * has there.  Only of those that have some, and only while a log wants them.
 */
#define ABI_LEVELS	8
#define ABI_MAX_NUMBERS 16384
struct abi_number {
	__u64 start;		/* CLOCK_MONOTONIC, ns */
	__u32 nr[ABI_LEVELS];	/* [0]: one level below; 0: it has none … */
	__u32 inum[ABI_LEVELS];	/* … in this namespace */
};

/* A fork seen while the daemon walks a process tree. */
#define ABI_MAX_BIRTHS	 32768	/* a power of two: the latest ones are kept */
struct abi_birth {
	__u32 parent, child;
};

/* One per CPU in an owner's map; the client's struct wire_counts. */
struct abi_counts {
	__u64 open;
	__u64 count[ABI_COUNTS];
};

/* Requests to the programs that the daemon runs itself; arguments of target_ctl. */
enum abi_ctl {
	ABI_CTL_ADD,			/* (tgid, set, 0) */
	ABI_CTL_MOVE,			/* (tgid, set, set before << 32 | SOFT rows that stay) */
	ABI_CTL_DELETE,			/* (tgid) */
};

/* Arguments of proof_ctl, whose descriptors are those of the thread that runs it. */
enum abi_proof_ctl {
	ABI_PROOF_LEARN,		/* (own pidfd, own /proc/self/mem, own /proc/self/maps) */
	ABI_PROOF_CHECK,		/* (pidfd, proof) */
};
/* The second descriptor, as a proof that its opener may debug the process of the first. */
enum abi_proof {
	ABI_PROOF_MEM,			/* its /proc/PID/mem: the right to attach */
	ABI_PROOF_MAPS,			/* its /proc/PID/maps: the right to look */
	ABI_PROOF_NONE,			/* neither file, of any process */
	ABI_PROOF_OTHER,		/* one of another process */
	ABI_PROOF_STALE,		/* the memory that the process had before its latest exec */
	ABI_PROOF_GONE,			/* no process any more, or its main thread has no memory */
	ABI_PROOF_UNKNOWN,		/* this kernel's files are not as learnt */
};

/* The task iterator's order and its answer. */
enum abi_visit {
	ABI_VISIT_START,		/* mark those not marked yet, sum their figures */
	ABI_VISIT_READ,			/* sum the figures of marked targets */
	ABI_VISIT_STOP,			/* the same, and unmark */
	ABI_VISIT_RUNNING,		/* list target processes that are on a CPU now */
};
#define ABI_MAX_RUNNING 1024
struct abi_visit_args {
	__u32 op;			/* enum abi_visit */
	__u32 row;			/* SOFT row … */
	__u32 owner, pos;		/* … and PMC */
	__u32 tgid;			/* only this process; 0: all targets */
	__u32 visited;			/* out: processes marked or summed */
	__u64 sum;			/* out */
	__u32 nrunning;			/* out, RUNNING */
	__u32 reserved;
	__u32 running[ABI_MAX_RUNNING];
};

_Static_assert(sizeof(struct abi_cpu) == 2048, "abi");
_Static_assert(sizeof(struct abi_set) == 512, "abi");
_Static_assert(sizeof(struct abi_open) == 64, "abi");
_Static_assert(ABI_SOURCE_HOOK + ABI_HOOKS < 64, "ABI_LOST_SLICE is no source's bit");
_Static_assert(sizeof(struct abi_target) == 40, "abi");
_Static_assert(sizeof(struct abi_counts) == 512, "abi");
_Static_assert(sizeof(struct abi_note) == 16, "abi");
_Static_assert(sizeof(struct abi_exec) == 24, "abi");

#endif
