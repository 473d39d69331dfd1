/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmclog_read() for programs written for earlier releases: <pmclog.h> chooses by PMC_API.
 *
 * Programs for FreeBSD 6 and 7 expect samples without callers and values, and names of events in
 * PMCALLOCATE.  They find mappings by themselves: kernels of that time recorded none.
 *
 * Programs for FreeBSD 12 and 13 expect the log's clock in pl_ts, which otherwise is time of day.
 */
#include <string.h>

#include "lib/pmc/pmc.h"
#include "pmclog.h"

static void sample_of_chain(struct pmclog_ev *ev)
{
	const struct pmclog_ev_callchain *cc = &ev->pl_u.pl_cc;
	const struct pmclog_ev_pcsample sample = {
		.pl_pc = cc->pl_npc > 0 ? cc->pl_pc[0] : 0,
		.pl_pid = (pid_t)cc->pl_pid,
		.pl_pmcid = cc->pl_pmcid,
		.pl_usermode = PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(cc->pl_cpuflags),
	};

	ev->pl_type = PMCLOG_TYPE_PCSAMPLE;
	ev->pl_u.pl_s = sample;
}

static void allocation_of_named(void *cookie, struct pmclog_ev *ev)
{
	const struct pmclog_ev_pmcallocatedyn *named = &ev->pl_u.pl_ad;
	struct pmclog_ev_pmcallocate a = {
		.pl_evname = pmclog_keep_name(cookie, named->pl_evname),
		.pl_event = named->pl_event, .pl_flags = named->pl_flags,
		.pl_rate = named->pl_rate, .pl_pmcid = named->pl_pmcid,
	};

	ev->pl_type = PMCLOG_TYPE_PMCALLOCATE;
	ev->pl_u.pl_a = a;
}

PMC_API_PUBLIC int pmclog_read7(void *cookie, struct pmclog_ev *ev)
{
	while (!pmclog_read(cookie, ev))
		switch (ev->pl_type) {
		case PMCLOG_TYPE_MAP_IN:
		case PMCLOG_TYPE_MAP_OUT:
		case PMCLOG_TYPE_THR_CREATE:
		case PMCLOG_TYPE_THR_EXIT:
		case PMCLOG_TYPE_PROC_CREATE:
		case PMCLOG_TYPE_FIELD:
		case PMCLOG_TYPE_VALUES:
		case PMCLOG_TYPE_WAKER:
			break;
		case PMCLOG_TYPE_CALLCHAIN:
			sample_of_chain(ev);
			return 0;
		case PMCLOG_TYPE_PMCALLOCATEDYN:
			allocation_of_named(cookie, ev);
			return 0;
		default:
			return 0;
		}
	return -1;
}

PMC_API_PUBLIC int pmclog_read12(void *cookie, struct pmclog_ev *ev)
{
	int err = pmclog_read(cookie, ev);

	if (!err)
		ev->pl_ts = (struct timespec){ .tv_sec = (time_t)ev->pl_tsc };
	return err;
}
