/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups.  Each slice counts all members of a group or none, and reads each of their sources once,
 * so that members which count the same have the same count at all times.  Members of a CPU are read
 * by a program that runs there (gauge.h), at their start and at their stop as well: a count is the
 * difference of two such readings.
 */
#include <errno.h>
#include <string.h>

#include "count_group.h"
#include "cpu_event.h"
#include "hold_tracepoint.h"
#include "holder.h"
#include "page.h"
#include "slices.h"
#include "task_group.h"

/* --- making ----------------------------------------------------------------------------------- */

int count_group_admit(struct count *c, struct reason *why)
{
	if (c->spec.system ? c->backend->gauge != NULL :
			     c->backend->sliced || c->backend == &backend_task_group)
		return 0;
	if (c->spec.holder->end)
		c->spec.holder->end(c);
	if (c->spec.system)
		return deny(why, -EOPNOTSUPP, "row %u (%s) is read by itself, and a group by one "
			    "program on its CPU: count it outside of the group", c->spec.row,
			    c->spec.row_name);
	return deny(why, -EOPNOTSUPP, "the event is counted task by task on row %u (%s), and a "
		    "group is counted in time slices: count it outside of the group",
		    c->spec.row, c->spec.row_name);
}

static struct gauge group_gauge(const struct count *c)
{
	struct gauge g = { .fd = -1 };

	c->backend->gauge(c, &g);
	return g;
}

static bool group_same_event(const struct count *earlier, const struct count *c)
{
	return earlier->spec.from == c->spec.from && earlier->spec.holder == c->spec.holder &&
	       perf_spec_same(&earlier->spec.event, &c->spec.event);
}

/* True if `c` can read what an earlier member reads, which is freed after it. */
static bool group_lends(struct count *earlier, struct count *c)
{
	struct gauge a, b;

	if (earlier->lender)
		return false;
	if (!c->spec.system && c->spec.holder == &holder_counter)
		return group_same_event(earlier, c);
	if (earlier->backend != c->backend)
		return false;
	if (!c->spec.system)
		return earlier->source >= 0 && earlier->source < ABI_SOURCE_MSR &&
		       c->source < ABI_SOURCE_MSR && group_same_event(earlier, c);
	a = group_gauge(earlier);
	b = group_gauge(c);
	if (a.fd < 0 || b.fd < 0)
		return a.fd == b.fd && a.source == b.source;
	return c->spec.from == COUNT_FROM_EVENT && group_same_event(earlier, c) &&
	       cpu_event_borrow(c, earlier);
}

void count_form_group(struct count *const *list, unsigned int n, bool descendants)
{
	for (unsigned int i = 0; i < n; i++) {
		struct count *c = list[i];

		c->spec.descendants = descendants;
		c->first = list[0];
		for (unsigned int j = 0; j < i && !c->lender; j++)
			if (group_lends(list[j], c))
				c->lender = list[j];
		c->place = c->lender ? c->lender->place : list[0]->places++;
	}
}

/* --- a CPU's members -------------------------------------------------------------------------- */

/* Their counters at one instant. */
static int group_now(struct count *const *list, unsigned int n, uint64_t *now,
		     unsigned int *failed, struct reason *why)
{
	struct gauge gauges[ABI_MAX_MEMBERS];
	uint32_t lost;
	int err;

	*failed = n;
	for (unsigned int i = 0; i < n; i++)
		gauges[i] = group_gauge(list[i]);
	err = gauge_read(list[0]->e, list[0]->spec.cpu, gauges, n, now, &lost);
	if (err)
		return deny(why, err, "CPU %u: the counters of the group cannot be read: %s",
			    list[0]->spec.cpu, strerror(-err));
	if (lost) {
		*failed = (unsigned int)__builtin_ctz(lost);
		return count_state_lost(list[*failed], -EBUSY, why);
	}
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (list[i]->lender == list[j])
				now[i] = now[j];
	return 0;
}

static int group_start_cpu(struct count *const *list, unsigned int n, unsigned int *failed,
			   struct reason *why)
{
	uint64_t now[ABI_MAX_MEMBERS];
	int err = count_state_away(list[0], why) ?: group_now(list, n, now, failed, why);

	for (unsigned int i = 0; i < n && !err; i++) {
		list[i]->start = now[i];
		hold_tracepoint_start(list[i]);
	}
	return err;
}

/* If the CPU has gone, what its counters have counted until then is added already, or stays. */
static void group_stop_cpu(struct count *const *list, unsigned int n)
{
	uint64_t now[ABI_MAX_MEMBERS];
	struct reason unused;
	unsigned int failed;
	bool away = list[0]->away;
	int err = away ? 0 : group_now(list, n, now, &failed, &unused);

	for (unsigned int i = 0; i < n; i++) {
		if (away) {
			(void)list[i]->backend->stop(list[i], &unused);
			continue;
		}
		hold_tracepoint_stop(list[i]);
		list[i]->lost |= err != 0;
		if (!err)
			list[i]->raw += now[i] - list[i]->start;
	}
}

static int group_read_cpu(struct count *const *list, unsigned int n, uint64_t *raw,
			  unsigned int *failed, struct reason *why)
{
	int err = group_now(list, n, raw, failed, why);

	for (unsigned int i = 0; i < n && !err; i++)
		raw[i] += list[i]->raw - list[i]->start;
	return err;
}

/* --- start, stop, read ------------------------------------------------------------------------ */

bool count_shares_targets(struct count *const *list, unsigned int n)
{
	return target_shared(list[0]->e->targets, list, n);
}

static int group_prepare(struct count *c, struct reason *why)
{
	int err = c->spec.holder->prepare ? c->spec.holder->prepare(c, why) : 0;

	return err || !c->backend->hold ? err : c->backend->hold(c, why);
}

static int group_prepare_all(struct count *const *list, unsigned int n, unsigned int *failed,
			     struct reason *why)
{
	int err = 0;

	for (*failed = 0; *failed < n && !err; *failed += !err)
		err = group_prepare(list[*failed], why);
	return err;
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
	const bool system = list[0]->spec.system;
	int err = 0;

	*failed = n;
	if (!system)
		err = task_group_prepare(list, n, failed, why);
	if (!err && task_group_counts(list[0]))
		err = task_group_start(list, n, why);
	else if (!err)
		err = group_prepare_all(list, n, failed, why);
	if (!err && system)
		err = group_start_cpu(list, n, failed, why);
	if (err)
		return err;
	group_note(list, n, true);
	if (!system && !task_group_counts(list[0]))
		slices_start_all(list, n);
	for (unsigned int i = 0; i < n; i++)
		page_update(list[i]);
	return 0;
}

void count_stop_all(struct count *const *list, unsigned int n)
{
	if (list[0]->spec.system)
		group_stop_cpu(list, n);
	else if (task_group_counts(list[0]))
		task_group_stop(list, n);
	else
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
	if (list[0]->spec.system)
		err = group_read_cpu(list, n, raw, failed, why);
	else if (task_group_counts(list[0]))
		err = task_group_read(list, n, raw, failed, why);
	else
		err = slices_read_all(list, n, raw, failed, why);
	for (unsigned int i = 0; i < n; i++)
		values[i] = list[i]->base + count_state_scale(list[i], raw[i]);
	return err;
}

unsigned int count_read_fds_all(struct count *const *list, unsigned int n, int *fds,
				unsigned int max, uint32_t *generation,
				struct count_places *places)
{
	*generation = list[0]->generation;
	if (!list[0]->running || !task_group_counts(list[0]))
		return 0;
	places->places = list[0]->places;
	for (unsigned int i = 0; i < n; i++)
		places->place[i] = (uint8_t)list[i]->place;
	return task_group_fds(list, n, fds, max);
}
