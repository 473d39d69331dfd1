// SPDX-License-Identifier: GPL-2.0
/*
 * The program of overflows, which all sampling PMCs share; a number in the event's attributes,
 * which inherited events have as well, identifies the PMC.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define SAMPLE_STACK(walk) stack_sample()
int stack_sample(void);
#define SAMPLE_PYTHON(walk) python_sample()
int python_sample(void);
#include "rooms.bpf.h"
#include "signal.bpf.h"
#include "values.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct samplers_map samplers SEC(".maps");
struct rings_map rings SEC(".maps");
struct hit_rooms_map hit_rooms SEC(".maps");
struct hit_scratch_map hit_scratch SEC(".maps");
struct hit_walks_map hit_walks SEC(".maps");
struct hit_stacks_map hit_stacks SEC(".maps");
struct hit_pythons_map hit_pythons SEC(".maps");
struct hit_codes_map hit_codes SEC(".maps");
struct hit_values_map hit_values SEC(".maps");
/* bpf/mapping's, which the daemon shares with this object. */
struct unwind_chunks_map unwind_chunks SEC(".maps");
struct unwind_files_map unwind_files SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_notes_map unwind_notes SEC(".maps");

const volatile bool nested = false;
struct abi_level level = {};
const volatile __u32 max_stack = 127;

/* One per CPU: overflow programs never nest, because the kernel skips the inner one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk);
} walks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct python_scratch);
} pythons SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct code_scratch);
} codes SEC(".maps");
struct codes_sent_map codes_sent SEC(".maps");

/* Global functions, which are verified once: the sample is in this CPU's maps. */
__noinline int stack_sample(void)
{
	u32 zero = 0;

	return stack_sample_put(bpf_map_lookup_elem(&scratch, &zero),
				bpf_map_lookup_elem(&walks, &zero),
				bpf_map_lookup_elem(&stacks, &zero));
}

__noinline int python_sample(void)
{
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	return !s || python_put(bpf_map_lookup_elem(&pythons, &zero),
				bpf_map_lookup_elem(&codes, &zero),
				bpf_map_lookup_elem(&walks, &zero), &s->rec);
}

/* True if the kernel pauses the event because of its rate; its further counts are lost. */
static __always_inline bool is_paused(struct perf_event *event)
{
	return BPF_CORE_READ(event, hw.interrupts) == ~0ull;
}

SEC("perf_event")
int on_overflow(struct bpf_perf_event_data *ctx)
{
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	struct walk *walk = bpf_map_lookup_elem(&walks, &zero);
	struct perf_event *event = BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event);
	u32 pmc = (u32)BPF_CORE_READ(event, attr.sig_data);
	struct abi_sampler *of = sampler_of(pmc);
	struct values_scratch *v = bpf_map_lookup_elem(&values_scratch, &zero);

	if (!of || !signal_admits(of))
		return 0;
	__sync_fetch_and_add(&of->count.samples, 1);
	if (is_paused(event))
		__sync_fetch_and_add(&of->count.paused, 1);
	if (s && (v || !of->values))
		sample_put(ctx, PT_IP(ctx), 0, s, walk, of, pmc, v,
			   v && of->values ? values_collect(ctx, of, &v->v) : 0);
	signal_raise(of, PT_IP(ctx));
	return 0;
}
