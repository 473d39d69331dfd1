// SPDX-License-Identifier: GPL-2.0
/*
 * Samples the hits of one tracepoint, or of one probe in user code.  Each gets an instance of its
 * own, which counts the hits as slot.bpf.c does.  An instance loads one of the programs.
 *
 * A hit counts for the PMCs of its CPU, and for those of the process that runs and of its cgroup.
 * Each PMC has one count of hits, wherever its processes run, and every nth of them is a sample: so
 * no rest of a period is lost with a thread, a process or a CPU.
 *
 * The kernel skips a program on a CPU where it is running already (tracepoint.bpf.c).  Such hits
 * have no stack.  Those skipped while the program counted a hit belong to the same process; they
 * advance the periods, and samples that they would have been are counted as dropped.  If others
 * were skipped, at the first or last instruction, the PMCs of the next hit are marked.  Programs of
 * probes in user code are never skipped.
 *
 * Hits of tasks, interrupts and NMIs interrupt each other, so a CPU has several places to build a
 * sample in.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* In the loop over samples the verifier would follow the walk for each of its states. */
#define SAMPLE_WALK(walk, s, n, room) hit_walk((walk)->place, n, room)
int hit_walk(unsigned int place, unsigned int n, unsigned int room);
#define SAMPLE_STACK(walk) hit_stack((walk)->place)
int hit_stack(unsigned int place);
#define SAMPLE_PYTHON(walk) hit_python((walk)->place)
int hit_python(unsigned int place);

#include "bpf/log/rooms.bpf.h"
#include "count_abi.h"
#include "filter.bpf.h"
#include "hits.bpf.h"
#include "one_thread.bpf.h"
#include "record.bpf.h"
#include "targets.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool nested = false;
struct abi_level level = {};
const volatile __u32 max_stack = 127;

/* Others' maps. */
struct samplers_map samplers SEC(".maps");
struct rings_map rings SEC(".maps");
struct hit_rooms_map hit_rooms SEC(".maps");
struct hit_scratch_map hit_scratch SEC(".maps");
struct hit_walks_map hit_walks SEC(".maps");
struct hit_stacks_map hit_stacks SEC(".maps");
struct hit_pythons_map hit_pythons SEC(".maps");
struct hit_codes_map hit_codes SEC(".maps");
struct hit_values_map hit_values SEC(".maps");
struct codes_sent_map codes_sent SEC(".maps");
struct unwind_chunks_map unwind_chunks SEC(".maps");
struct unwind_files_map unwind_files SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_notes_map unwind_notes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cpu);
} cpus SEC(".maps");
struct sets_map sets SEC(".maps");
struct targets_map targets SEC(".maps");
struct sampled_threads_map sampled_threads SEC(".maps");

const volatile bool skips = true;	/* the kernel may skip runs: see hits_skipped() */
const volatile bool all_counted = false; /* the kernel counts a kprobe's hits, this program none */
const volatile bool of_records = false;	/* the program is at perf's event */
const volatile __u32 trap = 0;		/* a probe's registers are so many bytes behind its place */
__u32 slot = 0;			/* its number, from before it is attached */
__u32 hits_over = 0;		/* the slot is another instance's; this one is being detached */
/* The PMCs of each CPU, 0: none; and those of cgroups. */
__u32 cpu_samplers[ABI_MAX_CPUS][ABI_CPU_SAMPLERS] = {};
struct abi_cgroup_sampler cgroup_samplers[ABI_CGROUP_SAMPLERS] = {};
__u32 cgroup_samplers_n = 0;
__u64 skips_seen[ABI_MAX_CPUS] = {};

/* --- which PMCs ------------------------------------------------------------------------------- */

/* That sample one hit: the stack has no room for more.  Samples of others count as dropped. */
#define PMCS (ABI_CPU_SAMPLERS + ABI_MAX_MEMBERS)
struct hit {
	u32 id[PMCS];
	u32 n, due;		/* bit i: the hit is a sample of id[i] */
};

/* Adds hits of a PMC; returns how many samples they are. */
static __always_inline u64 hits_add(struct abi_sampler *of, u64 n)
{
	u64 before, period = of->period;

	if (!period || !n)
		return 0;
	before = __sync_fetch_and_add(&of->hits, n);
	return (before + n) / period - before / period;
}

static __always_inline void samples_drop(struct abi_sampler *of, u64 n)
{
	__sync_fetch_and_add(&of->count.samples, n);
	__sync_fetch_and_add(&of->count.dropped, n);
}

/* Not static, so that the verifier checks it once. */
__noinline int hit_take(struct hit *h, u32 id)
{
	struct abi_sampler *of = sampler_of(id);
	u32 i = h ? h->n : PMCS;
	u64 due = of ? hits_add(of, 1) : 0;

	if (!of)
		return 0;
	if (i < PMCS) {
		h->id[i] = id;
		h->due |= (due != 0) << i;
		h->n = i + 1;
	} else {
		samples_drop(of, due);
		__sync_fetch_and_add(&of->count.paused, 1);	/* hits that are skipped, too */
	}
	return 0;
}

/* The set of the process that runs. */
static __always_inline struct abi_set *set_of_current(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, set;
	struct abi_target *t;

	if (nested)
		tgid = task_process_nested((void *)bpf_get_current_task());
	t = tgid ? bpf_map_lookup_elem(&targets, &tgid) : NULL;
	if (!t)
		return NULL;
	set = ABI_STATE_SET(t->state);
	return bpf_map_lookup_elem(&sets, &set);
}

static __noinline void hit_take_members(struct hit *h)
{
	struct abi_set *s = set_of_current();
	u32 on = s ? s->sampled & (u32)s->active : 0;

	if (!on)
		return;
	for (u32 i = 0; i < ABI_MAX_MEMBERS; i++)
		if (on >> i & 1 && s->member[i].source == ABI_SOURCE_TRACEPOINT + slot &&
		    sampled_has(s->log[i], (u32)bpf_get_current_pid_tgid(), bpf_get_current_task()))
			hit_take(h, s->log[i] | ABI_SAMPLER_ON);
}

/* The task that runs is in the cgroup, or in one below it. */
static __noinline void hit_take_cgroups(struct hit *h)
{
	for (u32 i = 0; i < ABI_CGROUP_SAMPLERS; i++) {
		const volatile struct abi_cgroup_sampler *of = &cgroup_samplers[i];
		u32 tag = of->tag;

		if (tag && bpf_get_current_ancestor_cgroup_id((int)of->level) == of->id)
			hit_take(h, tag);
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

struct hit_place {
	void *ctx;
	const struct hit *hit;
	u64 ip, skip;
};

/* Not static, so that the verifier checks it once. */
__noinline int hit_walk(u32 place, u32 n, u32 room)
{
	struct scratch *s = bpf_map_lookup_elem(&hit_scratch, &place);
	struct walk *walk = bpf_map_lookup_elem(&hit_walks, &place);

	if (s && walk)
		walk_user(walk, s->pc, n, room, s->rec.pid);
	return 0;
}

/* Likewise.  0: no copy. */
__noinline int hit_stack(u32 place)
{
	return stack_sample_put(bpf_map_lookup_elem(&hit_scratch, &place),
				bpf_map_lookup_elem(&hit_walks, &place),
				bpf_map_lookup_elem(&hit_stacks, &place));
}

/* Likewise.  0: the ring has no room. */
__noinline int hit_python(u32 place)
{
	struct scratch *s = bpf_map_lookup_elem(&hit_scratch, &place);

	return !s || python_put(bpf_map_lookup_elem(&hit_pythons, &place),
				bpf_map_lookup_elem(&hit_codes, &place),
				bpf_map_lookup_elem(&hit_walks, &place), &s->rec);
}

/* With the record of the hit, if the PMC wants it. */
static __always_inline void hit_put(const struct hit_place *at, u32 place, struct scratch *s,
				    struct walk *walk, struct abi_sampler *of, u32 id)
{
	struct values_scratch *v = record_shape.bytes && of->values ?
					   bpf_map_lookup_elem(&hit_values, &place) : NULL;

	sample_put(at->ctx, at->ip, at->skip, s, walk, of, id, v,
		   v ? record_copy(&v->v, at->ctx) : 0);
}

/* Called by bpf_loop(), so that the verifier checks it once. */
static long hit_sample(u32 i, struct hit_place *at)
{
	u32 id = i < PMCS && at->hit->due >> i & 1 ? at->hit->id[i] : 0, place;
	struct abi_sampler *of = sampler_of(id);
	struct scratch *s;
	struct walk *walk;

	if (!of)
		return 0;
	if (!at->ip)
		at->ip = site_find(at->ctx, &at->skip, !of_records);
	__sync_fetch_and_add(&of->count.samples, 1);
	place = hit_room_take();
	s = bpf_map_lookup_elem(&hit_scratch, &place);
	walk = bpf_map_lookup_elem(&hit_walks, &place);
	if (s && walk && ring_has_room()) {
		walk->place = place;
		hit_put(at, place, s, walk, of, id);
	} else {
		__sync_fetch_and_add(&of->count.dropped, 1);
	}
	hit_room_give(place);
	return 0;
}

/*
 * Hits for which the kernel has skipped this program on this CPU.  Where it counts all hits, `own`
 * of these are this run's.  A hit that interrupts another one, whose program has yet to begin,
 * takes that for skipped: one too many, never one too few.
 */
static __always_inline u64 hits_skipped(const struct abi_cpu *c, u32 cpu, u64 own)
{
	u64 at = c->misses[slot & (ABI_TRACEPOINTS - 1)], now = 0, *seen, n;

	if (!skips)
		return 0;
	if (at)
		bpf_probe_read_kernel(&now, sizeof(now), (void *)at);
	seen = &skips_seen[cpu & (ABI_MAX_CPUS - 1)];
	n = now - *seen;
	*seen = now;
	if (all_counted)
		n = n > own ? n - own : 0;
	return n;
}

__noinline int hit_skipped(u32 id, u64 before, u64 during)
{
	struct abi_sampler *of = sampler_of(id);
	u64 lost = of ? hits_add(of, during) : 0;

	if (lost)
		samples_drop(of, lost);
	if (of && before)
		__sync_fetch_and_add(&of->count.paused, 1);
	return 0;
}

/* `ip` 0: the program's stack begins with frames of the tracer, then the tracepoint's. */
static __always_inline void hit_count(void *ctx, u64 ip)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct hit h = {};
	struct hit_place at = { .ctx = ctx, .hit = &h, .ip = ip };
	u64 before, during;

	if (!c)
		return;
	if (!all_counted)
		__sync_fetch_and_add(&c->hits[slot & (ABI_TRACEPOINTS - 1)], 1);
	before = hits_skipped(c, cpu, 1);
	for (u32 i = 0; i < ABI_CPU_SAMPLERS; i++)
		hit_take(&h, cpu_samplers[cpu & (ABI_MAX_CPUS - 1)][i]);
	if (cgroup_samplers_n)
		hit_take_cgroups(&h);
	hit_take_members(&h);
	if (h.due)
		bpf_loop(h.n, hit_sample, &at, 0);
	during = hits_skipped(c, cpu, 0);
	/* Nobody knows whether these would have passed the filter. */
	if (filter.n) {
		before += during;
		during = 0;
	}
	for (u32 i = 0; i < PMCS && i < h.n && (before || during); i++)
		hit_skipped(h.id[i], before, during);
}

SEC("?raw_tp")
int on_hit(void *ctx)
{
	hit_count(ctx, 0);
	return 0;
}

static __always_inline u64 regs_address(struct pt_regs *regs)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ(regs, pc);
#else
	return BPF_CORE_READ(regs, ip);
#endif
}

/* A system call belongs to the program's instruction: perf's event, whose other users see it. */
SEC("?tp")
int on_hit_call(void *ctx)
{
	if (!hits_over && filter_admits(ctx))
		hit_count(ctx, regs_address((void *)bpf_task_pt_regs(bpf_get_current_task_btf())));
	return 1;
}

/* Any other tracepoint with a filter: perf's event too, because only that has the record. */
SEC("?tp")
int on_hit_record(void *ctx)
{
	if (!hits_over && filter_admits(ctx))
		hit_count(ctx, 0);
	return 1;
}

/*
 * From Linux 6.13 on each CPU has one stack of its own for such a program, and the kernel takes
 * care that no second run begins on it; but not for probes in user code, where a run is preempted
 * and another task's destroys its variables.  A program with a tail call runs on the task's stack.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} hit_nothing SEC(".maps");

SEC("?uprobe")
int on_hit_probe(struct pt_regs *ctx)
{
	if (hits_over)
		bpf_tail_call(ctx, &hit_nothing, 0);
	else
		hit_count(ctx, regs_address(ctx) - trap);
	return 0;
}
