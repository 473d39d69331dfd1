/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting: one PMC's value, whatever its count comes from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_impl.h"

/* --- owners --------------------------------------------------------------------------------- */

int count_owner_new(struct engine *e, pid_t tgid, struct count_owner **out, struct why *why)
{
	struct count_owner *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->e = e;
	o->tgid = tgid;
	o->page_fd = -1;
	err = engine_counts_new(e, &o->counts, why);
	if (err) {
		free(o);
		return err;
	}
	err = page_new(o, why);
	if (err) {
		engine_counts_free(e, &o->counts);
		free(o);
		return err;
	}
	*out = o;
	return 0;
}

void count_owner_free(struct count_owner *o)
{
	if (!o)
		return;
	page_free(o);
	engine_counts_free(o->e, &o->counts);
	free(o);
}

void count_owner_fds(const struct count_owner *o, int fds[2])
{
	fds[0] = o->page_fd;
	fds[1] = o->counts.fd;
}

/* --- values --------------------------------------------------------------------------------- */

/*
 * CPU time in the event's ticks; other figures as they are.  128 bits: a year of PROF overflows 64.
 */
uint64_t count_scale(const struct count *c, uint64_t raw)
{
	if (c->spec.kind != COUNT_SOFT || !c->spec.soft->rate)
		return raw;
	return (uint64_t)((__uint128_t)raw * c->spec.soft->rate / 1000000000u);
}

/*
 * What the programs have credited so far; nobody but them writes there, so a start is a
 * subtraction.
 */
uint64_t count_slices(const struct count *c)
{
	uint64_t sum = -c->zero;

	for (unsigned int cpu = 0; c->pos < ABI_COUNTS && cpu < engine_ncpu(c->e); cpu++)
		sum += __atomic_load_n(&c->owner->counts.cpu[cpu].count[c->pos], __ATOMIC_RELAXED);
	return sum;
}

/* Ends the slices that are open now and opens them anew. */
static void slices_update(const struct count *c)
{
	for (unsigned int cpu = 0; cpu < engine_ncpu(c->e); cpu++)
		if (1 & __atomic_load_n(&c->owner->counts.cpu[cpu].open, __ATOMIC_RELAXED) >>
			c->pos)
			engine_flush(c->e, cpu);
}

int count_lost(struct count *c, int err, struct why *why)
{
	c->lost = true;
	return deny(why, err, "row %u lost its counter to another user of the PMU; "
		    "release the PMC and allocate again", c->spec.row);
}

/* The counter of a system-scope PMC. */
static int cpu_counter(struct count *c, uint64_t *value, struct why *why)
{
	int err;

	if (c->backend == BACKEND_CPU_HOOK) {
		*value = engine_hook_read(c->e, c->spec.soft->hook, c->spec.cpu);
		return 0;
	}
	err = perf_read(c->fd, value);
	if (!err)
		return 0;
	c->lost = err == -EBUSY;
	return deny(why, err, "CPU %u: the counter of row %u is lost: %s", c->spec.cpu, c->spec.row,
		    strerror(-err));
}

static uint64_t read_tsc(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

int count_read(struct count *c, uint64_t *value, struct why *why)
{
	uint64_t raw = 0;
	int err = 0;

	if (c->spec.descendants && c->running && engine_lost_targets(c->e) != c->lost_targets)
		return deny(why, -ENOMEM,
			    "descendants were lost: more than %d processes are measured",
			    ABI_MAX_TARGETS);
	switch (c->backend) {
	case BACKEND_TSC:
		*value = read_tsc();
		return 0;
	case BACKEND_CPU_EVENT:
	case BACKEND_CPU_HOOK:
		if (c->running)
			err = cpu_counter(c, &raw, why);
		raw = c->raw + (c->running ? raw - c->start : 0);
		break;
	case BACKEND_SLICED:
		if (c->running)
			slices_update(c);
		raw = count_slices(c);
		if (c->lost || engine_source_lost(c->e, c->source))
			err = count_lost(c, -EBUSY, why);
		break;
	case BACKEND_FIGURES:
		err = figures_read(c, &raw, why);
		break;
	case BACKEND_EVENTS:
		err = events_sum(c, &raw, why);
		break;
	}
	if (!err)
		*value = c->base + count_scale(c, raw);
	return err;
}

int count_write(struct count *c, uint64_t value, struct why *why)
{
	uint64_t now;
	int err;

	if (c->backend == BACKEND_TSC)
		return 0;
	err = count_read(c, &now, why);
	if (err)
		return err;
	c->base += value - now;
	page_update(c);
	return 0;
}

/* What a PMC counts on its PMU, or the software event that stands for it. */
struct perf_event_spec count_event(const struct count *c)
{
	if (c->spec.kind == COUNT_HARDWARE)
		return c->spec.event;
	return (struct perf_event_spec){ .type = 1 /* PERF_TYPE_SOFTWARE */,
					 .config = c->spec.soft->perf_config };
}

int count_rank(const struct engine *e, const struct count_spec *spec)
{
	const struct count_row *row = target_count_row(engine_targets(e), spec->row);

	if (spec->kind != COUNT_HARDWARE || spec->system || !row->users)
		return 0;
	return row->per_task || !perf_spec_same(&row->spec, &spec->event);
}

/* --- making and freeing ---------------------------------------------------------------------- */

static enum engine_need hook_need(const struct soft_event *s)
{
	switch (s->hook) {
	case ABI_HOOK_LOCK:
		return NEED_LOCK;
	case ABI_HOOK_FAULT_READ:
	case ABI_HOOK_FAULT_WRITE:
		return NEED_FAULT;
	default:
		return NEED_KIND;
	}
}

static int system_new(struct count *c, struct why *why)
{
	const struct perf_event_spec spec = count_event(c);

	if (c->spec.kind == COUNT_SOFT && c->spec.soft->system == SOFT_HOOK) {
		c->backend = BACKEND_CPU_HOOK;
		return 0;
	}
	c->backend = BACKEND_CPU_EVENT;
	if (c->spec.kind == COUNT_HARDWARE && row_fits(c, &spec, why))
		return -EINVAL;
	c->fd = perf_open_cpu(&spec, c->spec.cpu);
	if (c->fd >= 0) {
		if (c->spec.kind == COUNT_HARDWARE)
			row_add(c);
		return 0;
	}
	if (c->fd == -ENXIO)
		return deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu);
	return deny(why, -EINVAL,
		    "CPU %u has no counter free for this event (%s); another user of the "
		    "PMU may hold it", c->spec.cpu, strerror(-c->fd));
}

static int process_new(struct count *c, struct why *why)
{
	int err;

	if (c->pos >= ABI_COUNTS)
		return deny(why, -EINVAL,
			    "a process can own at most %d process-scope PMCs", ABI_COUNTS);
	if (c->spec.kind == COUNT_SOFT && c->spec.soft->process == SOFT_TASK) {
		c->backend = BACKEND_FIGURES;
		return 0;
	}
	err = row_join(c, why);
	return err && err != -ENOMEM && err != -ENXIO ? -EINVAL : err;
}

int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct why *why)
{
	struct count *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->e = e;
	c->owner = o;
	c->spec = *spec;
	c->source = c->fd = -1;
	c->pos = ~o->pos_used ? (unsigned int)__builtin_ctzll(~o->pos_used) : ~0u;
	if (c->pos >= ABI_COUNTS)
		c->pos = ~0u;
	if (spec->kind == COUNT_TSC) {
		c->backend = BACKEND_TSC;
		err = 0;
	} else {
		err = spec->system ? system_new(c, why) : process_new(c, why);
	}
	if (err) {
		free(c);
		return err;
	}
	if (c->pos != ~0u) {
		o->pos_used |= 1ull << c->pos;
		c->zero = count_slices(c);
	}
	page_update(c);
	*out = c;
	return 0;
}

void count_free(struct count *c)
{
	struct why unused;

	if (!c)
		return;
	if (c->running)
		(void)count_stop(c, &unused);
	if (!c->spec.system)
		target_leave_all(engine_targets(c->e), c);
	events_close(c);
	row_leave(c);
	if (c->fd >= 0)
		close(c->fd);
	for (unsigned int what = 0; what < NEEDS; what++)
		if (c->needs >> what & 1)
			engine_unneed(c->e, what);
	if (c->pos != ~0u) {
		c->owner->page->pmc[c->pos].how = WIRE_HOW_ASK;
		c->owner->pos_used &= ~(1ull << c->pos);
	}
	free(c);
}

unsigned int count_pos(const struct count *c)
{
	return c->pos;
}

/* --- running --------------------------------------------------------------------------------- */

int count_hold(struct count *c, enum engine_need what, struct why *why)
{
	int err;

	if (c->needs >> what & 1)
		return 0;
	err = engine_need(c->e, what, why);
	if (!err)
		c->needs |= 1u << what;
	return err;
}

/* The programs this PMC lives on, from its first START to its end. */
static int hold_all(struct count *c, struct why *why)
{
	const struct soft_event *s = c->spec.soft;
	int err = 0;

	if (c->backend == BACKEND_SLICED)
		err = count_hold(c, NEED_SWITCH, why);
	if (c->backend == BACKEND_CPU_HOOK ||
	    (c->backend == BACKEND_SLICED && c->source >= ABI_SOURCE_HOOK))
		err = err ?: count_hold(c, hook_need(s), why);
	return err;
}

bool count_self_only(const struct count *c)
{
	struct targets *ts = engine_targets(c->e);

	return !c->spec.descendants && target_number(ts, c) == 1 &&
	       target_row(ts, c->owner->tgid, c->spec.row) == c;
}

/*
 * An owner that measures only itself reads through its own threads' events, without asking; that
 * needs the row for itself.
 */
static int prefer_events(struct count *c, struct why *why)
{
	struct targets *ts = engine_targets(c->e);
	struct count_row *row = target_count_row(ts, c->spec.row);

	if (c->backend != BACKEND_SLICED || c->spec.kind != COUNT_HARDWARE || row->users != c ||
	    c->row_next || !count_self_only(c))
		return 0;
	return row_to_tasks(c->e, row, why);
}

int count_start(struct count *c, struct why *why)
{
	int err;

	if (c->running)
		return 0;
	err = prefer_events(c, why);
	err = err ?: hold_all(c, why);
	if (err)
		return err;
	c->lost_targets = engine_lost_targets(c->e);
	c->running = true;
	switch (c->backend) {
	case BACKEND_TSC:
		break;
	case BACKEND_CPU_EVENT:
	case BACKEND_CPU_HOOK:
		err = perf_cpu_online(c->spec.cpu) ? cpu_counter(c, &c->start, why) :
			deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu);
		break;
	case BACKEND_SLICED:
		target_activate(engine_targets(c->e), c, true);
		engine_flush_all(c->e);
		break;
	case BACKEND_FIGURES:
		err = figures_start(c, why);
		break;
	case BACKEND_EVENTS:
		err = events_switch(c, true, why);
		break;
	}
	c->running = !err;
	page_update(c);
	return err;
}

int count_stop(struct count *c, struct why *why)
{
	uint64_t now = 0;
	int err = 0;

	if (!c->running)
		return 0;
	switch (c->backend) {
	case BACKEND_TSC:
		break;
	case BACKEND_CPU_EVENT:
	case BACKEND_CPU_HOOK:
		if (!perf_cpu_online(c->spec.cpu))
			err = deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu);
		else if (!cpu_counter(c, &now, why))
			c->raw += now - c->start;
		break;
	case BACKEND_SLICED:
		target_activate(engine_targets(c->e), c, false);
		engine_flush_all(c->e);
		c->lost |= engine_source_lost(c->e, c->source);
		break;
	case BACKEND_FIGURES:
		err = figures_stop(c, why);
		break;
	case BACKEND_EVENTS:
		err = events_switch(c, false, why);
		break;
	}
	c->running = false;
	page_update(c);
	return err;
}

unsigned int count_self_fds(const struct count *c, int *fds, unsigned int max, uint32_t *generation)
{
	if (c->backend != BACKEND_EVENTS || !c->running || !count_self_only(c) || c->nevents > max)
		return 0;
	for (unsigned int i = 0; i < c->nevents; i++)
		fds[i] = c->events[i].fd;
	*generation = c->generation;
	return c->nevents;
}
