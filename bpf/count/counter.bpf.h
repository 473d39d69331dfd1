/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading a hardware event without the kernel's helper, which takes four times as many
 * instructions: the companion module looks at the event and its counter, see kmod/pmcbpf_msr.c.
 * The helper reads an event that is not on its CPU, one whose counter is more than a plain one, and
 * one that an interrupt changes meanwhile.
 *
 * Included by one object only: libbpf cannot link two that call the same function of a module.
 */
#ifndef PMCBPF_COUNTER_BPF_H
#define PMCBPF_COUNTER_BPF_H

#include "source.bpf.h"

/* See kmod/pmcbpf_msr.h. */
extern __u64 pmcbpf_event_count(__u64 event) __weak __ksym;

/* For cgroup.bpf.c.  If reads_counters is false, the verifier does not reach the call. */
__noinline u64 counter_read(u64 event)
{
	return reads_counters ? pmcbpf_event_count(event) : COUNTER_UNREAD;
}

__u64 counters_disagreed = 0;	/* comparisons that failed */

/*
 * Compares an event's counter with what the kernel's helper returns before and after; if they
 * agree, programs use it from now on.  False: to be tried again, because the event has not counted
 * yet, so that it could agree by chance, or because an interrupt came between.  The daemon may put
 * another event there meanwhile.
 */
__noinline bool counter_try(struct abi_cpu *c, u32 cpu, u32 source)
{
	u64 untried, *event, before, now, after;

	if (!reads_counters || !c || source >= ABI_DIRECT_SOURCES)
		return true;
	barrier_var(source);
	event = &c->event[source & (ABI_DIRECT_SOURCES - 1)];
	untried = *event;
	if (!untried || untried & ABI_EVENT_TRIED)
		return true;
	now = pmcbpf_event_count(untried | ABI_EVENT_TRIED);
	if (!now || now == COUNTER_UNREAD)
		return now;	/* has not counted; or has no plain counter */
	before = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	now = pmcbpf_event_count(untried | ABI_EVENT_TRIED);
	after = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	if (now == COUNTER_UNREAD || before > (u64)-4096 || after > (u64)-4096)
		return false;
	if (before <= now && now <= after)
		__sync_val_compare_and_swap(event, untried, untried | ABI_EVENT_TRIED);
	else if (__sync_val_compare_and_swap(event, untried, 0) == untried)
		__sync_fetch_and_add(&counters_disagreed, 1);
	return true;
}

/* Tries the counters of new events. */
__noinline int counters_try(u32 cpu)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u64 untried, bit;

	if (!c)
		return 0;
	untried = c->untried;
	for (u32 i = 0; i < ABI_DIRECT_SOURCES && untried >> i; i++) {
		bit = 1ull << i;
		if (!(untried & bit))
			continue;
		__sync_fetch_and_and(&c->untried, ~bit);
		if (!counter_try(c, cpu, i))
			__sync_fetch_and_or(&c->untried, bit);
	}
	return 0;
}

#endif
