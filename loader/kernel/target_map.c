/* SPDX-License-Identifier: BSD-2-Clause */
/* See target_map.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "engine.h"
#include "pmcbpf.skel.h"

int target_map_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set, uint64_t keep)
{
	uint64_t args[4] = { op, tgid, set, keep };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.target_ctl), &opts);

	return err ?: (int)opts.retval;
}

int target_map_get(const struct engine *e, uint32_t tgid, struct abi_target *t)
{
	return bpf_map__lookup_elem(e->skel->maps.targets, &tgid, sizeof(tgid), t, sizeof(*t), 0);
}

int target_map_next(const struct engine *e, struct target_walk *w, uint32_t *tgid,
		    struct abi_target *t, unsigned int max)
{
	uint32_t n = max;
	int err = bpf_map_lookup_batch(bpf_map__fd(e->skel->maps.targets), w->begun ? &w->at : NULL,
				       &w->at, tgid, t, &n, NULL);

	w->begun = true;
	w->more = !err;
	return err && err != -ENOENT ? err : (int)n;
}

volatile struct abi_set *target_map_set(struct engine *e, unsigned int id)
{
	return &e->sets[id];
}

void target_map_mark_plain(struct engine *e, unsigned int id, bool plain)
{
	__u64 *word = &e->skel->bss->plain_sets[id / 64];

	*word = (*word & ~(1ull << id % 64)) | (__u64)plain << id % 64;
}

int target_map_alone(struct engine *e, uint32_t owner, uint32_t pos, uint32_t tid)
{
	const struct abi_alone alone = { .tid = tid };
	const uint32_t key = ABI_ALONE(owner, pos);

	return bpf_map__update_elem(e->skel->maps.alone_threads, &key, sizeof(key), &alone,
				    sizeof(alone), 0);
}

void target_map_alone_end(struct engine *e, uint32_t owner, uint32_t pos)
{
	const uint32_t key = ABI_ALONE(owner, pos);

	(void)bpf_map__delete_elem(e->skel->maps.alone_threads, &key, sizeof(key), 0);
}

uint64_t target_map_hook(const struct engine *e, unsigned int hook, unsigned int cpu)
{
	return cpu < e->ncpu ? e->cpus[cpu].hook[hook] : 0;
}

uint32_t target_map_births_begin(struct engine *e)
{
	e->walks++;
	__atomic_store_n(&e->skel->bss->walking, 1, __ATOMIC_SEQ_CST);
	return target_map_births(e);
}

void target_map_births_end(struct engine *e)
{
	if (!--e->walks)
		__atomic_store_n(&e->skel->bss->walking, 0, __ATOMIC_SEQ_CST);
}

uint32_t target_map_births(const struct engine *e)
{
	return __atomic_load_n(&e->skel->bss->nbirths, __ATOMIC_ACQUIRE);
}

struct abi_birth target_map_birth(const struct engine *e, uint32_t n)
{
	return e->skel->bss->births[n % ABI_MAX_BIRTHS];
}
