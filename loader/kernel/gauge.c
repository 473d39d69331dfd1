/* SPDX-License-Identifier: BSD-2-Clause */
/* The program is run on the CPU; perf events are in its map only while it is asked. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "engine.h"
#include "gauge.h"
#include "pmcbpf.skel.h"

static int gauge_put_events(int map, const struct gauge *list, unsigned int n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		if (list[i].fd >= 0)
			err = bpf_map_update_elem(map, &i, &list[i].fd, BPF_ANY);
	return err;
}

static void gauge_take_events(int map, const struct gauge *list, unsigned int n)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			bpf_map_delete_elem(map, &i);
}

int gauge_read(const struct engine *e, unsigned int cpu, const struct gauge *list, unsigned int n,
	       uint64_t *values, uint32_t *lost)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	volatile struct abi_gauges *g = &e->skel->bss->gauges;
	const int map = bpf_map__fd(e->skel->maps.gauge_events);
	int err = n <= ABI_MAX_MEMBERS ? gauge_put_events(map, list, n) : -EINVAL;

	if (!err) {
		g->n = n;
		g->lost = 0;
		for (unsigned int i = 0; i < n; i++)
			g->source[i] = list[i].fd >= 0 ? 0 : list[i].source;
		err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.gauge), &opts);
	}
	gauge_take_events(map, list, n <= ABI_MAX_MEMBERS ? n : 0);
	for (unsigned int i = 0; i < n && !err; i++)
		values[i] = g->value[i];
	*lost = g->lost;
	return err;
}
