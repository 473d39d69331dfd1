/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types and constants of hwpmc(4), one set for the programs of every FreeBSD release: the union of
 * their names with the newest numbers.  Nothing here needs a library.
 */
#ifndef PMCBPF_SYS_PMC_H
#define PMCBPF_SYS_PMC_H

#include <sys/cdefs.h>
#include <sys/types.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>		/* struct timespec, whatever the dialect */
#include <stdint.h>
#include <time.h>

/* Types that FreeBSD's <sys/types.h> and <sys/pmc.h> with its headers define. */
#ifndef _UINTFPTR_T_DECLARED
#define _UINTFPTR_T_DECLARED
typedef unsigned long uintfptr_t;
#endif
#ifndef MAXCOMLEN
#define MAXCOMLEN 19
#endif
#ifndef __packed
#define __packed __attribute__((__packed__))
#endif
#ifndef FUNCTION_ALIGNMENT
#define FUNCTION_ALIGNMENT 4
#endif

/* Two errno values that Linux lacks: the request needs a log; versions do not match. */
#ifndef EDOOFUS
#define EDOOFUS EBADRQC
#endif
#ifndef EPROGMISMATCH
#define EPROGMISMATCH EPROTO
#endif

#define PMC_MODULE_NAME "hwpmc"

#define PMC_VERSION_MAJOR 0x0Au
#define PMC_VERSION_MINOR 0x03
#define PMC_VERSION_PATCH 0x0000
/* Usable in #if, too. */
#define PMC_VERSION (PMC_VERSION_MAJOR << 24 | PMC_VERSION_MINOR << 16 | PMC_VERSION_PATCH)

#define PMC_NAME_MAX		64	/* bytes of an event's or row's name, NUL included */
#define PMC_CLASS_MAX		16	/* classes of one machine */
#define PMC_CPUID_LEN		64
#define PMC_CALLCHAIN_DEPTH_MAX 512

typedef uint32_t pmc_id_t;		/* handle of an allocated PMC, of this process only */
typedef uint64_t pmc_value_t;		/* a count of events */

#define PMC_ID_INVALID	(~(pmc_id_t)0)
#define PMC_CPU_ANY	(~0)		/* the CPU of process-scope PMCs */
#define PMCLOG_FD_NONE	(-1)

/*
 * The lists below name each enumerator once; the user of a list defines PMC__X(NAME, value). The
 * name functions of <pmc.h> return NAME as text.
 */

/* --- modes: scope (system, process) and use (sampling, counting) -------------------------- */

#define PMC__MODES(X) X(SS, 0) X(SC, 1) X(TS, 2) X(TC, 3)

#define PMC__X(name, value) PMC_MODE_##name = value,
enum pmc_mode {
	PMC__MODES(PMC__X)
	PMC_MODE_FIRST = PMC_MODE_SS,
	PMC_MODE_LAST = PMC_MODE_TC
};
#undef PMC__X

#define PMC_IS_COUNTING_MODE(mode) ((mode) == PMC_MODE_SC || (mode) == PMC_MODE_TC)
#define PMC_IS_SAMPLING_MODE(mode) ((mode) == PMC_MODE_SS || (mode) == PMC_MODE_TS)
#define PMC_IS_SYSTEM_MODE(mode)   ((mode) == PMC_MODE_SS || (mode) == PMC_MODE_SC)
#define PMC_IS_VIRTUAL_MODE(mode)  ((mode) == PMC_MODE_TS || (mode) == PMC_MODE_TC)

/* --- states of a PMC; DISABLED and FREE are also the requests of pmc_disable, pmc_enable --- */

#define PMC__STATES(X) \
	X(DISABLED, 0) X(FREE, 1) X(ALLOCATED, 2) X(STOPPED, 3) X(RUNNING, 4) X(DELETED, 5)

#define PMC__X(name, value) PMC_STATE_##name = value,
enum pmc_state {
	PMC__STATES(PMC__X)
	PMC_STATE_MAX = 6,
	PMC_STATE_FIRST = PMC_STATE_DISABLED,
	PMC_STATE_LAST = PMC_STATE_DELETED
};
#undef PMC__X

/* --- disposition of a row: its users on the machine --------------------------------------- */

#define PMC__DISPS(X) X(STANDALONE, 0) X(FREE, 1) X(THREAD, 2)

#define PMC__X(name, value) PMC_DISP_##name = value,
enum pmc_disp {
	PMC__DISPS(PMC__X)
	PMC_DISP_UNKNOWN = 3,
	PMC_DISP_FIRST = PMC_DISP_STANDALONE,
	PMC_DISP_LAST = PMC_DISP_THREAD
};
#undef PMC__X

/* --- capabilities of a class; the value is the bit number --------------------------------- */

#define PMC__CAPS(X)									\
	X(INTERRUPT, 0) X(USER, 1) X(SYSTEM, 2) X(EDGE, 3) X(THRESHOLD, 4) X(READ, 5)	\
	X(WRITE, 6) X(INVERT, 7) X(QUALIFIER, 8) X(PRECISE, 9) X(TAGGING, 10)		\
	X(CASCADE, 11) X(SYSWIDE, 12) X(DOMWIDE, 13)

#define PMC__X(name, bit) PMC_CAP_##name = 1 << (bit),
enum pmc_caps {
	PMC__CAPS(PMC__X)
	PMC_CAP_FIRST = PMC_CAP_INTERRUPT,
	PMC_CAP_LAST = PMC_CAP_DOMWIDE
};
#undef PMC__X

/*
 * --- classes -------------------------------------------------------------------------------
 * Names that newer releases dropped still compile, even if their numbers have new names: they are
 * parked from 0x80 up, and no machine has them.
 */

#define PMC__CLASSES(X)									\
	X(TSC, 0x00) X(K8, 0x02) X(IBS, 0x03) X(IAF, 0x06) X(IAP, 0x07) X(UCF, 0x08)	\
	X(UCP, 0x09) X(PPC7450, 0x0D) X(PPC970, 0x0E) X(SOFT, 0x0F) X(ARMV7, 0x10)	\
	X(ARMV8, 0x11) X(E500, 0x13) X(BERI, 0x14) X(POWER8, 0x15)			\
	X(DMC620_PMU_CD2, 0x16) X(DMC620_PMU_C, 0x17) X(CMN600_PMU, 0x18) X(RAPL, 0x19)	\
	X(PERF, 0x1A)									\
	/* ours: pmc.msr(3), pmc.tracepoint(3), pmc.breakpoint(3), pmc.probe(3) */	\
	X(MSR, 0x40) X(TRACEPOINT, 0x41) X(BREAKPOINT, 0x42) X(PROBE, 0x43)		\
	X(K7, 0x80) X(P5, 0x81) X(P6, 0x82) X(P4, 0x83) X(XSCALE, 0x84)			\
	X(MIPS24K, 0x85) X(OCTEON, 0x86) X(MIPS74K, 0x87)

#define PMC__X(name, value) PMC_CLASS_##name = value,
enum pmc_class {
	PMC__CLASSES(PMC__X)
	PMC_CLASS_FIRST = PMC_CLASS_TSC,
	PMC_CLASS_LAST = PMC_CLASS_PERF
};
#undef PMC__X

/* --- CPU types ------------------------------------------------------------------------------ */

#define PMC__CPUS(X)									\
	X(AMD_K7, 0x00) X(AMD_K8, 0x01)							\
	X(INTEL_P5, 0x80) X(INTEL_P6, 0x81) X(INTEL_CL, 0x82) X(INTEL_PII, 0x83)	\
	X(INTEL_PIII, 0x84) X(INTEL_PM, 0x85) X(INTEL_PIV, 0x86) X(INTEL_CORE, 0x87)	\
	X(INTEL_CORE2, 0x88) X(INTEL_CORE2EXTREME, 0x89) X(INTEL_ATOM, 0x8A)		\
	X(INTEL_COREI7, 0x8B) X(INTEL_WESTMERE, 0x8C) X(INTEL_SANDYBRIDGE, 0x8D)	\
	X(INTEL_IVYBRIDGE, 0x8E) X(INTEL_SANDYBRIDGE_XEON, 0x8F)			\
	X(INTEL_IVYBRIDGE_XEON, 0x90) X(INTEL_HASWELL, 0x91)				\
	X(INTEL_ATOM_SILVERMONT, 0x92) X(INTEL_NEHALEM_EX, 0x93)			\
	X(INTEL_WESTMERE_EX, 0x94) X(INTEL_HASWELL_XEON, 0x95) X(INTEL_BROADWELL, 0x96)	\
	X(INTEL_BROADWELL_XEON, 0x97) X(INTEL_SKYLAKE, 0x98) X(INTEL_SKYLAKE_XEON, 0x99) \
	X(INTEL_ATOM_GOLDMONT, 0x9A) X(INTEL_ICELAKE, 0x9B) X(INTEL_ICELAKE_XEON, 0x9C)	\
	X(INTEL_ALDERLAKE, 0x9D) X(INTEL_ATOM_GOLDMONT_P, 0x9E)				\
	X(INTEL_ATOM_TREMONT, 0x9F) X(INTEL_EMERALD_RAPIDS, 0xA0)			\
	X(INTEL_ALDERLAKEN, 0xA1) X(INTEL_GRANITE_RAPIDS, 0xA2)				\
	X(INTEL_METEOR_LAKE, 0xA3) X(INTEL_SAPPHIRE_RAPIDS, 0xA4)			\
	X(INTEL_XSCALE, 0x100) X(MIPS_24K, 0x200) X(MIPS_OCTEON, 0x201)			\
	X(MIPS_74K, 0x202) X(PPC_7450, 0x300) X(PPC_E500, 0x340) X(PPC_970, 0x380)	\
	X(PPC_POWER8, 0x390) X(GENERIC, 0x400)						\
	X(ARMV7_CORTEX_A5, 0x500) X(ARMV7_CORTEX_A7, 0x501) X(ARMV7_CORTEX_A8, 0x502)	\
	X(ARMV7_CORTEX_A9, 0x503) X(ARMV7_CORTEX_A15, 0x504)				\
	X(ARMV7_CORTEX_A17, 0x505)							\
	X(ARMV8_CORTEX_A53, 0x600) X(ARMV8_CORTEX_A57, 0x601)				\
	X(ARMV8_CORTEX_A76, 0x602)

#define PMC__X(name, value) PMC_CPU_##name = value,
enum pmc_cputype {
	PMC__CPUS(PMC__X)
	PMC_CPU_FIRST = PMC_CPU_AMD_K7,
	PMC_CPU_LAST = PMC_CPU_ARMV8_CORTEX_A76
};
#undef PMC__X

/*
 * --- events -------------------------------------------------------------------------------
 *
 * Blocks of numbers; SOFT events get theirs from the running daemon.  Events of hardware PMUs have
 * names only: numbers from PMC_EV_PMU_FIRST on are valid within one process.
 */

#define PMC_EV_DYN_COUNT 0x1000

enum pmc_event {
	PMC_EV_TSC_TSC = 0x1000,
	PMC_EV_TSC_FIRST = PMC_EV_TSC_TSC,
	PMC_EV_TSC_LAST = PMC_EV_TSC_TSC,
	PMC_EV_K7_FIRST = 0x2000,
	PMC_EV_K7_LAST = 0x2016,
	PMC_EV_K8_FIRST = 0x2080,
	PMC_EV_K8_LAST = 0x20CF,
	PMC_EV_IAF_INSTR_RETIRED_ANY = 0x10000,
	PMC_EV_IAF_CPU_CLK_UNHALTED_CORE = 0x10001,
	PMC_EV_IAF_CPU_CLK_UNHALTED_REF = 0x10002,
	PMC_EV_IAF_FIRST = PMC_EV_IAF_INSTR_RETIRED_ANY,
	PMC_EV_IAF_LAST = PMC_EV_IAF_CPU_CLK_UNHALTED_REF,
	PMC_EV_IAP_FIRST = 0x10080,
	PMC_EV_IAP_LAST = 0x10385,
	PMC_EV_P4_FIRST = 0x11000,
	PMC_EV_P5_FIRST = 0x11080,
	PMC_EV_P6_FIRST = 0x11100,
	PMC_EV_XSCALE_FIRST = 0x11200,
	PMC_EV_MIPS24K_FIRST = 0x11300,
	PMC_EV_OCTEON_FIRST = 0x11400,
	PMC_EV_UCF_FIRST = 0x12000,
	PMC_EV_UCP_FIRST = 0x12080,
	PMC_EV_UCP_LAST = 0x1216A,
	PMC_EV_PPC7450_FIRST = 0x13000,
	PMC_EV_PPC970_FIRST = 0x13100,
	PMC_EV_SOFT_FIRST = 0x20000,
	PMC_EV_SOFT_LAST = PMC_EV_SOFT_FIRST + PMC_EV_DYN_COUNT - 1,
	PMC_EV_MSR_FIRST = 0x30000,	/* the daemon's list; ours */
	PMC_EV_MSR_LAST = 0x300FF,
	PMC_EV_MSR_RAW = 0x30100,	/* MSR-0xNNN */
	PMC_EV_PERF_FIRST = 0x30200,	/* perf's own events, of a PMU that has them; ours */
	PMC_EV_PERF_LAST = 0x3023F,
	PMC_EV_PMU_FIRST = 0x40000,
	PMC_EV_PMU_LAST = 0x4FFFF,
	PMC_EVENT_FIRST = PMC_EV_TSC_TSC,
	PMC_EVENT_LAST = PMC_EV_SOFT_LAST
};

/* --- flags ----------------------------------------------------------------------------------- */

#define PMC_F_FORCE		0x00000001	/* from requests of administration; ignored */
#define PMC_F_UNUSED1		0x00000001
#define PMC_F_DESCENDANTS	0x00000002	/* children count too, present and future */
#define PMC_F_LOG_PROCCSW	0x00000004	/* a log record at every context switch */
#define PMC_F_LOG_PROCEXIT	0x00000008	/* a log record at every process's exit */
#define PMC_F_NEWVALUE		0x00000010
#define PMC_F_OLDVALUE		0x00000020
#define PMC_F_KGMON		0x00000040	/* samples feed the kernel profile of kgmon(8) */
#define PMC_F_CALLCHAIN		0x00000080	/* samples carry call chains */
#define PMC_F_USERCALLCHAIN	0x00000100	/* … of both sides */
#define PMC_F_EV_PMU		0x00000200
#define PMC_F_GROUP_MUX		0x00000400	/* pmc_allocate_group(): accepted, never needed */
#define PMC_F_SIGNAL		0x00001000	/* a signal for each sample; not FreeBSD's */
#define PMC_F_LOG_THREXIT	0x00002000	/* … of each thread's count; not FreeBSD's */
#define PMC_F_CGROUP		0x00004000	/* a cgroup: pmc_attach_cgroup(); not FreeBSD's */
#define PMC_F_THREAD		0x00008000	/* one thread: pmc_attach_thread(); not FreeBSD's */
#define PMC_F_WAKERS		0x00080000	/* waits have their wakers; not FreeBSD's */
/* In pmc_info.pm_flags only, never passed in; a log has the flags of the allocation. */
#define PMC_F_ATTACHED_TO_OWNER 0x00010000
#define PMC_F_NEEDS_LOGFILE	0x00020000
#define PMC_F_ATTACH_DONE	0x00040000

#define PMC_CC_F_USERSPACE	0x01
#define PMC_CC_F_MULTIPART	0x02
#define PMC_CC_F_CUT		0x04	/* callers are missing: pmclog(5) */
#define PMC_CC_F_POINTERS	0x08	/* frame pointers led to some callers, without proof */
/* How the program's part of a chain ended: bits 8 to 11 of the flags. */
#define PMC_CC_F_END(end)	(((uint32_t)(end) & 0xf) << 8)
#define PMC_CC_F_TO_END(flags)	((enum pmc_chain_end)((flags) >> 8 & 0xf))

enum pmc_chain_end {
	PMC_CHAIN_NOT_RECORDED,		/* by frame pointers only, or of an older log */
	PMC_CHAIN_WHOLE,		/* at the outermost frame */
	PMC_CHAIN_DEPTH,		/* at the limit of frames */
	PMC_CHAIN_PROCESS,		/* the process's mappings are not known */
	PMC_CHAIN_UNMAPPED,		/* the next address, left out, is outside of code */
	PMC_CHAIN_TABLE,		/* in a file whose table is not there (yet) */
	PMC_CHAIN_RULE,			/* in code without call frame information */
	PMC_CHAIN_FORM,			/* in code with information of an unsupported form */
	PMC_CHAIN_STACK,		/* the stack could not be read */
	PMC_CHAIN_STUCK,		/* the caller's frame is not above its callee's */
	PMC_CHAIN_REGISTER,		/* at a register that is not known */
	PMC_CHAIN_CHANGING,		/* mappings or tables were changing */
	PMC_CHAIN_BITS32,		/* in a 32-bit program */
	PMC_CHAIN_KERNEL,		/* at an address of the kernel's half */
	PMC_CHAIN_ENDS
};

/* --- handles: 12 bits CPU, 4 mode, 8 class, 8 row ------------------------------------------- */

#define PMC_ID_TO_ROWINDEX(id)	((id) & 0xFF)
#define PMC_ID_TO_CLASS(id)	((enum pmc_class)((id) >> 8 & 0xFF))
#define PMC_ID_TO_MODE(id)	((enum pmc_mode)((id) >> 16 & 0xF))
#define PMC_ID_TO_CPU(id)	((id) >> 20 & 0xFFF)
#define PMC_ID_MAKE_ID(cpu, mode, class, row)						\
	(((pmc_id_t)(cpu) & 0xFFF) << 20 | ((pmc_id_t)(mode) & 0xF) << 16 |		\
	 ((pmc_id_t)(class) & 0xFF) << 8 | ((pmc_id_t)(row) & 0xFF))

/* --- the operation of pmc_pmu_pmcallocate() ------------------------------------------------- */

union pmc_md_op_pmcallocate {
	/* The fields of struct perf_event_attr that select the event. */
	struct {
		uint32_t pm_type;
		uint32_t pm_reserved;
		uint64_t pm_config, pm_config1, pm_config2;
	} pm_perf;
	uint64_t pm_pad[8];
};

struct pmc_op_pmcallocate {
	uint32_t pm_caps;		/* bits of enum pmc_caps */
	uint32_t pm_cpu;
	enum pmc_class pm_class;
	enum pmc_event pm_ev;
	uint32_t pm_flags;
	enum pmc_mode pm_mode;
	pmc_id_t pm_pmcid;
	uint64_t pm_count;
	union pmc_md_op_pmcallocate pm_md;
};

/* --- results of the queries of <pmc.h> ------------------------------------------------------- */

struct pmc_classinfo {
	enum pmc_class pm_class;
	uint32_t pm_caps;		/* bits of enum pmc_caps */
	uint32_t pm_width;		/* bits of a counter */
	uint32_t pm_num;		/* rows */
};

/* One row on one CPU. */
struct pmc_info {
	char pm_name[PMC_NAME_MAX];	/* SOFT0, TSC, ARMV8-3 */
	enum pmc_class pm_class;
	int pm_enabled;
	enum pmc_disp pm_rowdisp;
	pid_t pm_ownerpid;		/* -1: no owner; then the fields below are 0 */
	enum pmc_mode pm_mode;
	enum pmc_event pm_event;
	uint32_t pm_flags;
	pmc_value_t pm_reloadcount;	/* sampling modes */
};

#endif
