/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and their sets of PMCs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "account.h"
#include "loader/policy/policy.h"
#include "set.h"

#define EACH_BATCH  1024		/* targets read from the kernel at once */
#define LEAVE_TRIES 32		/* failing walks over targets: sets with targets are not freed */
#define MOVED	    1		/* a process has another set by now: try again */

struct targets *targets_new(struct engine *e)
{
	struct targets *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return NULL;
	ts->e = e;
	for (unsigned int row = 0; row < TARGET_ROWS; row++)
		ts->rows[row].source = -1;
	return ts;
}

void targets_free(struct targets *ts)
{
	for (unsigned int id = 1; ts && id < ABI_MAX_SETS; id++)
		free(ts->sets[id]);
	free(ts);
}

struct count_row *target_count_row(struct targets *ts, unsigned int row)
{
	return &ts->rows[row];
}

/* --- processes ------------------------------------------------------------------------------- */

static struct set *set_of(struct targets *ts, pid_t tgid)
{
	struct abi_target t;

	if (!ts->nsets || target_map_get(ts->e, (uint32_t)tgid, &t) || t.state & ABI_STATE_EXIT)
		return NULL;
	return ts->sets[ABI_STATE_SET(t.state) % ABI_MAX_SETS];
}

struct count *target_row(struct targets *ts, pid_t tgid, unsigned int row)
{
	struct set *set = set_of(ts, tgid);

	return set && row < TARGET_ROWS ? set->row[row] : NULL;
}

row_mask target_rows(struct targets *ts, pid_t tgid)
{
	const struct set *set = set_of(ts, tgid);
	row_mask rows = 0;

	for (unsigned int row = 0; set && row < TARGET_ROWS; row++)
		rows |= (row_mask)(set->row[row] != NULL) << row;
	return rows;
}

bool target_waits(struct targets *ts, const struct count *c, pid_t tgid)
{
	const struct set *set = set_of(ts, tgid);

	return set && set->row[c->spec.row] == c && set->waits >> c->spec.row & 1;
}

/*
 * Moves a process between sets; SOFT rows whose PMC stays keep counting.  -EAGAIN: an exec has
 * moved it to another set.
 */
static int target_move(struct targets *ts, pid_t tgid, const struct set *from, int to)
{
	uint64_t keep = 0;

	if (!to)
		return target_map_ctl(ts->e, ABI_CTL_DELETE, (uint32_t)tgid, 0, 0);
	if (!from)
		return target_map_ctl(ts->e, ABI_CTL_ADD, (uint32_t)tgid, (uint32_t)to, 0);
	for (unsigned int row = 0; row < ABI_SOFT_ROWS; row++)
		if (from->row[row] && from->row[row] == ts->sets[to]->row[row])
			keep |= 1ull << row;
	return target_map_ctl(ts->e, ABI_CTL_MOVE, (uint32_t)tgid, (uint32_t)to,
				 (uint64_t)from->id << 32 | keep);
}

static unsigned int set_sliced_members(struct count *const row[TARGET_ROWS])
{
	unsigned int n = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += row[r] && row[r]->backend->sliced;
	return n;
}

static int target_no_room(int err, struct reason *why)
{
	if (err == -EAGAIN)	/* a quota, as `why` says */
		return err;
	return deny(why, err, "%u combinations of PMCs and processes are in use, or there is no "
		    "memory; release some PMCs", TARGET_SETS);
}

static int target_join_once(struct targets *ts, struct count *c, pid_t tgid, bool waits,
			    struct reason *why)
{
	const struct maker m = { .owner = c->owner, .why = why };
	struct set_key k = { .waits = 0 };
	struct user *payer;
	struct set *from;
	int to, err = 0;

	/* First: this may free sets, even the one that the process has just left. */
	sets_make_room(ts, c->owner->user, SETS_AT_ONCE);
	from = set_of(ts, tgid);
	if (from)
		k = set_key(from);
	if (k.row[c->spec.row] == c)
		return deny(why, -EEXIST, "process %d is a target of this PMC already", tgid);
	if (k.row[c->spec.row])
		return deny(why, -EBUSY, "row %u (%s) measures process %d for another PMC; "
			    "allocate another PMC, which gets another row, or release that one",
			    c->spec.row, c->spec.row_name, tgid);
	k.row[c->spec.row] = c;
	k.waits |= (row_mask)waits << c->spec.row;
	if (set_sliced_members(k.row) > ABI_MAX_MEMBERS)
		return deny(why, -EBUSY,
			    "process %d is measured by %d PMCs already, as many as fit",
			    tgid, ABI_MAX_MEMBERS);
	to = set_get(ts, &k, &m);
	if (to < 0)
		return target_no_room(to, why);
	payer = ts->sets[to]->payer->user;
	if (!from || from->payer->user != payer)
		err = account_may_target(ts->e, payer, why);
	if (err)
		return err;
	err = target_move(ts, tgid, from, to);
	if (err && err != -EAGAIN)
		return deny(why, err, "cannot make process %d a target: %s", tgid, strerror(-err));
	return err ? MOVED : 0;
}

int target_join(struct targets *ts, struct count *c, int pidfd, pid_t tgid, bool waits,
		struct reason *why)
{
	int err;

	do {
		err = target_join_once(ts, c, tgid, waits, why);
	} while (err == MOVED);
	if (err)
		return err;
	if (!policy_pidfd_exited(pidfd))
		return 0;
	/* It exited before it was a target, so the programs will not remove it from the list. */
	target_map_ctl(ts->e, ABI_CTL_DELETE, (uint32_t)tgid, 0, 0);
	return deny(why, -ESRCH, "process %d has exited", tgid);
}

/* Finds the existing set without the PMC; false: there is none yet. */
static bool set_rest_exists(struct targets *ts, const struct set *set, const struct count *c)
{
	struct set_key rest = set_rest(set, c);
	bool any = false;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		any |= rest.row[r] != NULL;
	return !any || set_find(ts, &rest);
}

static unsigned int set_rests_missing(struct targets *ts, const struct count *c)
{
	const struct set_link *link;
	unsigned int n = 0;

	LIST_FOREACH(link, &c->sets, of_count)
		n += !set_rest_exists(ts, link->set, c);
	return c->spec.descendants || n < SETS_AT_ONCE ? n : SETS_AT_ONCE;
}

/* Leaving creates sets regardless of the quotas: at most as many as exist with the PMC. */
int target_may_leave(struct targets *ts, const struct count *c, struct reason *why)
{
	const struct user *u = c->owner->user;
	unsigned int n = set_rests_missing(ts, c);

	if (!n)
		return 0;
	sets_make_room(ts, u, n);
	return user_may(u->table, u, POOL_SETS, set_rests_missing(ts, c), why);
}

int target_leave(struct targets *ts, struct count *c, pid_t tgid, struct reason *why)
{
	const struct maker m = { .must = true };

	struct set *from;
	struct set_key rest;
	int to, err;

	do {
		/* First: this may free sets, even the one that the process has just left. */
		if (ts->nsets + SETS_AT_ONCE >= ABI_MAX_SETS)
			sets_sweep(ts);
		from = set_of(ts, tgid);
		if (!from)
			return deny(why, -ESRCH, "no PMC measures process %d", tgid);
		if (from->row[c->spec.row] != c)
			return deny(why, -EINVAL, "this PMC is not attached to process %d", tgid);
		rest = set_rest(from, c);
		to = set_get(ts, &rest, &m);
		if (to < 0)
			return target_no_room(to, why);
		err = target_move(ts, tgid, from, to);
	} while (err == -EAGAIN);
	return err;
}

static bool set_has(const struct set *set, const struct count *c)
{
	return set && set->row[c->spec.row] == c;
}

/* Lists the processes that the PMC measures at this moment. */
static int targets_list(struct targets *ts, const struct count *c, uint32_t **list, size_t *n)
{
	struct abi_target t[EACH_BATCH];
	uint32_t tgid[EACH_BATCH];
	struct target_walk walk = { .more = true };
	size_t room = 0;

	while (walk.more) {
		int got = target_map_next(ts->e, &walk, tgid, t, EACH_BATCH);

		if (got < 0)
			return got;
		if (array_reserve(*list, room, *n + (size_t)got) != 0)
			return -ENOMEM;
		for (int i = 0; i < got; i++)
			if (!(t[i].state & ABI_STATE_EXIT) &&
			    set_has(ts->sets[ABI_STATE_SET(t[i].state) % ABI_MAX_SETS], c))
				(*list)[(*n)++] = tgid[i];
	}
	return 0;
}

int target_each(struct targets *ts, const struct count *c, void (*fn)(void *arg, pid_t tgid),
		void *arg)
{
	uint32_t *list = NULL;
	size_t n = 0;
	int err = 0;

	/* A snapshot: fn may change the map, and a walk over a changing hash may restart. */
	if (target_number(ts, c))
		err = targets_list(ts, c, &list, &n);
	for (size_t i = 0; !err && i < n; i++)
		fn(arg, (pid_t)list[i]);
	free(list);
	return err;
}

struct leave_args {
	struct targets *ts;
	struct count *c;
	bool any;
};

static void target_leave_one(void *arg, pid_t tgid)
{
	struct leave_args *a = arg;
	struct reason unused;

	/* A target that exits meanwhile has left as well. */
	a->any |= target_leave(a->ts, a->c, tgid, &unused) == 0;
}

static unsigned int set_without(struct targets *ts, unsigned int id, const struct count *c)
{
	const struct maker m = { .must = true };
	struct set_key k;
	int rest;

	if (!id || !set_has(ts->sets[id], c))
		return id;
	k = set_rest(ts->sets[id], c);
	rest = set_get(ts, &k, &m);
	return rest > 0 ? (unsigned int)rest : 0;
}

/* From now on no child can join the PMC: sets that led to it lead to the rest. */
static void sets_end(struct targets *ts, struct count *c)
{
	struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count) {
		struct set *set = link->set;
		volatile struct abi_set *abi = &ts->e->sets[set->id];

		set->child = set_without(ts, set->child, c);
		set->secure = set_without(ts, set->secure, c);
		set->exec = set_without(ts, set->exec, c);
		abi->child = set->child;
		abi->secure = set->secure;
		abi->exec = set->exec;
	}
}

static void target_leave_and_breathe(void *arg, pid_t tgid)
{
	struct leave_args *a = arg;

	target_leave_one(arg, tgid);
	engine_breathe(a->ts->e);
}

void target_leave_slowly(struct targets *ts, struct count *c)
{
	struct leave_args a = { .ts = ts, .c = c };

	sets_end(ts, c);
	/* target_leave_all() follows and removes the rest. */
	if (!c->only)
		(void)target_each(ts, c, target_leave_and_breathe, &a);
}

void target_leave_all(struct targets *ts, struct count *c)
{
	struct leave_args a = { .ts = ts, .c = c };
	struct set_link *link;
	unsigned int failed = 0;

	sets_end(ts, c);
	if (c->only)
		target_leave_one(&a, c->only);
	while (target_number(ts, c)) {
		a.any = false;
		if (target_each(ts, c, target_leave_one, &a) && ++failed < LEAVE_TRIES)
			continue;
		if (!a.any)	/* all others have exited since they were counted */
			break;
	}
	ts->unflushed |= flush_all(ts->e->flush) != 0;
	while ((link = LIST_FIRST(&c->sets))) {
		unsigned int id = link->set->id;

		if (c->backend->figures)
			ts->e->sets[id].soft[c->spec.row].used = 0;
		set_free(ts, id);
	}
}

bool target_set(struct targets *ts, unsigned int id, struct count *row[TARGET_ROWS])
{
	const struct set *set = id < ABI_MAX_SETS ? ts->sets[id] : NULL;

	if (!set || ts->swept)
		return false;
	memcpy(row, set->row, sizeof(set->row));
	return true;
}

void target_seen_all(struct targets *ts)
{
	ts->swept = false;
}

uint64_t target_lost(struct targets *ts, const struct count *c)
{
	const struct set_link *link;
	uint64_t n = c->sets_lost;

	LIST_FOREACH(link, &c->sets, of_count)
		n += __atomic_load_n(&ts->e->sets[link->set->id].lost, __ATOMIC_ACQUIRE);
	return n;
}

unsigned int target_number(struct targets *ts, const struct count *c)
{
	const struct set_link *link;
	unsigned int n = 0;

	LIST_FOREACH(link, &c->sets, of_count)
		n += __atomic_load_n(&ts->e->sets[link->set->id].ntargets, __ATOMIC_ACQUIRE);
	return n;
}

static void row_bit_set(volatile uint32_t *bits, unsigned int bit, bool on)
{
	__atomic_store_n(bits, on ? *bits | 1u << bit : *bits & ~(1u << bit), __ATOMIC_SEQ_CST);
}

void target_activate(struct targets *ts, const struct count *c, bool on)
{
	const struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count) {
		volatile struct abi_set *abi = &ts->e->sets[link->set->id];
		uint64_t bit;

		if (link->set->waits >> c->spec.row & 1)
			continue;
		if (c->backend->offcpu) {
			row_bit_set(&abi->offcpu, c->spec.row, on);
		} else if (c->backend->migrations) {
			row_bit_set(&abi->migrations, c->spec.row, on);
		} else if (c->backend->figures) {
			row_bit_set(&abi->soft_active, c->spec.row, on);
		} else if (c->backend->sliced) {
			bit = 1ull << c->pos;
			abi->open = on ? abi->open | bit : abi->open & ~bit;
			bit = 1ull << link->set->member[c->spec.row];
			__atomic_store_n(&abi->active, on ? abi->active | bit : abi->active & ~bit,
					 __ATOMIC_SEQ_CST);
		}
	}
}

static bool set_counts(const struct set *set, const struct count *c)
{
	return set->row[c->spec.row] == c && !(set->waits >> c->spec.row & 1);
}

static void set_activate(volatile struct abi_set *abi, const struct set *set,
			 struct count *const *list, unsigned int n, bool on)
{
	uint64_t open = 0, active = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (!set_counts(set, list[i]))
			continue;
		open |= 1ull << list[i]->pos;
		active |= 1ull << set->member[list[i]->spec.row];
	}
	abi->open = on ? abi->open | open : abi->open & ~open;
	__atomic_store_n(&abi->active, on ? abi->active | active : abi->active & ~active,
			 __ATOMIC_SEQ_CST);
}

void target_activate_all(struct targets *ts, struct count *const *list, unsigned int n, bool on)
{
	const struct set_link *link;

	for (unsigned int i = 0; i < n; i++)
		LIST_FOREACH(link, &list[i]->sets, of_count)
			set_activate(&ts->e->sets[link->set->id], link->set, list, n, on);
}

bool target_shared(struct targets *ts, struct count *const *list, unsigned int n)
{
	const struct set_link *link;

	for (unsigned int i = 0; i < n; i++)
		LIST_FOREACH(link, &list[i]->sets, of_count) {
			const struct set *set = link->set;

			if (!ts->e->sets[set->id].ntargets)
				continue;
			for (unsigned int j = 0; j < n; j++)
				if (set->row[list[j]->spec.row] != list[j] ||
				    set_counts(set, list[j]) != set_counts(set, list[i]))
					return false;
		}
	return true;
}

void target_due(struct targets *ts, const struct count *c, bool on)
{
	const struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count) {
		volatile struct abi_set *abi = &ts->e->sets[link->set->id];
		uint64_t bit = 1ull << link->set->member[c->spec.row];

		if (link->set->waits >> c->spec.row & 1)
			continue;
		__atomic_store_n(&abi->due, on ? abi->due | bit : abi->due & ~bit,
				 __ATOMIC_SEQ_CST);
	}
}

/*
 * When a PMC leaves the sliced members, their numbers shift, so open slices are closed first: each
 * of its sets counts nothing during the rewrite.  If they were not closed, or not opened again, all
 * PMCs of these sets have lost a slice.
 */
void target_rewrite(struct targets *ts, const struct count *c)
{
	const struct set_link *link;
	bool lost;

	LIST_FOREACH(link, &c->sets, of_count)
		__atomic_store_n(&ts->e->sets[link->set->id].active, 0, __ATOMIC_SEQ_CST);
	lost = flush_all(ts->e->flush) != 0;
	LIST_FOREACH(link, &c->sets, of_count)
		set_write(ts, link->set);
	lost |= flush_all(ts->e->flush) != 0;
	if (!lost)
		return;
	LIST_FOREACH(link, &c->sets, of_count)
		for (unsigned int r = 0; r < TARGET_ROWS; r++)
			if (link->set->row[r])
				link->set->row[r]->lost = true;
}
