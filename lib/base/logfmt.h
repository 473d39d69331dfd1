/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the members of a record stand in a log, in both formats: the one table that pmclog(3)
 * decodes by and the daemon's writer encodes by.  Numbers are little-endian or big-endian as the
 * machine is; nothing in a record is aligned to more than 4 bytes.
 */
#ifndef PMCBPF_LOGFMT_H
#define PMCBPF_LOGFMT_H

#include <stddef.h>
#include <stdint.h>

#include <pmclog.h>

enum logfmt {
	LOGFMT_OLD,			/* FreeBSD 6 to 11: second and nanosecond in each record */
	LOGFMT_NEW,			/* since late 12: a time stamp counter */
	LOGFMTS
};
#define LOGFMT_OLD_PREFIX 12u		/* bytes of header word and time */
#define LOGFMT_NEW_PREFIX 16u
#define LOGFMT_OLD_VERSION 0x03010000u
#define LOGFMT_NEW_VERSION 0x0A000000u

#define LOGFMT_TYPES	  21u		/* type numbers are below */
#define LOGFMT_FIELDS	  6u
#define LOGFMT_MAX_RECORD 65532u	/* a 16-bit length, rounded down to words */

enum logfmt_tail {			/* what follows the fixed part */
	TAIL_NONE,
	TAIL_PATH,			/* text with its NUL, padded to a multiple of 4 */
	TAIL_PCS,			/* addresses of 8 bytes */
	TAIL_NUMBER			/* 8 bytes, or nothing for 0; FreeBSD ends before them */
};

/*
 * Behind the path of a MAP_IN, and its padding: a note as ELF files have it (words: bytes of the
 * name, bytes of the id, type; "GNU"; the id).  Readers that know no such thing end at the NUL.
 */
#define LOGFMT_NOTE	 16u		/* bytes before the id */
#define LOGFMT_NOTE_NAME 0x00554e47u	/* "GNU" */
#define LOGFMT_NOTE_TYPE 3u		/* NT_GNU_BUILD_ID */

/* Behind the path of a PROCEXEC of today's format: the same, "PMC", of pl_entryaddr's 8 bytes. */
#define LOGFMT_ENTRY_NAME 0x00434d50u	/* "PMC" */
#define LOGFMT_ENTRY_TYPE 1u

struct logfmt_field {
	uint16_t at;			/* byte in the record */
	uint16_t size;			/* there: 4, 8, or a text's length; 0 ends the list */
	uint16_t ev;			/* byte in struct pmclog_ev */
	uint16_t ev_size;		/* there: 4 or 8; of a text its room */
};
struct logfmt_record {
	uint16_t fixed;			/* bytes before the tail; 0: no such record */
	uint8_t type;			/* enum pmclog_type */
	uint8_t tail;
	uint16_t tail_ev;		/* its byte in struct pmclog_ev */
	struct logfmt_field field[LOGFMT_FIELDS];
};

#define FMT_EV(member)		offsetof(struct pmclog_ev, pl_u.member)
#define FMT_SIZE(member)	sizeof(((struct pmclog_ev *)0)->pl_u.member)
#define FMT_U32(at, member)	{ at, 4, FMT_EV(member), FMT_SIZE(member) }
#define FMT_U64(at, member)	{ at, 8, FMT_EV(member), FMT_SIZE(member) }
#define FMT_TEXT(at, n, member)	{ at, n, FMT_EV(member), FMT_SIZE(member) }

static const struct logfmt_record logfmt_old[LOGFMT_TYPES] = {
	[0] = { 12, PMCLOG_TYPE_CLOSELOG, TAIL_NONE, 0, { { 0 } } },
	[1] = { 12, PMCLOG_TYPE_DROPNOTIFY, TAIL_NUMBER, FMT_EV(pl_dn.pl_lost), { { 0 } } },
	[2] = { 20, PMCLOG_TYPE_INITIALIZE, TAIL_NONE, 0,
		{ FMT_U32(12, pl_i.pl_version), FMT_U32(16, pl_i.pl_arch) } },
	[3] = { 36, PMCLOG_TYPE_MAPPINGCHANGE, TAIL_PATH, FMT_EV(pl_m.pl_pathname),
		{ FMT_U32(12, pl_m.pl_type), FMT_U64(16, pl_m.pl_start),
		  FMT_U64(24, pl_m.pl_end), FMT_U32(32, pl_m.pl_pid) } },
	[4] = { 32, PMCLOG_TYPE_PCSAMPLE, TAIL_NONE, 0,
		{ FMT_U32(12, pl_s.pl_pid), FMT_U64(16, pl_s.pl_pc),
		  FMT_U32(24, pl_s.pl_pmcid), FMT_U32(28, pl_s.pl_usermode) } },
	[5] = { 24, PMCLOG_TYPE_PMCALLOCATE, TAIL_NONE, 0,
		{ FMT_U32(12, pl_a.pl_pmcid), FMT_U32(16, pl_a.pl_event),
		  FMT_U32(20, pl_a.pl_flags) } },
	[6] = { 20, PMCLOG_TYPE_PMCATTACH, TAIL_PATH, FMT_EV(pl_t.pl_pathname),
		{ FMT_U32(12, pl_t.pl_pmcid), FMT_U32(16, pl_t.pl_pid) } },
	[7] = { 20, PMCLOG_TYPE_PMCDETACH, TAIL_NONE, 0,
		{ FMT_U32(12, pl_d.pl_pmcid), FMT_U32(16, pl_d.pl_pid) } },
	[8] = { 28, PMCLOG_TYPE_PROCCSW, TAIL_NONE, 0,
		{ FMT_U32(12, pl_c.pl_pmcid), FMT_U64(16, pl_c.pl_value),
		  FMT_U32(24, pl_c.pl_pid) } },
	[9] = { 28, PMCLOG_TYPE_PROCEXEC, TAIL_PATH, FMT_EV(pl_x.pl_pathname),
		{ FMT_U32(12, pl_x.pl_pid), FMT_U64(16, pl_x.pl_entryaddr),
		  FMT_U32(24, pl_x.pl_pmcid) } },
	[10] = { 28, PMCLOG_TYPE_PROCEXIT, TAIL_NONE, 0,
		 { FMT_U32(12, pl_e.pl_pmcid), FMT_U64(16, pl_e.pl_value),
		   FMT_U32(24, pl_e.pl_pid) } },
	[11] = { 20, PMCLOG_TYPE_PROCFORK, TAIL_NONE, 0,
		 { FMT_U32(12, pl_f.pl_oldpid), FMT_U32(16, pl_f.pl_newpid) } },
	[12] = { 16, PMCLOG_TYPE_SYSEXIT, TAIL_NONE, 0, { FMT_U32(12, pl_se.pl_pid) } },
	[13] = { 16, PMCLOG_TYPE_USERDATA, TAIL_NONE, 0, { FMT_U32(12, pl_u.pl_userdata) } },
	[14] = { 24, PMCLOG_TYPE_MAP_IN, TAIL_PATH, FMT_EV(pl_mi.pl_pathname),
		 { FMT_U32(12, pl_mi.pl_pid), FMT_U64(16, pl_mi.pl_start) } },
	[15] = { 32, PMCLOG_TYPE_MAP_OUT, TAIL_NONE, 0,
		 { FMT_U32(12, pl_mo.pl_pid), FMT_U64(16, pl_mo.pl_start),
		   FMT_U64(24, pl_mo.pl_end) } },
	[16] = { 24, PMCLOG_TYPE_CALLCHAIN, TAIL_PCS, FMT_EV(pl_cc.pl_pc),
		 { FMT_U32(12, pl_cc.pl_pid), FMT_U32(16, pl_cc.pl_pmcid),
		   FMT_U32(20, pl_cc.pl_cpuflags) } },
	[17] = { 88, PMCLOG_TYPE_PMCALLOCATEDYN, TAIL_NUMBER, FMT_EV(pl_ad.pl_rate),
		 { FMT_U32(12, pl_ad.pl_pmcid), FMT_U32(16, pl_ad.pl_event),
		   FMT_U32(20, pl_ad.pl_flags), FMT_TEXT(24, 64, pl_ad.pl_evname) } },
};

static const struct logfmt_record logfmt_new[LOGFMT_TYPES] = {
	[1] = { 16, PMCLOG_TYPE_CLOSELOG, TAIL_NONE, 0, { { 0 } } },
	[2] = { 16, PMCLOG_TYPE_DROPNOTIFY, TAIL_NUMBER, FMT_EV(pl_dn.pl_lost), { { 0 } } },
	[3] = { 112, PMCLOG_TYPE_INITIALIZE, TAIL_NONE, 0,
		{ FMT_U32(16, pl_i.pl_version), FMT_U32(20, pl_i.pl_arch),
		  FMT_U64(24, pl_i.pl_tsc_freq), FMT_U64(32, pl_i.pl_ts.tv_sec),
		  FMT_U64(40, pl_i.pl_ts.tv_nsec), FMT_TEXT(48, 64, pl_i.pl_cpuid) } },
	[5] = { 40, PMCLOG_TYPE_PMCALLOCATE, TAIL_NONE, 0,
		{ FMT_U32(16, pl_a.pl_pmcid), FMT_U32(20, pl_a.pl_event),
		  FMT_U32(24, pl_a.pl_flags), FMT_U64(32, pl_a.pl_rate) } },
	[6] = { 24, PMCLOG_TYPE_PMCATTACH, TAIL_PATH, FMT_EV(pl_t.pl_pathname),
		{ FMT_U32(16, pl_t.pl_pmcid), FMT_U32(20, pl_t.pl_pid) } },
	[7] = { 24, PMCLOG_TYPE_PMCDETACH, TAIL_NONE, 0,
		{ FMT_U32(16, pl_d.pl_pmcid), FMT_U32(20, pl_d.pl_pid) } },
	[8] = { 40, PMCLOG_TYPE_PROCCSW, TAIL_NONE, 0,
		{ FMT_U64(16, pl_c.pl_value), FMT_U32(24, pl_c.pl_pmcid),
		  FMT_U32(28, pl_c.pl_pid), FMT_U32(32, pl_c.pl_tid) } },
	[9] = { 40, PMCLOG_TYPE_PROCEXEC, TAIL_PATH, FMT_EV(pl_x.pl_pathname),
		{ FMT_U32(16, pl_x.pl_pid), FMT_U32(20, pl_x.pl_pmcid),
		  FMT_U64(24, pl_x.pl_baseaddr), FMT_U64(32, pl_x.pl_dynaddr) } },
	[10] = { 32, PMCLOG_TYPE_PROCEXIT, TAIL_NONE, 0,
		 { FMT_U32(16, pl_e.pl_pmcid), FMT_U32(20, pl_e.pl_pid),
		   FMT_U64(24, pl_e.pl_value) } },
	[11] = { 24, PMCLOG_TYPE_PROCFORK, TAIL_NONE, 0,
		 { FMT_U32(16, pl_f.pl_oldpid), FMT_U32(20, pl_f.pl_newpid) } },
	[12] = { 24, PMCLOG_TYPE_SYSEXIT, TAIL_NONE, 0, { FMT_U32(16, pl_se.pl_pid) } },
	[13] = { 24, PMCLOG_TYPE_USERDATA, TAIL_NONE, 0, { FMT_U32(16, pl_u.pl_userdata) } },
	[14] = { 32, PMCLOG_TYPE_MAP_IN, TAIL_PATH, FMT_EV(pl_mi.pl_pathname),
		 { FMT_U32(16, pl_mi.pl_pid), FMT_U64(24, pl_mi.pl_start) } },
	[15] = { 40, PMCLOG_TYPE_MAP_OUT, TAIL_NONE, 0,
		 { FMT_U32(16, pl_mo.pl_pid), FMT_U64(24, pl_mo.pl_start),
		   FMT_U64(32, pl_mo.pl_end) } },
	[16] = { 32, PMCLOG_TYPE_CALLCHAIN, TAIL_PCS, FMT_EV(pl_cc.pl_pc),
		 { FMT_U32(16, pl_cc.pl_pid), FMT_U32(20, pl_cc.pl_tid),
		   FMT_U32(24, pl_cc.pl_pmcid), FMT_U32(28, pl_cc.pl_cpuflags) } },
	[17] = { 96, PMCLOG_TYPE_PMCALLOCATEDYN, TAIL_NUMBER, FMT_EV(pl_ad.pl_rate),
		 { FMT_U32(16, pl_ad.pl_pmcid), FMT_U32(20, pl_ad.pl_event),
		   FMT_U32(24, pl_ad.pl_flags), FMT_TEXT(32, 64, pl_ad.pl_evname) } },
	[18] = { 52, PMCLOG_TYPE_THR_CREATE, TAIL_NONE, 0,
		 { FMT_U32(16, pl_tc.pl_tid), FMT_U32(20, pl_tc.pl_pid),
		   FMT_U32(24, pl_tc.pl_flags), FMT_TEXT(32, 20, pl_tc.pl_tdname) } },
	[19] = { 24, PMCLOG_TYPE_THR_EXIT, TAIL_NONE, 0, { FMT_U32(16, pl_te.pl_tid) } },
	[20] = { 44, PMCLOG_TYPE_PROC_CREATE, TAIL_NONE, 0,
		 { FMT_U32(16, pl_pc.pl_pid), FMT_U32(20, pl_pc.pl_flags),
		   FMT_TEXT(24, 20, pl_pc.pl_pcomm) } },
};

/* PROCEXEC of major 9: one address instead of two. */
static const struct logfmt_record logfmt_exec9 = {
	32, PMCLOG_TYPE_PROCEXEC, TAIL_PATH, FMT_EV(pl_x.pl_pathname),
	{ FMT_U32(16, pl_x.pl_pid), FMT_U32(20, pl_x.pl_pmcid), FMT_U64(24, pl_x.pl_entryaddr) }
};

#undef FMT_U32
#undef FMT_U64
#undef FMT_TEXT
#undef FMT_SIZE
#undef FMT_EV

/* enum pmclog_type to the number in an old log, -1: there is none. */
static inline int logfmt_old_number(enum pmclog_type type)
{
	if (type == PMCLOG_TYPE_MAPPINGCHANGE)
		return 3;
	if (type >= PMCLOG_TYPE_CLOSELOG && type <= PMCLOG_TYPE_INITIALIZE)
		return (int)type - 1;
	return type >= PMCLOG_TYPE_PCSAMPLE && type <= PMCLOG_TYPE_PMCALLOCATEDYN ? (int)type : -1;
}

#endif
