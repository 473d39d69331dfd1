/* SPDX-License-Identifier: BSD-2-Clause */
/* See tracepoints.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "lib/base/wire.h"
#include "engine.h"
#include "hit_filter.h"
#include "hit_sampler.h"
#include "pmcbpf.skel.h"
#include "probes.h"
#include "slot.skel.h"
#include "tracefs.h"
#include "tracepoints.h"

#define LINGER 100		/* ms for which unneeded programs stay attached */

/* The program that counts a tracepoint. */
enum slot_way {
	SLOT_OWN,		/* an instance of slot.bpf.c … */
	SLOT_CALL,		/* … on a system call's event, which stays while it is attached … */
	SLOT_RECORD,		/* … or on another one, because a filter compares its record */
	SLOT_ENTER, SLOT_EXIT,	/* the program of all system calls */
	SLOT_SWITCH,		/* the program of context switches */
	SLOT_PROBE,		/* the programs of probes in user code */
};

/*
 * A counter.  Its tracepoint and its loaded program stay until another tracepoint needs the
 * counter, so that the next PMC of the same tracepoint waits for nothing.
 */
struct slot {
	char name[WIRE_NAME_MAX];	/* "": never used */
	unsigned int users;
	bool samples;			/* its own program samples the hits, too … */
	char filter[WIRE_FILTER_MAX];	/* … and counts only those that pass this: … */
	struct abi_filter *compiled;	/* … NULL: all */
	bool attached;
	enum slot_way way;
	uint64_t id;			/* perf's number of the tracepoint */
	uint32_t call;			/* SLOT_ENTER, SLOT_EXIT: the system call's number */
	struct slot_bpf *skel;		/* an instance; NULL: not loaded, or … */
	struct hit_sampler *sampler;	/* … this, if it samples */
	struct bpf_link *link;
	int call_link;			/* on an event, while attached: a descriptor */
	struct probe *probe;		/* SLOT_PROBE, while it is attached … */
	struct probe_id id_probe;	/* … and its identity */
	int64_t since;			/* users == 0: from this time on, ms */
};

struct tracepoints {
	struct engine *e;
	struct helpers *helpers;	/* NULL while the daemon starts */
	struct slot slot[ABI_TRACEPOINTS];
	struct tracefs_list list;
};

static bool slot_on_event(const struct slot *s)
{
	return s->way == SLOT_CALL || s->way == SLOT_RECORD;
}

struct tracepoints *tracepoints_new(struct engine *e)
{
	struct tracepoints *t = calloc(1, sizeof(*t));

	if (t)
		t->e = e;
	return t;
}

void tracepoints_free(struct tracepoints *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++) {
		probe_close(t->e, t->slot[i].probe, NULL);
		bpf_link__destroy(t->slot[i].link);
		if (t->slot[i].attached && slot_on_event(&t->slot[i]))
			close(t->slot[i].call_link);
		slot_bpf__destroy(t->slot[i].skel);
		hit_sampler_free(t->slot[i].sampler);
		free(t->slot[i].compiled);
	}
	tracefs_list_free(&t->list);
	free(t);
}

void tracepoints_helpers_from(struct tracepoints *t, struct helpers *helpers)
{
	t->helpers = helpers;
}

int tracepoints_ctl(const struct engine *e, uint64_t op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t args[4] = { op, a, b, c };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.tracepoint_ctl), &opts);

	return err ?: (int)opts.retval;
}

void tracepoints_list(struct tracepoints *t)
{
	struct reason unused;

	tracefs_list_free(&t->list);
	(void)tracefs_list(&t->list, &unused);
}

const char *tracepoints_listed(const struct tracepoints *t, unsigned int i)
{
	return i < t->list.n ? t->list.name[i] : NULL;
}

/* --- perf's view of the tracepoint ------------------------------------------------------------ */

/* The kernel waits for a grace period when it drops a tracepoint's last event. */
void tracepoints_close_event(const struct tracepoints *t, int fd)
{
	if (t->helpers)
		helper_dispose(t->helpers, &fd, 1);
	else
		close(fd);
}

int tracepoints_check(struct tracepoints *t, const char *name, const struct perf_event_spec *spec,
		      bool *refused, struct reason *why)
{
	struct perf_event_spec bare = *spec;
	int fd, err;

	bare.filter = NULL;
	fd = perf_open_idle(&bare);
	if (fd < 0)
		return deny(why, fd == -ENOENT || fd == -ENODEV ? -EOPNOTSUPP : fd,
			    "perf cannot count %s here: %s", name, perf_error(fd));
	err = spec->filter ? perf_set_filter(fd, spec->filter) : 0;
	tracepoints_close_event(t, fd);
	*refused = err != 0;
	return err ? deny(why, err, "the kernel refuses the filter \"%.120s\" of %s: %s; its "
			  "fields are in the event's format file in tracefs", spec->filter, name,
			  strerror(-err)) : 0;
}

static enum engine_need slot_need(const struct slot *s)
{
	switch (s->way) {
	case SLOT_ENTER:
		return NEED_CALL_ENTER;
	case SLOT_EXIT:
		return NEED_CALL_EXIT;
	default:
		return NEED_SWITCH_HIT;
	}
}

/* Programs on perf's events are skipped where another one runs; before Linux 6.7 uncounted. */
static int slot_check_record(const struct slot *s, struct reason *why)
{
	if (version_reaches(6, 7) > 0)
		return 0;
	return deny(why, -EOPNOTSUPP, "%s: before Linux 6.7 hits are sampled without a filter, but "
		    "for those of system calls: leave it out, or count", s->name);
}

/* Finds the program for the tracepoint: -ENOSYS: none. */
static int slot_learn(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
		      struct reason *why)
{
	const struct abi_tracepoint *learned = &t->e->skel->bss->learned;
	int fd = perf_open_idle(spec), err;

	if (fd < 0)
		return deny(why, fd, "perf cannot count %s here: %s", s->name, perf_error(fd));
	err = tracepoints_ctl(t->e, ABI_TRACEPOINT_LEARN, (uint32_t)fd, 0, 0);
	tracepoints_close_event(t, fd);
	if (err)
		return -ENOSYS;
	if (learned->enter >= 0 || learned->exit >= 0) {
		s->way = learned->enter >= 0 ? SLOT_ENTER : SLOT_EXIT;
		s->call = (uint32_t)(learned->enter >= 0 ? learned->enter : learned->exit);
		if (s->samples || !programs_have(t->e->programs, slot_need(s)))
			s->way = SLOT_CALL;
		return s->call < ABI_CALLS ? 0 : -ENOSYS;
	}
	if (strcmp(learned->name, strchr(s->name, ':') + 1))
		return -ENOSYS;
	s->way = s->samples || strcmp(learned->name, "sched_switch") ? SLOT_OWN : SLOT_SWITCH;
	if (!*s->filter)
		return 0;
	s->way = SLOT_RECORD;
	return slot_check_record(s, why);
}

/* --- counters --------------------------------------------------------------------------------- */

static unsigned int slot_number(const struct tracepoints *t, const struct slot *s)
{
	return (unsigned int)(s - t->slot);
}

/* The numbers of the system calls in the programs' tables. */
static __u8 *slot_call(const struct tracepoints *t, const struct slot *s)
{
	return s->way == SLOT_ENTER ? &t->e->skel->bss->call_enters[s->call] :
				      &t->e->skel->bss->call_exits[s->call];
}

static const struct bpf_program *slot_program(const struct slot *s)
{
	if (s->sampler)
		return hit_sampler_program(s->sampler);
	return s->way == SLOT_CALL ? s->skel->progs.on_slot_call : s->skel->progs.on_slot;
}

static int slot_find_misses(struct tracepoints *t, struct slot *s)
{
	uint32_t program = (uint32_t)bpf_program__fd(slot_program(s));
	uint32_t anchor = (uint32_t)bpf_map__fd(t->e->skel->maps.anchor);
	int err = 0;

	for (unsigned int cpu = 0; cpu < t->e->ncpu && !err; cpu++)
		err = tracepoints_ctl(t->e, ABI_TRACEPOINT_MISSES, program,
				      ABI_TRACEPOINT_AT(slot_number(t, s), cpu), anchor);
	return err;
}

static void slot_unload(struct tracepoints *t, struct slot *s)
{
	for (unsigned int cpu = 0; cpu < t->e->ncpu; cpu++)
		t->e->cpus[cpu].misses[slot_number(t, s)] = 0;
	slot_bpf__destroy(s->skel);
	s->skel = NULL;
	hit_sampler_free(s->sampler);
	s->sampler = NULL;
}

static int slot_load_counting(const struct tracepoints *t, struct slot *s)
{
	int err;

	s->skel = slot_bpf__open();
	if (!s->skel)
		return -errno;
	s->skel->rodata->slot = slot_number(t, s);
	bpf_program__set_autoload(s->way == SLOT_CALL ? s->skel->progs.on_slot_call :
							s->skel->progs.on_slot, true);
	err = bpf_map__reuse_fd(s->skel->maps.cpus, bpf_map__fd(t->e->skel->maps.cpus));
	return err ?: slot_bpf__load(s->skel);
}

static int slot_load_sampling(const struct tracepoints *t, struct slot *s)
{
	static const enum hit_kind kinds[] = {
		[SLOT_OWN] = HIT_TRACEPOINT, [SLOT_CALL] = HIT_CALL, [SLOT_RECORD] = HIT_RECORD,
	};

	return hit_sampler_new(t->e, slot_number(t, s), kinds[s->way], s->compiled, &s->sampler);
}

/* Loads the slot's own program, unless it is there since an earlier use. */
static int slot_load(struct tracepoints *t, struct slot *s)
{
	int err;

	/* A kprobe may have had the counter meanwhile. */
	if ((s->skel || s->sampler) && !s->samples == !s->sampler &&
	    bpf_program__fd(slot_program(s)) >= 0)
		return t->e->cpus[0].misses[slot_number(t, s)] ? 0 : slot_find_misses(t, s);
	slot_unload(t, s);
	if (s->samples)
		err = slot_load_sampling(t, s);
	else
		err = slot_load_counting(t, s);
	err = err ?: slot_find_misses(t, s);
	if (err)
		slot_unload(t, s);
	return err;
}

static int slot_attach_own(struct tracepoints *t, struct slot *s)
{
	const char *name = strchr(s->name, ':') + 1;
	int err = slot_load(t, s);

	if (err)
		return err;
	s->link = bpf_program__attach_raw_tracepoint(slot_program(s), name);
	return s->link ? 0 : -errno;
}

/*
 * The program needs a perf event of the call, which counts nothing: it stays disabled.  The link
 * keeps it.
 */
static int slot_attach_call(struct tracepoints *t, struct slot *s,
			    const struct perf_event_spec *spec)
{
	int err = slot_load(t, s), fd;

	if (err)
		return err;
	fd = perf_open_idle(spec);
	if (fd < 0)
		return fd;
	s->call_link = bpf_link_create(bpf_program__fd(slot_program(s)), fd, BPF_PERF_EVENT, NULL);
	err = s->call_link < 0 ? s->call_link : 0;
	tracepoints_close_event(t, fd);
	return err;
}

static int slot_attach(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
		       struct reason *why)
{
	int err;

	if (s->way == SLOT_OWN || slot_on_event(s)) {
		err = s->way == SLOT_OWN ? slot_attach_own(t, s) : slot_attach_call(t, s, spec);
		/* The kernel lacks what this needs, or the tracepoint has no place for programs. */
		return err == -ENOENT || err == -EOPNOTSUPP || err == -EINVAL ? -ENOSYS :
		       err ? deny(why, err, "cannot attach a program to %s: %s", s->name,
				  strerror(-err)) : 0;
	}
	err = engine_need(t->e, slot_need(s), why);
	if (err)
		return err;
	if (s->way == SLOT_SWITCH) {
		for (unsigned int cpu = 0; cpu < t->e->ncpu; cpu++)
			t->e->cpus[cpu].hit_next = ~0u;
		t->e->skel->bss->tracepoint_switch = 1 + slot_number(t, s);
	} else {
		*slot_call(t, s) = (__u8)(1 + slot_number(t, s));
	}
	return 0;
}

/*
 * The kernel waits for a grace period when it drops the call's last event, and runs the program
 * until then: its instance counts no more, and the next need loads another one.
 */
static void slot_detach_call(struct tracepoints *t, struct slot *s)
{
	if (s->sampler)
		hit_sampler_end(s->sampler);
	else
		s->skel->bss->slot_over = 1;
	tracepoints_close_event(t, s->call_link);
	slot_unload(t, s);
}

static void slot_detach(struct tracepoints *t, struct slot *s)
{
	if (!s->attached)
		return;
	s->attached = false;
	if (s->way == SLOT_PROBE) {
		probe_close(t->e, s->probe, t->helpers);
		s->probe = NULL;
		return;
	}
	if (s->way == SLOT_OWN) {
		bpf_link__destroy(s->link);
		s->link = NULL;
		return;
	}
	if (slot_on_event(s)) {
		slot_detach_call(t, s);
		return;
	}
	if (s->way == SLOT_SWITCH)
		t->e->skel->bss->tracepoint_switch = 0;
	else
		*slot_call(t, s) = 0;
	engine_unneed(t->e, slot_need(s));
}

static struct slot *slot_find(struct tracepoints *t, const char *name, bool samples,
			      const char *filter)
{
	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++)
		if (!strcmp(t->slot[i].name, name) && t->slot[i].samples == samples &&
		    !strcmp(t->slot[i].filter, filter))
			return &t->slot[i];
	return NULL;
}

/* While a program is attached, the module of the tracepoint cannot go. */
int tracepoints_id(struct tracepoints *t, const char *name, uint64_t *id, struct reason *why)
{
	const struct slot *s = slot_find(t, name, false, "");

	if (!s || !s->attached)
		s = slot_find(t, name, true, "");
	if (!s || !s->attached)
		return tracefs_id(name, id, why);
	*id = s->id;
	return 0;
}

/* A counter that nobody uses: a new one, or the one whose last use is the longest ago. */
static struct slot *slot_choose(struct tracepoints *t)
{
	struct slot *best = NULL;

	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++) {
		struct slot *s = &t->slot[i];

		if (!*s->name)
			return s;
		if (!s->users && (!best || s->since < best->since))
			best = s;
	}
	return best;
}

static int slot_compile(struct slot *s, struct reason *why)
{
	char *format = NULL;
	int err = *s->filter ? tracefs_format(s->name, &format, why) : 0;

	free(s->compiled);
	s->compiled = format ? malloc(sizeof(*s->compiled)) : NULL;
	if (s->compiled)
		err = hit_filter_compile(format, s->filter, s->compiled, why);
	else if (format)
		err = deny(why, -ENOMEM, "no memory for a filter");
	free(format);
	return err;
}

static int slot_begin(struct tracepoints *t, struct slot *s, const char *name, bool samples,
		      const struct perf_event_spec *spec, struct reason *why)
{
	int err;

	slot_detach(t, s);
	if (slot_on_event(s))
		slot_unload(t, s);	/* its last attachment may have failed */
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->filter, sizeof(s->filter), "%s", spec->filter ?: "");
	s->id = spec->config;
	s->samples = samples;
	err = slot_learn(t, s, spec, why) ?: slot_compile(s, why);
	if (err)
		*s->name = '\0';
	return err;
}

int tracepoints_take(struct tracepoints *t, const char *name, bool samples,
		     const struct perf_event_spec *spec, struct reason *why)
{
	struct slot *s = slot_find(t, name, samples, spec->filter ?: "");
	int err = 0;

	/* A module that was loaded anew has other numbers, perhaps another tracepoint. */
	if (s && !s->attached && s->id != spec->config) {
		*s->name = '\0';
		s = NULL;
	}
	if (!s) {
		s = slot_choose(t);
		err = s ? slot_begin(t, s, name, samples, spec, why) :
		      deny(why, -ENOSPC, "%d tracepoints are counted, and no more can be",
			   ABI_TRACEPOINTS);
	}
	if (!err && !s->attached) {
		err = slot_attach(t, s, spec, why);
		s->attached = !err;
	}
	DEBUG(t->e->debug, MD, CONFIG, "tracepoint %s: %s", name, strerror(-err));
	if (err)
		return err;
	s->users++;
	return ABI_SOURCE_TRACEPOINT + (int)slot_number(t, s);
}

static struct slot *slot_find_probe(struct tracepoints *t, const struct probe_id *id)
{
	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++)
		if (t->slot[i].probe && !memcmp(&t->slot[i].id_probe, id, sizeof(*id)))
			return &t->slot[i];
	return NULL;
}

static int slot_begin_probe(struct tracepoints *t, struct slot *s, const struct probe_spec *spec,
			    const struct probe_id *id, struct reason *why)
{
	int err;

	slot_detach(t, s);
	snprintf(s->name, sizeof(s->name), "probe");	/* no tracepoint's name */
	*s->filter = '\0';
	s->samples = false;
	s->way = SLOT_PROBE;
	s->id_probe = *id;
	err = probe_open(t->e, spec, slot_number(t, s), &s->probe, why);
	s->attached = !err;
	return err;
}

int tracepoints_take_probe(struct tracepoints *t, const struct probe_spec *spec,
			   struct reason *why)
{
	struct probe_id id;
	struct slot *s;
	int err = probe_identify(spec, &id);

	if (err)
		return deny(why, err, "%s: %s", spec->name, strerror(-err));
	s = slot_find_probe(t, &id);
	if (!s) {
		s = slot_choose(t);
		err = s ? slot_begin_probe(t, s, spec, &id, why) :
		      deny(why, -ENOSPC, "no counter of hits is free");
	}
	DEBUG(t->e->debug, MD, CONFIG, "probe %s: %s", spec->name, strerror(-err));
	if (err)
		return err;
	s->users++;
	return ABI_SOURCE_TRACEPOINT + (int)slot_number(t, s);
}

uint64_t tracepoints_missed(const struct tracepoints *t, int source, bool all)
{
	const struct slot *s = &t->slot[source - ABI_SOURCE_TRACEPOINT];

	return s->probe ? probe_missed(t->e, s->probe, all) : 0;
}

static struct hit_sampler *source_sampler(const struct tracepoints *t, int source)
{
	const struct slot *s = &t->slot[source - ABI_SOURCE_TRACEPOINT];

	return s->probe ? probe_sampler(s->probe) : s->sampler;
}

int tracepoints_sample(struct tracepoints *t, int source, unsigned int cpu, uint32_t tag)
{
	return hit_sampler_add_cpu(source_sampler(t, source), cpu, tag);
}

void tracepoints_sample_end(struct tracepoints *t, int source, unsigned int cpu, uint32_t tag)
{
	hit_sampler_drop_cpu(source_sampler(t, source), cpu, tag);
}

void tracepoints_give(struct tracepoints *t, int source)
{
	struct slot *s = &t->slot[source - ABI_SOURCE_TRACEPOINT];

	if (--s->users)
		return;
	s->since = (int64_t)clock_ns() / 1000000;
	/* These programs linger by themselves; a probe must not slow others down any longer. */
	if (s->way != SLOT_OWN && !slot_on_event(s))
		slot_detach(t, s);
}

int tracepoints_now(const struct tracepoints *t, int source, unsigned int cpu, uint64_t *value)
{
	unsigned int slot = (unsigned int)(source - ABI_SOURCE_TRACEPOINT);
	int err = tracepoints_ctl(t->e, ABI_TRACEPOINT_NOW, 0, ABI_TRACEPOINT_AT(slot, cpu), 0);

	*value = t->e->skel->bss->learned.hits;
	return err;
}

int tracepoints_settle(struct tracepoints *t)
{
	int64_t now = (int64_t)clock_ns() / 1000000, next = -1;

	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++) {
		struct slot *s = &t->slot[i];
		int64_t left = s->since + LINGER - now;

		if (!s->attached || s->users)
			continue;
		if (left <= 0)
			slot_detach(t, s);
		else if (next < 0 || left < next)
			next = left;
	}
	return (int)next;
}
