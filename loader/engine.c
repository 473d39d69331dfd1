/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of libbpf: programs, maps and sources. What the kernel lacks is told by check.c. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"
#include "engine.h"
#include "pmcbpf.skel.h"
#include "soft.h"
#include "target.h"

#define LOG_SIZE (1 << 16)
#define LINKS	 4		/* programs behind one need, at most */

struct source {
	bool used;
	struct perf_event_spec spec;
	int *fds;			/* per CPU, -1 where offline */
};

struct engine {
	struct pmcbpf *skel;
	unsigned int ncpu;
	size_t cpus_size, sets_size;
	volatile struct abi_cpu *cpus;
	volatile struct abi_set *sets;
	struct source sources[ABI_SOURCE_HOOK];
	unsigned int needs[NEEDS];
	struct bpf_link *links[NEEDS][LINKS];
	bool fallback_final;		/* no on_dead here: on_final */
	bool preemptible;		/* tracepoints' programs may be preempted: attach twice */
	struct counts_pool *counts;
	struct targets *targets;
	char *log;			/* the verifier's, during load */
};

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static bool btf_has(const struct btf *btf, const char *name, uint32_t kind)
{
	return btf && btf__find_by_name_kind(btf, name, kind) > 0;
}

static bool struct_has(const struct btf *btf, const char *name, const char *field)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (unsigned int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field))
			return true;
	return false;
}

/*
 * May programs be put onto this function here? Some kernels and sandboxes refuse that
 * altogether.
 */
static bool may_fentry(const struct btf *btf, const char *function)
{
	const struct bpf_insn ret[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) : -1, fd;

	if (id <= 0)
		return false;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", ret, 2, &opts);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Programs for tracepoints that not every kernel has are left out where they are missing. */
static void choose_programs(struct engine *e)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool fault = btf_has(btf, "btf_trace_page_fault_user", BTF_KIND_TYPEDEF);
	bool kprobe = access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0;

	e->preemptible = btf_has(btf, "bpf_preempt_disable", BTF_KIND_FUNC);
	bpf_program__set_autoload(e->skel->progs.on_fork_again, e->preemptible);
	bpf_program__set_autoload(e->skel->progs.on_exit_again, e->preemptible);
	bpf_program__set_autoload(e->skel->progs.on_dead,
				  struct_has(btf, "task_struct", "on_cpu") &&
				  may_fentry(btf, "put_task_struct_rcu_user"));
	bpf_program__set_autoload(e->skel->progs.on_fault, fault);
	bpf_program__set_autoload(e->skel->progs.on_fault_probe, !fault && kprobe);
	bpf_program__set_autoload(e->skel->progs.on_contention,
				  btf_has(btf, "btf_trace_contention_begin", BTF_KIND_TYPEDEF));
	btf__free(btf);
}

/* The last lines of the first program's verifier log that says anything. */
static int load_failed(struct engine *e, int err, struct why *why)
{
	size_t len = strlen(e->log);
	const char *tail = e->log;

	while (len && e->log[len - 1] == '\n')
		e->log[--len] = '\0';
	if (len > 240)
		tail = e->log + len - 240;
	return deny(why, err, "the kernel refused pmcbpf's programs: %s: %s", strerror(-err), tail);
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

static int engine_load(struct engine *e, struct why *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = e->log,
		    .kernel_log_size = LOG_SIZE, .kernel_log_level = 0);
	int err, template;

	e->skel = pmcbpf__open_opts(&opts);
	if (!e->skel)
		return deny(why, -errno, "cannot open pmcbpf's programs: %m");
	choose_programs(e);
	e->fallback_final = !bpf_program__autoload(e->skel->progs.on_dead);
	err = bpf_map__set_max_entries(e->skel->maps.events, ABI_MAX_SOURCES * e->ncpu);
	err = err ?: bpf_map__set_max_entries(e->skel->maps.cpus, e->ncpu);
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
		return load_failed(e, err, why);
	err = map_pages(e, why);
	return err ?: counts_pool_new(bpf_map__fd(e->skel->maps.owners), e->ncpu, &e->counts, why);
}

int engine_new(struct engine **out, struct why *why)
{
	struct engine *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e || !(e->log = calloc(1, LOG_SIZE)))
		goto out;
	libbpf_set_print(quiet);
	e->ncpu = perf_ncpu();
	if (e->ncpu > ABI_MAX_CPUS) {
		err = deny(why, -E2BIG, "%u CPUs: pmcbpf is built for %d; raise ABI_MAX_CPUS",
			   e->ncpu, ABI_MAX_CPUS);
		goto out;
	}
	e->targets = targets_new(e);
	if (!e->targets)
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
	for (unsigned int what = 0; what < NEEDS; what++)
		for (unsigned int i = 0; i < LINKS; i++)
			bpf_link__destroy(e->links[what][i]);
	for (int s = 0; s < ABI_SOURCE_HOOK; s++)
		engine_source_close(e, s);	/* none is open before the maps are there */
	counts_pool_free(e->counts);
	if (e->cpus)
		munmap((void *)e->cpus, e->cpus_size);
	if (e->sets)
		munmap((void *)e->sets, e->sets_size);
	pmcbpf__destroy(e->skel);
	targets_free(e->targets);
	free(e->log);
	free(e);
}

struct targets *engine_targets(const struct engine *e)
{
	return e->targets;
}

unsigned int engine_ncpu(const struct engine *e)
{
	return e->ncpu;
}

/* --- programs -------------------------------------------------------------------------------- */

/* The programs behind a need, in the order to attach them. */
static void need_programs(const struct engine *e, enum engine_need what,
			  struct bpf_program *prog[LINKS])
{
	memset(prog, 0, LINKS * sizeof(prog[0]));
	switch (what) {
	case NEED_SWITCH:
		prog[0] = e->skel->progs.on_switch;
		break;
	case NEED_FINAL:
		prog[0] = e->fallback_final ? e->skel->progs.on_final : e->skel->progs.on_dead;
		break;
	case NEED_LIFE:
		prog[0] = e->skel->progs.on_fork;
		prog[1] = e->skel->progs.on_exit;
		prog[2] = e->preemptible ? e->skel->progs.on_fork_again : NULL;
		prog[3] = e->preemptible ? e->skel->progs.on_exit_again : NULL;
		break;
	case NEED_FAULT:
		prog[0] = e->skel->progs.on_fault;
		if (!bpf_program__autoload(prog[0]))
			prog[0] = e->skel->progs.on_fault_probe;
		break;
	case NEED_LOCK:
		prog[0] = e->skel->progs.on_contention;
		break;
	case NEED_KIND:
		prog[0] = e->skel->progs.on_switch_kind;
		break;
	case NEEDS:
		break;
	}
}

static void update_finals(struct engine *e)
{
	bool before = e->skel->bss->finals, now = e->needs[NEED_SWITCH] || e->needs[NEED_FINAL];
	struct abi_target t;
	uint32_t tgid = 0;

	e->skel->bss->finals = now;
	if (!before || now)
		return;
	/* Nobody sees last switches any more: sweep the exited targets that wait for theirs. */
	while (engine_target_next(e, &tgid))
		if (!engine_target_get(e, tgid, &t) && t.state & ABI_STATE_EXIT) {
			engine_target_ctl(e, ABI_CTL_DELETE, tgid, 0, 0);
			tgid = 0;
		}
}

int engine_need(struct engine *e, enum engine_need what, struct why *why)
{
	struct bpf_program *prog[LINKS];
	int err;

	if (e->needs[what]++)
		return 0;
	need_programs(e, what, prog);
	for (unsigned int i = 0; i < LINKS && prog[i]; i++) {
		e->links[what][i] = bpf_program__attach(prog[i]);
		if (!e->links[what][i] && prog[i] == e->skel->progs.on_dead) {
			/* arm64 before Linux 6.4 loads such a program but cannot attach it. */
			e->fallback_final = true;
			e->links[what][i] = bpf_program__attach(e->skel->progs.on_final);
		}
		if (!e->links[what][i]) {
			err = -errno;
			deny(why, err, "cannot attach %s: %s", bpf_program__name(prog[i]),
			     strerror(errno));
			engine_unneed(e, what);
			return err;
		}
	}
	update_finals(e);
	return 0;
}

void engine_unneed(struct engine *e, enum engine_need what)
{
	if (--e->needs[what])
		return;
	for (unsigned int i = 0; i < LINKS; i++) {
		bpf_link__destroy(e->links[what][i]);
		e->links[what][i] = NULL;
	}
	if (what == NEED_SWITCH)	/* slices left open would be closed by a later attach */
		for (unsigned int cpu = 0; cpu < e->ncpu; cpu++) {
			e->skel->bss->open_set[ABI_OPEN_SET(cpu)] = 0;
			e->cpus[cpu].members = 0;
		}
	update_finals(e);
}

bool engine_has_soft(const struct engine *e, uint32_t code)
{
	const struct soft_event *s = soft_by_code(code);

	if (!s || s->process != SOFT_HOOK)
		return s != NULL;
	if (s->hook == ABI_HOOK_LOCK)
		return bpf_program__autoload(e->skel->progs.on_contention);
	return bpf_program__autoload(e->skel->progs.on_fault) ||
	       bpf_program__autoload(e->skel->progs.on_fault_probe);
}

/* --- sources --------------------------------------------------------------------------------- */

static void source_forget_loss(struct engine *e, int source)
{
	__sync_fetch_and_and(&e->skel->bss->lost_sources, ~(1ull << source));
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++)
		__sync_fetch_and_and(&e->cpus[cpu].lost, ~(1ull << source));
}

int engine_source_open(struct engine *e, const struct perf_event_spec *spec, struct why *why)
{
	struct source *s;
	int err = 0, source = 0;

	while (source < ABI_SOURCE_HOOK && e->sources[source].used)
		source++;
	if (source == ABI_SOURCE_HOOK)
		return deny(why, -EINVAL, "all %d sources are in use", ABI_SOURCE_HOOK);
	s = &e->sources[source];
	s->fds = malloc(e->ncpu * sizeof(*s->fds));
	if (!s->fds)
		return -ENOMEM;
	memset(s->fds, -1, e->ncpu * sizeof(*s->fds));
	s->used = true;
	s->spec = *spec;
	source_forget_loss(e, source);
	for (unsigned int cpu = 0; cpu < e->ncpu && !err; cpu++) {
		uint32_t key = ABI_EVENT(cpu, (uint32_t)source);

		if (!perf_cpu_online(cpu))
			continue;
		s->fds[cpu] = perf_open_cpu(spec, cpu);
		if (s->fds[cpu] < 0) {
			err = s->fds[cpu];
			deny(why, err, "CPU %u cannot count this event: %s", cpu,
			     err == -EBUSY ? "another user of the PMU (perf, the NMI watchdog) "
					     "holds its counters" : strerror(-err));
		} else {
			err = bpf_map__update_elem(e->skel->maps.events, &key, sizeof(key),
						   &s->fds[cpu], sizeof(int), BPF_ANY);
		}
	}
	if (err) {
		engine_source_close(e, source);
		return err;
	}
	return source;
}

void engine_source_close_cpu(struct engine *e, int source, unsigned int cpu)
{
	struct source *s = &e->sources[source];
	uint32_t key = ABI_EVENT(cpu, (uint32_t)source);

	if (s->fds[cpu] < 0)
		return;
	/* The map lets go of the event only after a grace period: give the counter back now. */
	perf_disable(s->fds[cpu]);
	bpf_map__delete_elem(e->skel->maps.events, &key, sizeof(key), 0);
	close(s->fds[cpu]);
	s->fds[cpu] = -1;
}

void engine_source_close(struct engine *e, int source)
{
	struct source *s = &e->sources[source];

	if (!s->used)
		return;
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++)
		engine_source_close_cpu(e, source, cpu);
	source_forget_loss(e, source);
	free(s->fds);
	memset(s, 0, sizeof(*s));
}

bool engine_source_lost(const struct engine *e, int source)
{
	return source < ABI_SOURCE_HOOK &&
	       __atomic_load_n(&e->skel->bss->lost_sources, __ATOMIC_RELAXED) >> source & 1;
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

int engine_target_get(const struct engine *e, uint32_t tgid, struct abi_target *t)
{
	return bpf_map__lookup_elem(e->skel->maps.targets, &tgid, sizeof(tgid), t, sizeof(*t), 0);
}

bool engine_target_next(const struct engine *e, uint32_t *tgid)
{
	uint32_t next;

	if (bpf_map__get_next_key(e->skel->maps.targets, *tgid ? tgid : NULL, &next, sizeof(next)))
		return false;
	*tgid = next;
	return true;
}

uint64_t engine_lost_targets(const struct engine *e)
{
	return __atomic_load_n(&e->skel->bss->lost_targets, __ATOMIC_RELAXED);
}

void engine_walk_begin(struct engine *e)
{
	e->skel->bss->nbirths = 0;
	__atomic_store_n(&e->skel->bss->walking, 1, __ATOMIC_SEQ_CST);
}

void engine_walk_end(struct engine *e)
{
	__atomic_store_n(&e->skel->bss->walking, 0, __ATOMIC_SEQ_CST);
}

int engine_births(const struct engine *e, const struct abi_birth **births)
{
	uint32_t n = __atomic_load_n(&e->skel->bss->nbirths, __ATOMIC_ACQUIRE);

	*births = e->skel->bss->births;
	return n > ABI_MAX_BIRTHS ? -EAGAIN : (int)n;
}

void engine_flush(struct engine *e, unsigned int cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (int)cpu);

	/* An offline CPU runs nobody: there is nothing to bring up to date. */
	(void)bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.flush), &opts);
}

void engine_flush_all(struct engine *e)
{
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++)
		engine_flush(e, cpu);
}

int engine_visit(struct engine *e, struct abi_visit_args *args)
{
	union bpf_iter_link_info info = { .task.tid = args->tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link;
	char buf[64];
	int fd, err = 0;

	if (args->op == ABI_VISIT_RUNNING)
		info.task.tid = 0, info.task.pid = args->tgid;
	memcpy(&e->skel->bss->visit, args, sizeof(*args));
	link = bpf_program__attach_iter(e->skel->progs.visit_tasks, args->tgid ? &opts : NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		err = fd;
	while (!err) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	memcpy(args, &e->skel->bss->visit, sizeof(*args));
	return err;
}

uint64_t engine_exits(const struct engine *e)
{
	uint64_t done = __atomic_load_n(&e->skel->bss->exits_done, __ATOMIC_ACQUIRE);
	uint64_t begun = __atomic_load_n(&e->skel->bss->exits_begun, __ATOMIC_ACQUIRE);

	return begun * 2 + (begun != done);
}
