/* SPDX-License-Identifier: GPL-2.0 */
/* Sources that cannot be read, for all programs that cut slices. */
#ifndef PMCBPF_SOURCE_BPF_H
#define PMCBPF_SOURCE_BPF_H

#include "maps.bpf.h"

/*
 * A lost counter reads as an error: its count stands still, and the reader is notified.  The same
 * holds for a CPU that has come online and has no event, or a dead one, until the daemon opens one.
 * If the daemon removed the source, another kind of event counts instead.
 */
static __always_inline void source_note_lost(struct abi_cpu *c, u32 source)
{
	if (c->out >> (source & 63) & 1)
		return;
	__sync_fetch_and_or(&lost_sources, 1ull << (source & 63));
	__sync_fetch_and_or(&c->lost, 1ull << (source & 63));
}

#endif
