/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places to build samples in, for programs that interrupt each other: those of hits.  They are in
 * the maps of sample.bpf.c.
 */
#ifndef PMCBPF_ROOMS_BPF_H
#define PMCBPF_ROOMS_BPF_H

#include "python_sample.bpf.h"
#include "sample.bpf.h"
#include "stack.bpf.h"

#define HIT_ROOMS 4		/* at once on a CPU: a task's, interrupts', an NMI's */

struct hit_rooms {
	u32 taken[HIT_ROOMS];
};
struct hit_rooms_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hit_rooms);
};
struct hit_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct scratch);
};
struct hit_walks_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct walk);
};
struct hit_stacks_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct stack_scratch);
};
struct hit_pythons_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct python_scratch);
};
struct hit_codes_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct code_scratch);
};
struct hit_values_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIT_ROOMS);
	__type(key, u32);
	__type(value, struct values_scratch);
};
extern struct hit_rooms_map hit_rooms SEC(".maps");
extern struct hit_scratch_map hit_scratch SEC(".maps");
extern struct hit_walks_map hit_walks SEC(".maps");
extern struct hit_stacks_map hit_stacks SEC(".maps");
extern struct hit_pythons_map hit_pythons SEC(".maps");
extern struct hit_codes_map hit_codes SEC(".maps");
extern struct hit_values_map hit_values SEC(".maps");

/*
 * A task that is preempted keeps its place.  HIT_ROOMS: none is free.  Not static, so that the
 * verifier does not follow what comes then for each place.
 */
__weak __noinline int hit_room_take(void)
{
	u32 zero = 0;
	struct hit_rooms *r = bpf_map_lookup_elem(&hit_rooms, &zero);

	for (u32 i = 0; r && i < HIT_ROOMS; i++)
		if (!__sync_val_compare_and_swap(&r->taken[i], 0, 1))
			return i;
	return HIT_ROOMS;
}

static __always_inline void hit_room_give(u32 place)
{
	u32 zero = 0;
	struct hit_rooms *r = bpf_map_lookup_elem(&hit_rooms, &zero);

	if (r && place < HIT_ROOMS)
		__sync_fetch_and_and(&r->taken[place & (HIT_ROOMS - 1)], 0);
}

/* Copies the stack of the current thread, whose walk came to a missing table.  False: no copy. */
static __always_inline bool stack_sample_put(const struct scratch *s, const struct walk *w,
					     struct stack_scratch *to)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	return s && w && to && ring && stack_put(ring, &s->rec, w, w->room - w->n, to);
}

/* Nothing limits the rate of hits: a quarter of the ring is left to the other records. */
static __always_inline bool ring_has_room(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) / 3 <
		       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4;
}

#endif
