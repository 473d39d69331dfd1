// SPDX-License-Identifier: GPL-2.0
/* What several counters of a CPU show at one instant: the daemon runs this on that CPU. */
#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct abi_gauges gauges = {};	/* the daemon's request, and the answer */

/* The counters that are perf events, while the daemon asks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, ABI_MAX_MEMBERS);
	__type(key, u32);
	__type(value, u32);
} gauge_events SEC(".maps");

/* Neither inlined nor static, so that the verifier checks it once, not in each round. */
__noinline int gauge_take(u32 cpu, u32 i)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 source;
	u64 now;

	if (!c || i >= ABI_MAX_MEMBERS)
		return 0;
	source = gauges.source[i];
	if (source >= ABI_SOURCE_TRACEPOINT) {
		now = hits_of(c, source);
	} else if (source >= ABI_SOURCE_HOOK) {
		now = c->hook[source & 7];
	} else {
		now = bpf_perf_event_read(&gauge_events, i);
		if (now > (u64)-4096)
			gauges.lost |= 1u << i;
	}
	gauges.value[i] = now;
	return 0;
}

SEC("raw_tp")
int gauge(void *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();

	for (u32 i = 0; i < ABI_MAX_MEMBERS && i < gauges.n; i++)
		gauge_take(cpu, i);
	return 0;
}
