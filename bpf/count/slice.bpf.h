/* SPDX-License-Identifier: GPL-2.0 */
/* Reading sources, closing and opening slices: for the one object that switches slices. */
#ifndef PMCBPF_SLICE_BPF_H
#define PMCBPF_SLICE_BPF_H

#include "alone.bpf.h"
#include "counter.bpf.h"
#include "seen.bpf.h"
#include "slice_log.bpf.h"

/*
 * The companion module's function, see kmod/pmcbpf_msr.h.  If reads_msr is false, the verifier does
 * not reach the call.
 */
extern __u64 pmcbpf_msr_read(__u32 reg) __weak __ksym;

static __always_inline u64 source_lost(struct abi_cpu *c, u32 source)
{
	source_note_lost(c, source);
	return c->start[source & 63];
}

/*
 * A register with fewer than 64 bits is extended from its last value on this CPU, so that all
 * arithmetic on sources is in 64 bits.
 */
static __always_inline u64 register_read(struct abi_cpu *c, u32 source)
{
	const struct abi_register *r = &registers[source % ABI_MSR_SOURCES];
	u64 now = pmcbpf_msr_read(r->reg), last = c->now[source & 63];

	return now == ~0ull ? source_lost(c, source) : last + ((now - last) & r->mask);
}

/*
 * From Linux 6.2 on: with it, reading the kernel's memory takes one instruction.  Libbpf cannot
 * link two objects that call it.
 */
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

/*
 * The hits of a tracepoint on the CPU.  The kernel skips a program that is running there already,
 * and counts what that misses.
 */
static __always_inline u64 tracepoint_read(const struct abi_cpu *c, u32 slot)
{
	u64 misses = 0;

	if (c->misses[slot])
		misses = kernel_word(c->misses[slot]);
	return c->hits[slot] + misses + (c->hit_due == 1 + slot);
}

static __always_inline u32 tracepoint_slot(u32 source)
{
	barrier_var(source);	/* or the compiler hides the bounds from the verifier */
	return source & (ABI_TRACEPOINTS - 1);
}

static __always_inline u64 source_read(struct abi_cpu *c, u32 cpu, u32 source)
{
	u64 now = COUNTER_UNREAD, event = source_event(c, source);

	if (event)
		now = pmcbpf_event_count(event);
	if (now != COUNTER_UNREAD)
		return now;
	if (source >= ABI_SOURCE_HOOK)
		return hook_read(c, source, c->due);
	if (reads_msr && source >= ABI_SOURCE_MSR)
		return register_read(c, source);
	now = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	return now > (u64)-4096 ? source_lost(c, source) : now;
}

/*
 * Reads a source into `now` once in a change of slices, because members share sources, and because
 * a slice begins where the last one ends.
 */
static __always_inline void source_refresh(struct abi_cpu *c, u32 cpu, const struct abi_member *m)
{
	u32 source = m->source & (ABI_ALL_SOURCES - 1), slot;

	if (source >= ABI_SOURCE_TRACEPOINT) {
		slot = tracepoint_slot(source);
		if (!(c->fresh_hits >> slot & 1))
			c->now[ABI_SOURCE_TRACEPOINT + slot] = tracepoint_read(c, slot);
		c->fresh_hits |= 1ull << slot;
		return;
	}
	if (!(c->fresh_others >> source & 1))
		c->now[source] = source_read(c, cpu, source);
	c->fresh_others |= 1ull << source;
}

/*
 * Reads the sources of a set's members one right after the other.  A slice begins and ends by the
 * same instructions here, so that what the readings themselves take is the same for all members.
 *
 * What is done for all members is a function, neither inlined nor static: the verifier checks such
 * a function once in a program, and not again on every path.  Most sets have one member, which
 * saves the call.
 */
__noinline int members_refresh(struct abi_cpu *c, u32 cpu, const struct abi_set *s, u64 members)
{
	if (!c || !s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			source_refresh(c, cpu, &s->member[i]);
	return 0;
}

static __always_inline void set_refresh(struct abi_cpu *c, u32 cpu, const struct abi_set *s,
					u64 members)
{
	if (members == 1)
		source_refresh(c, cpu, &s->member[0]);
	else
		members_refresh(c, cpu, s, members);
}

/*
 * Once a source or a slice is lost, readers of this CPU's counts must ask the daemon, which knows
 * the PMCs concerned.
 */
static __always_inline u64 slice_ended(const struct abi_cpu *c)
{
	return c->lost ? ~0ull : 0;
}

static __always_inline void member_credit(const struct abi_cpu *c, const struct abi_member *m,
					  struct abi_counts *k)
{
	u32 source = m->source & (ABI_ALL_SOURCES - 1), pos = m->pos;

	if (pos < ABI_COUNTS)
		k->count[pos] += c->now[source] - c->start[source];
}

__noinline int members_credit(const struct abi_cpu *c, const struct abi_set *s,
			      struct abi_counts *k, u64 members)
{
	if (!c || !s || !k)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			member_credit(c, &s->member[i], k);
	return 0;
}

/*
 * A member of a set with several owners, whose counts are looked up; or of one thread alone.  It
 * clears the mark of its own count only: its owner may have other members, which come later.
 */
__noinline int member_credit_mixed(const struct abi_cpu *c, u32 cpu, const struct abi_set *s, u32 i)
{
	const struct abi_member *m;
	struct abi_counts *k;

	if (!c || !s)
		return 0;
	i &= ABI_MAX_MEMBERS - 1;
	m = &s->member[i];
	k = owner_counts(m->owner, cpu);
	if (!k)
		return 0;
	if (!(s->alone >> i & 1) || alone_has(m->owner, m->pos, c->tid, c->task))
		member_credit(c, m, k);
	k->open = (k->open & ~(1ull << (m->pos & 63))) | slice_ended(c);
	return 0;
}

__noinline int slice_close_mixed(const struct abi_cpu *c, u32 cpu, u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u64 members;

	if (!c || !s)
		return 0;
	members = c->members;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			member_credit_mixed(c, cpu, s, i);
	return 0;
}

/*
 * Credits members of the open slice, whose sources have been read; others go on if `goes_on`.
 * Nearly always one owner has all PMCs of a set; its counts are then looked up once.
 */
static __always_inline void slice_close(struct abi_cpu *c, u32 cpu, u32 set,
					const struct abi_set *s, u64 members, bool goes_on)
{
	struct abi_counts *k;

	if (s->owner == ABI_OWNERS_MIXED) {
		slice_close_mixed(c, cpu, set);
		return;
	}
	k = owner_counts(s->owner, cpu);
	if (!k)
		return;
	if (members == 1)
		member_credit(c, &s->member[0], k);
	else
		members_credit(c, s, k, members);
	if (!goes_on)
		k->open = slice_ended(c);
}

/* Marks the members' counts as moving, where they have several owners. */
__noinline int member_open_mixed(const struct abi_member *m, u32 cpu)
{
	struct abi_counts *k = m ? owner_counts(m->owner, cpu) : NULL;

	if (k)
		k->open |= 1ull << (m->pos & 63);
	return 0;
}

__noinline int slice_open_mixed(u32 cpu, u32 set, u64 members)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS; i++)
		if (members >> i & 1)
			member_open_mixed(&s->member[i], cpu);
	return 0;
}

static __always_inline void member_begin(struct abi_cpu *c, const struct abi_member *m)
{
	u32 source = m->source & (ABI_ALL_SOURCES - 1);

	c->start[source] = c->now[source];
}

__noinline int members_begin(struct abi_cpu *c, const struct abi_set *s, u64 members)
{
	if (!c || !s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			member_begin(c, &s->member[i]);
	return 0;
}

/* Marks the counts of c->members as moving; `members` begin with their sources' values. */
static __always_inline void slice_open(struct abi_cpu *c, u32 cpu, u32 set, const struct abi_set *s,
				       u64 members)
{
	struct abi_counts *k;

	if (s->owner == ABI_OWNERS_MIXED) {
		slice_open_mixed(cpu, set, c->members);
	} else {
		k = owner_counts(s->owner, cpu);
		if (k)
			k->open = s->open | slice_ended(c);
	}
	if (members == 1)
		member_begin(c, &s->member[0]);
	else
		members_begin(c, s, members);
}

__noinline u64 members_positions(const struct abi_set *s, u64 members)
{
	u64 positions = 0;

	if (!s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			positions |= 1ull << (s->member[i].pos & 63);
	return positions;
}

/* Those of the members that are at none of these positions. */
__noinline u64 members_except(const struct abi_set *s, u64 members, u64 positions)
{
	if (!s)
		return 0;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members >> i; i++)
		if (positions >> (s->member[i].pos & 63) & 1)
			members &= ~(1ull << i);
	return members;
}

/*
 * PMCs that count before and after a switch between two sets go on and are not read, if this is
 * true.  A member that shares its source would get a start that is another's.  If switches may be
 * hidden, each slice has to begin with a reading of its own.
 */
static __always_inline bool slice_keeps(const struct abi_cpu *c, const struct abi_set *from,
					const struct abi_set *to)
{
	return from->owner == to->owner && from->owner != ABI_OWNERS_MIXED &&
	       !(from->shared | to->shared | from->threads | to->threads | c->lost |
		 switches_hidden);
}

static __always_inline u64 plain_read(struct abi_cpu *c, u32 cpu, u32 source)
{
	return source >= ABI_SOURCE_TRACEPOINT ? tracepoint_read(c, tracepoint_slot(source)) :
						 source_read(c, cpu, source);
}

/*
 * A switch that ends or begins a plain set (plain_sets), and nothing else: one pass reads and
 * credits its members.  `due` is as in slice_change(), `next` gets the CPU; `ends`: all bits if the
 * set ends, else 0, so that both take the same instructions, and the verifier has one path.
 */
__noinline int slice_change_plain(u32 cpu, u32 set, u32 next, u64 ends, u32 due)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	struct abi_counts *k;
	u64 members, these;

	if (!c || !s)
		return 0;
	these = members = (c->members & ends) | (s->active & ~ends);
	k = members ? owner_counts(s->owner, cpu) : NULL;
	c->due = hook_due(c, next, due);
	c->hit_due = hit_due(c, next);
	for (u32 i = 0; k && i < ABI_PLAIN_MEMBERS && these; i++, these >>= 1) {
		u32 source = s->member[i].source & (ABI_ALL_SOURCES - 1), pos = s->member[i].pos;
		u64 now;

		if (!(these & 1) || pos >= ABI_COUNTS)
			continue;
		now = plain_read(c, cpu, source);
		k->count[pos] += (now - c->start[source]) & ends;
		c->start[source] = c->now[source] = now;
	}
	if (k)
		k->open = (s->open & ~ends) | slice_ended(c);
	c->due = c->hit_due = 0;
	c->members = members & ~ends;
	open_of(cpu)->set = set & (u32)~ends;
	counters_try_new(c, cpu);
	return 0;
}

/* True if slice_change_plain() does a switch between these sets: one of them is 0. */
static __always_inline bool slice_is_plain(u32 from, u32 to)
{
	u64 both = (u64)from * to;	/* the verifier learns nothing about either, … */
	u32 set = from | to;		/* … and so visits what follows once */

	barrier_var(both);
	return !both && set < ABI_MAX_SETS && plain_sets[set / 64] >> set % 64 & 1;
}

/*
 * Ends the open slice and begins the slice of `set`.  All sources are read before any count is
 * credited.  `due` is 1 + the hook that counts this very switch, or 0 if there is none: then all
 * counts are brought up to date.  `last` had the CPU.
 */
static __always_inline void slice_change(u32 cpu, u32 set, struct task_struct *last,
					 struct task_struct *task, u32 due)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct abi_open *o = open_of(cpu);
	u32 open = o->set & ~ABI_OPEN_THREADS;
	bool threads = o->set & ABI_OPEN_THREADS;
	u64 members, ends, begins, keeps = 0;
	struct abi_set *from, *to;

	if (!c)
		return;
	c->due = hook_due(c, task->pid, due);
	c->hit_due = due ? hit_due(c, task->pid) : 0;
	c->fresh_hits = c->fresh_others = 0;
	ends = c->members;
	from = ends ? bpf_map_lookup_elem(&sets, &open) : NULL;
	to = set ? bpf_map_lookup_elem(&sets, &set) : NULL;
	begins = members = to ? to->active : 0;
	if (due && from && to && members && slice_keeps(c, from, to)) {
		u64 old = members_positions(from, ends), new = members_positions(to, begins);

		keeps = old & new;
		ends = old == keeps ? 0 : members_except(from, ends, keeps);
		begins = new == keeps ? 0 : members_except(to, begins, keeps);
	}
	if (from && ends)
		set_refresh(c, cpu, from, ends);
	if (to && begins)
		set_refresh(c, cpu, to, begins);
	c->due = c->hit_due = 0;
	if (from && ends)
		slice_close(c, cpu, open, from, ends, keeps);
	if (threads)
		slice_record(c, open, cpu, last);
	o->set = set;
	c->members = members;
	if (to && to->threads) {
		o->set = set | ABI_OPEN_THREADS;
		c->tgid = task_process(task);
		c->tid = task_thread(task);
		c->task = (u64)task;
	}
	if (to && members && (!keeps || ends | begins))
		slice_open(c, cpu, set, to, begins);
	counters_try_new(c, cpu);
}

#endif
