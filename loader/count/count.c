/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting: one PMC's value, whatever its count comes from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_impl.h"

/* --- values --------------------------------------------------------------------------------- */

/*
 * CPU time in the event's ticks, energy in 2^-32 J; other figures as they are.  128 bits: a year of
 * PROF overflows 64.
 */
uint64_t count_scale(const struct count *c, uint64_t raw)
{
	if (c->spec.kind == COUNT_MSR)
		return raw << c->spec.shift;
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

int count_lost(struct count *c, int err, struct why *why)
{
	c->lost = true;
	if (c->backend == BACKEND_CPU_MSR)
		return deny(why, err, "CPU %u was offline meanwhile, or let nobody read its "
			    "register, and what that counted for row %u (%s) is lost; release the "
			    "PMC and allocate again", c->spec.cpu, c->spec.row, c->spec.row_name);
	if (c->lost_cpu >= 0)
		return deny(why, err, "CPU %d came online and ran processes of this PMC before row "
			    "%u (%s) had its counter there; stop, release and allocate again",
			    c->lost_cpu, c->spec.row, c->spec.row_name);
	if (c->spec.kind == COUNT_MSR)
		return deny(why, err, "row %u (%s): the register could not be read on some CPU: it "
			    "is not there, or not on the list any more; release the PMC",
			    c->spec.row, c->spec.row_name);
	return deny(why, err, "row %u (%s) lost its counter to another user of the PMU, whom "
		    "pmccontrol --doctor may name; release the PMC and allocate again",
		    c->spec.row, c->spec.row_name);
}

static int cpu_away(const struct count *c, struct why *why)
{
	return c->away ? deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu) : 0;
}

/* The counter of a system-scope PMC. */
static int cpu_counter(struct count *c, uint64_t *value, struct why *why)
{
	int err;

	if (c->backend == BACKEND_CPU_HOOK) {
		*value = engine_hook_read(c->e, c->spec.soft->hook, c->spec.cpu);
		return 0;
	}
	if (c->lost)
		return count_lost(c, -EBUSY, why);
	err = perf_read(c->fd, value);
	if (!err)
		return 0;
	if (err == -EBUSY)
		return count_lost(c, err, why);
	return deny(why, err, "CPU %u: the counter of row %u (%s) cannot be read: %s", c->spec.cpu,
		    c->spec.row, c->spec.row_name, strerror(-err));
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

	if (c->spec.descendants && c->running &&
	    target_lost(engine_targets(c->e), c) != c->lost_targets)
		return deny(why, -ENOMEM, "descendants were lost: uid %u%s measures as many "
			    "processes as one user may (user.share=%d percent of %d), or there are "
			    "no more", c->owner->user->uid,
			    c->owner->user->user_ns ? " of a container" : "",
			    c->owner->user->table->config->value[TUN_USER_SHARE],
			    ABI_MAX_TARGETS);
	switch (c->backend) {
	case BACKEND_TSC:
		*value = read_tsc();
		return cpu_away(c, why);
	case BACKEND_CPU_EVENT:
	case BACKEND_CPU_HOOK:
		err = cpu_away(c, why);
		if (!err && c->lost)
			err = count_lost(c, -EBUSY, why);
		if (!err && c->running)
			err = cpu_counter(c, &raw, why);
		raw = c->raw + (c->running ? raw - c->start : 0);
		break;
	case BACKEND_CPU_MSR:
		err = cpu_away(c, why);
		if (!err && c->lost)
			err = count_lost(c, -EBUSY, why);
		if (!err && c->running)
			err = register_fold(c, why);
		raw = c->raw;
		break;
	case BACKEND_SLICED:
		if (c->running)
			slices_update(c);
		raw = count_slices(c);
		if (c->lost || engine_source_lost(c->e, c->source))
			err = count_lost(c, -EBUSY, why);
		else if (slices_missed(c))
			err = slices_deny(c, why);
		break;
	case BACKEND_FIGURES:
		err = figures_read(c, &raw, why);
		break;
	case BACKEND_EVENTS:
		err = c->lost ? count_lost(c, -EBUSY, why) : events_sum(c, &raw, why);
		break;
	}
	if (!err)
		*value = c->base + count_scale(c, raw);
	DEBUG(engine_debug(c->e), MD, READ, "row %u PMC 0x%08x: base %llu raw %llu: %s",
	      c->spec.row, c->spec.pmcid, (unsigned long long)c->base, (unsigned long long)raw,
	      strerror(-err));
	return err;
}

int count_write(struct count *c, uint64_t value, struct why *why)
{
	uint64_t now;
	int err;

	if (c->backend == BACKEND_TSC)
		return 0;
	slices_forget(c);
	err = count_read(c, &now, why);
	if (err)
		return err;
	c->base += value - now;
	DEBUG(engine_debug(c->e), MD, WRITE, "row %u PMC 0x%08x: %llu for %llu", c->spec.row,
	      c->spec.pmcid, (unsigned long long)value, (unsigned long long)now);
	page_update(c);
	return 0;
}

/* What a PMC counts on its PMU, or the software event that stands for it. */
struct perf_event_spec count_event(const struct count *c)
{
	struct perf_event_spec spec = c->spec.event;

	if (c->spec.kind == COUNT_SOFT)
		spec = (struct perf_event_spec){ .type = 1 /* PERF_TYPE_SOFTWARE */,
						 .config = c->spec.soft->perf_config,
						 .user = c->spec.user, .kernel = c->spec.kernel };
	spec.tag = c->spec.tag;
	return spec;
}

enum soft_source count_source(const struct count_spec *spec)
{
	if (spec->log || spec->system)
		return spec->soft->system;
	/* The kernel's figures of a task know no sides. */
	return spec->user || spec->kernel ? SOFT_PERF : spec->soft->process;
}

int count_rank(const struct engine *e, const struct count_spec *spec)
{
	const struct count_row *row;

	if (spec->kind != COUNT_HARDWARE || spec->system)
		return 0;
	row = target_count_row(engine_targets(e), spec->row);
	if (LIST_EMPTY(&row->users))
		return 0;
	return row->per_task || spec->sampling || !perf_spec_same(&row->spec, &spec->event);
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

int cpu_event_open(const struct count *c)
{
	struct perf_event_spec spec = count_event(c);
	int fd, err = 0;

	spec.period = count_period(c);
	fd = perf_open_cpu(&spec, c->spec.cpu);
	if (fd >= 0 && c->spec.sampling)
		err = perf_set_program(fd, c->spec.program);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Who was passed the descriptor may have it longer, but not the counter. */
void cpu_event_close(struct count *c)
{
	if (c->fd < 0)
		return;
	(void)perf_disable(c->fd);
	close(c->fd);
	c->fd = -1;
	c->generation++;
}

static int system_new(struct count *c, struct why *why)
{
	const struct perf_event_spec spec = count_event(c);
	int err;

	if (c->spec.kind == COUNT_SOFT && c->spec.soft->system == SOFT_HOOK) {
		c->backend = BACKEND_CPU_HOOK;
		return 0;
	}
	err = count_pay(c, 1, 0, why);
	if (err)
		return err;
	if (spec.msr)
		return register_new(c, why);
	c->backend = BACKEND_CPU_EVENT;
	if (c->spec.kind == COUNT_HARDWARE && row_fits(c, &spec, why))
		return -EINVAL;
	c->downs = engine_cpu(c->e, c->spec.cpu).downs;
	c->fd = cpu_event_open(c);
	if (c->fd >= 0) {
		if (c->spec.kind == COUNT_HARDWARE)
			row_add(c);
		return 0;
	}
	if (c->fd == -ENXIO)
		return deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu);
	return deny(why, -EINVAL, "CPU %u cannot count this event on row %s: %s", c->spec.cpu,
		    c->spec.row_name, perf_error(c->fd));
}

static int process_new(struct count *c, struct why *why)
{
	int err;

	if (c->pos >= ABI_COUNTS)
		return deny(why, -EINVAL,
			    "a process can own at most %d process-scope PMCs", ABI_COUNTS);
	if (c->spec.row >= TARGET_ROWS)
		return deny(why, -EINVAL, "processes are measured on the rows 0 to %d: row %u (%s) "
			    "is for system scope", TARGET_ROWS - 1, c->spec.row, c->spec.row_name);
	if (c->spec.kind == COUNT_SOFT && !c->spec.log &&
	    (c->spec.sampling || count_source(&c->spec) == SOFT_TASK)) {
		c->backend = c->spec.sampling ? BACKEND_EVENTS : BACKEND_FIGURES;
		if (c->spec.sampling)
			LIST_INSERT_HEAD(&target_count_row(engine_targets(c->e), c->spec.row)->soft,
					 c, on_row);
		return 0;
	}
	err = row_join(c, why);
	return err && err != -ENOMEM && err != -ENXIO && err != -EAGAIN ? -EINVAL : err;
}

static void drop_needs(struct count *c)
{
	for (unsigned int what = 0; what < NEEDS; what++)
		if (c->needs >> what & 1)
			engine_unneed(c->e, what);
	c->needs = 0;
}

int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct why *why)
{
	struct count *c = calloc(1, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->e = e;
	c->owner = o;
	c->spec = *spec;
	c->source = c->fd = c->lost_cpu = -1;
	c->pos = ~o->pos_used ? (unsigned int)__builtin_ctzll(~o->pos_used) : ~0u;
	if (c->pos >= ABI_COUNTS)
		c->pos = ~0u;
	c->away = spec->system && !engine_cpu(e, spec->cpu).here;
	if (spec->kind == COUNT_TSC)
		c->backend = BACKEND_TSC;
	else
		err = spec->system ? system_new(c, why) : process_new(c, why);
	if (err) {
		count_repay(c);
		drop_needs(c);
		free(c);
		return err;
	}
	if (c->pos != ~0u) {
		o->pos_used |= 1ull << c->pos;
		c->zero = count_slices(c);
		slices_forget(c);
	}
	hotplug_add(engine_hotplug(e), c);
	DEBUG(engine_debug(e), MD, ALLOCATE, "row %u PMC 0x%08x backend %d", spec->row, spec->pmcid,
	      c->backend);
	page_update(c);
	*out = c;
	return 0;
}

void count_let_go(struct count *c)
{
	struct why unused;

	if (!c)
		return;
	if (c->running)
		(void)count_stop(c, &unused);
	if (!c->spec.system)
		target_leave_slowly(engine_targets(c->e), c);
	events_close(c);
}

void count_free(struct count *c)
{
	struct why unused;

	if (!c)
		return;
	DEBUG(engine_debug(c->e), MD, RELEASE, "row %u PMC 0x%08x", c->spec.row, c->spec.pmcid);
	if (c->running)
		(void)count_stop(c, &unused);
	hotplug_drop(c);
	if (!c->spec.system)
		target_leave_all(engine_targets(c->e), c);
	events_close(c);
	row_leave(c);
	cpu_event_close(c);
	count_repay(c);
	drop_needs(c);
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
	struct count_row *row;

	if (c->backend != BACKEND_SLICED || c->spec.log || c->spec.kind != COUNT_HARDWARE)
		return 0;
	row = target_count_row(engine_targets(c->e), c->spec.row);
	if (LIST_FIRST(&row->users) != c || LIST_NEXT(c, on_row) || !count_self_only(c))
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
	c->lost_targets = target_lost(engine_targets(c->e), c);
	c->running = true;
	switch (c->backend) {
	case BACKEND_TSC:
		err = cpu_away(c, why);
		break;
	case BACKEND_CPU_EVENT:
	case BACKEND_CPU_HOOK:
		err = cpu_away(c, why) ?: cpu_counter(c, &c->start, why);
		if (!err && c->spec.sampling)
			err = perf_enable(c->fd);
		break;
	case BACKEND_CPU_MSR:
		err = cpu_away(c, why) ?: register_start(c, why);
		break;
	case BACKEND_SLICED:
		hotplug_narrow(engine_hotplug(c->e), register_narrow(c));
		slices_start(c);
		break;
	case BACKEND_FIGURES:
		err = figures_start(c, why);
		break;
	case BACKEND_EVENTS:
		err = events_switch(c, true, why);
		break;
	}
	c->running = !err;
	DEBUG(engine_debug(c->e), MD, START, "row %u PMC 0x%08x backend %d: %s", c->spec.row,
	      c->spec.pmcid, c->backend, strerror(-err));
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
		if (c->spec.sampling)
			(void)perf_disable(c->fd);	/* fails where the CPU has gone */
		err = cpu_away(c, why);
		/* What an event had counted when its CPU went has been added. */
		if ((!err || c->backend == BACKEND_CPU_HOOK) && !cpu_counter(c, &now, why))
			c->raw += now - c->start;
		break;
	case BACKEND_CPU_MSR:
		err = cpu_away(c, why) ?: register_fold(c, why);
		c->lost |= err != 0;	/* nobody can tell any more what it counted */
		register_stop(c);
		break;
	case BACKEND_SLICED:
		hotplug_narrow(engine_hotplug(c->e), -register_narrow(c));
		slices_stop(c);
		c->lost |= engine_source_lost(c->e, c->source);
		break;
	case BACKEND_FIGURES:
		err = figures_stop(c, why);
		break;
	case BACKEND_EVENTS:
		err = events_switch(c, false, why);
		if (!err && c->spec.sampling)	/* nobody reads it */
			(void)events_sum(c, &now, why);
		break;
	}
	c->running = false;
	DEBUG(engine_debug(c->e), MD, STOP, "row %u PMC 0x%08x: %s", c->spec.row, c->spec.pmcid,
	      strerror(-err));
	page_update(c);
	return err;
}

bool count_cpu_fd(const struct count *c)
{
	if (c->backend == BACKEND_CPU_MSR)
		return c->fd >= 0 && !register_narrow(c);
	return c->backend == BACKEND_CPU_EVENT && c->spec.passes_fd && !c->spec.sampling &&
	       c->fd >= 0 && count_scale(c, 1000000000u) == 1000000000u;
}

unsigned int count_read_fds(const struct count *c, int *fds, unsigned int max, uint32_t *generation)
{
	*generation = c->generation;
	if (c->running && max && count_cpu_fd(c)) {
		fds[0] = c->fd;
		return 1;
	}
	if (c->backend != BACKEND_EVENTS || !c->running || !count_self_only(c) || c->events.n > max)
		return 0;
	for (unsigned int i = 0; i < c->events.n; i++)
		fds[i] = c->events.list[i].fd;
	return c->events.n;
}
