/* SPDX-License-Identifier: GPL-2.0 */
/* Closing and opening slices, for the switch and for whatever else changes a process's set. */
#ifndef PMCBPF_SLICE_BPF_H
#define PMCBPF_SLICE_BPF_H

#include "bpf/log/log.bpf.h"
#include "seen.bpf.h"

/*
 * The companion module's; see kmod/pmcbpf_msr.h.  Where reads_msr is not set, the verifier never
 * comes to the call.
 */
extern __u64 pmcbpf_msr_read(__u32 reg) __weak __ksym;

/*
 * A counter that was lost reads as an error; its count stands still and the reader is told.  So it
 * is on a CPU that has come online and has no event, or a dead one, until the daemon opens one.
 * Where the daemon took a source out, another kind of event counts.
 */
static __always_inline u64 source_lost(struct abi_cpu *c, u32 source)
{
	if (!(c->out >> (source & 63) & 1)) {
		__sync_fetch_and_or(&lost_sources, 1ull << (source & 63));
		__sync_fetch_and_or(&c->lost, 1ull << (source & 63));
	}
	return c->start[source & 63];
}

/*
 * A register of less than 64 bits is carried on from where it was read last on this CPU, so that
 * all that is done with sources are differences of 64 bits.
 */
static __always_inline u64 register_read(struct abi_cpu *c, u32 source)
{
	const struct abi_register *r = &registers[source % ABI_MSR_SOURCES];
	u64 now = pmcbpf_msr_read(r->reg), last = c->now[source & 63];

	return now == ~0ull ? source_lost(c, source) : last + ((now - last) & r->mask);
}

static __always_inline u64 source_read(struct abi_cpu *c, u32 cpu, u32 source)
{
	u64 now;

	if (source >= ABI_SOURCE_HOOK)
		return c->hook[source & 7] + (c->due == 1 + (source & 7));
	if (reads_msr && source >= ABI_SOURCE_MSR)
		return register_read(c, source);
	now = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	return now > (u64)-4096 ? source_lost(c, source) : now;
}

/*
 * Credits one member of the open slice; members may have one source between them: it is read once.
 */
static __always_inline u64 member_close(struct abi_cpu *c, u32 cpu, const struct abi_member *m,
					struct abi_counts *k, u64 fresh)
{
	u32 source = m->source & 63, pos = m->pos;

	if (!(fresh >> source & 1))
		c->now[source] = source_read(c, cpu, source);
	if (k && pos < ABI_COUNTS)
		k->count[pos] += c->now[source] - c->start[source];
	return fresh | 1ull << source;
}

/*
 * Once a source or a slice is lost, readers of this CPU's counts must ask the daemon, which knows
 * whose it was.
 */
static __always_inline u64 slice_ended(const struct abi_cpu *c)
{
	return c->lost ? ~0ull : 0;
}

/*
 * Credits the open slice.  Returns the sources read, whose `now` is this moment.  Nearly always one
 * owner has all PMCs of a set, and its counts are looked up once.
 */
static __always_inline u64 slice_close(struct abi_cpu *c, u32 cpu)
{
	u32 set = open_of(cpu)->set & ~ABI_OPEN_LOGGED, owner;
	u64 members = c->members, fresh = 0;
	struct abi_counts *k;
	struct abi_set *s;

	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return 0;
	owner = s->owner;
	if (owner != ABI_OWNERS_MIXED) {
		k = owner_counts(owner, cpu);
		if (!k)
			return 0;
		for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1) {
			if (!(members & 1))
				continue;
			fresh = member_close(c, cpu, &s->member[i], k, fresh);
		}
		k->open = slice_ended(c);
		return fresh;
	}
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1) {
		if (!(members & 1))
			continue;
		k = owner_counts(s->member[i].owner, cpu);
		fresh = member_close(c, cpu, &s->member[i], k, fresh);
		if (k)
			k->open = slice_ended(c);
	}
	return fresh;
}

/* Marks the members' counts as moving and notes where their sources stand. */
static __always_inline void slice_open(struct abi_cpu *c, u32 cpu, u32 set,
				       struct task_struct *task, u64 fresh)
{
	struct abi_open *o = open_of(cpu);
	struct abi_counts *k;
	struct abi_set *s;
	u64 members;
	bool mixed;

	o->set = set;
	c->members = 0;
	if (!set)
		return;
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return;
	c->members = members = s->active;
	if (s->logs) {
		o->set = set | ABI_OPEN_LOGGED;
		c->tgid = task_process(task);
		c->tid = task_thread(task);
	}
	mixed = s->owner == ABI_OWNERS_MIXED;
	if (!mixed && members) {
		k = owner_counts(s->owner, cpu);
		if (k)
			k->open = s->open | slice_ended(c);
	}
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1) {
		u32 source = s->member[i].source & 63;

		if (!(members & 1))
			continue;
		if (mixed) {
			k = owner_counts(s->member[i].owner, cpu);
			if (k)
				k->open |= 1ull << (s->member[i].pos & 63);
		}
		if (!(fresh >> source & 1))
			c->now[source] = source_read(c, cpu, source);
		fresh |= 1ull << source;
		c->start[source] = c->now[source];
	}
}

/*
 * `due` is 1 + the hook that counts this very switch, 0 where there is none.  A switch belongs to
 * the slice that it ends, also where the program that counts switches runs behind the slices'.
 */
static __always_inline void slice_change(u32 cpu, u32 set, struct task_struct *task, u32 due)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 open = open_of(cpu)->set;
	u64 fresh = 0;

	if (!c)
		return;
	c->due = c->kind_next == (u32)task->pid ? 0 : due;
	if (c->members)
		fresh = slice_close(c, cpu);
	if (open & ABI_OPEN_LOGGED)
		slice_log(open & ~ABI_OPEN_LOGGED, cpu);
	slice_open(c, cpu, set, task, fresh);
	c->due = 0;
}

#endif
