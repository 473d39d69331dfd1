/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See task_group.h.  On each CPU, or on any if the owner's programs may not read counters, each of
 * the owner's threads has a group of events, whose first is the leader: only that is pinned, is
 * enabled and disabled, and shows that the group has lost its counters.  A thread inherits whole
 * groups.  Members that count the same event share one, and so have one `place` in the group.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count_row.h"
#include "holder.h"
#include "lib/base/array.h"
#include "page.h"
#include "task_cover.h"
#include "task_events.h"
#include "task_group.h"

/* --- what can be counted so ------------------------------------------------------------------- */

bool task_group_counts(const struct count *first)
{
	return first->backend == &backend_task_group;
}

static bool task_group_alone(const struct count *c)
{
	const struct count_row *row = target_count_row(c->e->targets, c->spec.row);

	return c->backend->sliced && LIST_FIRST(&row->users) == c && !LIST_NEXT(c, on_row);
}

static bool task_group_possible(const struct count *c)
{
	return c->spec.holder == &holder_counter && count_state_self_only(c) &&
	       (c->backend == &backend_task_group || task_group_alone(c));
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The leaders last. */
static void task_group_close(struct count *const *list, unsigned int n)
{
	for (unsigned int i = n; i--; )
		task_events_close(list[i]);
}

struct group_specs {
	struct perf_event_spec of[ABI_MAX_MEMBERS];
	bool bound;			/* to CPUs: the owner's programs may read the counters */
};

static void task_group_specs(struct count *const *list, unsigned int n, struct group_specs *s)
{
	s->bound = true;
	for (unsigned int i = 0; i < n; i++) {
		s->of[i] = count_state_event(list[i]);
		s->of[i].inherit = true;
		perf_ask_user_read(&s->of[i]);
		s->bound &= s->of[i].user_read;
	}
	for (unsigned int i = 0; i < n && !s->bound; i++) {
		s->of[i] = count_state_event(list[i]);
		s->of[i].inherit = true;
	}
}

/* A member's event; or none, where it counts by another's.  The descriptor, -1 or -errno. */
static int task_group_open_event(struct count *c, const struct perf_event_spec *spec,
				 const struct task_event *at, int leader)
{
	struct task_events *l = &c->events;
	struct reason unused;
	int fd = -1, err;

	if (array_extend(l->list, l->n) != 0)
		return -ENOMEM;
	if (!c->lender) {
		err = task_open_pay(c, &unused);
		if (err)
			return err;
		fd = perf_group_open(spec, at->tid, at->cpu, leader);
		if (fd < 0) {
			task_open_repay(c, 1);
			return fd;
		}
	}
	l->list[l->n] = *at;
	l->list[l->n++].fd = fd;
	return fd;
}

/* One thread's events, on one CPU or on any; none if it has ended. */
static int task_group_open_one(struct count *const *list, unsigned int n,
			       const struct group_specs *s, pid_t tid, int cpu)
{
	const struct task_event at = { .tid = tid, .tgid = list[0]->owner->tgid, .cpu = cpu };
	int leader = -1, fd = -1;
	unsigned int i = 0;

	while (i < n) {
		fd = task_group_open_event(list[i], &s->of[i], &at, leader);
		if (fd < 0 && !list[i]->lender)
			break;
		leader = leader < 0 ? fd : leader;
		i++;
	}
	if (i == n)
		return 0;
	while (i--)
		task_events_close_last(list[i]);
	return fd == -ESRCH ? 0 : fd;
}

static int task_group_open_thread(struct count *const *list, unsigned int n,
				  const struct group_specs *s, pid_t tid)
{
	int err = s->bound ? 0 : task_group_open_one(list, n, s, tid, TASK_ANY_CPU);

	for (unsigned int cpu = 0; s->bound && !err && cpu < list[0]->e->ncpu; cpu++)
		if (perf_cpu_present(cpu))
			err = task_group_open_one(list, n, s, tid, (int)cpu);
	return err;
}

/*
 * Threads that are created meanwhile may have a part of a group: see task_cover_check().  With
 * `only` the process must have no more than one thread: of many, a reading in slices is cheaper.
 */
static int task_group_open(struct count *const *list, unsigned int n, bool only)
{
	struct group_specs s;
	unsigned int threads = 0;
	struct dirent *d;
	char path[64];
	int err = 0;
	DIR *dir;

	task_group_specs(list, n, &s);
	snprintf(path, sizeof(path), "/proc/%d/task", list[0]->owner->tgid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (!err && (d = readdir(dir))) {
		if (*d->d_name < '1' || *d->d_name > '9')
			continue;
		err = only && threads++ ? -EBUSY :
		      task_group_open_thread(list, n, &s, (pid_t)atoi(d->d_name));
	}
	closedir(dir);
	for (unsigned int i = 0; i < n && !err; i++)
		err = list[i]->lender ? 0 : task_cover_check(list[i], false);
	if (err)
		task_group_close(list, n);
	return err;
}

/* --- preparing -------------------------------------------------------------------------------- */

static int task_group_deny(const struct count *c, struct reason *why)
{
	return deny(why, -EINVAL, "row %u (%s) counts several events, so that a group there counts "
		    "its own process only, by hardware events alone", c->spec.row,
		    c->spec.row_name);
}

static bool task_group_all_possible(struct count *const *list, unsigned int n)
{
	bool possible = true;

	for (unsigned int i = 0; i < n; i++)
		possible &= task_group_possible(list[i]);
	return possible;
}

int task_group_prepare(struct count *const *list, unsigned int n, unsigned int *failed,
		       struct reason *why)
{
	unsigned int needed = 0;	/* the first that cannot be counted in slices */
	int err;

	while (needed < n && list[needed]->backend != &backend_task_group)
		needed++;
	*failed = needed;
	if (!task_group_all_possible(list, n))
		return needed < n ? task_group_deny(list[needed], why) : 0;
	if (list[0]->events.n)		/* since an earlier start; new threads inherit them */
		return 0;
	err = task_group_open(list, n, needed == n);
	/* Others may have come to the rows meanwhile. */
	if (!err && !task_group_all_possible(list, n)) {
		task_group_close(list, n);
		err = -EBUSY;
	}
	if (err)
		return needed < n ? deny(why, err, "cannot open the group's events: %s",
					 perf_error(err)) : 0;
	for (unsigned int i = 0; i < n; i++)
		if (list[i]->backend != &backend_task_group)
			count_row_to_group(list[i]);
	return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

static int task_group_switch(const struct count *first, bool on)
{
	int err = 0;

	for (unsigned int i = 0; i < first->events.n && !err; i++)
		err = on ? perf_enable(first->events.list[i].fd) :
			   perf_disable(first->events.list[i].fd);
	return err;
}

int task_group_start(struct count *const *list, unsigned int n, struct reason *why)
{
	int err = task_group_switch(list[0], true);

	err = err ? deny(why, err, "cannot start the events of the group: %s", strerror(-err)) :
		    task_cover_started(list[0], why);
	if (err)
		(void)task_group_switch(list[0], false);
	return err;
}

void task_group_stop(struct count *const *list, unsigned int n)
{
	if (!task_group_switch(list[0], false))
		return;
	for (unsigned int i = 0; i < n; i++)
		list[i]->lost = true;
}

static int task_group_sum(const struct count *first, uint64_t *sum)
{
	const struct task_events *l = &first->events;
	uint64_t value[ABI_MAX_MEMBERS];
	int err = 0;

	memset(sum, 0, first->places * sizeof(*sum));
	for (unsigned int i = 0; i < l->n && !err; i++) {
		err = perf_group_read(l->list[i].fd, value, first->places);
		for (unsigned int j = 0; j < first->places && !err; j++)
			sum[j] += value[j];
	}
	return err;
}

int task_group_read(struct count *const *list, unsigned int n, uint64_t *raw, unsigned int *failed,
		    struct reason *why)
{
	uint64_t sum[ABI_MAX_MEMBERS];
	int err = list[0]->lost ? -EBUSY : task_group_sum(list[0], sum);

	*failed = 0;
	if (err)
		return count_state_lost(list[0], err, why);
	for (unsigned int i = 0; i < n; i++)
		raw[i] = sum[list[i]->place];
	return 0;
}

unsigned int task_group_fds(struct count *const *list, unsigned int n, int *fds, unsigned int max)
{
	unsigned int places = list[0]->places, groups = list[0]->events.n;

	if (groups * places > max)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < groups && !list[i]->lender; j++)
			fds[j * places + list[i]->place] = list[i]->events.list[j].fd;
	return groups * places;
}

/* --- one member ------------------------------------------------------------------------------- */

static int task_group_read_one(struct count *c, uint64_t *raw, struct reason *why)
{
	uint64_t sum[ABI_MAX_MEMBERS];
	int err = c->lost ? -EBUSY : task_group_sum(c->first, sum);

	if (err)
		return count_state_lost(c, err, why);
	*raw = c->events.n ? sum[c->place] : 0;
	return 0;
}

static int task_group_stop_one(struct count *c, struct reason *why)
{
	return task_group_switch(c->first, false);
}

/* Members are detached in reverse order, so that the leaders are there still. */
static void task_group_detach(struct count *c, pid_t tgid)
{
	struct reason unused;
	uint64_t value = 0;

	if (tgid != c->owner->tgid || !c->events.n)
		return;
	if (!task_group_read_one(c, &value, &unused))
		c->base += value;
	task_events_close(c);
}

/* The owner's exec releases its PMCs: there is nothing to follow. */
static void task_group_follow(struct count *c, pid_t tgid, bool dropped)
{
	c->lost |= tgid == c->owner->tgid && c->events.n;
}

static bool task_group_cpu_missed(const struct count *c, unsigned int cpu,
				  const struct cpu_state *now, uint64_t missed)
{
	return now->here && task_open_lacks_cpu(c, cpu);
}

static enum wire_how task_group_how(const struct count *c)
{
	return count_state_self_only(c) ? WIRE_HOW_EVENTS : WIRE_HOW_ASK;
}

static void task_group_fill(struct count *c, struct wire_page_pmc *p)
{
	struct reason unused;
	uint64_t value = 0;

	if (p->how != WIRE_HOW_VALUE)
		return;
	if (task_group_read_one(c, &value, &unused))
		p->how = WIRE_HOW_ASK;
	p->base += value;
}

const struct backend backend_task_group = {
	.name = "groups of per-task events", .stop = task_group_stop_one,
	.read = task_group_read_one, .detach = task_group_detach, .follow = task_group_follow,
	.cpu_missed = task_group_cpu_missed, .how_stopped = WIRE_HOW_VALUE,
	.how = task_group_how, .fill = task_group_fill,
};
