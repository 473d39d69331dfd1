/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of records. */
#include "logfmt.h"

#define EV(member) offsetof(struct pmclog_ev, pl_u.member)
#define ROOM(member) sizeof(((struct pmclog_ev *)0)->pl_u.member)

#define KEYED(key, kind, member, old, new) \
	{ key, LOGFMT_##kind, ROOM(member), { old, new }, EV(member), ROOM(member) }
#define FIELD(kind, record, name, old, new) KEYED(#name, kind, record.pl_##name, old, new)
#define TEXT(n, record, name, old, new) \
	{ #name, LOGFMT_TEXT, n, { old, new }, EV(record.pl_##name), ROOM(record.pl_##name) }
#define OUTSIDE(kind, record, name) \
	{ #name, LOGFMT_##kind, 0, { 0, 0 }, EV(record.pl_##name), 0 }
#define TYPE(name) [PMCLOG_TYPE_##name] =
#define IS(name) PMCLOG_TYPE_##name

/* Name, tag and columns of its line, type, bytes before the tail; fields: old and new place. */
const struct logfmt_record logfmt_records[LOGFMT_TYPES + 1] = {
	[0] = { NULL, NULL, NULL, IS(MAPPINGCHANGE), { 36, 0 }, {
		KEYED(NULL, HEX, pl_m.pl_type, 12, 0),
		KEYED(NULL, ADDRESS, pl_m.pl_start, 16, 0),
		KEYED(NULL, ADDRESS, pl_m.pl_end, 24, 0),
		KEYED(NULL, PID, pl_m.pl_pid, 32, 0),
		OUTSIDE(PATH, pl_m, pathname) } },
	TYPE(CLOSELOG) { "closelog", "closelog", "", IS(CLOSELOG), { 12, 16 }, { { 0 } } },
	TYPE(DROPNOTIFY) { "dropnotify", "drop", "0", IS(DROPNOTIFY), { 12, 16 }, {
		OUTSIDE(MORE, pl_dn, lost) } },
	TYPE(INITIALIZE) { "initialize", "initlog", "01", IS(INITIALIZE), { 20, 112 }, {
		FIELD(HEX, pl_i, version, 12, 16),
		FIELD(CPUTYPE, pl_i, arch, 16, 20),
		FIELD(COUNT, pl_i, tsc_freq, 0, 24),
		KEYED(NULL, COUNT, pl_i.pl_ts.tv_sec, 0, 32),
		KEYED(NULL, COUNT, pl_i.pl_ts.tv_nsec, 0, 40),
		TEXT(64, pl_i, cpuid, 0, 48) } },
	TYPE(PCSAMPLE) { "pcsample", "sample", "0123", IS(PCSAMPLE), { 32, 0 }, {
		FIELD(HEX, pl_s, pmcid, 24, 0),
		FIELD(PID, pl_s, pid, 12, 0),
		FIELD(ADDRESS, pl_s, pc, 16, 0),
		FIELD(MODE, pl_s, usermode, 28, 0) } },
	TYPE(PMCALLOCATE) { "pmcallocate", "allocate", "042", IS(PMCALLOCATE), { 24, 40 }, {
		FIELD(HEX, pl_a, pmcid, 12, 16),
		FIELD(HEX, pl_a, event, 16, 20),
		FIELD(HEX, pl_a, flags, 20, 24),
		FIELD(COUNT, pl_a, rate, 0, 32),
		OUTSIDE(STRING, pl_a, evname) } },
	TYPE(PMCATTACH) { "pmcattach", "attach", "012", IS(PMCATTACH), { 20, 24 }, {
		FIELD(HEX, pl_t, pmcid, 12, 16),
		FIELD(PID, pl_t, pid, 16, 20),
		OUTSIDE(PATH, pl_t, pathname) } },
	TYPE(PMCDETACH) { "pmcdetach", "detach", "01", IS(PMCDETACH), { 20, 24 }, {
		FIELD(HEX, pl_d, pmcid, 12, 16),
		FIELD(PID, pl_d, pid, 16, 20) } },
	TYPE(PROCCSW) { "proccsw", "cswval", "013", IS(PROCCSW), { 28, 40 }, {
		FIELD(HEX, pl_c, pmcid, 12, 24),
		FIELD(PID, pl_c, pid, 24, 28),
		FIELD(TID, pl_c, tid, 0, 32),
		FIELD(COUNT, pl_c, value, 16, 16) } },
	TYPE(PROCEXEC) { "procexec", "exec", "0125", IS(PROCEXEC), { 28, 40 }, {
		FIELD(HEX, pl_x, pmcid, 24, 20),
		FIELD(PID, pl_x, pid, 12, 16),
		KEYED("base", ADDRESS, pl_x.pl_baseaddr, 0, 24),
		KEYED("dyn", ADDRESS, pl_x.pl_dynaddr, 0, 32),
		KEYED(NULL, ADDRESS, pl_x.pl_entryaddr, 16, 0),
		OUTSIDE(PATH, pl_x, pathname) } },
	TYPE(PROCEXIT) { "procexit", "exitval", "012", IS(PROCEXIT), { 28, 32 }, {
		FIELD(HEX, pl_e, pmcid, 12, 16),
		FIELD(PID, pl_e, pid, 24, 20),
		FIELD(COUNT, pl_e, value, 16, 24) } },
	TYPE(PROCFORK) { "procfork", "fork", "01", IS(PROCFORK), { 20, 24 }, {
		FIELD(PID, pl_f, oldpid, 12, 16),
		FIELD(BORN, pl_f, newpid, 16, 20) } },
	TYPE(SYSEXIT) { "sysexit", "exit", "0", IS(SYSEXIT), { 16, 24 }, {
		FIELD(PID, pl_se, pid, 12, 16) } },
	TYPE(USERDATA) { "userdata", "userdata", "0", IS(USERDATA), { 16, 24 }, {
		FIELD(HEX, pl_u, userdata, 12, 16) } },
	TYPE(MAP_IN) { "map_in", "map-in", "012", IS(MAP_IN), { 24, 32 }, {
		FIELD(PID, pl_mi, pid, 12, 16),
		FIELD(ADDRESS, pl_mi, start, 16, 24),
		OUTSIDE(PATH, pl_mi, pathname),
		OUTSIDE(BUILDID, pl_mi, buildid) } },
	TYPE(MAP_OUT) { "map_out", "map-out", "012", IS(MAP_OUT), { 32, 40 }, {
		FIELD(PID, pl_mo, pid, 12, 16),
		FIELD(ADDRESS, pl_mo, start, 16, 24),
		FIELD(ADDRESS, pl_mo, end, 24, 32) } },
	/* Its line has parts of cpuflags, and one line for each address: logtext.c. */
	TYPE(CALLCHAIN) { "callchain", "callchain", "", IS(CALLCHAIN), { 24, 32 }, {
		FIELD(HEX, pl_cc, pmcid, 16, 24),
		FIELD(PID, pl_cc, pid, 12, 16),
		FIELD(TID, pl_cc, tid, 0, 20),
		FIELD(HEX, pl_cc, cpuflags, 20, 28),
		OUTSIDE(CHAIN, pl_cc, pc) } },
	TYPE(PMCALLOCATEDYN) { "pmcallocatedyn", "allocatedyn", "042", IS(PMCALLOCATEDYN),
		{ 88, 96 }, {
		FIELD(HEX, pl_ad, pmcid, 12, 16),
		FIELD(HEX, pl_ad, event, 16, 20),
		FIELD(HEX, pl_ad, flags, 20, 24),
		OUTSIDE(MORE, pl_ad, rate),
		TEXT(64, pl_ad, evname, 24, 32) } },
	TYPE(THR_CREATE) { "thr_create", "thr-create", "0123", IS(THR_CREATE), { 0, 52 }, {
		FIELD(BORN, pl_tc, tid, 0, 16),
		FIELD(PID, pl_tc, pid, 0, 20),
		FIELD(HEX, pl_tc, flags, 0, 24),
		TEXT(20, pl_tc, tdname, 0, 32) } },
	TYPE(THR_EXIT) { "thr_exit", "thr-exit", "0", IS(THR_EXIT), { 0, 24 }, {
		FIELD(TID, pl_te, tid, 0, 16) } },
	TYPE(PROC_CREATE) { "proc_create", "proccreate", "012", IS(PROC_CREATE), { 0, 44 }, {
		FIELD(PID, pl_pc, pid, 0, 16),
		FIELD(HEX, pl_pc, flags, 0, 20),
		TEXT(20, pl_pc, pcomm, 0, 24) } },
	/* A word of its line for each value: logtext.c. */
	TYPE(VALUES) { "values", "values", "0", IS(VALUES), { 20, 24 }, {
		FIELD(HEX, pl_v, pmcid, 12, 16),
		KEYED(NULL, HEX, pl_v.pl_values, 16, 20),
		{ "values", LOGFMT_WORDS, 0, { 0, 0 }, EV(pl_v.pl_word), 0 } } },
	TYPE(WAITS) { "waits", "waits", "012345", IS(WAITS), { 56, 64 }, {
		FIELD(HEX, pl_w, pmcid, 12, 16),
		FIELD(COUNT, pl_w, below, 16, 24),
		FIELD(COUNT, pl_w, below_ns, 24, 32),
		FIELD(COUNT, pl_w, dropped, 32, 40),
		FIELD(COUNT, pl_w, dropped_ns, 40, 48),
		FIELD(COUNT, pl_w, unknown, 48, 56) } },
	/* Its line is like a CALLCHAIN's. */
	TYPE(WAKER) { "waker", "waker", "", IS(WAKER), { 48, 56 }, {
		FIELD(HEX, pl_cc, pmcid, 16, 24),
		FIELD(PID, pl_cc, pid, 12, 16),
		FIELD(TID, pl_cc, tid, 0, 20),
		FIELD(HEX, pl_cc, cpuflags, 20, 28),
		FIELD(COUNT, pl_wk, kind, 24, 32),
		TEXT(20, pl_wk, tdname, 28, 36),
		OUTSIDE(CHAIN, pl_cc, pc) } },
	TYPE(FIELD) { "field", "field", "051234", IS(FIELD), { 96, 100 }, {
		FIELD(HEX, pl_fd, pmcid, 12, 16),
		FIELD(COUNT, pl_fd, offset, 16, 20),
		FIELD(COUNT, pl_fd, size, 20, 24),
		FIELD(COUNT, pl_fd, element, 24, 28),
		FIELD(HEX, pl_fd, flags, 28, 32),
		TEXT(64, pl_fd, name, 32, 36) } },
	TYPE(THR_VALUE) { "thr_value", "thr-value", "01234", IS(THR_VALUE), { 0, 60 }, {
		FIELD(HEX, pl_tv, pmcid, 0, 16),
		FIELD(PID, pl_tv, pid, 0, 20),
		FIELD(TID, pl_tv, tid, 0, 24),
		FIELD(COUNT, pl_tv, value, 0, 32),
		TEXT(20, pl_tv, tdname, 0, 40) } },
	[LOGFMT_EXEC9] = { NULL, NULL, NULL, IS(PROCEXEC), { 0, 32 }, {
		FIELD(HEX, pl_x, pmcid, 0, 20),
		FIELD(PID, pl_x, pid, 0, 16),
		FIELD(ADDRESS, pl_x, entryaddr, 0, 24),
		OUTSIDE(PATH, pl_x, pathname) } },
};
