/* SPDX-License-Identifier: GPL-2.0 */
/* Sources, for all programs that cut slices. */
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

/*
 * A switch belongs to the slice that it ends, whether the programs that count switches run before
 * the program of slices or after it.  1 + the hook, or the tracepoint, that has yet to count this
 * very switch to `next`; 0: it has done so.
 */
static __always_inline u32 hook_due(const struct abi_cpu *c, u32 next, u32 due)
{
	return c->kind_next == next ? 0 : due;
}

static __always_inline u32 hit_due(const struct abi_cpu *c, u32 next)
{
	return c->hit_next == next ? 0 : tracepoint_switch;
}

#define COUNTER_UNREAD (~0ull)	/* no sum of events is that */

/* In counter.bpf.h. */
extern __u64 counter_read(__u64 event);

/* The event whose counter can be read, or 0. */
static __always_inline u64 source_event(const struct abi_cpu *c, u32 source)
{
	u64 event;

	if (!reads_counters)
		return 0;
	barrier_var(source);	/* or the verifier looks at the sources first, … */
	if (source >= ABI_DIRECT_SOURCES)
		return 0;
	barrier_var(source);	/* … and the compiler hides their bounds from it */
	event = c->event[source & (ABI_DIRECT_SOURCES - 1)];
	return event & ABI_EVENT_TRIED ? event : 0;
}

extern int counters_try(__u32 cpu);

/* Called before or after a change reads its sources: it reads one right after the other. */
static __always_inline void counters_try_new(const struct abi_cpu *c, u32 cpu)
{
	if (reads_counters && c->untried)
		counters_try(cpu);
}

static __always_inline u64 hook_read(const struct abi_cpu *c, u32 source, u32 due)
{
	return c->hook[source & 7] + (due == 1 + (source & 7));
}

#endif
