/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading a hardware event without the kernel's helper, which takes twice as many instructions: the
 * companion module reads the counter, and the event has the rest.  The kernel adds a counter's
 * events to `count` whenever it sets the counter anew, which it does when the counter overflows or
 * gets another event, and notes the counter's value in `prev_count`:
 *
 *	events = count + (counter - prev_count)
 *
 * If an interrupt does that in between, the event is not the same before and after; the helper then
 * reads it.  It also reads an event that is not on its CPU, and one whose counter is more than a
 * plain one.
 *
 * Included by one object only: libbpf cannot link two that call the same function of the kernel, or
 * of a module.
 */
#ifndef PMCBPF_COUNTER_BPF_H
#define PMCBPF_COUNTER_BPF_H

#include "source.bpf.h"

/* From Linux 6.2 on: with it, reading the kernel's memory takes one instruction. */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __weak __ksym;

/* A word of the kernel's memory; 0 if it cannot be read. */
static __always_inline u64 kernel_word(u64 address)
{
	u64 word = 0;

	/* As the type, any that begins with a number of 64 bits. */
	if (bpf_rdonly_cast)
		return *(u64 *)bpf_rdonly_cast((void *)address,
					       bpf_core_type_id_kernel(struct timespec64));
	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* See kmod/pmcbpf_msr.h. */
extern __u64 pmcbpf_counter_since(__u32 counter, __u64 since) __weak __ksym;

#define COUNTER_NONE (~0u)

#ifdef __TARGET_ARCH_arm64

#define COUNTER_CYCLES 31
#define COUNTER_WIDE   7	/* hw.flags of events that count more than 32 bits */

/* The module's number of the event's counter, which has this index in perf. */
static __always_inline u32 counter_of(const struct perf_event *event, u32 index)
{
	if (event->hw.flags & COUNTER_WIDE)
		return COUNTER_NONE;
	if (bpf_core_field_exists(struct arm_pmu, cntr_mask))	/* Linux 6.12 */
		return index;
	/* The cycle counter was the first one, and the others followed. */
	if (bpf_core_field_exists(struct arm_pmu, num_events))
		return index ? index - 1 : COUNTER_CYCLES;
	return COUNTER_NONE;
}

#else

#define COUNTERS_PLAIN 35	/* general ones, and three fixed ones from 32 on */

static __always_inline u32 counter_of(const struct perf_event *event, u32 index)
{
	return index < COUNTERS_PLAIN ? event->hw.event_base_rdpmc : COUNTER_NONE;
}

#endif

/* Inlined where a switch begins or ends a plain set. */
static __always_inline u64 counter_read_here(u64 address, u32 cpu)
{
	const struct perf_event *event;
	u64 count, before, since;
	u32 index, counter;

	if (!reads_counters)	/* the verifier must not reach the calls */
		return COUNTER_UNREAD;
	event = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct perf_event));
	count = event->count.a.a.counter;
	before = event->hw.prev_count.a.a.counter;
	index = event->hw.idx;
	counter = counter_of(event, index);
	if (event->oncpu != cpu || counter == COUNTER_NONE)
		return COUNTER_UNREAD;
	since = pmcbpf_counter_since(counter, before);
	if (since == ~0ull || event->count.a.a.counter != count ||
	    event->hw.prev_count.a.a.counter != before || event->hw.idx != index)
		return COUNTER_UNREAD;
	return count + since;
}

/* Neither inlined nor static: the verifier checks it once, and cgroup.bpf.c calls it. */
__noinline u64 counter_read(u64 event, u32 cpu)
{
	return counter_read_here(event, cpu);
}

__u64 counters_disagreed = 0;	/* comparisons that failed */

/*
 * Compares an event's counter with what the kernel's helper returns before and after; if they
 * agree, programs use it from now on.  False: the event has not counted yet, so that it could agree
 * by chance, or an interrupt came between.  The daemon may put another event there meanwhile.
 */
__noinline bool counter_try(u32 cpu, u32 source)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u64 untried, before, now, after;

	if (!c || source >= ABI_DIRECT_SOURCES)
		return true;
	untried = c->event[source];
	if (!untried || untried & ABI_EVENT_TRIED)
		return true;
	if (!counter_read(untried | ABI_EVENT_TRIED, cpu))
		return false;
	before = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	now = counter_read(untried | ABI_EVENT_TRIED, cpu);
	after = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	if (now == COUNTER_UNREAD || before > (u64)-4096 || after > (u64)-4096)
		return false;
	if (before <= now && now <= after)
		__sync_val_compare_and_swap(&c->event[source], untried, untried | ABI_EVENT_TRIED);
	else if (__sync_val_compare_and_swap(&c->event[source], untried, 0) == untried)
		__sync_fetch_and_add(&counters_disagreed, 1);
	return true;
}

/* Tries the counters of new events. */
__noinline int counters_try(u32 cpu)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u64 untried, bit;

	if (!reads_counters || !c)
		return 0;
	untried = c->untried;
	for (u32 i = 0; i < ABI_DIRECT_SOURCES; i++) {
		bit = 1ull << i;
		if (!(untried & bit))
			continue;
		__sync_fetch_and_and(&c->untried, ~bit);
		if (!counter_try(cpu, i))
			__sync_fetch_and_or(&c->untried, bit);
	}
	return 0;
}

#endif
