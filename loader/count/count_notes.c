/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of the programs' notes on PMCs: some have lost their last target, and some have lost
 * per-task events in an exec.
 */
#include <errno.h>

#include "count_row.h"
#include "page.h"

bool count_follows_setid(const struct count *c)
{
	return c->spec.follows_setid;
}

bool count_lost_children(const struct count *c)
{
	return target_lost(c->e->targets, c) != 0;
}

bool count_orphaned(struct count *c)
{
	if (!c->has_targets || count_ntargets(c))
		return false;
	c->has_targets = false;
	page_update(c);
	return true;
}

/* Calls fn for every PMC with per-task events: of hardware, or sampled software events. */
static void count_each_followed(struct engine *e, const struct abi_note *note,
				void (*fn)(struct count *c, const struct abi_note *note))
{
	struct targets *ts = e->targets;
	struct count *c;

	for (unsigned int row = 0; row < TARGET_ROWS; row++) {
		LIST_FOREACH(c, &target_count_row(ts, row)->users, on_row)
			if (c->backend->follow)
				fn(c, note);
		LIST_FOREACH(c, &target_count_row(ts, row)->soft, on_row)
			fn(c, note);
	}
}

static void count_exec_secure(struct count *c, const struct abi_note *note)
{
	c->backend->follow(c, (pid_t)note->tgid, note->dropped);
}

/* The note of a set-id exec is lost: check each target. */
static void count_exec_unknown(struct count *c, const struct abi_note *note)
{
	c->lost |= c->spec.follows_setid && c->has_targets;
	page_update(c);
}

bool count_note(struct engine *e, const struct abi_note *note, count_orphan_fn *fn, void *arg)
{
	struct count *row[TARGET_ROWS];

	switch (note->kind) {
	case ABI_NOTE_EMPTY:
		if (!target_set(e->targets, note->set, row))
			return false;
		for (unsigned int r = 0; r < TARGET_ROWS; r++)
			if (row[r] && count_orphaned(row[r]))
				fn(arg, row[r]->owner, row[r]->owner->tgid);
		return true;
	case ABI_NOTE_SECURE:
		count_each_followed(e, note, count_exec_secure);
		return true;
	case ABI_NOTE_LOST:
		count_each_followed(e, note, count_exec_unknown);
		return false;
	default:
		return true;
	}
}

void count_notes_seen(struct engine *e)
{
	target_seen_all(e->targets);
}
