/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract between libpmc-compat and pmcbpfd: one SOCK_SEQPACKET message per request and
 * per reply, and the read-only pages from which a client reads counts without asking.
 *
 * A connection starts with WIRE_OP_HELLO; every request is answered by exactly one reply that
 * repeats its op and seq.  A reply is {wire_hdr, payload, reason}: `len` counts the payload,
 * `reason_len` the text (no NUL) of the reason if `error` is not 0.  All numbers are native: both
 * ends run on one machine.  Structs have no padding and grow only with WIRE_VERSION.
 */
#ifndef PMCBPF_WIRE_H
#define PMCBPF_WIRE_H

#include <stdint.h>

/* The default socket of pmcbpfd. */
#define WIRE_SOCKET	 PMCBPF_RUNDIR "/pmcbpf/pmc.sock"

#define WIRE_MAGIC	 0x57434d50u	/* "PMCW" */
#define WIRE_VERSION	 7
#define WIRE_SEQ_REFUSED 0		/* see HELLO */
#define WIRE_MAX_REQUEST 1024u		/* bytes, header included */
#define WIRE_MAX_REPLY	 65536u
#define WIRE_MAX_FDS	 250u		/* the kernel passes at most 253 descriptors a message */
#define WIRE_MAX_REASON	 400u
#define WIRE_NAME_MAX	 64u		/* PMC_NAME_MAX, NUL included */
#define WIRE_FILTER_MAX	 512u		/* a tracepoint's filter, NUL included */
#define WIRE_CLASS_MAX	 16u
#define WIRE_TUNABLE_MAX 256u		/* a tunable's value as text, NUL included */

/* hwpmc's operation numbers; ours start at 64. */
enum wire_op {
	WIRE_OP_CONFIGURELOG = 0,
	WIRE_OP_FLUSHLOG = 1,
	WIRE_OP_GETCPUINFO = 2,
	WIRE_OP_GETDRIVERSTATS = 3,
	WIRE_OP_GETMODULEVERSION = 4,
	WIRE_OP_GETPMCINFO = 5,
	WIRE_OP_PMCADMIN = 6,
	WIRE_OP_PMCALLOCATE = 7,
	WIRE_OP_PMCATTACH = 8,
	WIRE_OP_PMCDETACH = 9,
	WIRE_OP_PMCGETMSR = 10,
	WIRE_OP_PMCRELEASE = 11,
	WIRE_OP_PMCRW = 12,
	WIRE_OP_PMCSETCOUNT = 13,
	WIRE_OP_PMCSTART = 14,
	WIRE_OP_PMCSTOP = 15,
	WIRE_OP_WRITELOG = 16,
	WIRE_OP_CLOSELOG = 17,
	WIRE_OP_GETDYNEVENTINFO = 18,
	WIRE_OP_HELLO = 64,
	WIRE_OP_TUNABLE = 65,
	WIRE_OP_GATES = 66,
	WIRE_OP_KTR = 67,
	WIRE_OP_KGMON = 68,
	WIRE_OP_SIGNALS = 69,
	WIRE_OP_ATTACHEXEC = 70,
	WIRE_OP_GETLOSSES = 71,
	WIRE_OP_POLICY = 72,
	WIRE_OP_ATTACHTHREAD = 76,
	WIRE_OP_ATTACHCGROUP = 78,
	WIRE_OP_READGROUP = 80,
	WIRE_OP_COMMITGROUP = 82,
	WIRE_OP_OVERFLOWS = 84,
};

struct wire_hdr {
	uint32_t magic;
	uint16_t version;
	uint16_t op;
	uint32_t seq;		/* the client's, repeated in the reply */
	int32_t error;		/* reply: 0 or -errno; request: 0 */
	uint32_t len;		/* payload bytes after this header */
	uint32_t reason_len;	/* reply: bytes of text after the payload; request: 0 */
};

/*
 * HELLO: reply carries one descriptor, the page of struct wire_alive.  A connection that is refused
 * gets an error reply to HELLO with the number WIRE_SEQ_REFUSED, whether HELLO has been sent or
 * not, and is closed.  The client may see EPIPE or ECONNRESET first, and can still read the
 * refusal.  The same reply ends a connection later, when the daemon cannot receive a request.
 */
struct wire_hello_req {
	uint32_t pid;		/* the client's getpid(), for messages; not trusted */
	uint32_t reserved;
	char program[16];	/* NUL-padded */
};
struct wire_hello_rep {
	uint32_t wire_version;
	uint32_t reserved;
	char daemon_version[32];
};

struct wire_version {		/* GETMODULEVERSION, both ways */
	uint32_t version;	/* PMC_VERSION: major 8, minor 8, patch 16 bits */
};

struct wire_classinfo {
	uint32_t class;		/* enum pmc_class */
	uint32_t caps;
	uint32_t width;		/* bits */
	uint32_t num;		/* rows */
	uint32_t first_row;
	uint32_t perf_type;	/* attr.type of the PMU; ~0 for SOFT and TSC */
	char pmu[32];		/* directory below /sys/bus/event_source/devices, "" if none */
};
struct wire_cpuinfo {
	uint32_t cputype;	/* enum pmc_cputype */
	uint32_t ncpu;		/* highest possible CPU number + 1 */
	uint32_t npmc;		/* rows */
	uint32_t nclass;
	struct wire_classinfo classes[WIRE_CLASS_MAX];
	char cpuid[64];
};

struct wire_driverstats {
	uint32_t intr_ignored;
	uint32_t intr_processed;
	uint32_t intr_bufferfull;
	uint32_t syscalls;
	uint32_t syscall_errors;
	uint32_t buffer_requests;
	uint32_t buffer_requests_failed;
	uint32_t log_sweeps;
};

/* GETLOSSES: what hwpmc does not count, of the caller's PMC or as of GETDRIVERSTATS. */
#define WIRE_CHAIN_ENDS 16u
struct wire_losses_req {
	uint32_t pmcid;		/* ~0: not of one PMC */
	uint32_t reserved;
};
struct wire_losses {		/* call chains in logs */
	uint64_t chains;
	uint64_t ended;		/* whose end is recorded */
	uint64_t whole;		/* … and that lack no caller */
	uint64_t pointers;	/* that frame pointers led through in part */
	uint64_t cut;		/* that lack callers … */
	uint64_t cuts[WIRE_CHAIN_ENDS];	/* … by enum pmc_chain_end; WHOLE: in the kernel's part */
	uint64_t completed;	/* after a table had come late */
	uint64_t late;		/* whose table came too late for that */
};

/* OVERFLOWS: of a PMC with PMC_F_SIGNAL. */
struct wire_overflows_req {
	uint32_t pmcid;
	uint32_t set;		/* WIRE_SIGNAL_…: the rest is new; 0: only the reply is wanted */
	uint32_t signal;
	uint32_t n;		/* further overflows, after which there are no more; 0: no limit */
};
#define WIRE_SIGNAL_HANDLED 1u	/* the process has a handler */
#define WIRE_SIGNAL_BLOCKED 2u	/* it has none, and its threads block the signal */
struct wire_overflows {
	uint64_t overflows;
	uint64_t unsent;	/* without a signal */
	uint64_t left;		/* ~0: no limit */
};

struct wire_cpu_req {		/* GETPMCINFO */
	uint32_t cpu;
	uint32_t reserved;
};
struct wire_pmcinfo {
	char name[WIRE_NAME_MAX];	/* row name: SOFT0, TSC, ARMV8-3 */
	char event_name[WIRE_NAME_MAX];	/* "" when not owned */
	uint32_t class;
	uint32_t enabled;
	uint32_t rowdisp;	/* enum pmc_disp */
	int32_t ownerpid;	/* -1: none, or not one owner */
	uint32_t mode;
	uint32_t event;
	uint32_t flags;
	uint32_t reserved;
	uint64_t reloadcount;
};
struct wire_pmcinfo_rep {	/* followed by npmc struct wire_pmcinfo */
	uint32_t npmc;
	uint32_t reserved;
};

/* GETDYNEVENTINFO: the list may take several replies; a reply begins with element `first`. */
struct wire_class_req {
	uint32_t class;
	uint32_t first;
};
struct wire_dynevent {
	char name[WIRE_NAME_MAX];
	uint32_t code;
	uint32_t flags;		/* MSR: enum wire_msr; TRACEPOINT: WIRE_TRACEPOINT_…; else 0.
				   PERF: `name` is a PMU, `code` its attr.type */
};
/* The driver that reads a register in each scope; neither: it cannot be counted there. */
enum wire_msr {
	WIRE_MSR_SYSTEM_MODULE = 1,
	WIRE_MSR_SYSTEM_PERF = 2,
	WIRE_MSR_PROCESS_MODULE = 4,
	WIRE_MSR_PROCESS_PERF = 8,
	WIRE_MSR_ADMIN = 16,	/* for the privileged only */
};
#define WIRE_TRACEPOINT_ADMIN 16	/* for the privileged, without another rule */
struct wire_dynevent_rep {	/* followed by count struct wire_dynevent */
	uint32_t count;
	uint32_t total;
};

/* GATES: obstacles between the caller and its counts, as far as the daemon can see. */
enum wire_gate_state {
	WIRE_GATE_OPEN = 0,
	WIRE_GATE_LIMITS = 1,	/* counting works, but not all of it */
	WIRE_GATE_CLOSED = 2,
};
#define WIRE_GATE_NAME 48u	/* bytes, NUL included */
#define WIRE_GATE_TEXT 256u
#define WIRE_GATES_MAX 64u
struct wire_gate {
	char name[WIRE_GATE_NAME];
	char finding[WIRE_GATE_TEXT];
	char remedy[WIRE_GATE_TEXT];	/* "" where there is nothing to do */
	uint32_t state;			/* enum wire_gate_state */
	uint32_t reserved;
};
struct wire_gates_rep {		/* followed by count struct wire_gate */
	uint32_t count;
	uint32_t reserved;
};

struct wire_admin_req {		/* PMCADMIN: pmc is a row index */
	int32_t cpu;
	uint32_t flags;
	int32_t pmc;
	uint32_t state;		/* enum pmc_state: DISABLED or FREE */
};

/* Places in user code and in the kernel where probes count. */
enum wire_probe {
	WIRE_PROBE_NONE = 0,
	WIRE_PROBE_UPROBE = 1,
	WIRE_PROBE_URETPROBE = 2,
	WIRE_PROBE_USDT = 3,
	WIRE_PROBE_KPROBE = 4,
	WIRE_PROBE_KRETPROBE = 5,
};
#define WIRE_PROBE_SITES 24u

/* Members of a group; operations on the first of them concern all. */
#define WIRE_GROUP_MAX 16u

#define WIRE_MSR_SELECT (1ull << 32)
struct wire_allocate_req {
	uint32_t caps;		/* USER and SYSTEM pick the ring; neither means both */
	uint32_t cpu;		/* PMC_CPU_ANY for process scope */
	uint32_t class;
	uint32_t event;		/* SOFT: its code; hardware, TRACEPOINT: for GETPMCINFO only */
	uint32_t flags;
	uint32_t mode;
	/* BREAKPOINT: its address, length and HW_BREAKPOINT_… */
	uint64_t config;	/* perf_event_attr.config… of a hardware event; MSR: the register */
	uint64_t config1;	/* MSR: WIRE_MSR_SELECT | a register to be written at START … */
	uint64_t config2;	/* … and its value */
	uint64_t count;		/* initial reload count of sampling modes */
	char event_name[WIRE_NAME_MAX];	/* TRACEPOINT: SYSTEM:NAME; PROBE: for lists */
	char filter[WIRE_FILTER_MAX];	/* TRACEPOINT: which hits count, "": all; kprobe: where */
	/* PROBE: the request carries the file, open for reading; its offsets. */
	uint32_t probe;		/* enum wire_probe */
	uint32_t probe_sites;	/* elements of probe_site */
	uint64_t probe_site[WIRE_PROBE_SITES];
	uint32_t probe_semaphore[WIRE_PROBE_SITES]; /* USDT: of each place's users; 0: none */
	uint32_t pmu;		/* hardware, PERF: attr.type of the PMU; 0: the class's first */
	uint32_t group;		/* 1: it is for a group, and waits for COMMITGROUP; else 0 */
	/* Sampling modes. */
	uint64_t rate;		/* samples a second, by a period that the kernel steers; 0: none */
	uint32_t values;	/* enum pmclog_value: of each sample */
	uint32_t precise;	/* perf_event_attr.precise_ip */
	uint64_t branch;	/* … branch_sample_type */
};
/*
 * The first allocation of an owner that a page can serve carries two descriptors: the owner's
 * struct wire_page, then its struct wire_counts array (one element per CPU).
 */
struct wire_allocate_rep {
	uint32_t pmcid;
	uint32_t pos;		/* index in wire_page.pmc and wire_counts.count; ~0: in neither */
	uint32_t nfds;
	uint32_t ncpu;		/* elements of the counts array */
};

struct wire_id_req {		/* PMCRELEASE, PMCSTART, PMCSTOP, ATTACHCGROUP */
	uint32_t pmcid;
	uint32_t reserved;
};
/*
 * START: if the page has WIRE_HOW_EVENTS, `nfds` descriptors: perf events of the caller's own
 * threads, or with system scope the counter of the CPU; read(2) gives 8 bytes.
 *
 * Of a group, `members` PMCs: groups of `places` events, of which the first reads the others
 * (PERF_FORMAT_GROUP); member i counts by the event at place[i].
 */
struct wire_start_rep {
	uint32_t nfds;
	uint32_t generation;	/* wire_page_pmc.generation these descriptors belong to */
	uint32_t members;	/* 0: no group, or its descriptors do not come along */
	uint32_t places;
	uint64_t ran;		/* ns that the group had run before `since` … */
	uint64_t since;		/* … of CLOCK_MONOTONIC */
	uint8_t place[WIRE_GROUP_MAX];
};

/*
 * PMCGETMSR: only the process that an event counts can find the number of its register, so the
 * client looks it up first, and then asks whether it may return it.
 */
struct wire_getmsr_req {
	uint32_t pmcid;
	uint32_t missing;	/* 0: found; else the reason: EAGAIN, EBUSY or ENOSYS */
};

/*
 * ATTACH, DETACH: the request carries a pidfd unless pid is 0 (the caller), negative, or gone.
 * With ATTACH a second descriptor proves that the caller may debug the process: its /proc/PID/mem,
 * opened for reading, or its /proc/PID/maps where CAP_SYS_PTRACE opens that file only.  Callers
 * with CAP_PERFMON or CAP_SYS_ADMIN need none.
 *
 * ATTACHEXEC is the same as ATTACH, for a process that is counted from its next exec on.
 */
struct wire_attach_req {
	uint32_t pmcid;
	int32_t pid;
};
/* ATTACHTHREAD: the same, for a PMC with PMC_F_THREAD; `tid` is a thread of the process. */
struct wire_thread_req {
	struct wire_attach_req process;
	int32_t tid;		/* in the client's PID namespace */
	uint32_t reserved;	/* 0 */
};

/*
 * ATTACHCGROUP: a struct wire_id_req, for a PMC with PMC_F_CGROUP; carries a descriptor of the
 * cgroup's folder, which is open for reading.
 */
struct wire_rw_req {
	uint32_t pmcid;
	uint32_t flags;		/* PMC_F_OLDVALUE | PMC_F_NEWVALUE */
	uint64_t value;
};
struct wire_rw_rep {
	uint64_t value;		/* the old value when asked for, else 0 */
};

/* COMMITGROUP: these PMCs, which wait for it, are a group from now on; the first stands for it. */
struct wire_commitgroup_req {
	uint32_t n;
	uint32_t reserved;	/* 0 */
	uint32_t pmcid[WIRE_GROUP_MAX];
};

/* READGROUP: all members at one instant, in COMMITGROUP's order. */
struct wire_readgroup_req {
	uint32_t pmcid;		/* of the first */
	uint32_t reserved;	/* 0 */
};
struct wire_readgroup_rep {
	uint32_t n;
	uint32_t reserved;
	uint64_t running;	/* ns that it has run, of all its starts */
	uint32_t pmcid[WIRE_GROUP_MAX];
	uint64_t value[WIRE_GROUP_MAX];
};

struct wire_configurelog_req {	/* the request carries the descriptor if logfd is not negative */
	int32_t logfd;
	uint32_t flags;
};
struct wire_writelog_req {
	uint32_t userdata;
	uint32_t reserved;
};

struct wire_setcount_req {
	uint32_t pmcid;
	uint32_t reserved;
	uint64_t count;
};

/* TUNABLE: name is empty for LIST, value for all but SET; both end with a NUL. */
enum wire_tunable_what {
	WIRE_TUNABLE_LIST = 0,
	WIRE_TUNABLE_GET = 1,
	WIRE_TUNABLE_SET = 2,	/* needs the privilege of PMCADMIN */
};
struct wire_tunable_req {
	uint32_t what;
	uint32_t reserved;
	char name[WIRE_NAME_MAX];
	char value[WIRE_TUNABLE_MAX];
};
struct wire_tunable {
	char name[WIRE_NAME_MAX];
	char value[WIRE_TUNABLE_MAX];
	uint32_t writable;	/* 0: only before the daemon's start */
	uint32_t reserved;
};
/* Followed by count struct wire_tunable; after SET the one, as it is now. */
struct wire_tunable_rep {
	uint32_t count;
	uint32_t reserved;
};

/* KTR: the kernel's trace rings.  Everybody may ask for INFO; OPEN's reply carries a descriptor. */
enum wire_ktr_what {
	WIRE_KTR_INFO = 0,
	WIRE_KTR_FREEZE = 1,
	WIRE_KTR_THAW = 2,
	WIRE_KTR_CLEAR = 3,
	WIRE_KTR_MARK = 4,
	WIRE_KTR_OPEN = 5,
};
struct wire_ktr_req {
	uint32_t what;
	uint32_t reserved;
	char text[32];		/* MARK's, NUL-padded; "" otherwise */
};
struct wire_ktr {		/* after the operation; struct pmc_ktr explains the fields */
	uint32_t compile;
	uint32_t missing;
	uint32_t mask;
	uint32_t saved;
	uint32_t frozen;
	uint32_t entries;
	uint32_t ncpu;
	uint32_t reserved;
	uint64_t written;
	char stopped[96];
};

/*
 * KGMON: the kernel profile.  Any process may ask for STATE, where all fields but `on` are 0; the
 * rest needs privilege.  DUMP's reply carries a descriptor of a file of struct wire_kgmon_hit.
 */
enum wire_kgmon_what {
	WIRE_KGMON_STATE = 0,
	WIRE_KGMON_INFO = 1,
	WIRE_KGMON_START = 2,
	WIRE_KGMON_STOP = 3,
	WIRE_KGMON_RESET = 4,
	WIRE_KGMON_DUMP = 5,
};
struct wire_kgmon_req {
	uint32_t what;
	uint32_t reserved;
};
enum wire_kgmon_source {
	WIRE_KGMON_NONE = 0,	/* it is off and empty */
	WIRE_KGMON_CLOCK = 1,
	WIRE_KGMON_PMCS = 2,
};
struct wire_kgmon {		/* after the operation; struct pmc_kgmon explains the fields */
	uint32_t on;
	uint32_t source;	/* enum wire_kgmon_source */
	uint32_t rate;
	uint32_t hits;		/* elements of a dump */
	uint64_t period;
	uint64_t samples;
	uint64_t user;
	uint64_t lost;
	char event[WIRE_NAME_MAX];
};
struct wire_kgmon_hit {
	uint64_t address;
	uint64_t samples;
};

/*
 * POLICY: the administrator's rules, or the value of each setting for the caller.  The list may
 * take several replies; a reply begins with element `first`.  If its generation differs from that
 * of the previous reply, the rules have been replaced in between.
 */
enum wire_policy_what {
	WIRE_POLICY_OWN = 0,	/* an unprivileged caller's settings; none for privileged callers */
	WIRE_POLICY_RULES = 1,	/* needs the privilege of PMCADMIN */
};
struct wire_policy_req {
	uint32_t what;
	uint32_t first;
};
struct wire_policy {
	char text[1024];	/* the rule, or `setting="value"` */
	char origin[512];	/* its file, or the tunable that decides; "": a default */
	uint32_t line;		/* 0: not from a file */
	uint32_t reserved;
};
struct wire_policy_rep {	/* followed by count struct wire_policy */
	uint32_t count;
	uint32_t total;
	uint32_t generation;
	uint32_t reserved;
};

/*
 * SIGNALS: the signals that the client's program handles or waits for, bit N - 1 for signal N.
 * From then on the daemon uses this instead of the handlers that the kernel reports, which under
 * valgrind and other emulators are the emulator's.
 */
struct wire_signals_req {
	uint32_t taken;
	uint32_t reserved;
};

/* --- pages a client maps read-only ------------------------------------------------------- */

/*
 * `futex` is on the daemon's robust list: the kernel sets FUTEX_OWNER_DIED (0x40000000) in it when
 * the daemon ends for any reason, so that a client never reads a count from a dead page.
 */
struct wire_alive {
	uint32_t magic;
	uint32_t futex;
};

/* The way in which pmc_read() gets the value of a PMC. */
enum wire_how {
	WIRE_HOW_ASK = 0,	/* only the daemon knows */
	WIRE_HOW_VALUE = 1,	/* `base` is the count: not running */
	WIRE_HOW_COUNTS = 2,	/* base + sum over CPUs of counts.count[pos], exact while no CPU has
				 * bit `pos` of counts.open set; if one has, ask the daemon */
	WIRE_HOW_RUSAGE = 3,	/* base + scaled(raw + the caller's own usage figure `quantity`) */
	WIRE_HOW_EVENTS = 4,	/* base + sum over the START reply's descriptors */
	WIRE_HOW_TSC = 5,	/* the time stamp counter itself */
};

/*
 * Per-process figures that the kernel keeps anyway; indexes the daemon's and the client's tables.
 */
enum wire_quantity {
	WIRE_Q_CPU_NS = 0,	/* CPU time, ns */
	WIRE_Q_MINFLT = 1,
	WIRE_Q_MAJFLT = 2,
	WIRE_Q_FLT = 3,		/* MINFLT + MAJFLT */
	WIRE_Q_NVCSW = 4,
	WIRE_Q_NIVCSW = 5,
	WIRE_Q_CSW = 6,		/* NVCSW + NIVCSW */
	WIRE_Q_COUNT
};

#define WIRE_PAGE_PMCS 63u	/* PMCs of one owner that the page serves */

struct wire_page_pmc {
	uint32_t seq;		/* odd while the daemon writes the fields below */
	uint32_t how;		/* enum wire_how */
	uint32_t pmcid;
	uint32_t generation;	/* changes when earlier descriptors are void */
	uint64_t base;		/* events */
	uint64_t raw;		/* RUSAGE: added to the figure before scaling; wraps */
	uint32_t quantity;	/* enum wire_quantity */
	uint32_t rate;		/* RUSAGE of CPU_NS: ticks a second; 0: as is */
	uint64_t reserved[3];
};
struct wire_page {
	uint32_t magic;
	uint32_t version;
	uint32_t npmc;		/* WIRE_PAGE_PMCS */
	uint32_t reserved[13];
	struct wire_page_pmc pmc[WIRE_PAGE_PMCS];
};

/* One element per CPU, which the BPF programs write at every slice's end. */
struct wire_counts {
	uint64_t open;		/* bit pos: a slice of that PMC is open on this CPU */
	uint64_t count[WIRE_PAGE_PMCS];
};

_Static_assert(sizeof(struct wire_hdr) == 24, "wire");
_Static_assert(sizeof(struct wire_classinfo) == 56, "wire");
_Static_assert(sizeof(struct wire_cpuinfo) == 80 + 16 * 56, "wire");
_Static_assert(sizeof(struct wire_pmcinfo) == 168, "wire");
_Static_assert(sizeof(struct wire_allocate_req) == 960, "wire");
_Static_assert(sizeof(struct wire_gate) == 568, "wire");
_Static_assert(sizeof(struct wire_tunable_req) == 328, "wire");
_Static_assert(sizeof(struct wire_tunable) == 328, "wire");
_Static_assert(sizeof(struct wire_ktr_req) == 40, "wire");
_Static_assert(sizeof(struct wire_ktr) == 136, "wire");
_Static_assert(sizeof(struct wire_kgmon) == 112, "wire");
_Static_assert(sizeof(struct wire_policy) == 1544, "wire");
_Static_assert(sizeof(struct wire_page_pmc) == 64, "wire");
_Static_assert(sizeof(struct wire_page) == 64 * 64, "wire");
_Static_assert(sizeof(struct wire_counts) == 512, "wire");

#endif
