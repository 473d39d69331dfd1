// SPDX-License-Identifier: GPL-2.0
/* Shows the programs of slices where the kernel keeps a source's event: counter.bpf.h reads it. */
#include "file.bpf.h"
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EINVAL 22

/* Arguments: a descriptor of the event, the source, the CPU. */
SEC("raw_tp")
int counter_show(unsigned long long *ctx)
{
	u32 source = ctx[1], cpu = ctx[2];
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct file *f = file_of(ctx[0]);

	if (!c || !f || source >= ABI_DIRECT_SOURCES)
		return -EINVAL;
	source &= ABI_DIRECT_SOURCES - 1;
	c->event[source] = (u64)BPF_CORE_READ(f, private_data) & ~ABI_EVENT_TRIED;
	__sync_fetch_and_or(&c->untried, 1ull << source);
	return 0;
}
