/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads bpf/log/sample.bpf.c once a PMC samples, and keeps its table of sampling PMCs. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "engine.h"
#include "load_thread.h"
#include "sampler.h"
#include "verifier.h"
#include "visit.h"
#include "waker.h"
#include "pmcbpf.skel.h"
#include "sample.skel.h"	/* needs types from engine.h's skeleton */

#define LOG_SIZE  (1 << 16)
#define MAX_STACK "/proc/sys/kernel/perf_event_max_stack"
#define TABLE	  (ABI_SAMPLERS * sizeof(struct abi_sampler))
#define RING_HEAD 8u			/* bytes of the kernel's header before each record */
/* Holds a quarter of a second at 20,000 samples a second, like perf's buffers. */
#define RING_MIN  (512u * 1024)

struct samplers {
	struct samplers_config config;
	struct sample *skel;		/* NULL: not loaded, perhaps because of `no_program` */
	int no_program_err;
	struct reason no_program;
	struct abi_sampler *table;	/* of the program, if it is there */
	struct samplers_maps maps;	/* likewise */
	size_t ring_size;		/* of the rings, once they exist */
	int *ring_fds;			/* per CPU */
	int epoll;
	struct rings *rings;		/* NULL: no PMC has sampled yet */
	unsigned int waits;		/* calls of samplers_wait() */
	struct bpf_link *wait_link;
	int wait_event;			/* of the daemon's own: see samplers_choose_wait() */
	unsigned int wakers;		/* calls of samplers_wakers() */
	struct waker *waker;		/* likewise */
	int no_waker_err;
	struct reason no_waker;
};

/* Room for at least `nsamples` records of the current depth; a ring has a power of two of pages. */
static size_t samplers_ring_size(const struct samplers_config *c)
{
	size_t want = c->nsamples * (RING_HEAD + sizeof(struct abi_rec) + 8 * (size_t)*c->depth);
	size_t size = RING_MIN;

	while (size < want)
		size *= 2;
	return size;
}

/* All rings go into the map at once: the kernel waits for a grace period at each change. */
static int samplers_make_rings(struct samplers *s)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t *cpus = calloc(s->config.ncpu, sizeof(*cpus)), n = s->config.ncpu;
	int err = cpus ? 0 : -ENOMEM;

	for (uint32_t cpu = 0; cpu < s->config.ncpu && !err; cpu++) {
		struct epoll_event e = { .events = EPOLLIN };
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pmc_ring", 0, 0,
					(uint32_t)s->ring_size, NULL);

		cpus[cpu] = cpu;
		s->ring_fds[cpu] = fd;
		if (fd < 0)
			err = fd;
		else if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e))
			err = -errno;
	}
	if (!err && bpf_map_update_batch(s->config.map, cpus, s->ring_fds, &n, &opts))
		err = -errno;
	free(cpus);
	return err;
}

static void samplers_free_rings(struct samplers *s)
{
	rings_free(s->rings);
	s->rings = NULL;
	for (uint32_t cpu = 0; s->ring_fds && cpu < s->config.ncpu; cpu++)
		if (s->ring_fds[cpu] >= 0) {
			bpf_map_delete_elem(s->config.map, &cpu);
			close(s->ring_fds[cpu]);
		}
	free(s->ring_fds);
	s->ring_fds = NULL;
	if (s->epoll >= 0)
		close(s->epoll);
	s->epoll = -1;
}

int samplers_new(const struct samplers_config *config, struct samplers **out, struct reason *why)
{
	struct samplers *s = calloc(1, sizeof(*s));

	if (!s)
		return deny(why, -ENOMEM, "no memory for sampling");
	s->config = *config;
	s->epoll = s->wait_event = -1;
	s->maps = (struct samplers_maps){ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, NULL };
	*out = s;
	return 0;
}

int samplers_begin(struct samplers *s, struct reason *why)
{
	int err = -ENOMEM;

	if (s->rings)
		return 0;
	s->ring_size = samplers_ring_size(&s->config);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->ring_fds = malloc(s->config.ncpu * sizeof(int));
	if (s->ring_fds) {
		memset(s->ring_fds, -1, s->config.ncpu * sizeof(int));
		err = s->epoll < 0 ? -errno : samplers_make_rings(s);
	}
	if (err)
		deny(why, err, "cannot make rings of %zu bytes for %u CPUs: %s; a smaller "
		     "kern.hwpmc.nsamples or kern.hwpmc.callchaindepth takes less memory",
		     s->ring_size, s->config.ncpu, strerror(-err));
	else
		err = rings_new(s->ring_fds, s->config.ncpu, s->ring_size, &s->rings, why);
	if (err)
		samplers_free_rings(s);
	return err;
}

void samplers_free(struct samplers *s)
{
	if (!s)
		return;
	samplers_free_rings(s);
	waker_free(s->waker);
	bpf_link__destroy(s->wait_link);
	if (s->wait_event >= 0)
		close(s->wait_event);
	if (s->skel)
		munmap(s->table, TABLE);
	sample__destroy(s->skel);
	free(s);
}

/* --- loading: jobs of the loading thread, whose results the event loop takes ------------------ */

struct samplers_job {
	const struct samplers *samplers;
	struct sample *skel;
	int err;
	struct reason why;
};

/*
 * Waits are recorded in the thread itself, after the switch: where the scheduler ends, or, on older
 * kernels, where it calls perf.  It does so while any thread has an event.
 */
static void samplers_choose_wait(const struct samplers *s, struct sample *skel)
{
	const struct engine *e = s->config.engine;
	bool waits = bpf_program__autoload(e->skel->progs.on_offcpu);

	bpf_program__set_autoload(skel->progs.on_scheduled, waits && e->scheduler_ends);
	bpf_program__set_autoload(skel->progs.on_perf_in, waits && !e->scheduler_ends);
}

/* Uses the maps of the engine. */
static int samplers_share(const struct samplers *s, struct sample *skel)
{
	const struct pmcbpf *from = s->config.engine->skel;
	const struct { struct bpf_map *map; int fd; } shared[] = {
		{ skel->maps.rings, s->config.map },
		{ skel->maps.offcpus, s->config.offcpus },
		{ skel->maps.offcpu_waits, s->config.offcpu_waits },
		{ skel->maps.offcpu_entries, bpf_map__fd(from->maps.offcpu_entries) },
		{ skel->maps.offcpu_threads, bpf_map__fd(from->maps.offcpu_threads) },
		{ skel->maps.offcpu_wakers, bpf_map__fd(from->maps.offcpu_wakers) },
		{ skel->maps.sets, bpf_map__fd(from->maps.sets) },
		{ skel->maps.targets, bpf_map__fd(from->maps.targets) },
		{ skel->maps.sampled_threads, bpf_map__fd(from->maps.sampled_threads) },
		{ skel->maps.unwind_chunks, bpf_map__fd(from->maps.unwind_chunks) },
		{ skel->maps.unwind_files, bpf_map__fd(from->maps.unwind_files) },
		{ skel->maps.unwind_processes, bpf_map__fd(from->maps.unwind_processes) },
		{ skel->maps.unwind_notes, bpf_map__fd(from->maps.unwind_notes) },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && !err; i++)
		err = bpf_map__reuse_fd(shared[i].map, shared[i].fd);
	return err;
}

static int samplers_load(const struct samplers *s, struct sample *skel)
{
	char most[16];
	int err = samplers_share(s, skel);

	samplers_choose_wait(s, skel);
	if (file_line(MAX_STACK, most, sizeof(most)) == 0)
		skel->rodata->max_stack = (uint32_t)strtoul(most, NULL, 10);
	if (s->config.level) {
		skel->rodata->nested = true;
		skel->bss->level = *s->config.level;
	}
	return err ?: sample__load(skel);
}

static void samplers_job_run(void *arg)
{
	struct samplers_job *j = arg;
	char *log = calloc(1, LOG_SIZE);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log, .kernel_log_size = LOG_SIZE);
	unsigned int tries = 0;

	if (!log) {
		j->err = deny(&j->why, -ENOMEM, "no memory for the sampling program");
		return;
	}
	do {
		sample__destroy(j->skel);
		j->skel = sample__open_opts(&opts);
		j->err = j->skel ? samplers_load(j->samplers, j->skel) : -errno;
	} while (verifier_was_interrupted(j->err, &tries));
	if (j->err)
		verifier_deny(&j->why, j->err, "the sampling program", log);
	free(log);
}

static void samplers_fill_maps(struct samplers *s, const struct sample *skel)
{
	s->maps = (struct samplers_maps){
		.rings = s->config.map, .samplers = bpf_map__fd(skel->maps.samplers),
		.hit_rooms = bpf_map__fd(skel->maps.hit_rooms),
		.hit_scratch = bpf_map__fd(skel->maps.hit_scratch),
		.hit_walks = bpf_map__fd(skel->maps.hit_walks),
		.hit_stacks = bpf_map__fd(skel->maps.hit_stacks),
		.hit_pythons = bpf_map__fd(skel->maps.hit_pythons),
		.hit_codes = bpf_map__fd(skel->maps.hit_codes),
		.hit_values = bpf_map__fd(skel->maps.hit_values),
		.codes_sent = bpf_map__fd(skel->maps.codes_sent),
		.max_stack = skel->rodata->max_stack, .level = s->config.level,
	};
}

static int samplers_take(struct samplers *s, struct sample *skel, struct reason *why)
{
	s->table = mmap(NULL, TABLE, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(skel->maps.samplers), 0);
	if (s->table == MAP_FAILED)
		return deny(why, -errno, "cannot map the table of sampling PMCs: %m");
	samplers_fill_maps(s, skel);
	s->skel = skel;
	return 0;
}

/* Two fibers may load it at the same time; one of the results is kept. */
bool samplers_prepare(struct samplers *s, uint64_t *user)
{
	struct samplers_job j = { .samplers = s };

	if (s->skel)
		return false;
	load_thread_do(s->config.engine->load_thread, user, samplers_job_run, &j);
	if (!s->skel && !j.err)
		j.err = samplers_take(s, j.skel, &j.why);
	if (s->skel != j.skel)
		sample__destroy(j.skel);
	s->no_program_err = j.err;
	s->no_program = j.why;
	return true;
}

struct waker_job {
	const struct samplers *samplers;
	bool unwind;
	struct waker *waker;
	int err;
	struct reason why;
};

static void waker_job_run(void *arg)
{
	struct waker_job *j = arg;
	const struct samplers *s = j->samplers;

	j->err = waker_new(s->config.engine, j->unwind, s->maps.max_stack, s->config.level,
			   &j->waker, &j->why);
}

bool samplers_prepare_wakers(struct samplers *s, uint64_t *user)
{
	struct waker_job j = { .samplers = s, .unwind = *s->config.unwind };

	if (!s->skel || s->wakers || (s->waker && waker_unwinds(s->waker) == j.unwind))
		return false;
	load_thread_do(s->config.engine->load_thread, user, waker_job_run, &j);
	if (s->wakers) {
		waker_free(j.waker);
		return true;
	}
	waker_free(s->waker);
	s->waker = j.waker;
	s->no_waker_err = j.err;
	s->no_waker = j.why;
	return true;
}

/* --- the programs ----------------------------------------------------------------------------- */

void samplers_forget_codes(struct samplers *s)
{
	const struct bpf_map *map = s->skel ? s->skel->maps.codes_sent : NULL;
	struct abi_code_key key;

	while (map && !bpf_map__get_next_key(map, NULL, &key, sizeof(key)))
		if (bpf_map__delete_elem(map, &key, sizeof(key), 0) && errno != ENOENT)
			break;
}

int samplers_fd(const struct samplers *s)
{
	return s->epoll;
}

struct rings *samplers_rings(const struct samplers *s)
{
	return s->rings;
}

int samplers_program(const struct samplers *s, struct reason *why)
{
	if (!s->skel)
		return deny(why, s->no_program_err, "%s", s->no_program.text);
	return bpf_program__fd(s->skel->progs.on_overflow);
}

const struct samplers_maps *samplers_maps(const struct samplers *s)
{
	return &s->maps;
}

/* A member of the data came with this change.  It takes some milliseconds to find out. */
bool sampler_collects(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "perf_sample_data", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	bool found = false;

	for (uint32_t i = 0; t && i < btf_vlen(t) && !found; i++)
		found = !strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), "dyn_size");
	btf__free(btf);
	return found;
}

uint64_t sampler_max_rate(void)
{
	char text[24];

	return file_line("/proc/sys/kernel/perf_event_max_sample_rate", text, sizeof(text)) ? 0 :
	       strtoull(text, NULL, 10);
}

static int samplers_wait_begin(struct samplers *s, struct reason *why)
{
	const struct perf_event_spec spec = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
	};
	bool ends = bpf_program__autoload(s->skel->progs.on_scheduled);
	struct bpf_program *prog = ends ? s->skel->progs.on_scheduled : s->skel->progs.on_perf_in;

	if (!ends && !bpf_program__autoload(prog))
		return deny(why, -EOPNOTSUPP, "this kernel lets no program run behind a switch");
	s->wait_link = bpf_program__attach(prog);
	if (!s->wait_link)
		return deny(why, -errno, "cannot attach %s: %m", bpf_program__name(prog));
	s->wait_event = ends ? -1 : perf_open_task(&spec, 0, -1);
	if (ends || s->wait_event >= 0)
		return 0;
	bpf_link__destroy(s->wait_link);
	s->wait_link = NULL;
	return deny(why, s->wait_event, "cannot have the kernel call perf at switches: %s",
		    strerror(-s->wait_event));
}

int samplers_wait(struct samplers *s, struct reason *why)
{
	int err = s->skel ? 0 : deny(why, s->no_program_err, "%s", s->no_program.text);

	if (!err && !s->waits)
		err = samplers_wait_begin(s, why);
	s->waits += !err;
	return err;
}

void samplers_unwait(struct samplers *s)
{
	if (--s->waits)
		return;
	bpf_link__destroy(s->wait_link);
	s->wait_link = NULL;
	if (s->wait_event >= 0)
		close(s->wait_event);
	s->wait_event = -1;
}

int samplers_wakers(struct samplers *s, struct reason *why)
{
	int err = 0;

	if (!s->waker)
		return deny(why, s->no_waker_err, "%s", s->no_waker.text);
	if (!s->wakers)
		err = waker_attach(s->waker, why);
	s->wakers += !err;
	return err;
}

void samplers_unwakers(struct samplers *s)
{
	if (!--s->wakers)
		waker_detach(s->waker);
}

int samplers_wait_open(struct samplers *s, const struct abi_offcpu_stop *stop)
{
	s->skel->bss->offcpu_stop = *stop;
	return visit_all(s->skel->progs.visit_waits);
}

static struct abi_sampler *sampler_at(const struct samplers *s, uint32_t id)
{
	return &s->table[id % ABI_SAMPLERS];
}

uint64_t sampler_set(struct samplers *s, const struct sampler_spec *spec)
{
	struct abi_sampler *at = sampler_at(s, spec->id);

	at->depth = spec->chain ? (uint16_t)*s->config.depth : 0;
	at->both_sides = spec->both_sides;
	at->hides_kernel = spec->hides_kernel;
	at->period = 0;
	at->values = spec->values;
	at->unwind = spec->unwind;
	at->signal = (uint8_t)spec->signal;
	at->limited = false;
	at->waits = true;
	at->left = at->unsent = 0;
	__atomic_store_n(&at->id, spec->id | ABI_SAMPLER_ON, __ATOMIC_RELEASE);
	return spec->id | ABI_SAMPLER_ON;
}

void sampler_clear(struct samplers *s, uint32_t id)
{
	__atomic_store_n(&sampler_at(s, id)->id, 0, __ATOMIC_RELEASE);
}

int sampler_set_thread(struct samplers *s, uint32_t tag, uint32_t tid)
{
	const struct bpf_map *map = s->config.engine->skel->maps.sampled_threads;
	const struct abi_alone alone = { .tid = tid };
	uint32_t at = tag % ABI_SAMPLERS;

	return bpf_map__update_elem(map, &at, sizeof(at), &alone, sizeof(alone), 0);
}

void sampler_set_period(struct samplers *s, uint32_t tag, uint64_t period)
{
	struct abi_sampler *at = sampler_at(s, tag);

	if (at->period == period)
		return;
	at->period = 0;
	at->hits = 0;
	__atomic_store_n(&at->period, period, __ATOMIC_RELEASE);
}

uint64_t sampler_hits(const struct samplers *s, uint32_t tag)
{
	return __atomic_load_n(&sampler_at(s, tag)->hits, __ATOMIC_RELAXED);
}

/* The program takes samples down from `left` meanwhile. */
int sampler_set_signal(struct samplers *s, uint32_t tag, int signal, bool waits, uint32_t n)
{
	struct abi_sampler *at = sampler_at(s, tag);
	uint32_t left = at->limited ? sampler_signals(s, tag).left : 0;

	if (n > SAMPLER_LEFT_MAX || left > SAMPLER_LEFT_MAX - n)
		return -ERANGE;
	at->signal = 0;
	at->waits = waits;
	at->signal = (uint8_t)signal;
	if (n && at->limited) {
		__atomic_fetch_add(&at->left, n, __ATOMIC_RELAXED);
		return 0;
	}
	at->left = n;
	__atomic_store_n(&at->limited, n > 0, __ATOMIC_RELEASE);
	return 0;
}

/* While a sample is refused, `left` may be below 0. */
struct sampler_signals sampler_signals(const struct samplers *s, uint32_t tag)
{
	const volatile struct abi_sampler *at = sampler_at(s, tag);
	int32_t left = (int32_t)at->left;

	return (struct sampler_signals){
		.unsent = at->unsent, .limited = at->limited,
		.left = left > 0 ? (uint32_t)left : 0,
	};
}

struct abi_samples sampler_counts(const struct samplers *s, uint32_t id)
{
	const volatile struct abi_samples *c = &sampler_at(s, id)->count;

	return (struct abi_samples){
		.samples = c->samples, .dropped = c->dropped, .paused = c->paused,
	};
}
