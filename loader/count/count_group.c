/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups.  Each slice counts all members of a group or none, and reads each of their sources once,
 * so that members which count the same have the same count at all times.
 */
#include <errno.h>

#include "count_group.h"
#include "holder.h"
#include "page.h"
#include "slices.h"

/* The earliest member that counts the same, which is freed after this one. */
static bool group_lends(struct count *other, void *arg)
{
	struct count *c = arg;

	if (other->owner != c->owner || other->spec.group != c->spec.group ||
	    other->spec.from != c->spec.from || other->spec.holder != c->spec.holder ||
	    other->lender || other->source < 0 || other->source >= ABI_SOURCE_MSR ||
	    c->source >= ABI_SOURCE_MSR || !perf_spec_same(&other->spec.event, &c->spec.event))
		return false;
	c->lender = other;
	return true;
}

int count_group_join(struct count *c, struct reason *why)
{
	if (c->backend->sliced) {
		(void)hotplug_any(c->e->hotplug, group_lends, c);
		return 0;
	}
	if (c->spec.holder->end)
		c->spec.holder->end(c);
	return deny(why, -EOPNOTSUPP, "the event is counted task by task on row %u (%s), and a "
		    "group is counted in time slices: count it outside of the group",
		    c->spec.row, c->spec.row_name);
}

bool count_shares_targets(struct count *const *list, unsigned int n)
{
	return target_shared(list[0]->e->targets, list, n);
}

static int group_prepare(struct count *c, struct reason *why)
{
	int err = c->spec.holder->prepare ? c->spec.holder->prepare(c, why) : 0;

	return err || !c->backend->hold ? err : c->backend->hold(c, why);
}

static void group_note(struct count *const *list, unsigned int n, bool running)
{
	for (unsigned int i = 0; i < n; i++) {
		list[i]->lost_targets = target_lost(list[i]->e->targets, list[i]);
		list[i]->running = running;
	}
}

int count_start_all(struct count *const *list, unsigned int n, unsigned int *failed,
		    struct reason *why)
{
	int err = 0;

	for (*failed = 0; *failed < n && !err; *failed += !err)
		err = group_prepare(list[*failed], why);
	if (err)
		return err;
	group_note(list, n, true);
	slices_start_all(list, n);
	for (unsigned int i = 0; i < n; i++)
		page_update(list[i]);
	return 0;
}

void count_stop_all(struct count *const *list, unsigned int n)
{
	slices_stop_all(list, n);
	for (unsigned int i = 0; i < n; i++) {
		list[i]->running = false;
		page_update(list[i]);
	}
}

int count_read_all(struct count *const *list, unsigned int n, uint64_t *values,
		   unsigned int *failed, struct reason *why)
{
	uint64_t raw[ABI_MAX_MEMBERS];
	int err = 0;

	/* First: also reports descendants that were lost. */
	for (*failed = 0; *failed < n && !err; *failed += !err)
		err = count_read(list[*failed], &values[*failed], why);
	if (err || !list[0]->running)
		return err;
	err = slices_read_all(list, n, raw, failed, why);
	for (unsigned int i = 0; i < n; i++)
		values[i] = list[i]->base + count_state_scale(list[i], raw[i]);
	return err;
}
