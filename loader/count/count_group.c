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

int count_group_admit(struct count *c, struct reason *why)
{
	if (c->backend->sliced)
		return 0;
	if (c->spec.holder->end)
		c->spec.holder->end(c);
	return deny(why, -EOPNOTSUPP, "the event is counted task by task on row %u (%s), and a "
		    "group is counted in time slices: count it outside of the group",
		    c->spec.row, c->spec.row_name);
}

/* True if `c` can read the source of an earlier member, which is freed after it. */
static bool group_lends(const struct count *earlier, const struct count *c)
{
	return !earlier->lender && earlier->spec.from == c->spec.from &&
	       earlier->spec.holder == c->spec.holder && earlier->source >= 0 &&
	       earlier->source < ABI_SOURCE_MSR && c->source < ABI_SOURCE_MSR &&
	       perf_spec_same(&earlier->spec.event, &c->spec.event);
}

void count_form_group(struct count *const *list, unsigned int n, bool descendants)
{
	for (unsigned int i = 0; i < n; i++) {
		list[i]->spec.descendants = descendants;
		for (unsigned int j = 0; j < i && !list[i]->lender; j++)
			if (group_lends(list[j], list[i]))
				list[i]->lender = list[j];
	}
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
