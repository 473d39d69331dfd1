/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only user of libbpf, with programs.c, bell.c, counts.c, flush.c, notes.c, proof.c, shares.c,
 * sources.c and switches.c, but for trace rings (ktrload.c): maps.  check.c reports what the kernel
 * lacks.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bell.h"
#include "owner_maps.h"
#include "loader/base/debug.h"
#include "engine.h"
#include "loader/base/fiber.h"
#include "flush.h"
#include "loader/count/hotplug.h"
#include "notes.h"
#include "pmcbpf.skel.h"
#include "programs.h"
#include "proof.h"
#include "shares.h"
#include "sources.h"
#include "switches.h"
#include "loader/count/target.h"
#include "visit.h"

#define LOG_SIZE (1 << 16)

struct engine {
	struct pmcbpf *skel;
	unsigned int ncpu;
	size_t cpus_size, sets_size;
	volatile struct abi_cpu *cpus;
	volatile struct abi_set *sets;
	struct sources *sources;
	struct flush *flush;
	bool reads_msr;
	struct why no_msr;		/* why not */
	struct msrdev *msrdev;
	struct fibers *fibers;
	unsigned int walks;		/* under way: forks are noted for them */
	struct bell *bell;		/* rings when a CPU went or came */
	struct programs *programs;
	struct counts_pool *counts;
	const struct debug *debug;
	struct targets *targets;
	struct notes *notes;
	struct hotplug *hotplug;
	char *log;			/* the verifier's, during load */
};

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int map_pages(struct engine *e, struct why *why)
{
	e->cpus_size = e->ncpu * sizeof(struct abi_cpu);
	e->sets_size = ABI_MAX_SETS * sizeof(struct abi_set);
	e->cpus = mmap(NULL, e->cpus_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(e->skel->maps.cpus), 0);
	if (e->cpus == MAP_FAILED) {
		e->cpus = NULL;
		return deny(why, -errno, "cannot map the per-CPU state: %m");
	}
	e->sets = mmap(NULL, e->sets_size, PROT_READ | PROT_WRITE, MAP_SHARED,
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
	};

	e->sources = sources_new(&place);
	return e->sources ? 0 : -ENOMEM;
}

static int watch_cpus(struct engine *e, struct why *why)
{
	const struct bell_place place = {
		.prog = { e->skel->progs.on_cpu_step, e->skel->progs.on_cpu_stepped },
		.ring = bpf_map__fd(e->skel->maps.cpu_bell), .ncpu = e->ncpu, .cpus = e->cpus,
		.changes = &e->skel->bss->cpu_changes,
	};

	return bell_new(&place, &e->bell, why);
}

/* Loads and verifies all programs. */
static int skel_load(struct engine *e, struct why *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = e->log,
		    .kernel_log_size = LOG_SIZE, .kernel_log_level = 0);
	int err, template;

	e->skel = pmcbpf__open_opts(&opts);
	if (!e->skel)
		return deny(why, -errno, "cannot open pmcbpf's programs: %m");
	err = programs_choose(e->skel, e->reads_msr, why) ?:
	      flush_new(e->skel, e->reads_msr, &e->flush, why);
	if (err)
		return err;
	err = bpf_map__set_max_entries(e->skel->maps.events, ABI_MAX_SOURCES * e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.cpus, e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.rings, e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.execs, notes_execs_size(e->ncpu));
	/*
	 * libbpf 1.1 cannot resize an inner map that it has only parsed: give it one of the size.
	 */
	template = counts_map_create(e->ncpu);
	if (!err && template < 0)
		err = template;
	err = err ?: bpf_map__set_inner_map_fd(e->skel->maps.owners, template);
	if (err)
		return deny(why, err, "cannot size the maps for %u CPUs", e->ncpu);
	err = pmcbpf__load(e->skel);
	close(template);
	if (err)
		return deny_program(why, err, "pmcbpf's programs", e->log);
	err = programs_level(e->skel, why) ?: map_pages(e, why);
	return err ?: flush_attach(e->flush, e->cpus, why);
}

static void skel_unload(struct engine *e)
{
	flush_free(e->flush);
	e->flush = NULL;
	if (e->cpus)
		munmap((void *)e->cpus, e->cpus_size);
	if (e->sets)
		munmap((void *)e->sets, e->sets_size);
	e->cpus = NULL;
	e->sets = NULL;
	pmcbpf__destroy(e->skel);
	e->skel = NULL;
}

static int notes_begin(struct engine *e, struct why *why)
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

/* Where programs cannot read registers, they count all the rest. */
static int engine_load(struct engine *e, struct why *why)
{
	int err;

	e->reads_msr = flush_finds_msr(&e->no_msr);
	err = skel_load(e, why);
	if (err && e->reads_msr) {
		e->no_msr = *why;
		e->reads_msr = false;
		skel_unload(e);
		*e->log = '\0';
		err = skel_load(e, why);
	}
	if (err)
		return err;
	proof_learn(bpf_program__fd(e->skel->progs.proof_ctl));
	e->programs = programs_new(e, e->skel);
	if (!e->programs)
		return -ENOMEM;
	err = notes_begin(e, why);
	err = err ?: sources_begin(e);
	err = err ?: watch_cpus(e, why);
	return err ?: counts_pool_new(bpf_map__fd(e->skel->maps.owners), e->ncpu, &e->counts, why);
}

int engine_new(struct engine **out, struct why *why)
{
	static const struct debug silent;
	struct engine *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e || !(e->log = calloc(1, LOG_SIZE)))
		goto out;
	libbpf_set_print(quiet);
	e->debug = &silent;
	e->ncpu = perf_ncpu();
	if (e->ncpu > ABI_MAX_CPUS) {
		err = deny(why, -E2BIG, "%u CPUs: pmcbpf is built for %d; raise ABI_MAX_CPUS",
			   e->ncpu, ABI_MAX_CPUS);
		goto out;
	}
	e->targets = targets_new(e);
	e->hotplug = hotplug_new(e);
	if (!e->targets || !e->hotplug)
		goto out;
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
	programs_free(e->programs);
	sources_free(e->sources);
	bell_free(e->bell);
	counts_pool_free(e->counts);
	notes_free(e->notes);
	skel_unload(e);
	targets_free(e->targets);
	hotplug_free(e->hotplug);
	free(e->log);
	free(e);
}

void engine_debug_to(struct engine *e, const struct debug *debug)
{
	e->debug = debug;
}

void engine_waits_by(struct engine *e, struct fibers *fibers, struct helpers *helpers)
{
	e->fibers = fibers;
	programs_helpers_from(e->programs, helpers);
}

void engine_breathe(const struct engine *e)
{
	fiber_breathe(e->fibers);
}

const struct debug *engine_debug(const struct engine *e)
{
	return e->debug;
}

struct targets *engine_targets(const struct engine *e)
{
	return e->targets;
}

struct notes *engine_notes(const struct engine *e)
{
	return e->notes;
}

struct hotplug *engine_hotplug(const struct engine *e)
{
	return e->hotplug;
}

bool engine_reads_msr(const struct engine *e)
{
	return e->reads_msr;
}

const char *engine_no_msr(const struct engine *e)
{
	return e->no_msr.text;
}

void engine_msr_from(struct engine *e, struct msrdev *dev)
{
	e->msrdev = dev;
}

struct msrdev *engine_msrdev(const struct engine *e)
{
	return e->msrdev;
}

unsigned int engine_ncpu(const struct engine *e)
{
	return e->ncpu;
}

/* --- programs -------------------------------------------------------------------------------- */

static void update_finals(struct engine *e)
{
	bool now = programs_attached(e->programs, NEED_SWITCH) ||
		   programs_attached(e->programs, NEED_FINAL);
	bool before = e->skel->bss->finals;
	struct engine_walk walk = { .more = true };
	struct abi_target t[64];
	uint32_t tgid[64];

	e->skel->bss->finals = now;
	if (!before || now)
		return;
	/* Nobody sees last switches any more: sweep the exited targets that wait for theirs. */
	while (walk.more) {
		unsigned int n = engine_targets_next(e, &walk, tgid, t, 64);

		for (unsigned int i = 0; i < n; i++)
			if (t[i].state & ABI_STATE_EXIT)
				engine_target_ctl(e, ABI_CTL_DELETE, tgid[i], 0, 0);
	}
}

int engine_need(struct engine *e, enum engine_need what, struct why *why)
{
	bool first = what == NEED_SWITCH && !programs_needed(e->programs, what);
	int err = programs_need(e->programs, what, why);

	if (!err)
		update_finals(e);
	if (err || !first)
		return err;
	switches_begin(e->skel);
	engine_flush_all(e);
	switches_watch(e->skel);
	return 0;
}

void engine_unneed(struct engine *e, enum engine_need what)
{
	programs_unneed(e->programs, what);
	if (!programs_needed(e->programs, NEED_SWITCH))
		switches_unwatch(e->skel);
}

int engine_settle(struct engine *e)
{
	bool switches = programs_attached(e->programs, NEED_SWITCH);
	int ms = programs_settle(e->programs);

	if (switches && !programs_attached(e->programs, NEED_SWITCH))
		switches_end(e->skel, e->cpus, e->ncpu);
	update_finals(e);
	return ms;
}

/* --- sources --------------------------------------------------------------------------------- */

int engine_source_open(struct engine *e, const struct perf_event_spec *spec, struct why *why)
{
	int source;

	if (spec->msr && !e->reads_msr)
		return deny(why, -EOPNOTSUPP, "%s", e->no_msr.text);
	source = sources_open(e->sources, spec, why);
	DEBUG(e->debug, MD, CONFIG, "source %d: type %u config 0x%llx on every CPU: %s", source,
	      spec->type, (unsigned long long)spec->config, strerror(source < 0 ? -source : 0));
	return source;
}

void engine_source_close_cpu(struct engine *e, int source, unsigned int cpu)
{
	sources_close_cpu(e->sources, source, cpu);
}

void engine_source_close(struct engine *e, int source)
{
	DEBUG(e->debug, MD, CONFIG, "source %d: none", source);
	sources_close(e->sources, source);
}

bool engine_source_lost(const struct engine *e, int source)
{
	return sources_lost(e->sources, source);
}

/* --- CPUs that go and come ------------------------------------------------------------------- */

int engine_cpus_fd(const struct engine *e)
{
	return bell_fd(e->bell);
}

void engine_cpus_seen(struct engine *e)
{
	bell_quiet(e->bell);
}

uint64_t engine_cpu_changes(const struct engine *e)
{
	return bell_changes(e->bell);
}

struct engine_cpu engine_cpu(const struct engine *e, unsigned int cpu)
{
	return bell_cpu(e->bell, cpu);
}

uint64_t engine_sources_renew(struct engine *e, unsigned int cpu)
{
	uint64_t renewed = sources_renew(e->sources, cpu);

	if (!renewed)
		return 0;
	/* Ends a slice that began with a dead event; and whoever failed to read one has said so. */
	engine_flush(e, cpu);
	return sources_missed(e->sources, cpu, renewed);
}

uint64_t engine_hook_read(const struct engine *e, unsigned int hook, unsigned int cpu)
{
	return cpu < e->ncpu ? e->cpus[cpu].hook[hook] : 0;
}

/* --- owners, sets, targets ------------------------------------------------------------------- */

int engine_counts_new(struct engine *e, struct engine_counts *c, struct why *why)
{
	return counts_pool_take(e->counts, c, why);
}

void engine_counts_free(struct engine *e, struct engine_counts *c)
{
	counts_pool_give(e->counts, c);
}

volatile struct abi_set *engine_set(struct engine *e, unsigned int id)
{
	return &e->sets[id];
}

int engine_target_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set, uint64_t keep)
{
	uint64_t args[4] = { op, tgid, set, keep };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.target_ctl), &opts);

	return err ?: (int)opts.retval;
}

int engine_peer(struct engine *e, int fd, struct abi_cred *cred)
{
	return programs_peer(e->skel, fd, cred);
}

struct programs *engine_programs(const struct engine *e)
{
	return e->programs;
}

int engine_target_get(const struct engine *e, uint32_t tgid, struct abi_target *t)
{
	return bpf_map__lookup_elem(e->skel->maps.targets, &tgid, sizeof(tgid), t, sizeof(*t), 0);
}

unsigned int engine_targets_next(const struct engine *e, struct engine_walk *w, uint32_t *tgid,
				 struct abi_target *t, unsigned int max)
{
	uint32_t n = max;
	int err = bpf_map_lookup_batch(bpf_map__fd(e->skel->maps.targets), w->begun ? &w->at : NULL,
				       &w->at, tgid, t, &n, NULL);

	w->begun = true;
	w->more = !err;
	return err && err != -ENOENT ? 0 : n;
}

struct abi_account *engine_accounts(const struct engine *e)
{
	return e->skel->bss->accounts;
}

struct abi_owner *engine_owner(const struct engine *e, unsigned int slot)
{
	return &e->skel->bss->owner_state[slot];
}

uint32_t engine_walk_begin(struct engine *e)
{
	e->walks++;
	__atomic_store_n(&e->skel->bss->walking, 1, __ATOMIC_SEQ_CST);
	return engine_births(e);
}

void engine_walk_end(struct engine *e)
{
	if (!--e->walks)
		__atomic_store_n(&e->skel->bss->walking, 0, __ATOMIC_SEQ_CST);
}

uint32_t engine_births(const struct engine *e)
{
	return __atomic_load_n(&e->skel->bss->nbirths, __ATOMIC_ACQUIRE);
}

struct abi_birth engine_birth(const struct engine *e, uint32_t n)
{
	return e->skel->bss->births[n % ABI_MAX_BIRTHS];
}

void engine_flush(struct engine *e, unsigned int cpu)
{
	DEBUG(e->debug, CSW, SWO, "CPU %u: the open slice ends, and goes on", cpu);
	flush_cpu(e->flush, cpu);
}

void engine_flush_all(struct engine *e)
{
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++)
		engine_flush(e, cpu);
}

enum abi_proof engine_prove(const struct engine *e, int pidfd, int proof)
{
	return proof_check(bpf_program__fd(e->skel->progs.proof_ctl), pidfd, proof);
}

int engine_visit(struct engine *e, struct abi_visit_args *args)
{
	return visit_run(e->skel->progs.visit_tasks, &e->skel->bss->visit, args);
}

int engine_processes(const struct engine *e)
{
	return visit_processes(e->skel->progs.list_processes);
}

int engine_rings(const struct engine *e)
{
	return bpf_map__fd(e->skel->maps.rings);
}

uint64_t engine_lost_records(const struct engine *e)
{
	return __atomic_load_n(&e->skel->bss->lost_records, __ATOMIC_RELAXED);
}

void engine_unmap_all(struct engine *e, bool all)
{
	e->skel->bss->unmap_all = all;
}

uint64_t engine_share_take(struct engine *e, unsigned int slot, uint32_t log, uint32_t tgid)
{
	return shares_take(e->skel, slot, log, tgid);
}

void engine_shares_forget(struct engine *e, unsigned int slot, uint32_t log)
{
	shares_forget(e->skel, slot, log);
}

uint64_t engine_hidden(const struct engine *e)
{
	return switches_hidden(e->skel);
}

uint64_t engine_exits(const struct engine *e)
{
	uint64_t done = __atomic_load_n(&e->skel->bss->exits_done, __ATOMIC_ACQUIRE);
	uint64_t begun = __atomic_load_n(&e->skel->bss->exits_begun, __ATOMIC_ACQUIRE);

	return begun * 2 + (begun != done);
}
