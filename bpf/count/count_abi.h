/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract between the BPF programs and pmcbpfd: the contents of the maps.
 *
 * source  a free-running counter that exists on every CPU: a hardware row's pinned event, a
 *         software event, a register, or a counter that a hook or tracepoint program increments.
 *         The slices' programs only read it.
 * member  one PMC in a set: the source that it reads, and the place of its count.
 * set     the PMCs that measure a process.  Processes with the same PMCs have the same set, so
 *         that a switch between them leaves the open slice alone.
 * slice   the time for which one CPU runs processes of one set.
 */
#ifndef PMCBPF_ABI_H
#define PMCBPF_ABI_H

#include "bpf/log/log_abi.h"

#define ABI_MAX_SOURCES	 64	/* per CPU, without those of tracepoints … */
#define ABI_TRACEPOINTS	 64	/* … which come behind them */
#define ABI_ALL_SOURCES	 (ABI_MAX_SOURCES + ABI_TRACEPOINTS)
#define ABI_DIRECT_SOURCES 32	/* the first ones, which programs may read without a helper */
#define ABI_MAX_MEMBERS	 16	/* sliced PMCs on one process … */
#define ABI_PLAIN_MEMBERS 8	/* … and at most so many in a plain set, see plain_sets */
#define ABI_SOFT_ROWS	 16	/* PMCs fed by figures on one process: one per SOFT row */
#define ABI_MAX_SETS	 8192	/* half of them are reserved for PMCs that leave their sets */
#define ABI_MAX_OWNERS	 4096
#define ABI_MAX_CLIENTS	 (ABI_MAX_OWNERS + 1) /* processes with connections, plus one */
#define ABI_MAX_TARGETS	 65536
#define ABI_COUNTS	 63	/* counters of one owner per CPU */
#define ABI_INDEX_BITS	 16	/* bits of a tgid that select a word of `index` */
#define ABI_INDEX_SIZE	 (1u << ABI_INDEX_BITS)

/*
 * A word of `index`: 0: no target; SHARED: several targets (look in `targets`); else VALID | high
 * bits of the tgid | set.
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
	ABI_HOOK_MIGRATION,	/* no source: in cgroups, a program adds each to the counts */
	ABI_HOOKS
};
/*
 * The kernel's figures per task; the values equal those of enum wire_quantity, asserted in loader/.
 */
enum abi_quantity {
	ABI_Q_CPU_NS,
	ABI_Q_MINFLT,
	ABI_Q_MAJFLT,
	ABI_Q_FLT,
	ABI_Q_NVCSW,
	ABI_Q_NIVCSW,
	ABI_Q_CSW,
	ABI_QUANTITIES
};

#define ABI_EVENT(cpu, source) ((cpu) * ABI_MAX_SOURCES + (source))

/* Sources from here on are registers, then the hooks' counters; those before are perf events. */
#define ABI_MSR_SOURCES	 8
#define ABI_SOURCE_MSR	 (ABI_SOURCE_HOOK - ABI_MSR_SOURCES)
#define ABI_SOURCE_HOOK	 (ABI_MAX_SOURCES - 8)
#define ABI_SOURCE_TRACEPOINT ABI_MAX_SOURCES

/* The register that a source reads; written before any set names the source. */
struct abi_register {
	__u64 mask;			/* the bits that count, from bit 0; 0: not used */
	__u32 reg, reserved;
};

/*
 * Each CPU's open slice, in its own cache line: a switch between two processes that no PMC measures
 * touches no other data of ours.  See bpf/count/seen.bpf.h for `seen`.
 */
#define ABI_MAX_CPUS	 1024
struct abi_open {
	__u32 set;			/* 0: none; may include ABI_OPEN_THREADS */
	__u32 reserved;
	__u64 seen;			/* the latest switch seen; 0: unknown … */
	__u64 outside;			/* … except here: the task that runs in no slice */
	__u64 pad[5];
};

enum abi_away {
	ABI_CPU_UNSEEN,			/* unchanged since the programs were attached */
	ABI_CPU_HERE,
	ABI_CPU_AWAY,			/* perf has no events on it */
};

/* In abi_cpu.lost, a bit that no source uses: a hidden switch has lost slices on this CPU. */
#define ABI_LOST_SLICE (1ull << 63)

/*
 * In abi_cpu.event: the bit that the address of a perf_event always has.  It is set when a program
 * has read the event by its counter and has got what the kernel's helper returned; until then, and
 * if they disagreed (0), the helper reads it.
 */
#define ABI_EVENT_TRIED (1ull << 63)

/* A CPU's state, written only by its own programs, except for lost and out. */
struct abi_cpu {
	__u64 lost;			/* bit s: source s could not be read; ABI_LOST_SLICE */
	__u64 members;			/* members that the open slice counts */
	__u64 start[ABI_ALL_SOURCES];	/* each source at the slice's start … */
	__u64 now[ABI_ALL_SOURCES];	/* … and at its end */
	__u64 hook[8];			/* enum abi_hook */
	__u64 hits[ABI_TRACEPOINTS];	/* of each tracepoint that is counted, except … */
	__u64 misses[ABI_TRACEPOINTS];	/* … those at this address, if not 0: tracepoint.bpf.c */
	__u64 fresh_hits;		/* bit t: tracepoint t was read for this change … */
	__u64 fresh_others;		/* … bit s: any other source s was */
	__u32 busy;			/* an exec is changing the slice: repeat the flush */
	__u32 again;			/* … because the latest one found `busy` set */
	__u32 tgid, tid;		/* of the open slice, if its threads matter */
	__u64 out;			/* bit s: the daemon removed source s; its value stays */
	__u32 away;			/* enum abi_away … */
	__u32 leaving;			/* … and the value after the current step */
	__u32 downs;			/* how often perf has dropped the CPU's events */
	__u32 changes;			/* number of changes of `away` */
	__u32 kind_next;		/* the next thread at the latest counted switch … */
	__u32 due;			/* … and 1 + the hook that has yet to count that switch */
	__u32 hit_next, hit_due;	/* the same for the tracepoint of switches */
	__u64 snapshot[ABI_COUNTS];	/* an owner's counts at one instant … */
	__u64 snapshot_number;		/* … as this request wanted them */
	char comm[ABI_COMM];		/* likewise, of the thread of the slice that has ended … */
	__u32 offcpu;			/* bit r: the PMC of SOFT row r samples waits here … */
	__u32 offcpu_place[ABI_SOFT_ROWS + 1]; /* … at this place; the last one is not used */
	__u64 event[ABI_DIRECT_SOURCES]; /* of a source that is a counter: see ABI_EVENT_TRIED */
	__u64 untried;			/* bit s: see counters_try() */
	__u64 task;			/* of the open slice, likewise: its task_struct's address */
};

struct abi_member {
	__u16 source;
	__u16 pos;			/* index in abi_counts.count */
	__u32 owner;			/* index of `owners` */
};
/*
 * A PMC fed by the kernel's figures per task; its index is its SOFT row.  A row's PMC may sample
 * waits instead (abi_set.offcpu): then `owner` is its place among those, and `pos` its number in
 * records; or it counts migrations, of which a program adds each to the owner's counts.
 */
struct abi_soft {
	__u16 used;
	__u16 quantity;			/* enum abi_quantity */
	__u32 owner;
	__u32 pos;
};

/*
 * A logged PMC: a slice ends at every switch, because values are recorded process by process.  Each
 * process's share is kept in `shares` until the process exits.
 */
#define ABI_LOG_SWITCH 0x80000000u
#define ABI_LOG_EXIT   0x40000000u
#define ABI_LOG_THREAD 0x20000000u
#define ABI_LOG_ID(log) ((log) & 0x1fffffffu)
#define ABI_OPEN_THREADS 0x80000000u	/* in abi_open.set: its threads matter */
#define ABI_MAX_SHARES 262144
struct abi_share {
	__u32 tgid, log;		/* ABI_LOG_ID() */
};

/*
 * With ABI_LOG_THREAD a thread's share, under its own number, is kept until its last switch or the
 * PMC's stop.  A thread that has never run has none.
 */
struct abi_thread_share {
	__u64 count;
	__u32 tgid, reserved;
	char comm[ABI_COMM];		/* at the end of its latest slice */
};
#define ABI_THREAD_BATCH 256u		/* shares that threads_log ends at once */

/*
 * Resources that the programs allocate are charged to a user's account: targets to the account of
 * their set, shares to the account of the logged PMC's owner.  Account 0 is the sum of all others.
 */
#define ABI_MAX_ACCOUNTS ABI_MAX_OWNERS
enum abi_charge {
	ABI_CHARGE_TARGETS,		/* live processes in `targets` */
	ABI_CHARGE_SHARES,		/* elements of `shares` and `thread_shares` */
	ABI_CHARGES
};
struct abi_account {
	__u32 used[ABI_CHARGES];
	__u32 own[ABI_CHARGES];		/* maximum of `used`; 0: account not in use … */
	__u32 all[ABI_CHARGES];		/* … and of account 0's `used`, for this user */
};
/* An owner's state; same index as `owners`. */
struct abi_owner {
	__u32 account;
	__u32 lost_records;		/* lost records of its logged PMCs */
	__u64 missed;			/* bit p: the PMC at position p has lost a slice */
};

/* Written by the daemon, except for ntargets and lost. */
#define ABI_OWNERS_MIXED ~0u
struct abi_set {
	__u64 active;			/* bit i: member i is running */
	__u32 soft_active;		/* bit r: the PMC of SOFT row r is running */
	__u32 child;			/* set of a forked child, 0: none */
	__u32 ntargets;			/* live processes */
	__u32 owner;			/* of all members; ABI_OWNERS_MIXED: several, or threads */
	__u64 open;			/* positions of active members, if all are one owner's */
	__u32 secure;			/* set after a set-id exec, 0: none */
	__u32 threads;			/* bit i: member i is logged, or counts one thread */
	__u32 account;			/* of the user charged for the set and its processes */
	__u32 lost;			/* children that found no room and are in no set */
	struct abi_member member[ABI_MAX_MEMBERS];
	struct abi_soft soft[ABI_SOFT_ROWS];
	__u32 offcpu;			/* bit r: the PMC of SOFT row r samples waits, and runs */
	__u32 shared;			/* two members have one source */
	__u32 migrations;		/* bit r: the PMC of SOFT row r counts these, and runs */
	__u32 alone;			/* bit i: … it counts one thread: struct abi_alone */
	__u32 alone_rows;		/* bit r: row r's PMC counts one thread's migrations */
	__u32 sampled_rows;		/* bit r: row r's PMC samples one thread's waits */
	__u32 reserved[10];
	__u32 log[ABI_MAX_MEMBERS];	/* the PMC's number in records, and ABI_LOG_… */
	__u32 exec;			/* set after any exec, if PMCs wait for one; 0: none wait */
	__u32 sampled;			/* bit i: member i samples hits; log[i] is its number */
	__u64 due;			/* bit i: an unseen slice of member i counts as lost */
};

/* The key of the thread that a PMC counts alone. */
#define ABI_ALONE(owner, pos) ((owner) * 64 + (pos))
#define ABI_MAX_ALONE 1024

/* The only thread that a PMC counts or samples; see bpf/count/one_thread.bpf.h. */
#define ABI_THREAD_GONE ~0u		/* none: it has ended, or is not chosen yet */
struct abi_alone {
	__u64 task;			/* the address of its task_struct; 0: not known yet */
	__u32 tid;			/* its number in the initial namespace */
	__u32 reserved;
};

/* Where it is noted: by ABI_ALONE(), or by the place of a sampling PMC. */
struct abi_alone_at {
	__u32 sampled, key;
};

/*
 * One target process.  `state` changes by compare-and-exchange only, so that when an exit, a start
 * and an attach coincide, exactly one of them takes the figures.
 */
#define ABI_STATE_SOFT	 0xffffull		/* bit r: figures count for SOFT row r */
#define ABI_STATE_EXIT	 (1ull << 16)		/* exited, its figures are handed over */
#define ABI_STATE_SET(state) ((__u32)((state) >> 32))
struct abi_target {
	__u64 state;			/* set << 32 | EXIT | SOFT */
	__u64 dead_ns;			/* CPU time of threads that have exited */
	__u64 start;			/* start time of a process that joined by fork */
	__u32 last;			/* tid of the last thread, once EXIT is set */
	__u32 exec;			/* self_exec_id of the latest set-id exec seen */
};

/*
 * Events for the daemon, in order.  Notes that find no room are counted, and the daemon then checks
 * every PMC.
 */
#define ABI_NOTES_SIZE	 (1u << 18)	/* bytes of the ring */
enum abi_note_kind {
	ABI_NOTE_LOST,		/* generated by the daemon: some notes found no room */
	ABI_NOTE_EMPTY,		/* the last process of `set` has left it */
	ABI_NOTE_OWNER,		/* `tgid`, which has connections, has executed a program */
	ABI_NOTE_SECURE,	/* a set-id exec has moved `tgid` from `set` to set->secure */
	ABI_NOTE_HIDDEN,	/* the first switch that was hidden by the kernel */
};
struct abi_note {
	__u32 kind;		/* enum abi_note_kind */
	__u32 tgid;
	__u32 set;
	__u32 dropped;		/* SECURE: the kernel has removed the process's perf events */
};

/* Credentials at connect(), as peer_read finds them; ids are indexed by enum abi_id. */
enum abi_id {
	ABI_ID_REAL,
	ABI_ID_EFFECTIVE,
	ABI_ID_SAVED,
	ABI_IDS
};
struct abi_cred {
	__u32 uid[ABI_IDS], gid[ABI_IDS];
	__u64 permitted, effective;	/* capabilities in the user namespace … */
	__u64 user_ns;			/* … with this number */
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
	ABI_EXEC_SECURE,	/* PMCs that may not follow leave the process */
	ABI_EXEC_OTHER,		/* of a process that is not, or no longer, a target */
};
struct abi_exec {
	__u64 time;		/* CLOCK_MONOTONIC, ns */
	__u32 tgid;
	__u32 kind;		/* enum abi_exec_kind */
	__u64 entry;		/* verdicts: the address of the new image's first instruction */
};

/*
 * A new thread's numbers in the PID namespaces below the daemon's; the key is its number in the
 * daemon's.  Noted only for threads in such namespaces, while a log needs them.
 */
#define ABI_LEVELS	8
#define ABI_MAX_NUMBERS 16384
struct abi_number {
	__u64 start;		/* CLOCK_MONOTONIC, ns */
	__u32 nr[ABI_LEVELS];	/* [0]: one level below; 0: no such level … */
	__u32 inum[ABI_LEVELS];	/* … in this namespace */
};

/* A fork noted while the daemon walks a process tree. */
#define ABI_MAX_BIRTHS	 32768	/* a power of two: the latest ones are kept */
struct abi_birth {
	__u32 parent, child;
};

/* A request to read counters of a CPU at one instant, and the answer. */
struct abi_gauges {
	__u32 n;
	__u32 lost;			/* bit i: counter i could not be read */
	__u32 source[ABI_MAX_MEMBERS];	/* those before ABI_SOURCE_HOOK are in `gauge_events` */
	__u64 value[ABI_MAX_MEMBERS];
};

/* One per CPU in an owner's map; clients see it as struct wire_counts. */
struct abi_counts {
	__u64 open;
	__u64 count[ABI_COUNTS];
};

/* Requests to the programs that the daemon runs; arguments of target_ctl. */
enum abi_ctl {
	ABI_CTL_ADD,			/* (tgid, set, 0) */
	ABI_CTL_MOVE,			/* (tgid, set, old set << 32 | SOFT rows that stay) */
	ABI_CTL_DELETE,			/* (tgid) */
};

/* Arguments of proof_ctl, with descriptors of the calling thread. */
enum abi_proof_ctl {
	ABI_PROOF_LEARN,		/* (own pidfd, own /proc/self/mem, own /proc/self/maps) */
	ABI_PROOF_CHECK,		/* (pidfd, proof) */
};
/* Result: the second descriptor's file as proof that its opener may debug the pidfd's process. */
enum abi_proof {
	ABI_PROOF_MEM,			/* its /proc/PID/mem: the right to attach */
	ABI_PROOF_MAPS,			/* its /proc/PID/maps: the right to look */
	ABI_PROOF_NONE,			/* neither file of any process */
	ABI_PROOF_OTHER,		/* such a file of another process */
	ABI_PROOF_STALE,		/* the memory that the process had before its latest exec */
	ABI_PROOF_GONE,			/* the process, or its main thread's memory, is gone */
	ABI_PROOF_UNKNOWN,		/* the layout of this kernel's files is unknown */
};

/* Arguments of tracepoint_ctl, with descriptors of the calling thread. */
enum abi_tracepoint_ctl {
	ABI_TRACEPOINT_LEARN,		/* (perf event): abi_tracepoint */
	ABI_TRACEPOINT_MISSES,		/* (program, at, `anchor`): abi_cpu.misses */
	ABI_TRACEPOINT_NOW,		/* (0, at): abi_tracepoint.hits */
	ABI_TRACEPOINT_KPROBE,		/* (perf event, at, `anchor`): abi_cpu.misses */
	ABI_TRACEPOINT_MISSED,		/* (perf event of a kprobe): abi_tracepoint.hits */
};

/* PMCs of system scope that sample one tracepoint on one CPU. */
#define ABI_CPU_SAMPLERS 2

/* PMCs that sample one tracepoint, each in the cgroup of that number and in those below it. */
#define ABI_CGROUP_SAMPLERS 8
struct abi_cgroup_sampler {
	__u64 id;
	__u32 level;			/* of the cgroup: 0 is the root's */
	__u32 tag;			/* written last; 0: none */
};

/* The argument `at`. */
#define ABI_TRACEPOINT_AT(slot, cpu) ((__u64)(cpu) << 32 | (slot))

/* System calls are numbered from 0; a table has as many places. */
#define ABI_CALLS 1024u

/* What the kernel keeps about the tracepoint of a perf event; "" and -1: it is none. */
struct abi_tracepoint {
	char name[64];			/* of the kernel's tracepoint */
	__s32 enter, exit;		/* the number of the system call that begins or ends */
	__u64 hits;			/* on a CPU, since the daemon's start */
};

/* Operations of the task iterator. */
enum abi_visit {
	ABI_VISIT_START,		/* mark unmarked targets, sum their figures */
	ABI_VISIT_READ,			/* sum the figures of marked targets */
	ABI_VISIT_STOP,			/* sum the figures of marked targets, unmark them */
	ABI_VISIT_RUNNING,		/* list target processes that run on a CPU now */
};
#define ABI_MAX_RUNNING 1024
struct abi_visit_args {
	__u32 op;			/* enum abi_visit */
	__u32 row;			/* SOFT row … */
	__u32 owner, pos;		/* … and PMC */
	__u32 tgid;			/* this process only; 0: all targets */
	__u32 visited;			/* out: processes marked or summed */
	__u64 sum;			/* out */
	__u32 nrunning;			/* out, RUNNING */
	__u32 leaving;			/* out, READ: threads that have exited and run on */
	__u32 running[ABI_MAX_RUNNING];
};

/*
 * The threads of a process, and a PMC's events in them: each should have `events`, opened for it or
 * inherited.
 */
#define ABI_COVER_ALL (-2)
#define ABI_MAX_COVERED 256
struct abi_forking {
	__u32 tid;			/* in the initial namespace */
	__u32 forks;			/* those that it has finished while forks were watched */
};
struct abi_cover {
	__u64 tag;			/* perf_event_attr.sig_data of the events */
	__s32 cpu;			/* only those that are bound to it, with -1 to none */
	__u32 events;
	/* Out, numbers of threads, and as many of these as there is room for: */
	__u32 off;			/* with an event that is disabled */
	__u32 nbare;			/* with fewer events */
	__u32 ntwice;			/* with more */
	__u32 nforking;			/* in fork(2), before it has made a thread */
	__u32 bare[ABI_MAX_COVERED], twice[ABI_MAX_COVERED];
	struct abi_forking forking[ABI_MAX_COVERED];
};

_Static_assert(sizeof(struct abi_cpu) == 4096, "abi");
_Static_assert(sizeof(struct abi_set) == 512, "abi");
_Static_assert(sizeof(struct abi_open) == 64, "abi");
_Static_assert(ABI_SOURCE_HOOK + ABI_HOOKS < 64, "ABI_LOST_SLICE is no source's bit");
_Static_assert(sizeof(struct abi_target) == 32, "abi");
_Static_assert(sizeof(struct abi_counts) == 512, "abi");
_Static_assert(sizeof(struct abi_note) == 16, "abi");
_Static_assert(sizeof(struct abi_exec) == 24, "abi");

#endif
