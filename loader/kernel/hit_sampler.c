/* SPDX-License-Identifier: BSD-2-Clause */
/* See hit_sampler.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "hit_sampler.h"
#include "load_thread.h"
#include "sampler.h"
#include "verifier.h"
#include "pmcbpf.skel.h"
#include "hits.skel.h"

/* Where a kprobe's registers point to: behind the byte of a breakpoint, or to the instruction. */
#ifdef __x86_64__
#define TRAP 1u
#else
#define TRAP 0u
#endif

/* The program's constants for each enum hit_kind. */
static const struct hit_way {
	bool skips, all_counted, of_records;
	uint32_t trap;
} ways[] = {
	[HIT_TRACEPOINT] = { .skips = true },
	[HIT_CALL] = { .skips = true },
	[HIT_RECORD] = { .skips = true, .of_records = true },
	[HIT_PROBE] = { .skips = false },
	[HIT_KERNEL_PROBE] = { .skips = true, .all_counted = true, .trap = TRAP },
	[HIT_KERNEL_RETURN] = { .skips = true, .all_counted = true },
};

struct hit_sampler {
	struct hits_bpf *skel;
	enum hit_kind kind;
	struct bpf_program *program;	/* the one that is loaded */
};

static struct bpf_program *hit_sampler_choose(const struct hits_bpf *skel, enum hit_kind kind)
{
	switch (kind) {
	case HIT_CALL:
		return skel->progs.on_hit_call;
	case HIT_RECORD:
		return skel->progs.on_hit_record;
	case HIT_PROBE:
	case HIT_KERNEL_PROBE:
	case HIT_KERNEL_RETURN:
		return skel->progs.on_hit_probe;
	default:
		return skel->progs.on_hit;
	}
}

/* Uses the maps of the engine and of the samplers. */
static int hit_sampler_share(const struct engine *e, struct hits_bpf *skel)
{
	const struct samplers_maps *from = samplers_maps(e->samplers);
	const struct { struct bpf_map *map; int fd; } shared[] = {
		{ skel->maps.cpus, bpf_map__fd(e->skel->maps.cpus) },
		{ skel->maps.sets, bpf_map__fd(e->skel->maps.sets) },
		{ skel->maps.targets, bpf_map__fd(e->skel->maps.targets) },
		{ skel->maps.sampled_threads, bpf_map__fd(e->skel->maps.sampled_threads) },
		{ skel->maps.rings, from->rings },
		{ skel->maps.samplers, from->samplers },
		{ skel->maps.hit_rooms, from->hit_rooms },
		{ skel->maps.hit_scratch, from->hit_scratch },
		{ skel->maps.hit_walks, from->hit_walks },
		{ skel->maps.hit_stacks, from->hit_stacks },
		{ skel->maps.hit_pythons, from->hit_pythons },
		{ skel->maps.hit_codes, from->hit_codes },
		{ skel->maps.hit_values, from->hit_values },
		{ skel->maps.codes_sent, from->codes_sent },
		{ skel->maps.unwind_chunks, bpf_map__fd(e->skel->maps.unwind_chunks) },
		{ skel->maps.unwind_files, bpf_map__fd(e->skel->maps.unwind_files) },
		{ skel->maps.unwind_processes, bpf_map__fd(e->skel->maps.unwind_processes) },
		{ skel->maps.unwind_notes, bpf_map__fd(e->skel->maps.unwind_notes) },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && !err; i++)
		err = bpf_map__reuse_fd(shared[i].map, shared[i].fd);
	skel->rodata->max_stack = from->max_stack;
	if (from->level) {
		skel->rodata->nested = true;
		skel->bss->level = *from->level;
	}
	return err;
}

static int hit_sampler_load(const struct engine *e, enum hit_kind kind,
			    const struct hit_spec *spec, struct hit_sampler **out)
{
	struct hit_sampler *h = e->samplers ? calloc(1, sizeof(*h)) : NULL;
	int err;

	if (!h)
		return e->samplers ? -ENOMEM : -EOPNOTSUPP;
	h->skel = hits_bpf__open();
	if (!h->skel) {
		free(h);
		return -errno;
	}
	h->kind = kind;
	h->skel->rodata->skips = ways[kind].skips;
	h->skel->rodata->all_counted = ways[kind].all_counted;
	h->skel->rodata->of_records = ways[kind].of_records;
	h->skel->rodata->trap = ways[kind].trap;
	if (spec) {
		memcpy((void *)&h->skel->rodata->filter, &spec->filter, sizeof(spec->filter));
		memcpy((void *)&h->skel->rodata->record_shape, &spec->record, sizeof(spec->record));
	}
	h->program = hit_sampler_choose(h->skel, kind);
	bpf_program__set_autoload(h->program, true);
	err = hit_sampler_share(e, h->skel);
	err = err ?: hits_bpf__load(h->skel);
	if (err)
		hit_sampler_free(h);
	else
		*out = h;
	return err;
}

static bool hit_sampler_serves(const struct hit_sampler *h, enum hit_kind kind,
			       const struct hit_spec *spec)
{
	static const struct hit_spec all;
	const struct hits_bpf__rodata *has = h ? h->skel->rodata : NULL;

	spec = spec ?: &all;
	return h && h->kind == kind &&
	       !memcmp((const void *)&has->filter, &spec->filter, sizeof(spec->filter)) &&
	       !memcmp((const void *)&has->record_shape, &spec->record, sizeof(spec->record));
}

struct hit_job {
	const struct engine *e;
	enum hit_kind kind;
	const struct hit_spec *spec;
	struct hit_sampler *h;
};

static void hit_job_run(void *arg)
{
	struct hit_job *j = arg;
	unsigned int tries = 0;

	while (verifier_was_interrupted(hit_sampler_load(j->e, j->kind, j->spec, &j->h), &tries))
		;
}

bool hit_sampler_prepare(struct engine *e, enum hit_kind kind, const struct hit_spec *spec,
			 uint64_t *user)
{
	struct hit_job j = { .e = e, .kind = kind, .spec = spec };

	if (hit_sampler_serves(e->hit_spare, kind, spec))
		return false;
	load_thread_do(e->load_thread, user, hit_job_run, &j);
	hit_sampler_free(e->hit_spare);
	e->hit_spare = j.h;
	return true;
}

int hit_sampler_new(struct engine *e, uint32_t slot, enum hit_kind kind,
		    const struct hit_spec *spec, struct hit_sampler **out)
{
	int err = 0;

	if (hit_sampler_serves(e->hit_spare, kind, spec)) {
		*out = e->hit_spare;
		e->hit_spare = NULL;
	} else {
		err = hit_sampler_load(e, kind, spec, out);
	}
	if (!err)
		(*out)->skel->bss->slot = slot;
	return err;
}

void hit_sampler_free(struct hit_sampler *h)
{
	if (!h)
		return;
	hits_bpf__destroy(h->skel);
	free(h);
}

const struct bpf_program *hit_sampler_program(const struct hit_sampler *h)
{
	return h->program;
}

/* A run on that CPU has found out by itself meanwhile. */
void hit_sampler_begin(struct hit_sampler *h, unsigned int cpu, uint64_t hits)
{
	__sync_bool_compare_and_swap(&h->skel->bss->skips_seen[cpu], 0, hits);
}

void hit_sampler_end(struct hit_sampler *h)
{
	h->skel->bss->hits_over = 1;
}

int hit_sampler_add_cpu(struct hit_sampler *h, unsigned int cpu, uint32_t tag)
{
	__u32 *list = h->skel->bss->cpu_samplers[cpu];

	for (unsigned int i = 0; i < ABI_CPU_SAMPLERS; i++)
		if (!list[i]) {
			__atomic_store_n(&list[i], tag, __ATOMIC_RELEASE);
			return 0;
		}
	return -ENOSPC;
}

void hit_sampler_drop_cpu(struct hit_sampler *h, unsigned int cpu, uint32_t tag)
{
	__u32 *list = h->skel->bss->cpu_samplers[cpu];

	for (unsigned int i = 0; i < ABI_CPU_SAMPLERS; i++)
		if (list[i] == tag)
			__atomic_store_n(&list[i], 0, __ATOMIC_RELEASE);
}

int hit_sampler_add_cgroup(struct hit_sampler *h, const struct abi_cgroup_sampler *of)
{
	struct abi_cgroup_sampler *list = h->skel->bss->cgroup_samplers;

	for (unsigned int i = 0; i < ABI_CGROUP_SAMPLERS; i++)
		if (!list[i].tag) {
			list[i].id = of->id;
			list[i].level = of->level;
			__atomic_store_n(&list[i].tag, of->tag, __ATOMIC_RELEASE);
			h->skel->bss->cgroup_samplers_n++;
			return 0;
		}
	return -ENOSPC;
}

void hit_sampler_drop_cgroup(struct hit_sampler *h, uint32_t tag)
{
	struct abi_cgroup_sampler *list = h->skel->bss->cgroup_samplers;

	for (unsigned int i = 0; i < ABI_CGROUP_SAMPLERS; i++)
		if (list[i].tag == tag) {
			h->skel->bss->cgroup_samplers_n--;
			__atomic_store_n(&list[i].tag, 0, __ATOMIC_RELEASE);
		}
}
