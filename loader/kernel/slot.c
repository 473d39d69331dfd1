/* SPDX-License-Identifier: BSD-2-Clause */
/* See slot.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "event_format.h"
#include "hit_filter.h"
#include "hit_sampler.h"
#include "pmcbpf.skel.h"
#include "slot.skel.h"
#include "slot.h"

bool slot_on_event(const struct slot *s)
{
	return s->way == SLOT_CALL || s->way == SLOT_RECORD;
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
	return deny(why, -EOPNOTSUPP, "%s: before Linux 6.7 hits are sampled without %s, but for "
		    "those of system calls: leave it out%s", s->name,
		    s->raw ? "their records (raw)" : "a filter", s->raw ? "" : ", or count");
}

int slot_learn(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
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
	if (!*s->filter && !s->raw)
		return 0;
	s->way = SLOT_RECORD;
	return slot_check_record(s, why);
}

unsigned int slot_number(const struct tracepoints *t, const struct slot *s)
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

void slot_unload(struct tracepoints *t, struct slot *s)
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

/* The kind of its program, if it samples. */
static enum hit_kind slot_kind(const struct slot *s)
{
	return s->way == SLOT_CALL ? HIT_CALL : s->way == SLOT_RECORD ? HIT_RECORD : HIT_TRACEPOINT;
}

static int slot_load_sampling(const struct tracepoints *t, struct slot *s)
{
	return hit_sampler_new(t->e, slot_number(t, s), slot_kind(s), s->compiled, &s->sampler);
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

int slot_attach(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
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

void slot_detach(struct tracepoints *t, struct slot *s)
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

int slot_compile(const struct tracepoints *t, struct slot *s, struct reason *why)
{
	char *format = NULL;
	int err = *s->filter || s->raw ? tracefs_format(s->name, &format, why) : 0;

	free(s->compiled);
	s->compiled = format ? calloc(1, sizeof(*s->compiled)) : NULL;
	if (format && !s->compiled)
		err = deny(why, -ENOMEM, "no memory for a filter");
	if (s->compiled && *s->filter)
		err = hit_filter_compile(t->e, format, s->way == SLOT_CALL, s->filter,
					 &s->compiled->filter, why);
	if (s->compiled && s->raw && !err)
		err = event_format_shape(format, s->way == SLOT_CALL, &s->compiled->record, why);
	free(format);
	return err;
}

void slot_name(struct slot *s, const char *name, const struct perf_event_spec *spec)
{
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->filter, sizeof(s->filter), "%s", spec->filter ?: "");
	s->raw = spec->raw;
	s->id = spec->config;
}

bool slot_prepare(struct tracepoints *t, const char *name, const struct perf_event_spec *spec,
		  uint64_t *user)
{
	struct slot s = { .samples = true };
	struct reason unused;
	bool waited;

	slot_name(&s, name, spec);
	waited = !slot_learn(t, &s, spec, &unused) && !slot_compile(t, &s, &unused) &&
		 hit_sampler_prepare(t->e, slot_kind(&s), s.compiled, user);
	free(s.compiled);
	return waited;
}

void slot_free(struct tracepoints *t, struct slot *s)
{
	probe_close(t->e, s->probe, NULL);
	bpf_link__destroy(s->link);
	if (s->attached && slot_on_event(s))
		close(s->call_link);
	slot_bpf__destroy(s->skel);
	hit_sampler_free(s->sampler);
	free(s->compiled);
}
