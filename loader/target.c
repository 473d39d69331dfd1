/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of PMCs and the processes that have them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "count_impl.h"

/* One set: at most one PMC per row.  Made on demand, swept when nobody has it. */
struct set {
	unsigned int id;
	unsigned int child;		/* what a forked child gets, 0: nothing */
	struct count *row[TARGET_ROWS];
	uint8_t member[TARGET_ROWS];	/* index in abi_set.member of a sliced PMC */
	bool reachable;
};

struct targets {
	struct engine *e;
	struct set *sets[ABI_MAX_SETS];	/* by id; 0 is never used */
	unsigned int last;		/* id given out most recently */
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

/*
 * Copies a set to where the programs read it.  Only the active bits may change while it is in use.
 */
static void set_write(struct targets *ts, struct set *set)
{
	volatile struct abi_set *abi = engine_set(ts->e, set->id);
	uint32_t soft_active = 0, owner = ABI_OWNERS_MIXED;
	uint64_t active = 0, open = 0;
	unsigned int n = 0;

	for (unsigned int row = 0; row < TARGET_ROWS; row++) {
		const struct count *c = set->row[row];

		if (c && c->backend == BACKEND_SLICED && n < ABI_MAX_MEMBERS) {
			abi->member[n].source = (uint16_t)c->source;
			abi->member[n].owner = c->owner->counts.slot;
			abi->member[n].pos = (uint16_t)c->pos;
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
	free(ts->sets[id]);
	ts->sets[id] = NULL;
}

/* Frees the sets that no live target has and no child can get. */
static void sets_sweep(struct targets *ts)
{
	bool freed = false;

	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id])
			ts->sets[id]->reachable = false;
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		unsigned int at = id;

		if (!ts->sets[id] || !engine_set(ts->e, id)->ntargets)
			continue;
		for (; at && !ts->sets[at]->reachable; at = ts->sets[at]->child)
			ts->sets[at]->reachable = true;
	}
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		if (!ts->sets[id] || ts->sets[id]->reachable)
			continue;
		set_free(ts, id);
		freed = true;
	}
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

/* Sweeps before a set is made, never between a set and the child it is made with. */
static void sets_make_room(struct targets *ts)
{
	unsigned int n = 0;

	for (unsigned int id = 1; id < ABI_MAX_SETS && n < 2; id++)
		n += !ts->sets[id];
	if (n < 2)
		sets_sweep(ts);
}

/* The id of the set of exactly these PMCs, made if need be; 0 for no PMC; -ENOMEM. */
static int set_get(struct targets *ts, struct count *const row[TARGET_ROWS])
{
	struct count *inherited[TARGET_ROWS] = { NULL };
	bool any = false, all = true;
	struct set *set;
	int child = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (!row[r])
			continue;
		any = true;
		if (row[r]->spec.descendants)
			inherited[r] = row[r];
		else
			all = false;
	}
	if (!any)
		return 0;
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id] && !memcmp(ts->sets[id]->row, row, sizeof(ts->sets[id]->row)))
			return (int)id;
	if (!all)
		child = set_get(ts, inherited);
	if (child < 0)
		return child;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->id = set_next_id(ts);
	if (!set->id) {
		free(set);
		return -ENOMEM;
	}
	set->child = all ? set->id : (unsigned int)child;
	memcpy(set->row, row, sizeof(set->row));
	memset((void *)engine_set(ts->e, set->id), 0, sizeof(struct abi_set));
	ts->sets[set->id] = set;
	set_write(ts, set);
	return (int)set->id;
}

/* --- processes ------------------------------------------------------------------------------- */

static struct set *set_of(struct targets *ts, pid_t tgid)
{
	struct abi_target t;

	if (engine_target_get(ts->e, (uint32_t)tgid, &t) || t.state & ABI_STATE_EXIT)
		return NULL;
	return ts->sets[ABI_STATE_SET(t.state) % ABI_MAX_SETS];
}

struct count *target_row(struct targets *ts, pid_t tgid, unsigned int row)
{
	struct set *set = set_of(ts, tgid);

	return set && row < TARGET_ROWS ? set->row[row] : NULL;
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

static bool exited(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 1;
}

static unsigned int sliced_members(struct count *const row[TARGET_ROWS])
{
	unsigned int n = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += row[r] && row[r]->backend == BACKEND_SLICED;
	return n;
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
		return deny(why, -EBUSY, "row %u already measures process %d for another PMC; "
			    "use another row or detach that one", c->spec.row, tgid);
	row[c->spec.row] = c;
	if (sliced_members(row) > ABI_MAX_MEMBERS)
		return deny(why, -EBUSY,
			    "process %d is measured by %d PMCs already, as many as fit",
			    tgid, ABI_MAX_MEMBERS);
	sets_make_room(ts);
	from = set_of(ts, tgid);
	to = set_get(ts, row);
	if (to < 0)
		return deny(why, to, "no room for one more combination of PMCs");
	err = target_move(ts, tgid, from, to);
	if (err)
		return deny(why, err, "cannot make process %d a target: %s", tgid, strerror(-err));
	if (!exited(pidfd))
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
		return deny(why, to, "no room for one more combination of PMCs");
	return target_move(ts, tgid, set_of(ts, tgid), to);
}

static bool set_has(const struct set *set, const struct count *c)
{
	return set && set->row[c->spec.row] == c;
}

void target_each(struct targets *ts, const struct count *c, void (*fn)(void *arg, pid_t tgid),
		 void *arg)
{
	uint32_t tgid = 0, *list = NULL;
	size_t n = 0, room = 0;

	/*
	 * A snapshot first: fn may change the map, and a walk over a changing hash may start anew.
	 */
	while (engine_target_next(ts->e, &tgid)) {
		if (!set_has(set_of(ts, (pid_t)tgid), c))
			continue;
		if (n == room) {
			uint32_t *more;

			room = room ? room * 2 : 64;
			more = realloc(list, room * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[n++] = tgid;
	}
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

void target_leave_all(struct targets *ts, struct count *c)
{
	struct leave_args a = { .ts = ts, .c = c };

	/* No child may join any more: sets that hand the PMC down now hand down the rest. */
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		struct set *set = ts->sets[id];
		struct count *row[TARGET_ROWS];
		int child;

		if (!set || !set->child || !set_has(ts->sets[set->child], c))
			continue;
		memcpy(row, ts->sets[set->child]->row, sizeof(row));
		row[c->spec.row] = NULL;
		child = set_get(ts, row);
		set->child = child > 0 ? (unsigned int)child : 0;
		engine_set(ts->e, id)->child = set->child;
	}
	if (c->only)
		leave_one(&a, c->only);
	while (target_number(ts, c)) {
		a.any = false;
		target_each(ts, c, leave_one, &a);
		if (!a.any)	/* the rest have exited since they were counted */
			break;
	}
	engine_flush_all(ts->e);
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		if (!set_has(ts->sets[id], c))
			continue;
		if (c->backend == BACKEND_FIGURES)
			engine_set(ts->e, id)->soft[c->spec.row].used = 0;
		set_free(ts, id);
	}
}

unsigned int target_number(struct targets *ts, const struct count *c)
{
	unsigned int n = 0;

	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (set_has(ts->sets[id], c))
			n += __atomic_load_n(&engine_set(ts->e, id)->ntargets, __ATOMIC_ACQUIRE);
	return n;
}

void target_activate(struct targets *ts, const struct count *c, bool on)
{
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		volatile struct abi_set *abi = engine_set(ts->e, id);
		uint64_t bit;

		if (!set_has(ts->sets[id], c))
			continue;
		if (c->backend == BACKEND_FIGURES) {
			uint32_t soft = 1u << c->spec.row;

			__atomic_store_n(&abi->soft_active,
					 on ? abi->soft_active | soft : abi->soft_active & ~soft,
					 __ATOMIC_SEQ_CST);
		} else if (c->backend == BACKEND_SLICED) {
			bit = 1ull << c->pos;
			abi->open = on ? abi->open | bit : abi->open & ~bit;
			bit = 1ull << ts->sets[id]->member[c->spec.row];
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
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (set_has(ts->sets[id], c))
			__atomic_store_n(&engine_set(ts->e, id)->active, 0, __ATOMIC_SEQ_CST);
	engine_flush_all(ts->e);
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (set_has(ts->sets[id], c))
			set_write(ts, ts->sets[id]);
	engine_flush_all(ts->e);
}
