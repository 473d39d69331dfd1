/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of every view, and the choice among them: see view.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "view.h"

bool view_has(const struct profile *profile, const struct look *look, uint32_t event)
{
	const struct walk_event *e = walk_event(profile->walk, event);

	return e && (look->apart || e->first == event);
}

static bool view_counts_event(const struct view *v, uint32_t event)
{
	const struct walk_event *e;

	if (event == v->look->event || v->look->apart)
		return event == v->look->event;
	e = walk_event(v->profile->walk, event);
	return e && e->first == v->look->event;
}

bool view_counts(const struct view *v, const struct tally *tally)
{
	return tally->samples && view_counts_event(v, tally->event);
}

const struct symbol *view_symbol(struct view *v, uint32_t place)
{
	static const struct symbol unknown;
	const struct symbol **symbol = &v->symbols[place];

	if (!*symbol)
		*symbol = symbols_function(v->profile->symbols, &v->profile->places[place]);
	v->failed |= !*symbol;
	return *symbol ? *symbol : &unknown;
}

const char *view_name(const struct look *look, const struct symbol *symbol, char room[static 24])
{
	struct symbol nameless = *symbol;

	if (!look->addresses)
		return symbol_text(symbol, room);
	nameless.name = NULL;
	return symbol_text(&nameless, room);
}

static uint64_t view_count_unresolved(struct view *v)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < v->profile->ntallies; i++) {
		const struct tally *t = &v->profile->tallies[i];

		if (view_counts(v, t) && !view_symbol(v, v->profile->stacks[t->stack].place)->name)
			samples += t->samples;
	}
	return samples;
}

static void view_draw_head(struct view *v, struct picture *p)
{
	const struct profile *profile = v->profile;
	const struct walk_event *e = walk_event(profile->walk, v->look->event);

	if (!e) {
		picture_text(p, "PMC: none has left a record yet");
		return;
	}
	for (uint32_t i = 0; i < profile->nevents; i++)
		v->samples += view_counts_event(v, i) ? profile->event_samples[i] : 0;
	picture_printf(p, "PMC: [%s] Samples: %" PRIu64 " (%.1f%%) , %" PRIu64 " unresolved",
		       v->look->apart ? e->unique : e->name, v->samples,
		       percent(v->samples, profile->samples), view_count_unresolved(v));
}

int view_draw(const struct profile *profile, const struct look *look, const char *remark,
	      struct picture *p)
{
	struct view v = { .profile = profile, .look = look };
	int err = 0;

	v.symbols = calloc(profile->nplaces + 1, sizeof(*v.symbols));
	if (!v.symbols)
		return -ENOMEM;
	view_draw_head(&v, p);
	if (picture_line(p)) {
		picture_text(p, remark);
		if (picture_line(p))
			err = look->kind == VIEW_TREE ? view_tree(&v, p) : view_list(&v, p);
	}
	if (p->text.failed || v.failed)
		err = -ENOMEM;
	free(v.symbols);
	return err;
}
