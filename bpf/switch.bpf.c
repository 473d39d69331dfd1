// SPDX-License-Identifier: GPL-2.0
/*
 * Process scope on free-running counters: at a context switch the slice of the process that leaves
 * is closed and that of the process that comes is opened.  A switch that does not change the set of
 * PMCs reads nothing, and one between two processes nobody measures is over after a few
 * instructions.
 */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct cpus_map cpus SEC(".maps");
struct sets_map sets SEC(".maps");
struct targets_map targets SEC(".maps");
struct owners_map owners SEC(".maps");
struct dying_map dying SEC(".maps");

/* events[ABI_EVENT(cpu, source)]: reading through one flat array is the cheapest there is. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} events SEC(".maps");

__u32 target_index[ABI_INDEX_SIZE] = {};
__u32 open_set[ABI_MAX_CPUS * ABI_OPEN_STRIDE] = {};
__u64 lost_sources = 0;
__u64 lost_targets = 0;
__u64 exits_begun = 0, exits_done = 0;
__u32 finals = 0;

#define ENOENT 2

/*
 * A counter that was lost reads as an error; its count stands still and the reader is told.  One
 * that the daemon took out on this CPU only stands still.
 */
static __always_inline u64 source_read(struct abi_cpu *c, u32 cpu, u32 source)
{
	u64 now;

	if (source >= ABI_SOURCE_HOOK)
		return c->hook[source & 7];
	now = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	if (now > (u64)-4096) {
		if (now != (u64)-ENOENT) {
			__sync_fetch_and_or(&lost_sources, 1ull << (source & 63));
			c->lost |= 1ull << (source & 63);
		}
		now = c->start[source & 63];
	}
	return now;
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
 * Once a source is lost, readers of this CPU's counts must ask the daemon, which knows whose it
 * was.
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
	u32 set = open_set[ABI_OPEN_SET(cpu)], owner;
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
static __always_inline void slice_open(struct abi_cpu *c, u32 cpu, u32 set, u64 fresh)
{
	struct abi_counts *k;
	struct abi_set *s;
	u64 members;
	bool mixed;

	open_set[ABI_OPEN_SET(cpu)] = set;
	c->members = 0;
	if (!set)
		return;
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return;
	c->members = members = s->active;
	mixed = s->owner == ABI_OWNERS_MIXED;
	if (!mixed && members) {
		k = owner_counts(s->owner, cpu);
		if (k)
			k->open = s->open;
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

static __always_inline void slice_change(u32 cpu, u32 set)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u64 fresh = 0;

	if (!c)
		return;
	if (c->members)
		fresh = slice_close(c, cpu);
	slice_open(c, cpu, set, fresh);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u32 cpu = prev->thread_info.cpu, open = open_set[ABI_OPEN_SET(cpu)];
	u32 set = index_lookup(next->tgid);

	if (!(open | set))
		return 0;
	if (open != set)
		slice_change(cpu, set);
	if (prev_state & TASK_DEAD)
		final_switch(prev);
	return 0;
}

/*
 * Where only CPU time is counted no slice exists, but its last bit still comes with the last
 * switch.  Best seen where the scheduler lets go of a dead task, which costs other switches
 * nothing; the function is called from elsewhere as well, then the task may still be running.
 */
SEC("fentry/put_task_struct_rcu_user")
int BPF_PROG(on_dead, struct task_struct *task)
{
	if (!task_on_cpu(task) &&
	    index_lookup(task->tgid))
		final_switch(task);
	return 0;
}

/* Where the kernel does not let programs onto functions. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_final, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	if (prev_state & TASK_DEAD && index_lookup(prev->tgid))
		final_switch(prev);
	return 0;
}

/* Run by the daemon on a CPU: brings the counts of whoever runs there up to date. */
SEC("raw_tp")
int flush(void *ctx)
{
	slice_change(bpf_get_smp_processor_id(), index_lookup(bpf_get_current_task_btf()->tgid));
	return 0;
}
