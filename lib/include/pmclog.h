/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmclog(3): reads the records of a log, from a descriptor or from memory, in today's layout and in
 * the layout of FreeBSD 6 to 11.  The functions are FreeBSD's; pmclog_errstr() is ours.
 *
 * A log may be cut, corrupt or hostile: the parser never reads outside of it and delivers every
 * record before the damage.  A parser belongs to one thread at a time.
 */
#ifndef PMCBPF_PMCLOG_H
#define PMCBPF_PMCLOG_H

#include <sys/pmclog.h>

#define PMCLOG_BUILDID_MAX 20
#define PMCLOG_PATH_MAX 4096		/* bytes of a path with its NUL; FreeBSD's are up to 1024 */

enum pmclog_state {
	PMCLOG_OK,			/* a record */
	PMCLOG_EOF,			/* the end, or CLOSELOG in a log of today */
	PMCLOG_REQUIRE_DATA,		/* needs more bytes; non-blocking descriptor: try later */
	PMCLOG_ERROR			/* not a log, or damaged; final */
};

struct pmclog_ev_callchain {
	uint32_t pl_pid;
	uint32_t pl_tid;		/* 0 in an old log */
	uint32_t pl_pmcid;
	uint32_t pl_cpuflags;
	uint32_t pl_cpuflags2;		/* always 0 */
	int pl_npc;
	uintfptr_t pl_pc[PMC_CALLCHAIN_DEPTH_MAX];
};
struct pmclog_ev_mappingchange {
	uint32_t pl_type;
	pid_t pl_pid;
	uintfptr_t pl_start;
	uintfptr_t pl_end;
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_pcsample {
	uintfptr_t pl_pc;
	pid_t pl_pid;
	pmc_id_t pl_pmcid;
	int pl_usermode;
};
struct pmclog_ev_initialize {
	uint32_t pl_version;
	uint32_t pl_arch;		/* enum pmc_cputype */
	uint64_t pl_tsc_freq;		/* 1000000000 of an old log */
	struct timespec pl_ts;
	char pl_cpuid[PMCLOG_PATH_MAX];
};
struct pmclog_ev_map_in {
	pid_t pl_pid;
	uintfptr_t pl_start;
	char pl_pathname[PMCLOG_PATH_MAX];
	/* Of this library: the GNU build id of the file; 0 bytes: not known. */
	unsigned int pl_buildidlen;
	unsigned char pl_buildid[PMCLOG_BUILDID_MAX];
};
struct pmclog_ev_map_out {
	pid_t pl_pid;
	uintfptr_t pl_start;
	uintfptr_t pl_end;
};
struct pmclog_ev_pmcallocate {
	const char *pl_evname;		/* the parser's, valid until the next call; never NULL */
	uint32_t pl_event;
	uint32_t pl_flags;
	uint64_t pl_rate;		/* 0 in an old log */
	pmc_id_t pl_pmcid;
};
struct pmclog_ev_pmcallocatedyn {
	char pl_evname[PMC_NAME_MAX];
	uint32_t pl_event;
	uint32_t pl_flags;
	pmc_id_t pl_pmcid;
	uint64_t pl_rate;		/* ours; 0: not in the log */
};
struct pmclog_ev_pmcattach {
	pmc_id_t pl_pmcid;
	pid_t pl_pid;
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_pmcdetach {
	pmc_id_t pl_pmcid;
	pid_t pl_pid;
};
struct pmclog_ev_proccsw {
	pid_t pl_pid;
	pid_t pl_tid;			/* 0 in an old log */
	pmc_id_t pl_pmcid;
	pmc_value_t pl_value;
};
struct pmclog_ev_procexec {
	pid_t pl_pid;
	pmc_id_t pl_pmcid;
	uintfptr_t pl_baseaddr;
	uintfptr_t pl_dynaddr;
	uintfptr_t pl_entryaddr;	/* of its first instruction */
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_procexit {
	uint32_t pl_pid;
	pmc_id_t pl_pmcid;
	pmc_value_t pl_value;
};
struct pmclog_ev_procfork {
	pid_t pl_oldpid;
	pid_t pl_newpid;
};
struct pmclog_ev_sysexit {
	pid_t pl_pid;
};
struct pmclog_ev_threadcreate {
	pid_t pl_tid;
	pid_t pl_pid;
	uint32_t pl_flags;
	char pl_tdname[PMCLOG_COMM];
};
struct pmclog_ev_threadexit {
	pid_t pl_tid;
};
/* Ours: the count of a thread that has ended, or of any one when the PMC stops. */
struct pmclog_ev_threadvalue {
	pmc_id_t pl_pmcid;
	pid_t pl_pid;
	pid_t pl_tid;
	pmc_value_t pl_value;
	char pl_tdname[PMCLOG_COMM];
};
struct pmclog_ev_proccreate {
	pid_t pl_pid;
	uint32_t pl_flags;
	char pl_pcomm[PMCLOG_COMM];
};
struct pmclog_ev_userdata {
	uint32_t pl_userdata;
};
struct pmclog_ev_closelog {
	uint32_t pl_unused;
};
struct pmclog_ev_dropnotify {
	uint32_t pl_unused;
	/* Ours: at least so many records are missing; 0: the number is not known. */
	uint64_t pl_lost;
};

/* Ours: a field in the records of a tracepoint's samples, before the first of them. */
struct pmclog_ev_field {
	pmc_id_t pl_pmcid;
	uint32_t pl_offset;		/* in the record … */
	uint32_t pl_size;		/* … and bytes there */
	uint32_t pl_element;		/* bytes of an array's elements */
	uint32_t pl_flags;		/* enum pmclog_field_flag */
	char pl_name[PMCLOG_FIELD_NAME];
};

/* Ours: of the CALLCHAIN behind it. */
struct pmclog_ev_values {
	pmc_id_t pl_pmcid;
	uint32_t pl_values;		/* enum pmclog_value */
	unsigned int pl_nwords;
	uint64_t pl_word[PMCLOG_VALUES_MAX];
	/* The PMC's FIELD records so far: the parser's, valid until the next call. */
	unsigned int pl_nfields;
	const struct pmclog_ev_field *pl_field;
};

/*
 * Ours: waits of a PMC of OFFCPU_TIME since its last such record that are no samples: shorter than
 * the threshold, dropped because of the rate or for lack of room, or of unknown length.
 */
struct pmclog_ev_waits {
	pmc_id_t pl_pmcid;
	uint64_t pl_below, pl_below_ns;
	uint64_t pl_dropped, pl_dropped_ns;
	uint64_t pl_unknown;
};

/*
 * Ours: the waker of the wait in the CALLCHAIN behind it.  Only a THREAD has numbers, a name and
 * addresses: its call chain when it woke the other one.
 */
struct pmclog_ev_waker {
	struct pmclog_ev_callchain pl_chain;
	uint32_t pl_kind;		/* enum pmclog_waker */
	char pl_tdname[PMCLOG_COMM];
};

struct pmclog_ev {
	enum pmclog_state pl_state;
	off_t pl_offset;		/* bytes of the stream up to the end of this record */
	size_t pl_count;		/* records so far, this one included */
	struct timespec pl_ts;		/* time of day */
	uint64_t pl_tsc;		/* ticks; of an old log nanoseconds since 1970 */
	void *pl_data;			/* the record's bytes, the parser's until the next call */
	int pl_len;
	enum pmclog_type pl_type;	/* today's numbers, whatever the log has */
	union {
		struct pmclog_ev_callchain pl_cc;
		struct pmclog_ev_closelog pl_cl;
		struct pmclog_ev_dropnotify pl_dn;
		struct pmclog_ev_field pl_fd;
		struct pmclog_ev_initialize pl_i;
		struct pmclog_ev_map_in pl_mi;
		struct pmclog_ev_map_out pl_mo;
		struct pmclog_ev_mappingchange pl_m;
		struct pmclog_ev_pcsample pl_s;
		struct pmclog_ev_pmcallocate pl_a;
		struct pmclog_ev_pmcallocatedyn pl_ad;
		struct pmclog_ev_pmcattach pl_t;
		struct pmclog_ev_pmcdetach pl_d;
		struct pmclog_ev_proccsw pl_c;
		struct pmclog_ev_procexec pl_x;
		struct pmclog_ev_procexit pl_e;
		struct pmclog_ev_procfork pl_f;
		struct pmclog_ev_sysexit pl_se;
		struct pmclog_ev_threadcreate pl_tc;
		struct pmclog_ev_threadexit pl_te;
		struct pmclog_ev_threadvalue pl_tv;
		struct pmclog_ev_proccreate pl_pc;
		struct pmclog_ev_userdata pl_u;
		struct pmclog_ev_values pl_v;
		struct pmclog_ev_waits pl_w;
		struct pmclog_ev_waker pl_wk;
	} pl_u;
};

enum pmclog_parser_state {
	PL_STATE_NEW_RECORD,
	PL_STATE_EXPECTING_HEADER,
	PL_STATE_PARTIAL_RECORD,
	PL_STATE_ERROR
};

struct pmclog_parse_state;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns a parser of the log in `fd`, from the descriptor's position on, or, for PMCLOG_FD_NONE,
 * of the bytes that pmclog_feed() passes; NULL with ENOMEM.  A regular file is mapped.  The caller
 * keeps the descriptor.
 */
void *pmclog_open(int fd);

/*
 * Returns 0 and the next record in *ev, or -1 and the reason in ev->pl_state: pmclog(3).  A signal
 * that interrupts the read is no error.
 */
#if defined(PMC_API) && PMC_API < 8
/* FreeBSD 6 and 7: samples are PCSAMPLE, without mappings and threads. */
int pmclog_read(void *cookie, struct pmclog_ev *ev) __asm__("pmclog_read7");
#elif defined(PMC_API) && (PMC_API == 12 || PMC_API == 13)
/* FreeBSD 12 and 13: pl_ts.tv_sec is the log's clock, as pl_tsc is. */
int pmclog_read(void *cookie, struct pmclog_ev *ev) __asm__("pmclog_read12");
#else
int pmclog_read(void *cookie, struct pmclog_ev *ev);
#endif

/*
 * Passes more bytes to a parser of PMCLOG_FD_NONE; they stay valid until it requires data again.
 * -1: earlier bytes are not used up, or the parser has a descriptor.
 */
int pmclog_feed(void *cookie, char *data, int len);

void pmclog_close(void *cookie);

/* --- additions of this library ------------------------------------------------------------- */

/*
 * The reason of the last PMCLOG_ERROR in one line, "" if the last pmclog_read() gave none.  The
 * parser's.
 */
const char *pmclog_errstr(void *cookie);

/* The words of a value in a VALUES record, and their number; NULL: the record has no such value. */
const uint64_t *pmclog_value(const struct pmclog_ev_values *v, enum pmclog_value value,
			     unsigned int *words);

/*
 * The bytes of a field in the record of PMCLOG_VALUE_RAW, and their number; in *v, not aligned.
 * NULL: they are not in the record, which may be cut.
 */
const void *pmclog_field(const struct pmclog_ev_values *v, const struct pmclog_ev_field *field,
			 size_t *size);

#ifdef __cplusplus
}
#endif

#endif
