/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc(3): performance counters for programs.  The functions are FreeBSD's; pmc_errstr() is ours.
 *
 * Unless stated otherwise a function returns 0, or -1 with errno set, and pmc_errstr() then returns
 * the reason in one line.  Every function may be called from any thread, none is a cancellation
 * point, and those that are system calls on FreeBSD may be called in a signal handler.  PMCs belong
 * to the process: they are gone after exit and exec, and a forked child does not own its parent's.
 * Every function that sends a request to the daemon fails with ENOSYS before pmc_init() and once
 * the daemon is gone, and with EBADF once the program has closed the library's descriptor.
 */
#ifndef PMCBPF_PMC_H
#define PMCBPF_PMC_H

#include <sys/pmc.h>

struct pmc_cpuinfo {
	enum pmc_cputype pm_cputype;
	uint32_t pm_ncpu;		/* highest possible CPU number + 1 */
	uint32_t pm_npmc;		/* rows of a CPU, all classes together */
	uint32_t pm_nclass;
	struct pmc_classinfo pm_classes[PMC_CLASS_MAX];
};

struct pmc_pmcinfo {
	int32_t pm_cpu;
#if defined(__cplusplus) || !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
	__extension__ struct pmc_info pm_pmcs[];	/* pmc_npmc() elements */
#else
	struct pmc_info pm_pmcs[];			/* pmc_npmc() elements */
#endif
};

struct pmc_driverstats {
	unsigned int pm_intr_ignored;		/* interrupts without a PMC that overflowed */
	unsigned int pm_intr_processed;
	unsigned int pm_intr_bufferfull;	/* a ring was full, or the kernel paused an event */
	unsigned int pm_syscalls;		/* requests */
	unsigned int pm_syscall_errors;
	unsigned int pm_buffer_requests;	/* log buffers asked for */
	unsigned int pm_buffer_requests_failed;
	unsigned int pm_log_sweeps;
};

/* A condition that may keep the caller from counting: pmc_gates(). */
enum pmc_gate_state {
	PMC_GATE_OPEN,
	PMC_GATE_LIMITS,		/* counting works, but not all of it */
	PMC_GATE_CLOSED
};
struct pmc_gate {
	char pg_name[48];
	char pg_finding[256];
	char pg_remedy[256];		/* "" if there is nothing to do */
	enum pmc_gate_state pg_state;
};

/* State of the kernel's trace rings: pmc_ktr_info().  <sys/ktr_class.h> has the classes. */
struct pmc_ktr {
	uint32_t pk_compile;		/* classes that are loaded */
	uint32_t pk_missing;		/* … that this kernel has no events of */
	uint32_t pk_mask;		/* classes that are traced; 0 while frozen */
	uint32_t pk_saved;		/* the mask after the last thaw */
	uint32_t pk_frozen;		/* freezes without a thaw, a trigger's among them */
	uint32_t pk_entries;		/* of each ring; 0: there are no rings */
	uint32_t pk_ncpu;
	uint32_t pk_reserved;
	uint64_t pk_written;		/* entries ever written */
	char pk_stopped[96];		/* the trigger that froze them, "" for none */
};
enum pmc_ktr_op {
	PMC_KTR_FREEZE,			/* no tracing until the matching thaw */
	PMC_KTR_THAW,
	PMC_KTR_CLEAR,			/* forgets all entries */
	PMC_KTR_MARK			/* an entry of class KTR_GEN; its text is cut to 31 bytes */
};

/* The kernel profile of kgmon(8): pmc_kgmon(). */
struct pmc_kgmon {
	uint32_t pk_on;			/* it takes samples */
	uint32_t pk_source;		/* enum pmc_kgmon_source */
	uint32_t pk_rate;		/* the clock's ticks a second, on each CPU; 0: no clock */
	uint32_t pk_hits;		/* elements of a dump */
	uint64_t pk_period;		/* events between two samples of a PMC; 0: no PMC */
	uint64_t pk_samples;		/* samples in the kernel: the sum of all hits */
	uint64_t pk_user;		/* samples in user code, which has no hits */
	uint64_t pk_lost;		/* samples without room, or that the kernel left out */
	char pk_event[PMC_NAME_MAX];	/* the PMCs' event */
};
enum pmc_kgmon_source {
	PMC_KGMON_NONE,			/* off and empty */
	PMC_KGMON_CLOCK,		/* the profiling clock */
	PMC_KGMON_PMCS			/* PMCs with PMC_F_KGMON */
};
enum pmc_kgmon_op {
	PMC_KGMON_STATE,		/* only pk_on is set; any process may ask */
	PMC_KGMON_INFO,
	PMC_KGMON_START,
	PMC_KGMON_STOP,
	PMC_KGMON_RESET,		/* forgets all samples */
	PMC_KGMON_DUMP			/* returns a descriptor */
};
struct pmc_kgmon_hit {			/* an element of a dump; elements are ordered by address */
	uint64_t pk_address;
	uint64_t pk_samples;
};

/* One of the daemon's tunables; ours. */
struct pmc_tunable {
	char pm_name[PMC_NAME_MAX];	/* "kern.hwpmc.nsamples" */
	char pm_value[256];
	int pm_writable;		/* 0: fixed when the daemon starts */
};

/* A rule of the administrator, or one of the caller's settings: pmc_policy(). */
struct pmc_policy {
	char pp_text[1024];		/* as in pmcbpf.policy(5) */
	char pp_origin[512];		/* its file, or the tunable behind it; "" for a default */
	unsigned int pp_line;		/* in the file; 0: it is not from a file */
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Connects to pmcbpfd, or starts a private one if none runs and the caller is root.  May be
 * repeated.  ENOENT no daemon, EPROGMISMATCH other version, ENXIO unknown CPU type: pmc(3).
 */
int pmc_init(void);

/*
 * Allocates a PMC for the event of `spec` (pmc(3), EVENT SPECIFIERS) and stores its handle; `cpu`
 * is PMC_CPU_ANY for process scope.  `count` is the first period of sampling modes, 0 or -1 for
 * none. EINVAL ENXIO EPERM EOPNOTSUPP ENOMEM: pmc_allocate(3).  *pmcid is untouched on failure.
 *
 * Old sources pass five arguments, new ones six: in C a macro takes both.  PMC_NO_ARITY_MACRO
 * disables it; PMC_API=7 or 10 declares the five-argument function only, 12 and later the other.
 */
#ifdef __cplusplus
int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid,
		 uint64_t count = 0);
#elif defined(PMC_API) && PMC_API < 12
int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
		 pmc_id_t *pmcid) __asm__("pmc_allocate5");
#else
int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid,
		 uint64_t count);
#if !defined(PMC_API) && !defined(PMC_NO_ARITY_MACRO)
#define PMC__PICK(a1, a2, a3, a4, a5, a6, function, ...) function
#define pmc_allocate(...) \
	PMC__PICK(__VA_ARGS__, (pmc_allocate), pmc_allocate5, 0)(__VA_ARGS__)
#endif
#endif
int pmc_allocate5(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid);

/*
 * Stops, detaches and frees a PMC.  ESRCH caller owns no PMC, EINVAL not this one: pmc_allocate(3).
 */
int pmc_release(pmc_id_t pmcid);

/*
 * Adds or removes a target of a process-scope PMC; pid 0 is the caller.  EBUSY EEXIST EINVAL EPERM
 * ESRCH: pmc_attach(3).
 */
int pmc_attach(pmc_id_t pmcid, pid_t pid);
int pmc_detach(pmc_id_t pmcid, pid_t pid);

/*
 * As pmc_attach(), but the process is counted from its next exec on; a child that is forked before
 * its parent's exec is counted from its own: pmc_attach(3).
 */
int pmc_attach_exec(pmc_id_t pmcid, pid_t pid);

/*
 * As pmc_attach(), for a PMC with PMC_F_THREAD, which counts this thread alone; 0 is the calling
 * thread: pmc_attach(3).
 */
int pmc_attach_thread(pmc_id_t pmcid, pid_t tid);

/*
 * Names the cgroup that a PMC with PMC_F_CGROUP counts: a descriptor of its folder, which the
 * caller may close afterwards: pmc_attach_cgroup(3).
 */
int pmc_attach_cgroup(pmc_id_t pmcid, int folder);

/*
 * Counting has begun, or ended, when the call returns.  pmc_start() of a process-scope PMC that was
 * never attached attaches the caller.  EDOOFUS no log, ENXIO CPU offline, ESRCH targets gone:
 * pmc_start(3).
 */
int pmc_start(pmc_id_t pmcid);
int pmc_stop(pmc_id_t pmcid);

/*
 * pmc_read() stores the count in events, exact at the time of the call, in any state.  The others
 * fail with EBUSY while the PMC runs.  pmc_set() sets the period of a sampling PMC, else the count:
 * pmc_read(3).
 */
int pmc_read(pmc_id_t pmcid, pmc_value_t *value);
int pmc_write(pmc_id_t pmcid, pmc_value_t value);
int pmc_rw(pmc_id_t pmcid, pmc_value_t newvalue, pmc_value_t *oldvalue);
int pmc_set(pmc_id_t pmcid, pmc_value_t value);

/*
 * Groups, with the functions of AMD's FreeBSD: PMCs that are allocated for a group, added to one
 * and committed are started, stopped, attached and released by its leader, and read at one instant.
 * EOPNOTSUPP, ENOTTY, EDOOFUS, E2BIG: pmc_group(3).
 */
#define PMC_GROUP_MAX_MEMBERS 16
struct pmc_group_member {
	pmc_id_t pm_pmcid;
	uint32_t pm_mflags;		/* PMC_GROUP_MEMBER_F_… */
	pmc_value_t pm_value;
};
#define PMC_GROUP_MEMBER_F_SAMPLES 0x1	/* pm_value counts samples; never set here */
struct pmc_group_times {		/* all equal here: a group counts all the time */
	uint64_t pgt_enabled;
	uint64_t pgt_running;
	uint64_t pgt_enabled_wall;
	uint64_t pgt_wall;
	uint32_t pgt_flags;		/* the unit */
};
#define PMC_GROUP_F_TIME_THREAD_NS 0x1	/* CPU time; never set here */
#define PMC_GROUP_F_TIME_WALL_NS 0x2
int pmc_allocate_group(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
		       pmc_id_t *pmcid, uint64_t count);
int pmc_group_create(uint32_t *groupid);
int pmc_group_add(uint32_t groupid, pmc_id_t pmcid, int leader);
int pmc_group_commit(uint32_t groupid);
int pmc_group_read(pmc_id_t leader, uint32_t *nmembers, struct pmc_group_member *members,
		   struct pmc_group_times *times);
int pmc_group_release(pmc_id_t *pmcids, size_t n);
int pmc_read_pair(pmc_id_t leader, pmc_value_t *value, uint64_t *enabled, uint64_t *running);

/*
 * Signals of a sampling PMC with PMC_F_SIGNAL: `signo` goes to the thread in which it overflows,
 * from now on or, if n is not 0, n further times, after which it samples no more.  EINVAL, ESRCH:
 * pmc_set_signal(3).
 */
struct pmc_overflows {
	uint64_t po_overflows;		/* since the allocation */
	uint64_t po_unsent;		/* … without a signal */
	uint64_t po_left;		/* ~0: no limit */
};
int pmc_set_signal(pmc_id_t pmcid, int signo, uint32_t n);
int pmc_get_overflows(pmc_id_t pmcid, struct pmc_overflows *overflows);

/*
 * Stores the number of the hardware counter of a running PMC that measures only its owner, as rdpmc
 * (x86) or pmevcntrN_el0 (arm64; 31: pmccntr_el0) takes it.  EAGAIN not started, ENOSYS no counter:
 * pmc_get_msr(3).
 */
int pmc_get_msr(pmc_id_t pmcid, uint32_t *msr);

/* Administration of a row (0 … pmc_npmc()-1) of a CPU. EPERM EINVAL ENXIO EBUSY: pmc_disable(3). */
int pmc_enable(int cpu, int row);
int pmc_disable(int cpu, int row);

/*
 * The log of sampling PMCs and of PMCs with PMC_F_LOG_…: a file, pipe, socket or terminal open for
 * writing, of which the daemon keeps a reference.  A negative `fd` ends the log: everything
 * buffered is written, CLOSELOG last.  EBUSY EBADF EINVAL EAGAIN ENOMEM: pmc_configure_logfile(3).
 */
int pmc_configure_logfile(int fd);

/*
 * flush returns when everything buffered so far has been written, with the log's first error if
 * there was one; close ends the log without waiting; writelog appends a record with the program's
 * data.  EINVAL no log, ENOMEM no buffer: pmc_configure_logfile(3).
 */
int pmc_flush_logfile(void);
int pmc_close_logfile(void);
int pmc_writelog(uint32_t userdata);

/* A PMC's capabilities (bits of enum pmc_caps) and width in bits. EINVAL: pmc_capabilities(3). */
int pmc_capabilities(pmc_id_t pmcid, uint32_t *caps);
int pmc_width(pmc_id_t pmcid, uint32_t *width);

/*
 * Return the highest CPU number + 1, the number of rows; -1, ENXIO before pmc_init():
 * pmc_capabilities(3).
 */
int pmc_ncpu(void);
int pmc_npmc(int cpu);

/* *info is the library's and constant.  ENXIO before pmc_init(): pmc_capabilities(3). */
int pmc_cpuinfo(const struct pmc_cpuinfo **info);

/* The caller frees *info.  EINVAL no such CPU, ENXIO offline, ENOMEM: pmc_capabilities(3). */
int pmc_pmcinfo(int cpu, struct pmc_pmcinfo **info);

/* The daemon's counters since its start: pmc_get_driver_stats(3). */
int pmc_get_driver_stats(struct pmc_driverstats *stats);
/*
 * Call chains in logs that lack callers, which FreeBSD's statistics have no field for.  EINVAL: the
 * daemon is of an earlier release.  pmc_get_driver_stats(3)
 */
int pmc_get_cut_chains(uint64_t *chains);

/*
 * Stores counts of call chains in logs: of the caller's PMC, or with PMC_ID_INVALID as of
 * pmc_get_driver_stats().  EINVAL, ESRCH: no such PMC: pmc_get_chains(3).
 */
struct pmc_chains {
	uint64_t pm_chains;
	uint64_t pm_ended;		/* whose end is recorded … */
	uint64_t pm_whole;		/* … and that lack no caller */
	uint64_t pm_pointers;		/* that frame pointers led through in part */
	uint64_t pm_cut;		/* that lack callers … */
	uint64_t pm_cuts[16];		/* … by enum pmc_chain_end; WHOLE: in the kernel's part */
	uint64_t pm_completed;		/* when a table came that was missing at first … */
	uint64_t pm_late;		/* … and those for which it came too late */
};
int pmc_get_chains(pmc_id_t pmcid, struct pmc_chains *chains);

/*
 * The caller frees *names; its strings are the library's.  EINVAL, ENOMEM:
 * pmc_event_names_of_class(3).
 */
int pmc_event_names_of_class(enum pmc_class class_, const char ***names, int *nevents);

/* Return static text, or NULL with EINVAL; a capability is one bit: pmc_name_of_capability(3). */
const char *pmc_name_of_capability(enum pmc_caps cap);
const char *pmc_name_of_class(enum pmc_class class_);
const char *pmc_name_of_cputype(enum pmc_cputype cputype);
const char *pmc_name_of_disposition(enum pmc_disp disp);
const char *pmc_name_of_event(enum pmc_event event);
const char *pmc_name_of_mode(enum pmc_mode mode);
const char *pmc_name_of_state(enum pmc_state state);

/*
 * Named events of the hardware PMUs.  _enabled: 1 if there are any.  Lists and descriptions go to
 * stdout; `substr` is matched without regard to case, NULL matches all.  _sample_rate: a suggested
 * period, 65536 for unknown events.
 */
int pmc_pmu_enabled(void);
void pmc_pmu_print_counters(const char *substr);
void pmc_pmu_print_counter_desc(const char *substr);
void pmc_pmu_print_counter_desc_long(const char *substr);
void pmc_pmu_print_counter_full(const char *substr);
uint64_t pmc_pmu_sample_rate_get(const char *event);

/*
 * Ours: each of the events is *scale of `unit`, as sysfs describes it; 1 and "" of most events.
 */
int pmc_event_unit(const char *event, double *scale, char *unit, size_t size);

/*
 * Ours: on CPUs of several kinds an event of processes takes a PMC for each kind, and its count is
 * their sum.  Stores the specifiers of these PMCs in *specs, one piece of memory for free(3), and
 * their number in *n; 0: one PMC counts the event, as on all other machines.
 */
int pmc_event_kinds(const char *event, enum pmc_mode mode, char ***specs, int *n);

/*
 * Stores the events of FreeBSD's "pmc stat" in *names, the library's: six specifiers in its order
 * (cycles, instructions, branches, mispredicted branches, cache references, cache misses).  Returns
 * 0, or EOPNOTSUPP (not in errno) if no hardware event has a name.
 */
int pmc_pmu_stat_mode(const char ***names);

/*
 * From a hardware event's name to its number in this process, or -1, and back, or NULL.  `cpuid` is
 * this machine's or NULL.  Events of other machines are not known here (EOPNOTSUPP); their logs
 * have the names. ENOENT no such event or number.
 */
int pmc_pmu_idx_get_by_event(const char *cpuid, const char *event);
const char *pmc_pmu_event_get_by_idx(const char *cpuid, int idx);

/*
 * Finds a hardware event, qualifiers included, and fills pm_class, pm_ev, pm_md, the event's part
 * of pm_caps and PMC_F_EV_PMU in pm_flags; allocates nothing.  Returns 0, ENOENT for no such event
 * or ENXIO before pmc_init(); errno is not set.
 */
int pmc_pmu_pmcallocate(const char *event, struct pmc_op_pmcallocate *op);

/* --- additions of this library ------------------------------------------------------------- */

/*
 * Returns one line, without a newline: the reason why this thread's last failing call failed, from
 * the daemon, the library or strerror(errno).  Valid until the thread's next call.  pmc(3)
 */
const char *pmc_errstr(void);

/*
 * Stores the limits that the kernel, the hardware and the daemon's rules set to this caller, one
 * element each.  The caller frees *gates.  The daemon tries counters, and takes none that is in
 * use. EINVAL: the daemon is of an earlier release.  pmc_gates(3)
 */
int pmc_gates(struct pmc_gate **gates, int *ngates);

/*
 * The kernel's trace rings.  info: any caller.  control: EPERM without privilege, ENXIO without
 * rings, EINVAL for a thaw without a freeze; `text` is for PMC_KTR_MARK, else NULL.  open returns a
 * descriptor to map read-only, struct ktr_region at its start: for privileged callers the rings
 * themselves, for others, if the tunable ktr.unprivileged permits, a copy of this moment without
 * kernel addresses (KTR_REGION_SCRUBBED); EPERM, ENXIO.  Classes, masks and sizes are the tunables
 * ktr.*.  pmc_ktr(3)
 */
int pmc_ktr_info(struct pmc_ktr *info);
int pmc_ktr_control(enum pmc_ktr_op op, const char *text);
int pmc_ktr_open(void);

/*
 * The kernel profile: performs `op` and returns 0, or for PMC_KGMON_DUMP a descriptor of a
 * read-only file of struct pmc_kgmon_hit.  *info, unless NULL, receives the state afterwards.
 * EPERM not super-user, EBUSY it holds samples of another source: pmc_kgmon(3)
 */
int pmc_kgmon(enum pmc_kgmon_op op, struct pmc_kgmon *info);

/*
 * The daemon's tunables, which pmcbpf.conf(5) lists: get all, get one, set one.  The caller frees
 * *list.  EINVAL no such tunable or value; EPERM not super-user, or fixed when the daemon starts:
 * pmc_tunable(3).
 */
int pmc_tunable_list(struct pmc_tunable **list, unsigned int *count);
int pmc_tunable_get(const char *name, struct pmc_tunable *tunable);
int pmc_tunable_set(const char *name, const char *value);

/*
 * The administrator's rules, pmcbpf.policy(5).  all 0: the caller's settings, none if it is
 * privileged; else all rules, in their order: EPERM not super-user.  The caller frees *list.
 * EINVAL the daemon is of an earlier release.  pmc_policy(3)
 */
int pmc_policy(int all, struct pmc_policy **list, unsigned int *count);

/*
 * The same with the arguments and errno of sysctlbyname(3), for FreeBSD's sources: an int, or text
 * with its NUL.  kern.hwpmc.cpuid exists, too; connects as pmc_init() does.  ENOENT no such
 * variable, ENOMEM no room, EINVAL, EPERM: pmc_tunable(3)
 */
int pmc_sysctlbyname(const char *name, void *oldp, size_t *oldlenp, const void *newp,
		     size_t newlen);

#ifdef __cplusplus
}

/* Sources before 2012 pass a uint32_t. */
inline const char *pmc_name_of_capability(uint32_t cap)
{
	return pmc_name_of_capability(
		static_cast<enum pmc_caps>(cap < PMC_CAP_LAST * 2u ? cap : 0));
}
#endif

#endif
