/* SPDX-License-Identifier: BSD-2-Clause */
/* See wakers.h. */
#include <stdio.h>

#include "lib/base/array.h"
#include "wakers.h"

/* Its frame, behind the image. */
static void waker_name(struct waker_name *name, const struct pmclog_ev_waker *ev)
{
	static const char *const others[] = {
		[PMCLOG_WAKER_INTERRUPT] = "[woken by an interrupt]",
		[PMCLOG_WAKER_OTHER] = "[woken by another process]",
	};
	const char *other = ev->pl_kind <= PMCLOG_WAKER_OTHER ? others[ev->pl_kind] : NULL;

	if (ev->pl_kind == PMCLOG_WAKER_THREAD)
		snprintf(name->text, sizeof(name->text), WAKERS_IMAGE "[woken by %s]",
			 ev->pl_tdname);
	else
		snprintf(name->text, sizeof(name->text), WAKERS_IMAGE "%s",
			 other ? other : "[waker unknown]");
}

struct wanted_name {
	const struct waker_name *names, *name;
};

static bool name_is(const void *arg, uint32_t i)
{
	const struct wanted_name *w = arg;

	return strcmp(w->names[i].text, w->name->text) == 0;
}

/* Its position; `fresh`: it is a new one. */
static uint32_t name_number(struct wakers *ws, const struct waker_name *name, bool *fresh, int *err)
{
	const struct wanted_name wanted = { ws->names, name };
	uint32_t hash = index_fold(index_hash_bytes(0, name->text, strlen(name->text)));
	uint32_t at = index_find(&ws->index, hash, name_is, &wanted);

	*fresh = at == INDEX_NONE;
	if (!*fresh)
		return at;
	if (array_reserve(ws->names, ws->room, ws->nnames + 1) ||
	    index_add(&ws->index, hash, (uint32_t)ws->nnames))
		*err = -ENOMEM;
	else
		ws->names[ws->nnames++] = *name;
	return (uint32_t)ws->nnames - 1;
}

const char *wakers_note(struct wakers *ws, const struct pmclog_ev_waker *ev,
			const struct walk_process *process, int *err)
{
	const struct pmclog_ev_callchain *c = &ev->pl_chain;
	struct waker_name name;
	uint32_t number;
	bool fresh;

	waker_name(&name, ev);
	*err = 0;
	number = name_number(ws, &name, &fresh, err);
	ws->there = !*err;
	if (*err)
		return NULL;
	ws->id = c->pl_pmcid;
	ws->next = (struct walk_waker){
		.at = { .process = process, .pc = ws->pc, .flags = c->pl_cpuflags & 0xffff },
		.name = WAKERS_PC + number,
	};
	if (process && c->pl_npc > 0) {
		ws->next.at.npc = (size_t)c->pl_npc;
		memcpy(ws->pc, c->pl_pc, ws->next.at.npc * sizeof(ws->pc[0]));
	}
	return fresh ? ws->names[number].text : NULL;
}

const struct walk_waker *wakers_take(struct wakers *ws, pmc_id_t id)
{
	bool there = ws->there && ws->id == id;

	ws->there = false;
	return there ? &ws->next : NULL;
}

void wakers_forget(struct wakers *ws)
{
	index_free(&ws->index);
	free(ws->names);
	*ws = (struct wakers){ .there = false };
}
