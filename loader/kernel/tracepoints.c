/* SPDX-License-Identifier: BSD-2-Clause */
/* See tracepoints.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "engine.h"
#include "hit_filter.h"
#include "hit_sampler.h"
#include "pmcbpf.skel.h"
#include "slot.h"
#include "tracepoints.h"

#define LINGER 100		/* ms for which unneeded programs stay attached */

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
	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++)
		slot_free(t, &t->slot[i]);
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

/* The kernel accepts such a filter, which no call passes. */
static int tracepoint_check_call(const char *name, const struct perf_event_spec *spec,
				 struct reason *why)
{
	char *format;
	int err;

	if (!spec->filter || strncmp(name, "syscalls:", 9) != 0)
		return 0;
	err = tracefs_format(name, &format, why);
	if (err)
		return err;
	err = hit_filter_check_call(format, spec->filter, why);
	free(format);
	return err;
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
	/* The kernel numbers its errors as it likes: EPERM and ENOENT are brackets and terms. */
	*refused = err && err != -ENOMEM;
	if (*refused)
		return deny(why, -EINVAL, "the kernel refuses the filter \"%.120s\" of %s; its "
			    "fields are in the event's format file in tracefs", spec->filter,
			    name);
	return err ?: tracepoint_check_call(name, spec, why);
}

/* --- counters --------------------------------------------------------------------------------- */

static struct slot *slot_find(struct tracepoints *t, const char *name, bool samples,
			      const struct perf_event_spec *spec)
{
	for (unsigned int i = 0; i < ABI_TRACEPOINTS; i++) {
		struct slot *s = &t->slot[i];

		if (!strcmp(s->name, name) && s->samples == samples && s->raw == spec->raw &&
		    !strcmp(s->filter, spec->filter ?: ""))
			return s;
	}
	return NULL;
}

/* While a program is attached, the module of the tracepoint cannot go. */
int tracepoints_id(struct tracepoints *t, const char *name, uint64_t *id, struct reason *why)
{
	static const struct perf_event_spec bare;
	const struct slot *s = slot_find(t, name, false, &bare);

	if (!s || !s->attached)
		s = slot_find(t, name, true, &bare);
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

static int slot_begin(struct tracepoints *t, struct slot *s, const char *name, bool samples,
		      const struct perf_event_spec *spec, struct reason *why)
{
	int err;

	slot_detach(t, s);
	if (slot_on_event(s))
		slot_unload(t, s);	/* its last attachment may have failed */
	slot_name(s, name, spec);
	s->samples = samples;
	err = slot_learn(t, s, spec, why) ?: slot_compile(t, s, why);
	if (err)
		*s->name = '\0';
	return err;
}

bool tracepoints_prepare(struct tracepoints *t, const char *name,
			 const struct perf_event_spec *spec, uint64_t *user)
{
	const struct slot *known = slot_find(t, name, true, spec);

	return !(known && known->sampler) && slot_prepare(t, name, spec, user);
}

int tracepoints_take(struct tracepoints *t, const char *name, bool samples,
		     const struct perf_event_spec *spec, struct reason *why)
{
	struct slot *s = slot_find(t, name, samples, spec);
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
	s->raw = s->samples = false;
	s->way = SLOT_PROBE;
	s->id_probe = *id;
	err = probe_open(t->e, spec, slot_number(t, s), &s->probe, why);
	s->attached = !err;
	return err;
}

bool tracepoints_prepare_probe(struct tracepoints *t, const struct probe_spec *spec,
			       uint64_t *user)
{
	struct probe_id id;

	return !probe_identify(spec, &id) && !slot_find_probe(t, &id) &&
	       hit_sampler_prepare(t->e, probe_hit_kind(spec), NULL, user);
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

int tracepoints_sample_cgroup(struct tracepoints *t, int source,
			      const struct abi_cgroup_sampler *of)
{
	return hit_sampler_add_cgroup(source_sampler(t, source), of);
}

void tracepoints_sample_cgroup_end(struct tracepoints *t, int source, uint32_t tag)
{
	hit_sampler_drop_cgroup(source_sampler(t, source), tag);
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
