/* SPDX-License-Identifier: BSD-2-Clause */
/* See value_record.h. */
#include <string.h>
#include <sys/pmc.h>

#include "loader/base/base.h"
#include "value_record.h"

/*
 * Clocks count nanoseconds, and records have ticks; the rest of a tick is carried to the next
 * record, so that the records add up to the PMC's value.
 */
uint64_t value_record_ticks(struct value_clock *clock, enum abi_rec_kind kind, uint64_t value)
{
	uint64_t *rest = &clock->rest[kind];
	__uint128_t ticks = (__uint128_t)value * clock->rate + *rest;

	if (!clock->rate)
		return value;
	*rest = (uint64_t)(ticks % NS_PER_S);
	return (uint64_t)(ticks / NS_PER_S);
}

bool value_record_make(struct pmclog_ev *ev, struct value_clock *clock, uint32_t pmcid,
		       const struct abi_rec *rec, const uint64_t *data)
{
	uint64_t value = data[0];

	if (rec->kind == ABI_REC_SWITCH) {
		ev->pl_type = PMCLOG_TYPE_PROCCSW;
		ev->pl_u.pl_c.pl_pmcid = pmcid;
		ev->pl_u.pl_c.pl_pid = (pid_t)rec->pid;
		ev->pl_u.pl_c.pl_tid = (pid_t)rec->tid;
		ev->pl_u.pl_c.pl_value = value_record_ticks(clock, ABI_REC_SWITCH, value);
	} else if (rec->kind == ABI_REC_EXIT) {
		ev->pl_type = PMCLOG_TYPE_PROCEXIT;
		ev->pl_u.pl_e.pl_pmcid = pmcid;
		ev->pl_u.pl_e.pl_pid = rec->pid;
		ev->pl_u.pl_e.pl_value = value_record_ticks(clock, ABI_REC_EXIT, value);
	} else if (rec->kind == ABI_REC_THREAD && rec->n == 1 + ABI_COMM / sizeof(*data)) {
		ev->pl_type = PMCLOG_TYPE_THR_VALUE;
		ev->pl_u.pl_tv = (struct pmclog_ev_threadvalue){
			.pl_pmcid = pmcid, .pl_pid = (pid_t)rec->pid, .pl_tid = (pid_t)rec->tid,
			.pl_value = value_record_ticks(clock, ABI_REC_THREAD, value),
		};
		memcpy(ev->pl_u.pl_tv.pl_tdname, data + 1, ABI_COMM - 1);
	} else {
		return false;
	}
	return true;
}
