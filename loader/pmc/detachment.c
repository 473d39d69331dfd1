/* SPDX-License-Identifier: BSD-2-Clause */
/* See detachment.h. */
#include <sys/pmc.h>

#include "detachment.h"
#include "loader/log/log.h"
#include "sample_log.h"

void detachment_log(const struct pmc *p, pid_t tgid, uint64_t time)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_PMCDETACH };

	ev.pl_u.pl_d.pl_pmcid = p->id;
	ev.pl_u.pl_d.pl_pid = tgid;
	(void)logfile_put(p->owner->log, time, &ev);
}

void detachment_begin(struct follow *f, bool complete)
{
	if (!complete && f->pmc->owner->log)
		logfile_gap(f->pmc->owner->log);
	f->share = recorder_left(f->pmc->recorder, f->pid);
	f->detached = true;
}

void detachment_log_late(const struct follow *f)
{
	if (!f->pmc->owner->log)
		return;
	recorder_log_share(f->pmc->recorder, f->pid, f->ended, f->share);
	detachment_log(f->pmc, f->pid, f->ended);
}
