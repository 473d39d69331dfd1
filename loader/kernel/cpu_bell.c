/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs at perf's step of CPU hotplug wake the daemon and keep each CPU's state. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "cpu_bell.h"
#include "perf.h"

struct cpu_bell {
	struct cpu_bell_place place;
	struct bpf_link *links[2];
	struct ring_buffer *ring;
	bool *here_first;		/* per CPU: online when the programs were attached */
};

static int cpu_bell_on_ring(void *arg, void *data, size_t size)
{
	return 0;
}

/* Attaches the programs first, so that no change is missed between them and the list of CPUs. */
int cpu_bell_new(const struct cpu_bell_place *place, struct cpu_bell **out, struct reason *why)
{
	struct cpu_bell *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*out = b;
	b->place = *place;
	b->here_first = calloc(place->ncpu, sizeof(*b->here_first));
	if (!b->here_first)
		return -ENOMEM;
	for (unsigned int i = 0; i < 2; i++) {
		b->links[i] = bpf_program__attach(place->prog[i]);
		if (!b->links[i])
			return deny(why, -errno, "cannot attach %s: %m",
				    bpf_program__name(place->prog[i]));
	}
	for (unsigned int cpu = 0; cpu < place->ncpu; cpu++)
		b->here_first[cpu] = perf_cpu_online(cpu);
	b->ring = ring_buffer__new(place->ring, cpu_bell_on_ring, NULL, NULL);
	return b->ring ? 0 : deny(why, -errno, "cannot watch the CPUs: %m");
}

void cpu_bell_free(struct cpu_bell *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < 2; i++)
		bpf_link__destroy(b->links[i]);
	ring_buffer__free(b->ring);
	free(b->here_first);
	free(b);
}

int cpu_bell_fd(const struct cpu_bell *b)
{
	return ring_buffer__epoll_fd(b->ring);
}

void cpu_bell_quiet(struct cpu_bell *b)
{
	(void)ring_buffer__consume(b->ring);
}

uint64_t cpu_bell_changes(const struct cpu_bell *b)
{
	return __atomic_load_n(b->place.changes, __ATOMIC_ACQUIRE);
}

struct cpu_state cpu_bell_cpu(const struct cpu_bell *b, unsigned int cpu)
{
	const volatile struct abi_cpu *c = &b->place.cpus[cpu];
	uint32_t away = __atomic_load_n(&c->away, __ATOMIC_ACQUIRE);

	return (struct cpu_state){
		.here = away == ABI_CPU_UNSEEN ? b->here_first[cpu] : away == ABI_CPU_HERE,
		.changes = c->changes,
		.downs = c->downs,
	};
}
