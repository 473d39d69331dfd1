/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder alone knows; see sample_log.h. */
#include <sys/pmc.h>

#include "loader/kernel/kernel.h"
#include "loader/log/log.h"
#include "pmc.h"
#include "recorder.h"
#include "sample_log.h"

int recorder_set_signal(struct recorder *tr, int signal, bool waits, uint32_t n)
{
	return sampler_set_signal(tr->samplers, (uint32_t)tr->tag, signal, waits, n);
}

uint64_t recorder_overflows(const struct recorder *tr, struct sampler_signals *signals)
{
	*signals = sampler_signals(tr->samplers, (uint32_t)tr->tag);
	return sampler_counts(tr->samplers, tr->id).samples - tr->before;
}

uint32_t recorder_id(const struct recorder *tr)
{
	return tr->id;
}

int recorder_program(const struct recorder *tr)
{
	return tr->program;
}

uint64_t recorder_tag(const struct recorder *tr)
{
	return tr->tag;
}

void recorder_put_value(struct recorder *tr, const struct abi_rec *rec, const uint64_t *data)
{
	struct pmclog_ev ev;

	if (value_record_make(&ev, &tr->clock, tr->pmc->id, rec, data))
		(void)logfile_put(tr->pmc->owner->log, rec->time, &ev);
}

uint64_t recorder_left(struct recorder *tr, pid_t tgid)
{
	if (!tr || tr->samples)
		return 0;
	return shares_take(tr->engine, count_owner_slot(tr->pmc->owner->counts), tr->id,
			   (uint32_t)tgid);
}

void recorder_log_share(struct recorder *tr, pid_t tgid, uint64_t time, uint64_t share)
{
	struct abi_rec rec = { .kind = ABI_REC_EXIT, .pid = (uint32_t)tgid, .time = time };

	if (tr && !tr->samples && tr->pmc->flags & PMC_F_LOG_PROCEXIT)
		recorder_put_value(tr, &rec, &share);
}
