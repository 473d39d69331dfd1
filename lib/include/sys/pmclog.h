/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a log as pmcbpfd writes them: FreeBSD's layout of today (major 10), in the
 * writer's byte order.  pmclog(3) reads these and the logs of FreeBSD 6 to 11; pmclog(5) has both
 * layouts.
 */
#ifndef PMCBPF_SYS_PMCLOG_H
#define PMCBPF_SYS_PMCLOG_H

#include <sys/pmc.h>

/*
 * Record types.  The first three had numbers lower by one before FreeBSD 12.  MAPPINGCHANGE is a
 * name for old sources only; no log that is read today has such a record.
 */
enum pmclog_type {
	PMCLOG_TYPE_CLOSELOG = 1,
	PMCLOG_TYPE_DROPNOTIFY = 2,
	PMCLOG_TYPE_INITIALIZE = 3,
	PMCLOG_TYPE_PCSAMPLE = 4,
	PMCLOG_TYPE_PMCALLOCATE = 5,
	PMCLOG_TYPE_PMCATTACH = 6,
	PMCLOG_TYPE_PMCDETACH = 7,
	PMCLOG_TYPE_PROCCSW = 8,
	PMCLOG_TYPE_PROCEXEC = 9,
	PMCLOG_TYPE_PROCEXIT = 10,
	PMCLOG_TYPE_PROCFORK = 11,
	PMCLOG_TYPE_SYSEXIT = 12,
	PMCLOG_TYPE_USERDATA = 13,
	PMCLOG_TYPE_MAP_IN = 14,
	PMCLOG_TYPE_MAP_OUT = 15,
	PMCLOG_TYPE_CALLCHAIN = 16,
	PMCLOG_TYPE_PMCALLOCATEDYN = 17,
	PMCLOG_TYPE_THR_CREATE = 18,
	PMCLOG_TYPE_THR_EXIT = 19,
	PMCLOG_TYPE_PROC_CREATE = 20,
	PMCLOG_TYPE_MAPPINGCHANGE = 0x40,
	PMCLOG_TYPE_VALUES = 0x41,	/* not FreeBSD's, as those that follow */
	PMCLOG_TYPE_WAITS = 0x42,	/* only of PMCs of OFFCPU_TIME */
	PMCLOG_TYPE_WAKER = 0x43,	/* … with PMC_F_WAKERS */
	PMCLOG_TYPE_FIELD = 0x44,	/* only of tracepoints with PMCLOG_VALUE_RAW */
	PMCLOG_TYPE_THR_VALUE = 0x50	/* not FreeBSD's, only with PMC_F_LOG_THREXIT */
};

/*
 * Values of a sample, which its PMC asked for: bits of the record VALUES, whose words have them in
 * this order.  Each has one word, but for registers: the machine (EM_X86_64 …) in the upper half of
 * a word and perf's ABI in the lower one, and, unless the ABI is 0, perf's mask of registers and a
 * word for each of its bits; branches: their number, and for each, newest first, its source, its
 * target and perf's word of flags; and a tracepoint's record: its bytes that follow, with zeroes up
 * to a multiple of 8, and in the upper half of this word all that it has.  FIELD records describe
 * it.
 */
enum pmclog_value {
	PMCLOG_VALUE_PERIOD = 0x001,	/* events that the sample stands for */
	PMCLOG_VALUE_ADDR = 0x002,	/* of the data */
	PMCLOG_VALUE_PHYS_ADDR = 0x004,
	PMCLOG_VALUE_DATA_PAGE = 0x008,	/* bytes of the data's page */
	PMCLOG_VALUE_CODE_PAGE = 0x010,	/* … and of the sampled address's */
	PMCLOG_VALUE_CGROUP = 0x020,	/* its number (version 2) */
	PMCLOG_VALUE_WEIGHT = 0x040,
	PMCLOG_VALUE_DATA_SRC = 0x080,
	PMCLOG_VALUE_TXN = 0x100,
	PMCLOG_VALUE_USER_REGS = 0x200,
	PMCLOG_VALUE_INTR_REGS = 0x400,	/* of the interrupted code */
	PMCLOG_VALUE_BRANCHES = 0x800,
	PMCLOG_VALUE_RAW = 0x1000	/* a tracepoint's record; its first 8 bytes are zero */
};
#define PMCLOG_VALUES	  13u		/* bits */
#define PMCLOG_VALUES_MAX 528u		/* words of a record */

/* A field of a tracepoint's record: what its bytes are. */
enum pmclog_field_flag {
	PMCLOG_FIELD_SIGNED = 0x01,
	PMCLOG_FIELD_TEXT = 0x02,	/* up to its NUL or its end */
	PMCLOG_FIELD_ADDRESS = 0x04,
	PMCLOG_FIELD_ARRAY = 0x08,
	PMCLOG_FIELD_ELSEWHERE = 0x10,	/* a word has its place (lower half) and its bytes … */
	PMCLOG_FIELD_BEHIND = 0x20	/* … and the place counts from behind the word */
};
#define PMCLOG_FIELD_NAME 64u		/* bytes of a name with its NUL */
#define PMCLOG_FIELDS_MAX 64u		/* of a record */

/* pl_type of MAPPINGCHANGE, for old sources. */
#define PMCLOG_MAPPING_INSERT 1
#define PMCLOG_MAPPING_DELETE 2

/* The first word of every record: magic, type, length in bytes (a multiple of 4, all included). */
#define PMCLOG_HEADER_MAGIC		0xEEu
#define PMCLOG_HEADER_TO_LENGTH(h)	((h) & 0x0000FFFFu)
#define PMCLOG_HEADER_TO_TYPE(h)	(((h) & 0x00FF0000u) >> 16)
#define PMCLOG_HEADER_TO_MAGIC(h)	(((h) & 0xFF000000u) >> 24)
#define PMCLOG_HEADER_CHECK_MAGIC(h)	(PMCLOG_HEADER_TO_MAGIC(h) == PMCLOG_HEADER_MAGIC)
#define PMCLOG_HEADER(type, length) \
	(PMCLOG_HEADER_MAGIC << 24 | (uint32_t)(type) << 16 | (uint32_t)(length))

#define PMC_CALLCHAIN_CPUFLAGS_TO_CPU(cf)	(((cf) >> 16) & 0xFFFF)
#define PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(cf)	((cf) & PMC_CC_F_USERSPACE)
#define PMC_CALLCHAIN_TO_CPUFLAGS(cpu, flags)	((uint32_t)(cpu) << 16 | ((flags) & 0xFFFF))

/*
 * Replaces every kernel address in samples of owners without the right to see them.  No processor
 * has code there.
 */
#define PMCLOG_PC_KERNEL 0x8000000000000000ull
/*
 * First address of each sample of OFFCPU_TIME: this and why the thread was off the CPUs.  No
 * processor has code there, either.
 */
#define PMCLOG_PC_WAIT 0x8000000000000100ull
enum pmclog_wait {
	PMCLOG_WAIT_SLEEP = 1,		/* for an event */
	PMCLOG_WAIT_DISK,		/* for input or output */
	PMCLOG_WAIT_LOCK,		/* in futex(2), or uninterruptibly in the kernel */
	PMCLOG_WAIT_RUN_QUEUE,		/* runnable, after another wait */
	PMCLOG_WAIT_PREEMPTED		/* runnable all the time */
};
/* Kinds of wakers, which end waits. */
enum pmclog_waker {
	PMCLOG_WAKER_THREAD = 1,
	PMCLOG_WAKER_INTERRUPT,		/* a timer, a device, or work that these left to be done */
	PMCLOG_WAKER_OTHER,		/* a thread that the log's owner may not measure */
	PMCLOG_WAKER_UNKNOWN		/* it was not seen */
};
/*
 * A frame of Python: this, the number of its code object and its line (0: not known).  No processor
 * has code there.  A MAP_IN of pid -1 at the number's line 0 has the names: PMCLOG_CODE_PREFIX, the
 * qualified name, a tab, and the source file.
 */
#define PMCLOG_PC_PYTHON	0x4000000000000000ull
#define PMCLOG_PC_IS_PYTHON(pc) ((pc) >> 62 == 1)
#define PMCLOG_PC_CODE_SHIFT	24
#define PMCLOG_PC_LINE_MAX	0xffffffu
#define PMCLOG_PC_TO_CODE(pc)	((uint32_t)((pc) >> PMCLOG_PC_CODE_SHIFT))
#define PMCLOG_PC_TO_LINE(pc)	((uint32_t)(pc) & PMCLOG_PC_LINE_MAX)
#define PMCLOG_CODE_MISSING	0u	/* stands for frames that could not be recorded */
#define PMCLOG_CODE_UNKNOWN	1u	/* a frame whose names could not be read */
#define PMCLOG_CODE_FIRST	2u	/* number of a code object */
#define PMCLOG_CODE_PREFIX	"[python]"
/* In place of a pid or tid: the process or thread has no number in the log's PID namespace. */
#define PMCLOG_PID_OUTSIDE (-2)

#define PMCLOG_COMM 20		/* bytes of a command's or thread's name, NUL-padded */

/*
 * pl_tsc counts at INITIALIZE's pl_tsc_freq, and INITIALIZE's pl_ts is the time of day at its own
 * pl_tsc.  pmcbpfd's clock is CLOCK_MONOTONIC in nanoseconds.
 */
#define PMCLOG_ENTRY_HEADER	\
	uint32_t pl_header;	\
	uint32_t pl_spare;	\
	uint64_t pl_tsc;

struct pmclog_header {
	PMCLOG_ENTRY_HEADER
} __packed;

struct pmclog_initialize {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_version;
	uint32_t pl_cpu;		/* enum pmc_cputype */
	uint64_t pl_tsc_freq;		/* ticks a second */
	struct {
		int64_t tv_sec, tv_nsec;
	} pl_ts;
	char pl_cpuid[PMC_CPUID_LEN];
} __packed;

struct pmclog_closelog {
	PMCLOG_ENTRY_HEADER
} __packed;

/* Records are missing here.  FreeBSD's record ends at the header; pmcbpfd's adds the number. */
struct pmclog_dropnotify {
	PMCLOG_ENTRY_HEADER
	uint64_t pl_lost;		/* at least so many; 0: the number is unknown */
} __packed;

struct pmclog_pmcallocate {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_event;
	uint32_t pl_flags;
	uint32_t pl_pad;
	uint64_t pl_rate;
} __packed;

struct pmclog_pmcallocatedyn {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_event;
	uint32_t pl_flags;
	uint32_t pl_pad;
	char pl_evname[PMC_NAME_MAX];
} __packed;

struct pmclog_pmcattach {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_pid;
	char pl_pathname[];
} __packed;

struct pmclog_pmcdetach {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_pid;
} __packed;

struct pmclog_proccsw {
	PMCLOG_ENTRY_HEADER
	uint64_t pl_value;		/* events of this slice */
	uint32_t pl_pmcid;
	uint32_t pl_pid;
	uint32_t pl_tid;
	uint32_t pl_pad;
} __packed;

struct pmclog_procexec {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;
	uint32_t pl_pmcid;
	uint64_t pl_base;		/* where the dynamic linker is mapped, 0: none */
	uint64_t pl_dyn;		/* load base of a position independent executable, else 0 */
	char pl_pathname[];
} __packed;

struct pmclog_procexit {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_pid;
	uint64_t pl_value;		/* events of this process */
} __packed;

struct pmclog_procfork {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_oldpid;
	uint32_t pl_newpid;
} __packed;

struct pmclog_sysexit {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;
	uint32_t pl_pad;
} __packed;

struct pmclog_userdata {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_userdata;
	uint32_t pl_pad;
} __packed;

struct pmclog_map_in {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;		/* -1: the kernel */
	uint32_t pl_pad;
	uint64_t pl_start;
	char pl_pathname[];
} __packed;

struct pmclog_map_out {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;
	uint32_t pl_pad;
	uint64_t pl_start;
	uint64_t pl_end;
} __packed;

struct pmclog_callchain {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;
	uint32_t pl_tid;
	uint32_t pl_pmcid;
	uint32_t pl_cpuflags;		/* cpu << 16 | PMC_CC_F_… */
	uint64_t pl_pc[];		/* the sampled address, then return addresses, outwards */
} __packed;

struct pmclog_threadcreate {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_tid;
	uint32_t pl_pid;
	uint32_t pl_flags;
	uint32_t pl_pad;
	char pl_tdname[PMCLOG_COMM];
} __packed;

struct pmclog_threadexit {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_tid;
	uint32_t pl_pad;
} __packed;

struct pmclog_threadvalue {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pmcid;
	uint32_t pl_pid;
	uint32_t pl_tid;
	uint32_t pl_pad;
	uint64_t pl_value;
	char pl_tdname[PMCLOG_COMM];
} __packed;

struct pmclog_proccreate {
	PMCLOG_ENTRY_HEADER
	uint32_t pl_pid;
	uint32_t pl_flags;
	char pl_pcomm[PMCLOG_COMM];
} __packed;

#endif
