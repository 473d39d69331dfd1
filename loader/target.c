/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of PMCs and the processes that have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "count_impl.h"
#include "policy.h"

#define BUCKETS	     1024		/* of sets, by their PMCs; a power of two */
#define SETS_AT_ONCE 4		/* a set, that of its children, and both after a set-id exec */
#define EACH_BATCH   1024		/* targets asked of the kernel at once */

/* A set among those that have one of its PMCs. */
struct set_link {
	LIST_ENTRY(set_link) of_count;
	struct set *set;
};

/* One set: at most one PMC per row.  Made on demand, swept when nobody has it. */
struct set {
	LIST_ENTRY(set) same_hash;
	unsigned int id;
	unsigned int child;		/* what a forked child gets, 0: nothing */
	unsigned int secure;		/* what remains after a set-id exec, 0: nothing */
	struct count *row[TARGET_ROWS];
	uint8_t member[TARGET_ROWS];	/* index in abi_set.member of a sliced PMC */
	bool reachable;
	struct set_link link[];		/* one per PMC */
};
LIST_HEAD(sets, set);

struct targets {
	struct engine *e;
	struct set *sets[ABI_MAX_SETS];	/* by id; 0 is never used */
	struct sets bucket[BUCKETS];	/* the same */
	unsigned int nsets;
	unsigned int last;		/* id given out most recently */
	bool swept;			/* ids that notes name may be others' by now */
	struct count_row rows[TARGET_ROWS];
};

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

/* --- sets ------------------------------------------------------------------------------------- */

static struct sets *bucket_of(struct targets *ts, struct count *const row[TARGET_ROWS])
{
	uint64_t hash = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		if (row[r])
			hash = (hash ^ (uintptr_t)row[r]) * 0x9e3779b97f4a7c15ull;
	return &ts->bucket[hash >> 32 & (BUCKETS - 1)];
}

static struct set *set_find(struct targets *ts, struct count *const row[TARGET_ROWS])
{
	struct set *set;

	LIST_FOREACH(set, bucket_of(ts, row), same_hash)
		if (!memcmp(set->row, row, sizeof(set->row)))
			return set;
	return NULL;
}

/* A set with an id of its own, found by its PMCs from now on. */
static struct set *set_new(struct targets *ts, unsigned int id,
			   struct count *const row[TARGET_ROWS])
{
	unsigned int n = 0;
	struct set *set;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += row[r] != NULL;
	set = calloc(1, sizeof(*set) + n * sizeof(set->link[0]));
	if (!set)
		return NULL;
	set->id = id;
	memcpy(set->row, row, sizeof(set->row));
	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (!row[r])
			continue;
		set->link[--n].set = set;
		LIST_INSERT_HEAD(&row[r]->sets, &set->link[n], of_count);
	}
	LIST_INSERT_HEAD(bucket_of(ts, row), set, same_hash);
	ts->sets[id] = set;
	ts->nsets++;
	return set;
}

/*
 * Copies a set to where the programs read it.  Only the active bits may change while it is in use.
 */
static void set_write(struct targets *ts, struct set *set)
{
	volatile struct abi_set *abi = engine_set(ts->e, set->id);
	uint32_t soft_active = 0, owner = ABI_OWNERS_MIXED, logs = 0;
	uint64_t active = 0, open = 0;
	unsigned int n = 0;

	for (unsigned int row = 0; row < TARGET_ROWS; row++) {
		const struct count *c = set->row[row];

		if (c && c->backend == BACKEND_SLICED && n < ABI_MAX_MEMBERS) {
			abi->member[n].source = (uint16_t)c->source;
			abi->member[n].owner = c->owner->counts.slot;
			abi->member[n].pos = (uint16_t)c->pos;
			abi->log[n] = c->spec.log;
			logs |= (uint32_t)(c->spec.log != 0) << n;
			active |= (uint64_t)c->running << n;
			open |= (uint64_t)c->running << c->pos;
			if (!n)
				owner = c->owner->counts.slot;
			else if (owner != c->owner->counts.slot)
				owner = ABI_OWNERS_MIXED;
			set->member[row] = (uint8_t)n++;
		}
		if (row >= ABI_SOFT_ROWS)
			continue;
		abi->soft[row].used = c && c->backend == BACKEND_FIGURES;
		if (abi->soft[row].used) {
			abi->soft[row].quantity = c->spec.soft->quantity;
			abi->soft[row].owner = c->owner->counts.slot;
			abi->soft[row].pos = c->pos;
			soft_active |= (uint32_t)c->running << row;
		}
	}
	abi->child = set->child;
	abi->secure = set->secure;
	abi->logs = logs;
	abi->soft_active = soft_active;
	abi->owner = owner;
	abi->open = open;
	__atomic_store_n(&abi->active, active, __ATOMIC_RELEASE);
}

/*
 * The kernel's copy stays as it is until the id comes back: an exited target may name it until its
 * last switch, and the members that remain are still owed what it runs until then.
 */
static void set_free(struct targets *ts, unsigned int id)
{
	struct set *set = ts->sets[id];
	unsigned int n = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += set->row[r] != NULL;
	while (n--)
		LIST_REMOVE(&set->link[n], of_count);
	LIST_REMOVE(set, same_hash);
	free(set);
	ts->sets[id] = NULL;
	ts->nsets--;
}

/* A set, and those that a fork or an exec leads to from there. */
static void set_reach(struct targets *ts, unsigned int id)
{
	if (!id || ts->sets[id]->reachable)
		return;
	ts->sets[id]->reachable = true;
	set_reach(ts, ts->sets[id]->child);
	set_reach(ts, ts->sets[id]->secure);
}

/* Frees the sets that no live target has and no child can get. */
static void sets_sweep(struct targets *ts)
{
	bool freed = false;

	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id])
			ts->sets[id]->reachable = false;
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id] && engine_set(ts->e, id)->ntargets)
			set_reach(ts, id);
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		if (!ts->sets[id] || ts->sets[id]->reachable)
			continue;
		set_free(ts, id);
		freed = true;
	}
	ts->swept |= freed;
	if (freed)	/* no slice of a swept set stays open when its id is given out again */
		engine_flush_all(ts->e);
}

/* In turn, so that an id comes back long after the last switch of any target that had it. */
static unsigned int set_next_id(struct targets *ts)
{
	for (unsigned int i = 1; i < ABI_MAX_SETS; i++) {
		unsigned int id = (ts->last + i - 1) % (ABI_MAX_SETS - 1) + 1;

		if (!ts->sets[id])
			return ts->last = id;
	}
	return 0;
}

/* Sweeps before a set is made, never between a set and those it is made with. */
static void sets_make_room(struct targets *ts)
{
	if (ts->nsets + SETS_AT_ONCE >= ABI_MAX_SETS)
		sets_sweep(ts);
}

static int set_get(struct targets *ts, struct count *const row[TARGET_ROWS]);

static bool inherits(const struct count *c)
{
	return c->spec.descendants;
}

static bool follows_setid(const struct count *c)
{
	return c->spec.follows_setid;
}

/* The set of those PMCs that `keeps` is true of; `id` itself if it is true of all. */
static int set_part(struct targets *ts, struct count *const row[TARGET_ROWS], unsigned int id,
		    bool (*keeps)(const struct count *c))
{
	struct count *part[TARGET_ROWS] = { NULL };
	bool all = true;

	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (row[r] && keeps(row[r]))
			part[r] = row[r];
		all &= row[r] == part[r];
	}
	return all ? (int)id : set_get(ts, part);
}

static int set_make(struct targets *ts, struct count *const row[TARGET_ROWS])
{
	unsigned int id = set_next_id(ts);
	struct set *set = id ? set_new(ts, id, row) : NULL;
	int child, secure;

	if (!set)
		return -ENOMEM;
	child = set_part(ts, row, id, inherits);
	secure = child < 0 ? child : set_part(ts, row, id, follows_setid);
	if (secure < 0) {
		set_free(ts, id);
		return secure;
	}
	set->child = (unsigned int)child;
	set->secure = (unsigned int)secure;
	memset((void *)engine_set(ts->e, id), 0, sizeof(struct abi_set));
	set_write(ts, set);
	return (int)id;
}

/* The id of the set of exactly these PMCs, made if need be; 0 for no PMC; -ENOMEM. */
static int set_get(struct targets *ts, struct count *const row[TARGET_ROWS])
{
	bool any = false;
	struct set *set;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		any |= row[r] != NULL;
	if (!any)
		return 0;
	set = set_find(ts, row);
	return set ? (int)set->id : set_make(ts, row);
}

/* --- processes ------------------------------------------------------------------------------- */

static struct set *set_of(struct targets *ts, pid_t tgid)
{
	struct abi_target t;

	if (!ts->nsets || engine_target_get(ts->e, (uint32_t)tgid, &t) || t.state & ABI_STATE_EXIT)
		return NULL;
	return ts->sets[ABI_STATE_SET(t.state) % ABI_MAX_SETS];
}

struct count *target_row(struct targets *ts, pid_t tgid, unsigned int row)
{
	struct set *set = set_of(ts, tgid);

	return set && row < TARGET_ROWS ? set->row[row] : NULL;
}

uint64_t target_rows(struct targets *ts, pid_t tgid)
{
	const struct set *set = set_of(ts, tgid);
	uint64_t rows = 0;

	for (unsigned int row = 0; set && row < TARGET_ROWS; row++)
		rows |= (uint64_t)(set->row[row] != NULL) << row;
	return rows;
}

/* Moves a process between sets; SOFT rows whose PMC stays keep counting. */
static int target_move(struct targets *ts, pid_t tgid, const struct set *from, int to)
{
	uint64_t keep = 0;

	if (!to)
		return engine_target_ctl(ts->e, ABI_CTL_DELETE, (uint32_t)tgid, 0, 0);
	if (!from)
		return engine_target_ctl(ts->e, ABI_CTL_ADD, (uint32_t)tgid, (uint32_t)to, 0);
	for (unsigned int row = 0; row < ABI_SOFT_ROWS; row++)
		if (from->row[row] && from->row[row] == ts->sets[to]->row[row])
			keep |= 1ull << row;
	return engine_target_ctl(ts->e, ABI_CTL_MOVE, (uint32_t)tgid, (uint32_t)to, keep);
}

static unsigned int sliced_members(struct count *const row[TARGET_ROWS])
{
	unsigned int n = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += row[r] && row[r]->backend == BACKEND_SLICED;
	return n;
}

static int no_room(int err, struct why *why)
{
	return deny(why, err, "%d combinations of PMCs and processes are in use, as many as fit; "
		    "release some PMCs", ABI_MAX_SETS - 1);
}

int target_join(struct targets *ts, struct count *c, int pidfd, pid_t tgid, struct why *why)
{
	struct set *from = set_of(ts, tgid);
	struct count *row[TARGET_ROWS] = { NULL };
	int to, err;

	if (from)
		memcpy(row, from->row, sizeof(row));
	if (row[c->spec.row] == c)
		return deny(why, -EEXIST, "process %d is a target of this PMC already", tgid);
	if (row[c->spec.row])
		return deny(why, -EBUSY, "row %u (%s) measures process %d for another PMC; "
			    "allocate another PMC, which gets another row, or release that one",
			    c->spec.row, c->spec.row_name, tgid);
	row[c->spec.row] = c;
	if (sliced_members(row) > ABI_MAX_MEMBERS)
		return deny(why, -EBUSY,
			    "process %d is measured by %d PMCs already, as many as fit",
			    tgid, ABI_MAX_MEMBERS);
	sets_make_room(ts);
	from = set_of(ts, tgid);
	to = set_get(ts, row);
	if (to < 0)
		return no_room(to, why);
	err = target_move(ts, tgid, from, to);
	if (err)
		return deny(why, err, "cannot make process %d a target: %s", tgid, strerror(-err));
	if (!policy_pidfd_exited(pidfd))
		return 0;
	/* It went before the programs knew it, so nobody else will take it off the list. */
	engine_target_ctl(ts->e, ABI_CTL_DELETE, (uint32_t)tgid, 0, 0);
	return deny(why, -ESRCH, "process %d has exited", tgid);
}

int target_leave(struct targets *ts, struct count *c, pid_t tgid, struct why *why)
{
	struct set *from = set_of(ts, tgid);
	struct count *row[TARGET_ROWS];
	int to;

	if (!from)
		return deny(why, -ESRCH, "no PMC measures process %d", tgid);
	if (from->row[c->spec.row] != c)
		return deny(why, -EINVAL, "this PMC is not attached to process %d", tgid);
	memcpy(row, from->row, sizeof(row));
	row[c->spec.row] = NULL;
	sets_make_room(ts);
	to = set_get(ts, row);
	if (to < 0)
		return no_room(to, why);
	return target_move(ts, tgid, set_of(ts, tgid), to);
}

static bool set_has(const struct set *set, const struct count *c)
{
	return set && set->row[c->spec.row] == c;
}

/* The processes that the PMC measures at this moment; false: no memory. */
static bool targets_list(struct targets *ts, const struct count *c, uint32_t **list, size_t *n)
{
	struct abi_target t[EACH_BATCH];
	uint32_t tgid[EACH_BATCH];
	struct engine_walk walk = { .more = true };
	size_t room = 0;

	while (walk.more) {
		unsigned int got = engine_targets_next(ts->e, &walk, tgid, t, EACH_BATCH);

		if (*n + got > room) {
			uint32_t *more;

			room = 2 * (room + got);
			more = realloc(*list, room * sizeof(**list));
			if (!more)
				return false;
			*list = more;
		}
		for (unsigned int i = 0; i < got; i++)
			if (!(t[i].state & ABI_STATE_EXIT) &&
			    set_has(ts->sets[ABI_STATE_SET(t[i].state) % ABI_MAX_SETS], c))
				(*list)[(*n)++] = tgid[i];
	}
	return true;
}

void target_each(struct targets *ts, const struct count *c, void (*fn)(void *arg, pid_t tgid),
		 void *arg)
{
	uint32_t *list = NULL;
	size_t n = 0;

	/*
	 * A snapshot first: fn may change the map, and a walk over a changing hash may start anew.
	 */
	if (target_number(ts, c))
		(void)targets_list(ts, c, &list, &n);
	for (size_t i = 0; i < n; i++)
		fn(arg, (pid_t)list[i]);
	free(list);
}

struct leave_args {
	struct targets *ts;
	struct count *c;
	bool any;
};

static void leave_one(void *arg, pid_t tgid)
{
	struct leave_args *a = arg;
	struct why unused;

	/* One that exits meanwhile has left as well. */
	a->any |= target_leave(a->ts, a->c, tgid, &unused) == 0;
}

static unsigned int set_without(struct targets *ts, unsigned int id, const struct count *c)
{
	struct count *row[TARGET_ROWS];
	int rest;

	if (!id || !set_has(ts->sets[id], c))
		return id;
	memcpy(row, ts->sets[id]->row, sizeof(row));
	row[c->spec.row] = NULL;
	rest = set_get(ts, row);
	return rest > 0 ? (unsigned int)rest : 0;
}

/* Nobody is born to the PMC any more: sets that lead to it now lead to the rest. */
static void sets_end(struct targets *ts, struct count *c)
{
	struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count) {
		struct set *set = link->set;
		volatile struct abi_set *abi = engine_set(ts->e, set->id);

		set->child = set_without(ts, set->child, c);
		set->secure = set_without(ts, set->secure, c);
		abi->child = set->child;
		abi->secure = set->secure;
	}
}

static void leave_and_breathe(void *arg, pid_t tgid)
{
	struct leave_args *a = arg;

	leave_one(arg, tgid);
	engine_breathe(a->ts->e);
}

void target_leave_slowly(struct targets *ts, struct count *c)
{
	struct leave_args a = { .ts = ts, .c = c };

	sets_end(ts, c);
	if (!c->only)
		target_each(ts, c, leave_and_breathe, &a);
}

void target_leave_all(struct targets *ts, struct count *c)
{
	struct leave_args a = { .ts = ts, .c = c };
	struct set_link *link;

	sets_end(ts, c);
	if (c->only)
		leave_one(&a, c->only);
	while (target_number(ts, c)) {
		a.any = false;
		target_each(ts, c, leave_one, &a);
		if (!a.any)	/* the rest have exited since they were counted */
			break;
	}
	engine_flush_all(ts->e);
	while ((link = LIST_FIRST(&c->sets))) {
		unsigned int id = link->set->id;

		if (c->backend == BACKEND_FIGURES)
			engine_set(ts->e, id)->soft[c->spec.row].used = 0;
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

unsigned int target_number(struct targets *ts, const struct count *c)
{
	const struct set_link *link;
	unsigned int n = 0;

	LIST_FOREACH(link, &c->sets, of_count)
		n += __atomic_load_n(&engine_set(ts->e, link->set->id)->ntargets, __ATOMIC_ACQUIRE);
	return n;
}

void target_activate(struct targets *ts, const struct count *c, bool on)
{
	const struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count) {
		volatile struct abi_set *abi = engine_set(ts->e, link->set->id);
		uint64_t bit;

		if (c->backend == BACKEND_FIGURES) {
			uint32_t soft = 1u << c->spec.row;

			__atomic_store_n(&abi->soft_active,
					 on ? abi->soft_active | soft : abi->soft_active & ~soft,
					 __ATOMIC_SEQ_CST);
		} else if (c->backend == BACKEND_SLICED) {
			bit = 1ull << c->pos;
			abi->open = on ? abi->open | bit : abi->open & ~bit;
			bit = 1ull << link->set->member[c->spec.row];
			__atomic_store_n(&abi->active, on ? abi->active | bit : abi->active & ~bit,
					 __ATOMIC_SEQ_CST);
		}
	}
}

/*
 * Member numbers shift when a PMC leaves the sliced ones, so open slices are closed first: every
 * set that has it counts nothing for the moment of the rewrite.
 */
void target_rewrite(struct targets *ts, const struct count *c)
{
	const struct set_link *link;

	LIST_FOREACH(link, &c->sets, of_count)
		__atomic_store_n(&engine_set(ts->e, link->set->id)->active, 0, __ATOMIC_SEQ_CST);
	engine_flush_all(ts->e);
	LIST_FOREACH(link, &c->sets, of_count)
		set_write(ts, link->set);
	engine_flush_all(ts->e);
}
