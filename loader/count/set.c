/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of PMCs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "set.h"
#include "slices.h"

struct set_key set_key(const struct set *set)
{
	struct set_key k = { .waits = set->waits };

	memcpy(k.row, set->row, sizeof(k.row));
	return k;
}

struct set_key set_rest(const struct set *set, const struct count *c)
{
	struct set_key k = set_key(set);

	k.row[c->spec.row] = NULL;
	k.waits &= ~((row_mask)1 << c->spec.row);
	return k;
}

static struct sets *set_bucket(struct targets *ts, const struct set_key *k)
{
	uint64_t hash = (uint64_t)k->waits ^ (uint64_t)(k->waits >> 64);

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		if (k->row[r])
			hash = (hash ^ (uintptr_t)k->row[r]) * 0x9e3779b97f4a7c15ull;
	return &ts->bucket[hash >> 32 & (SET_BUCKETS - 1)];
}

struct set *set_find(struct targets *ts, const struct set_key *k)
{
	struct set *set;

	LIST_FOREACH(set, set_bucket(ts, k), same_hash)
		if (set->waits == k->waits && !memcmp(set->row, k->row, sizeof(set->row)))
			return set;
	return NULL;
}

/* Creates a set with an id of its own and lists it with its PMCs. */
static struct set *set_new(struct targets *ts, unsigned int id, const struct set_key *k,
			   struct count_owner *payer)
{
	struct count *const *row = k->row;
	unsigned int n = 0;
	struct set *set;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		n += row[r] != NULL;
	set = calloc(1, sizeof(*set) + n * sizeof(set->link[0]));
	if (!set)
		return NULL;
	set->id = id;
	set->payer = payer;
	memcpy(set->row, row, sizeof(set->row));
	set->waits = k->waits;
	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (!row[r])
			continue;
		set->link[--n].set = set;
		LIST_INSERT_HEAD(&row[r]->sets, &set->link[n], of_count);
	}
	LIST_INSERT_HEAD(set_bucket(ts, k), set, same_hash);
	ts->sets[id] = set;
	ts->nsets++;
	return set;
}

static bool set_shares(const volatile struct abi_set *abi, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (abi->member[i].source == abi->member[j].source)
				return true;
	return false;
}

/* A few PMCs of one owner, each with a source of its own, for which threads do not matter. */
static bool set_is_plain(const volatile struct abi_set *abi, unsigned int n)
{
	return n && n <= ABI_PLAIN_MEMBERS && abi->owner != ABI_OWNERS_MIXED && !abi->shared &&
	       !abi->threads;
}

/* Copies a set to the programs' map.  Only the active bits may change while it is in use. */
void set_write(struct targets *ts, struct set *set)
{
	volatile struct abi_set *abi = &ts->e->sets[set->id];
	uint32_t soft_active = 0, owner = ABI_OWNERS_MIXED, threads = 0, sampled = 0,
		 offcpu = 0, migrations = 0, alone = 0, alone_rows = 0,
		 sampled_rows = 0;
	uint64_t active = 0, open = 0;
	unsigned int n = 0;

	for (unsigned int row = 0; row < TARGET_ROWS; row++) {
		const struct count *c = set->waits >> row & 1 ? NULL : set->row[row];

		if (c && c->backend->sliced && n < ABI_MAX_MEMBERS) {
			abi->member[n].source = (uint16_t)slices_source(c);
			abi->member[n].owner = c->owner->counts.slot;
			abi->member[n].pos = (uint16_t)c->pos;
			abi->log[n] = c->spec.sampling ? ABI_LOG_ID((uint32_t)c->spec.tag) :
							 c->spec.log;
			sampled |= (uint32_t)c->spec.sampling << n;
			threads |= (uint32_t)(c->spec.log || c->spec.alone) << n;
			alone |= (uint32_t)c->spec.alone << n;
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
		abi->soft[row].used = c && c->backend->figures;
		if (abi->soft[row].used) {
			abi->soft[row].quantity = c->spec.quantity;
			abi->soft[row].owner = c->owner->counts.slot;
			abi->soft[row].pos = c->pos;
			soft_active |= (uint32_t)c->running << row;
		}
		if (c && c->backend->migrations) {
			abi->soft[row].owner = c->owner->counts.slot;
			abi->soft[row].pos = c->pos;
			migrations |= (uint32_t)c->running << row;
			alone_rows |= (uint32_t)c->spec.thread << row;
		}
		if (c && c->backend->offcpu) {
			abi->soft[row].owner = (uint32_t)c->source;
			abi->soft[row].pos = (uint32_t)c->spec.tag;
			offcpu |= (uint32_t)c->running << row;
			sampled_rows |= (uint32_t)c->spec.thread << row;
		}
	}
	abi->child = set->child;
	abi->secure = set->secure;
	abi->exec = set->exec;
	abi->account = set->payer->user->account;
	abi->shared = set_shares(abi, n);
	abi->threads = threads;
	abi->alone = alone;
	abi->sampled = sampled;
	abi->soft_active = soft_active;
	abi->offcpu = offcpu;
	abi->migrations = migrations;
	abi->alone_rows = alone_rows;
	abi->sampled_rows = sampled_rows;
	abi->owner = alone ? ABI_OWNERS_MIXED : owner;	/* members are credited one by one */
	abi->open = open;
	abi->due = active;
	target_map_mark_plain(ts->e, set->id, set_is_plain(abi, n));
	__atomic_store_n(&abi->active, active, __ATOMIC_RELEASE);
}

/*
 * The kernel's copy stays unchanged until the id is used again: an exited target may name it until
 * its last switch, and remaining members are still credited until then.
 */
void set_free(struct targets *ts, unsigned int id)
{
	uint64_t lost = ts->e->sets[id].lost;
	struct set *set = ts->sets[id];
	struct user *u = set->payer->user;
	unsigned int n = 0;

	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		n += set->row[r] != NULL;
		if (set->row[r])
			set->row[r]->sets_lost += lost;
	}
	user_give(u->table, u, POOL_SETS, 1);
	while (n--)
		LIST_REMOVE(&set->link[n], of_count);
	LIST_REMOVE(set, same_hash);
	free(set);
	ts->sets[id] = NULL;
	ts->nsets--;
}

/* Marks a set and the sets that a fork or an exec leads to from it. */
static void set_reach(struct targets *ts, unsigned int id)
{
	if (!id || ts->sets[id]->reachable)
		return;
	ts->sets[id]->reachable = true;
	set_reach(ts, ts->sets[id]->child);
	set_reach(ts, ts->sets[id]->secure);
	set_reach(ts, ts->sets[id]->exec);
}

/* Frees the sets that no live target has and no child can get. */
void sets_sweep(struct targets *ts)
{
	bool freed = false;

	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id])
			ts->sets[id]->reachable = false;
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++)
		if (ts->sets[id] && ts->e->sets[id].ntargets)
			set_reach(ts, id);
	for (unsigned int id = 1; id < ABI_MAX_SETS; id++) {
		if (!ts->sets[id] || ts->sets[id]->reachable)
			continue;
		set_free(ts, id);
		freed = true;
	}
	ts->swept |= freed;
	if (freed)	/* no slice of a freed set stays open until its id is used again */
		ts->unflushed |= flush_all(ts->e->flush) != 0;
}

/* Uses ids in turn, so that an id is reused long after the last switch of its targets. */
static unsigned int set_next_id(struct targets *ts)
{
	for (unsigned int i = 1; i < ABI_MAX_SETS; i++) {
		unsigned int id = (ts->last + i - 1) % (ABI_MAX_SETS - 1) + 1;

		/* A freed set may have targets that could not be listed when its PMC left. */
		if (!ts->sets[id] && !ts->e->sets[id].ntargets)
			return ts->last = id;
	}
	return 0;
}

/* Sweeps before a set is created, never between the creations of a set and its successors. */
void sets_make_room(struct targets *ts, const struct user *u, unsigned int n)
{
	struct reason unused;

	if (ts->nsets + n >= ABI_MAX_SETS || user_may(u->table, u, POOL_SETS, n, &unused))
		sets_sweep(ts);
}

static bool set_keeps_child(const struct count *c)
{
	return c->spec.descendants;
}

static bool set_keeps_setid(const struct count *c)
{
	return c->spec.follows_setid;
}

/* The set of those PMCs for which `keeps` is true; `id` itself if that is all of them. */
static int set_part(struct targets *ts, const struct set_key *k, unsigned int id,
		    bool (*keeps)(const struct count *c), const struct maker *m)
{
	struct set_key part = { .waits = k->waits };
	bool all = true;

	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (!k->row[r])
			continue;
		if (keeps(k->row[r])) {
			part.row[r] = k->row[r];
			continue;
		}
		part.waits &= ~((row_mask)1 << r);
		all = false;
	}
	return all ? (int)id : set_get(ts, &part, m);
}

/* The set of the same PMCs after an exec, when none waits; 0: nothing changes. */
static int set_after_exec(struct targets *ts, const struct set_key *k, const struct maker *m)
{
	struct set_key after = *k;

	after.waits = 0;
	return k->waits ? set_get(ts, &after, m) : 0;
}

/* Creates a set of these PMCs, without its successors; NULL: no memory, or no number. */
static struct set *set_begin(struct targets *ts, const struct set_key *k,
			     struct count_owner *payer)
{
	unsigned int id = set_next_id(ts);
	struct set *set;

	if (!id)
		return NULL;
	/* The kernel's copy must be valid from here on: set_free() reads it. */
	memset((void *)&ts->e->sets[id], 0, sizeof(struct abi_set));
	set = set_new(ts, id, k, payer);
	if (set)
		user_charge(payer->user->table, payer->user, POOL_SETS, 1);
	return set;
}

static struct count_owner *set_payer(struct count *const row[TARGET_ROWS], const struct maker *m)
{
	struct count_owner *first = NULL;

	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		if (row[r] && row[r]->owner == m->owner)
			return m->owner;
		if (row[r] && !first)
			first = row[r]->owner;
	}
	return first;
}

/* Ends slices of freed sets before a number is reused. */
static int sets_flush(struct targets *ts, struct reason *why)
{
	int err = ts->unflushed ? flush_all(ts->e->flush) : 0;

	ts->unflushed = err != 0;
	return err ? deny(why, -EAGAIN, "the kernel has not ended a time slice of a PMC that is "
			  "gone: %s", strerror(-err)) : 0;
}

static int set_make(struct targets *ts, const struct set_key *k, const struct maker *m)
{
	struct count_owner *payer = set_payer(k->row, m);
	struct reason unused;
	int flushed = sets_flush(ts, m->must ? &unused : m->why);
	int err = m->must ? 0 : flushed ?: user_may(payer->user->table, payer->user,
						      POOL_SETS, 1, m->why);
	struct set *set = err ? NULL : set_begin(ts, k, payer);
	int child, secure, exec;
	unsigned int id;

	if (!set)
		return err ?: -ENOMEM;
	id = set->id;
	child = set_part(ts, k, id, set_keeps_child, m);
	secure = child < 0 ? child : set_part(ts, k, id, set_keeps_setid, m);
	exec = secure < 0 ? secure : set_after_exec(ts, k, m);
	if (exec < 0) {
		set_free(ts, id);
		return exec;
	}
	set->child = (unsigned int)child;
	set->secure = (unsigned int)secure;
	set->exec = (unsigned int)exec;
	set_write(ts, set);
	return (int)id;
}

/* The id of the set of exactly these PMCs, created if need be; 0 for no PMC; -ENOMEM, -EAGAIN. */
int set_get(struct targets *ts, const struct set_key *k, const struct maker *m)
{
	bool any = false;
	struct set *set;

	for (unsigned int r = 0; r < TARGET_ROWS; r++)
		any |= k->row[r] != NULL;
	if (!any)
		return 0;
	set = set_find(ts, k);
	return set ? (int)set->id : set_make(ts, k, m);
}
