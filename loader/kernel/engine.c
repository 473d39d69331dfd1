/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the programs, creates the parts on their maps, and attaches programs as they are needed. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine.h"
#include "loader/base/base.h"
#include "hit_sampler.h"
#include "load_thread.h"
#include "notes.h"
#include "pmcbpf.skel.h"
#include "verifier.h"

#define LOG_SIZE  (1 << 16)
#define SETS_SIZE (ABI_MAX_SETS * sizeof(struct abi_set))

static int engine_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static size_t cpus_size(const struct engine *e)
{
	return e->ncpu * sizeof(struct abi_cpu);
}

static int engine_map_pages(struct engine *e, struct reason *why)
{
	e->cpus = mmap(NULL, cpus_size(e), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(e->skel->maps.cpus), 0);
	if (e->cpus == MAP_FAILED) {
		e->cpus = NULL;
		return deny(why, -errno, "cannot map the per-CPU state: %m");
	}
	e->sets = mmap(NULL, SETS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(e->skel->maps.sets), 0);
	if (e->sets == MAP_FAILED) {
		e->sets = NULL;
		return deny(why, -errno, "cannot map the sets: %m");
	}
	return 0;
}

static int sources_begin(struct engine *e)
{
	const struct sources_place place = {
		.events = bpf_map__fd(e->skel->maps.events), .ncpu = e->ncpu, .cpus = e->cpus,
		.lost = &e->skel->bss->lost_sources, .registers = e->skel->bss->registers,
		.switches = &e->skel->bss->switch_sources,
		.counter_show = flush_reads_counters(e->flush) ?
					bpf_program__fd(e->skel->progs.counter_show) : -1,
		.no_msr = flush_no_msr(e->flush), .debug = e->debug,
	};

	e->sources = sources_new(&place);
	return e->sources ? 0 : -ENOMEM;
}

static int cpu_bell_begin(struct engine *e, struct reason *why)
{
	const struct cpu_bell_place place = {
		.prog = { e->skel->progs.on_cpu_step, e->skel->progs.on_cpu_stepped },
		.ring = bpf_map__fd(e->skel->maps.cpu_bell), .ncpu = e->ncpu, .cpus = e->cpus,
		.changes = &e->skel->bss->cpu_changes,
	};

	return cpu_bell_new(&place, &e->cpu_bell, why);
}

/* The object is a part of this program's file, and has been read: its memory is given back. */
static void skel_drop_object(const struct bpf_object_skeleton *s)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)s->data;
	const uintptr_t begin = (at + page - 1) / page * page;
	const uintptr_t end = (at + s->data_sz) / page * page;

	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* Loads and verifies all programs. */
static int skel_load(struct engine *e, const struct flush_module *module, struct reason *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = e->log,
		    .kernel_log_size = LOG_SIZE, .kernel_log_level = 0);
	int err, template;

	e->skel = pmcbpf__open_opts(&opts);
	if (!e->skel)
		return deny(why, -errno, "cannot open pmcbpf's programs: %m");
	err = programs_choose(e, !*module->no_msr.text, why) ?:
	      flush_new(e->skel, module, &e->flush, why);
	if (err)
		return err;
	err = bpf_map__set_max_entries(e->skel->maps.events, ABI_MAX_SOURCES * e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.cpus, e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.rings, e->ncpu);
	err = err ?: cgroups_size(e->skel, e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.execs, notes_execs_size(e->ncpu));
	/* libbpf 1.1 cannot resize an inner map that it has only parsed: pass a sized one. */
	template = owner_maps_create(e->ncpu);
	if (!err && template < 0)
		err = template;
	err = err ?: bpf_map__set_inner_map_fd(e->skel->maps.owners, template);
	if (err)
		return deny(why, err, "cannot size the maps for %u CPUs", e->ncpu);
	err = pmcbpf__load(e->skel);
	skel_drop_object(e->skel->skeleton);
	close(template);
	if (err)
		return verifier_deny(why, err, "pmcbpf's programs", e->log);
	err = programs_level(e->skel, why) ?: engine_map_pages(e, why);
	return err ?: flush_attach(e->flush, e, why);
}

static void skel_unload(struct engine *e)
{
	flush_free(e->flush);
	e->flush = NULL;
	if (e->cpus)
		munmap((void *)e->cpus, cpus_size(e));
	if (e->sets)
		munmap((void *)e->sets, SETS_SIZE);
	e->cpus = NULL;
	e->sets = NULL;
	pmcbpf__destroy(e->skel);
	e->skel = NULL;
}

static int notes_begin(struct engine *e, struct reason *why)
{
	const struct notes_place place = {
		.ring = bpf_map__fd(e->skel->maps.notes),
		.execs = bpf_map__fd(e->skel->maps.execs),
		.clients = bpf_map__fd(e->skel->maps.clients),
		.lost = &e->skel->bss->notes_lost, .execs_put = &e->skel->bss->execs_put,
		.execs_lost = &e->skel->bss->execs_lost,
		.watch_execs = &e->skel->bss->watch_execs,
	};

	return notes_new(&place, &e->notes, why);
}

/* If programs cannot read registers, they count everything else. */
static int skel_load_any(struct engine *e, struct reason *why)
{
	struct flush_module module;
	int err;

	flush_find_module(&module);
	err = skel_load(e, &module, why);
	if (!err || *module.no_msr.text)
		return err;
	module.no_msr = *why;
	skel_unload(e);
	*e->log = '\0';
	return skel_load(e, &module, why);
}

static int engine_load(struct engine *e, struct reason *why)
{
	int err = skel_load_any(e, why);

	if (err)
		return err;
	proof_learn(e);
	e->programs = programs_new(e);
	if (!e->programs)
		return -ENOMEM;
	e->tracepoints = tracepoints_new(e);
	if (!e->tracepoints)
		return -ENOMEM;
	e->offcpus = offcpus_new(e);
	if (!e->offcpus)
		return -ENOMEM;
	err = cgroups_new(e, &e->cgroups, why);
	err = err ?: notes_begin(e, why);
	err = err ?: sources_begin(e);
	err = err ?: cpu_bell_begin(e, why);
	err = err ?: unwinder_new(e, &e->unwinder, why);
	return err ?: owner_maps_new(e, &e->owner_maps, why);
}

int engine_new(struct engine **out, struct reason *why)
{
	static const struct debug silent;
	struct engine *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e || !(e->log = calloc(1, LOG_SIZE)) || !(e->load_thread = load_thread_new()))
		goto out;
	libbpf_set_print(engine_quiet);
	e->debug = &silent;
	e->ncpu = perf_ncpu();
	if (e->ncpu > ABI_MAX_CPUS) {
		err = deny(why, -E2BIG, "%u CPUs: pmcbpf is built for %d; raise ABI_MAX_CPUS",
			   e->ncpu, ABI_MAX_CPUS);
		goto out;
	}
	err = engine_load(e, why);
	if (err)
		goto out;
	free(e->log);
	e->log = NULL;
	*out = e;
	return 0;
out:
	engine_free(e);
	return err;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	load_thread_free(e->load_thread);
	hit_sampler_free(e->hit_spare);
	tracepoints_free(e->tracepoints);
	programs_free(e->programs);
	sources_free(e->sources);
	cpu_bell_free(e->cpu_bell);
	owner_maps_free(e->owner_maps);
	offcpus_free(e->offcpus);
	cgroups_free(e->cgroups);
	notes_free(e->notes);
	unwinder_free(e->unwinder);
	skel_unload(e);
	free(e->log);
	free(e);
}

void engine_debug_to(struct engine *e, const struct debug *debug)
{
	e->debug = debug;
	sources_debug_to(e->sources, debug);
}

void engine_waits_by(struct engine *e, struct fibers *fibers, struct helpers *helpers)
{
	e->fibers = fibers;
	load_thread_fibers_from(e->load_thread, fibers);
	programs_helpers_from(e->programs, helpers);
	tracepoints_helpers_from(e->tracepoints, helpers);
}

void engine_hold(const struct engine *e, bool hold)
{
	fibers_hold(e->fibers, hold);
}

void engine_breathe(const struct engine *e)
{
	fiber_breathe(e->fibers);
}

/* --- programs -------------------------------------------------------------------------------- */

static void engine_update_finals(struct engine *e)
{
	bool now = programs_attached(e->programs, NEED_SWITCH) ||
		   programs_attached(e->programs, NEED_FINAL);
	bool before = e->skel->bss->finals;
	struct target_walk walk = { .more = true };
	struct abi_target t[64];
	uint32_t tgid[64];

	e->skel->bss->finals = now;
	if (!before || now)
		return;
	/* No program sees last switches now: remove exited targets that wait for theirs. */
	while (walk.more) {
		int n = target_map_next(e, &walk, tgid, t, 64);

		if (n < 0)
			e->skel->bss->finals = true;	/* engine_settle() sweeps again */
		for (int i = 0; i < n; i++)
			if (t[i].state & ABI_STATE_EXIT)
				target_map_ctl(e, ABI_CTL_DELETE, tgid[i], 0, 0);
	}
}

/* The first need of programs that must see each switch from now on. */
static int engine_watch(struct engine *e, enum engine_need what)
{
	int err;

	if (what == NEED_CGROUP)
		return cgroups_watch(e->cgroups);
	if (what != NEED_SWITCH)
		return 0;
	switches_begin(e);
	err = flush_all(e->flush);
	if (!err)
		switches_watch(e);
	return err;
}

int engine_need(struct engine *e, enum engine_need what, struct reason *why)
{
	bool first = !programs_needed(e->programs, what);
	int err;

	if (what == NEED_MAPPINGS && !programs_attached(e->programs, what))
		unwinder_forget(e->unwinder);
	err = programs_need(e->programs, what, why);
	if (!err)
		engine_update_finals(e);
	if (err || !first)
		return err;
	err = engine_watch(e, what);
	if (!err)
		return 0;
	engine_unneed(e, what);
	return flush_deny(err, why);
}

void engine_unneed(struct engine *e, enum engine_need what)
{
	programs_unneed(e->programs, what);
	if (!programs_needed(e->programs, NEED_SWITCH))
		switches_unwatch(e);
	if (!programs_needed(e->programs, NEED_CGROUP))
		cgroups_unwatch(e->cgroups);
}

int engine_settle(struct engine *e)
{
	bool switches = programs_attached(e->programs, NEED_SWITCH);
	bool cgroups = programs_attached(e->programs, NEED_CGROUP);
	int hits = tracepoints_settle(e->tracepoints);
	int ms = programs_settle(e->programs);

	if (switches && !programs_attached(e->programs, NEED_SWITCH))
		switches_end(e);
	if (cgroups && !programs_attached(e->programs, NEED_CGROUP))
		cgroups_end(e->cgroups);
	engine_update_finals(e);
	return hits < 0 || (ms >= 0 && ms < hits) ? ms : hits;
}
