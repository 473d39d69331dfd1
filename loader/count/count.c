/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting: the operations on one PMC's count, for all backends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "count_group.h"
#include "count_pay.h"
#include "cpu_event.h"
#include "holder.h"
#include "page.h"
#include "slices.h"
#include "task_events.h"

int count_init(struct engine *e)
{
	e->targets = targets_new(e);
	e->hotplug = hotplug_new(e);
	return e->targets && e->hotplug ? 0 : -ENOMEM;
}

void count_fini(struct engine *e)
{
	if (!e)
		return;
	targets_free(e->targets);
	hotplug_free(e->hotplug);
}

/* --- values --------------------------------------------------------------------------------- */

int count_read(struct count *c, uint64_t *value, struct reason *why)
{
	const struct user *u = c->owner->user;
	char share[USER_PART_TEXT];
	uint64_t raw = 0;
	int err;

	if (c->spec.descendants && c->running &&
	    target_lost(c->e->targets, c) != c->lost_targets) {
		user_part_text(u, USER_SHARE, share, sizeof(share));
		return deny(why, -ENOMEM, "descendants were lost: uid %u%s measures as many "
			    "processes as one user may (%s of %d), or there are no more", u->uid,
			    u->user_ns ? " of a container" : "", share, ABI_MAX_TARGETS);
	}
	err = c->backend->read(c, &raw, why);
	if (!err)
		*value = c->base + count_state_scale(c, raw);
	DEBUG(c->e->debug, MD, READ, "row %u PMC 0x%08x: base %llu raw %llu: %s",
	      c->spec.row, c->spec.pmcid, (unsigned long long)c->base, (unsigned long long)raw,
	      strerror(-err));
	return err;
}

int count_write(struct count *c, uint64_t value, struct reason *why)
{
	uint64_t now;
	int err;

	if (c->backend->read_only)
		return 0;
	if (c->backend->forget)
		c->backend->forget(c);
	err = count_read(c, &now, why);
	if (err)
		return err;
	c->base += value - now;
	DEBUG(c->e->debug, MD, WRITE, "row %u PMC 0x%08x: %llu for %llu", c->spec.row,
	      c->spec.pmcid, (unsigned long long)value, (unsigned long long)now);
	page_update(c);
	return 0;
}

int count_rank(const struct engine *e, const struct count_spec *spec)
{
	return spec->system || !spec->holder->rank ? 0 : spec->holder->rank(e, spec);
}

/* --- making and freeing ---------------------------------------------------------------------- */

static int count_begin_process(struct count *c, struct reason *why)
{
	int err;

	if (c->pos >= ABI_COUNTS && !c->spec.cgroup)
		return deny(why, -EINVAL,
			    "a process can own at most %d process-scope PMCs", ABI_COUNTS);
	if (c->spec.row >= TARGET_ROWS)
		return deny(why, -EINVAL, "processes are measured on the rows 0 to %d: row %u (%s) "
			    "is for system scope", TARGET_ROWS - 1, c->spec.row, c->spec.row_name);
	err = c->spec.holder->begin_process(c, why);
	return err && err != -ENOMEM && err != -ENXIO && err != -EAGAIN ? -EINVAL : err;
}

bool count_prepare(struct engine *e, const struct count_spec *spec, struct user *user)
{
	if (spec->sampling && spec->from == COUNT_FROM_PROBE)
		return tracepoints_prepare_probe(e->tracepoints, spec->probe,
						 &user->last_load);
	return spec->sampling && spec->from == COUNT_FROM_TRACEPOINT &&
	       tracepoints_prepare(e->tracepoints, spec->tracepoint, &spec->event,
				   &user->last_load);
}

int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct reason *why)
{
	struct count *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->e = e;
	c->owner = o;
	c->spec = *spec;
	c->tag = spec->tag ?: ++e->tags | 1ull << 63;
	if (spec->event.filter && !(c->filter = strdup(spec->event.filter))) {
		free(c);
		return -ENOMEM;
	}
	c->spec.event.filter = c->filter;
	c->source = c->fd = c->lost_cpu = -1;
	c->pos = ~o->pos_used ? (unsigned int)__builtin_ctzll(~o->pos_used) : ~0u;
	if (c->pos >= ABI_COUNTS)
		c->pos = ~0u;
	c->away = spec->system && !cpu_bell_cpu(e->cpu_bell, spec->cpu).here;
	err = spec->system ? spec->holder->begin_system(c, why) : count_begin_process(c, why);
	err = err || !spec->grouped ? err : count_group_admit(c, why);
	if (err) {
		count_pay_back(c);
		count_state_unhold(c);
		free(c->filter);
		free(c);
		return err;
	}
	c->spec.tracepoint = NULL;
	c->spec.probe = NULL;
	if (c->pos != ~0u) {
		o->pos_used |= 1ull << c->pos;
		c->zero = slices_sum(c);
		slices_forget(c);
	}
	hotplug_add(e->hotplug, c);
	DEBUG(e->debug, MD, ALLOCATE, "row %u PMC 0x%08x: %s", spec->row, spec->pmcid,
	      c->backend->name);
	page_update(c);
	*out = c;
	return 0;
}

void count_let_go(struct count *c)
{
	struct reason unused;

	if (!c)
		return;
	if (c->running)
		(void)count_stop(c, &unused);
	if (!c->spec.system)
		target_leave_slowly(c->e->targets, c);
	task_events_close(c);
}

void count_free(struct count *c)
{
	struct reason unused;

	if (!c)
		return;
	DEBUG(c->e->debug, MD, RELEASE, "row %u PMC 0x%08x", c->spec.row, c->spec.pmcid);
	if (c->running)
		(void)count_stop(c, &unused);
	hotplug_drop(c);
	if (!c->spec.system)
		target_leave_all(c->e->targets, c);
	task_events_close(c);
	cgroup_free(c);
	if (c->spec.holder->end)
		c->spec.holder->end(c);
	cpu_event_close(c);
	count_pay_back(c);
	count_state_unhold(c);
	if (c->pos != ~0u) {
		c->owner->page->pmc[c->pos].how = WIRE_HOW_ASK;
		c->owner->pos_used &= ~(1ull << c->pos);
	}
	free(c->filter);
	free(c);
}

unsigned int count_pos(const struct count *c)
{
	return c->pos;
}

/* --- running --------------------------------------------------------------------------------- */

int count_start(struct count *c, struct reason *why)
{
	int err;

	if (c->running)
		return 0;
	err = c->spec.holder->prepare ? c->spec.holder->prepare(c, why) : 0;
	if (!err && c->backend->hold)
		err = c->backend->hold(c, why);
	if (err)
		return err;
	c->lost_targets = target_lost(c->e->targets, c);
	c->running = true;
	err = c->backend->start(c, why);
	c->running = !err;
	DEBUG(c->e->debug, MD, START, "row %u PMC 0x%08x %s: %s", c->spec.row,
	      c->spec.pmcid, c->backend->name, strerror(-err));
	page_update(c);
	return err;
}

int count_stop(struct count *c, struct reason *why)
{
	int err;

	if (!c->running)
		return 0;
	/* What an owner's thread read by itself now might be more than the sum. */
	c->stopping = true;
	page_update(c);
	err = c->backend->stop ? c->backend->stop(c, why) : 0;
	c->running = c->stopping = false;
	DEBUG(c->e->debug, MD, STOP, "row %u PMC 0x%08x: %s", c->spec.row, c->spec.pmcid,
	      strerror(-err));
	page_update(c);
	return err;
}

bool count_is_lost(const struct count *c)
{
	return c->lost;
}

unsigned int count_read_fds(const struct count *c, int *fds, unsigned int max, uint32_t *generation)
{
	*generation = c->generation;
	return c->running && c->backend->fds ? c->backend->fds(c, fds, max) : 0;
}
