/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder alone knows; see sample_log.h. */
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
