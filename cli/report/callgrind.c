/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -F: callgrind's format, version 1, for KCachegrind.  Each function has its own cost, line by
 * line, and for each call the samples in the callee: each sample once, however deep a recursion.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "frames.h"
#include "pairs.h"

#define ROOT 0u		/* "root" calls the outermost functions; as callee: none, own cost */

struct callgrind_function {
	const struct symbol *symbol;	/* NULL: root */
	const char *file;
	uint64_t address;		/* its first address, and one of its lines */
	unsigned int line;
};

/* A place of cost in a function: its own code, or a call. */
struct callgrind_spot {
	uint32_t function, callee;
	uint64_t address;
	unsigned int line;
};

struct cost {
	uint32_t spot, event;
	uint64_t samples;
};

struct callgrind {
	const struct profile *p;
	struct buf *out;
	struct chain chain;
	struct pairs function_of, spot_of, cost_of;	/* and one more */
	struct pairs edge_of;		/* (function, callee) → the last tally with it, plus one */
	struct callgrind_function *functions;
	struct callgrind_spot *spots;
	struct cost *costs;
	size_t nfunctions, function_room, nspots, spot_room, ncosts, cost_room;
};

static uint64_t place_address(const struct callgrind *c, const struct place *place)
{
	uint64_t offset = place->offset - place->call;

	if (place->cut)
		return 0;
	return place->image ? image_address(c->p->symbols, place->image, offset) : offset;
}

static int functions_add(struct callgrind *c, const struct callgrind_function *function)
{
	if (array_reserve(c->functions, c->function_room, c->nfunctions + 1) != 0)
		return -ENOMEM;
	c->functions[c->nfunctions++] = *function;
	return 0;
}

/* The number of a link's function. */
static int functions_get(struct callgrind *c, const struct link *link, uint32_t *number)
{
	const struct symbol *symbol = link->frame->symbol;
	struct image *image = link->place->image;
	struct callgrind_function function = { symbol, link->frame->file, 0, link->frame->line };
	uint32_t *known = pairs_at(&c->function_of, (uintptr_t)symbol, 0);

	if (!known)
		return -ENOMEM;
	if (!*known) {
		function.address = symbol->inlined || !image ?
					   place_address(c, link->place) :
					   image_address(c->p->symbols, image, symbol->start);
		if (functions_add(c, &function) < 0)
			return -ENOMEM;
		*known = (uint32_t)c->nfunctions;
	}
	*number = *known - 1;
	return 0;
}

static int costs_add(struct callgrind *c, const struct callgrind_spot *spot, uint32_t event,
		     uint64_t samples)
{
	uint32_t *known = pairs_at(&c->spot_of, (uint64_t)spot->function << 32 | spot->callee,
				   spot->address), number;

	if (!known || array_reserve(c->spots, c->spot_room, c->nspots + 1) ||
	    array_reserve(c->costs, c->cost_room, c->ncosts + 1))
		return -ENOMEM;
	if (!*known) {
		c->spots[c->nspots] = *spot;
		*known = (uint32_t)++c->nspots;
	}
	number = *known - 1;
	known = pairs_at(&c->cost_of, number, event);
	if (!known)
		return -ENOMEM;
	if (!*known) {
		c->costs[c->ncosts] = (struct cost){ number, event, 0 };
		*known = (uint32_t)++c->ncosts;
	}
	c->costs[*known - 1].samples += samples;
	return 0;
}

static int calls_add(struct callgrind *c, const struct callgrind_spot *spot, size_t tally)
{
	const struct tally *t = &c->p->tallies[tally];
	uint32_t *last = pairs_at(&c->edge_of, spot->function, spot->callee);

	if (!last)
		return -ENOMEM;
	if (*last == tally + 1)
		return 0;
	*last = (uint32_t)(tally + 1);
	return costs_add(c, spot, t->event, t->samples);
}

static int costs_add_tally(struct callgrind *c, size_t tally)
{
	const struct tally *t = &c->p->tallies[tally];
	struct callgrind_spot spot = { .function = ROOT, .line = 1 };
	int err = chain_fill(&c->chain, c->p, t->stack);

	for (size_t i = 0; !err && i < c->chain.n; i++) {
		const struct link *link = &c->chain.links[i];
		uint32_t number = 0;

		err = functions_get(c, link, &number);
		spot.callee = number;
		if (!err)
			err = calls_add(c, &spot, tally);
		spot = (struct callgrind_spot){ number, ROOT, place_address(c, link->place),
						link->frame->line };
	}
	return err ? err : costs_add(c, &spot, t->event, t->samples);
}

/* A name in one line; "(7)" at its beginning would be a number that stands for a name. */
static void callgrind_name(struct buf *out, const char *key, const char *name)
{
	buf_printf(out, "%s=%s", key, name[0] == '(' && isdigit((unsigned char)name[1]) ? "_" : "");
	report_put_plain(out, name, "", '?');
	buf_add(out, "\n", 1);
}

static void callgrind_function(struct callgrind *c, uint32_t number, const char *object_key,
			       const char *file_key, const char *function_key)
{
	const struct callgrind_function *f = &c->functions[number];
	const struct image *image = f->symbol ? f->symbol->image : NULL;
	char room[24];

	callgrind_name(c->out, object_key, image ? image->path : "???");
	callgrind_name(c->out, file_key, f->file ? f->file : "???");
	callgrind_name(c->out, function_key, f->symbol ? symbol_text(f->symbol, room) : "root");
}

/* Costs of one spot, a column for each event.  Returns the position of the next spot's costs. */
static size_t callgrind_values(struct callgrind *c, const struct cost *const *order, size_t at)
{
	const struct callgrind_spot *spot = &c->spots[order[at]->spot];
	uint32_t number = order[at]->spot;

	buf_printf(c->out, "0x%llx %u", (unsigned long long)spot->address, spot->line);
	for (uint32_t event = 0; event < c->p->nevents; event++) {
		bool has = at < c->ncosts && order[at]->spot == number && order[at]->event == event;

		buf_printf(c->out, " %llu", has ? (unsigned long long)order[at]->samples : 0);
		at += has;
	}
	buf_add(c->out, "\n", 1);
	return at;
}

static void callgrind_call(struct callgrind *c, const struct cost *const *order, size_t at)
{
	const struct callgrind_function *callee = &c->functions[c->spots[order[at]->spot].callee];
	uint32_t spot = order[at]->spot;
	uint64_t samples = 0;

	for (; at < c->ncosts && order[at]->spot == spot; at++)
		samples += order[at]->samples;
	callgrind_function(c, c->spots[spot].callee, "cob", "cfi", "cfn");
	buf_printf(c->out, "calls=%llu 0x%llx %u\n", (unsigned long long)samples,
		   (unsigned long long)callee->address, callee->line);
}

/* By function, its own costs first, then by callee and line of the call. */
static int cost_order(const void *a, const void *b, void *spots)
{
	const struct cost *x = *(const struct cost *const *)a, *y = *(const struct cost *const *)b;
	const struct callgrind_spot *s = (const struct callgrind_spot *)spots + x->spot,
				    *t = (const struct callgrind_spot *)spots + y->spot;

	if (s->function != t->function)
		return s->function < t->function ? -1 : 1;
	if (s->callee != t->callee)
		return s->callee < t->callee ? -1 : 1;
	if (s->address != t->address)
		return s->address < t->address ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

static void callgrind_head(struct callgrind *c)
{
	buf_printf(c->out, "version: 1\ncreator: pmcstat\npositions: instr line\nevents:");
	for (uint32_t event = 0; event < c->p->nevents; event++) {
		const char *name = walk_event(c->p->walk, event)->name;

		buf_add(c->out, " ", 1);
		for (; *name; name++)
			buf_add(c->out, isalnum((unsigned char)*name) ? name : "_", 1);
		buf_printf(c->out, "_%u", event);
	}
	buf_printf(c->out, "\nsummary:");
	for (uint32_t event = 0; event < c->p->nevents; event++)
		buf_printf(c->out, " %llu", (unsigned long long)c->p->event_samples[event]);
	buf_add(c->out, "\n", 1);
}

static void callgrind_body(struct callgrind *c)
{
	const struct cost **order = calloc(c->ncosts + 1, sizeof(*order));
	uint32_t function = ROOT;

	if (!order) {
		c->out->failed = true;
		return;
	}
	for (size_t i = 0; i < c->ncosts; i++)
		order[i] = &c->costs[i];
	qsort_r(order, c->ncosts, sizeof(*order), cost_order, c->spots);
	callgrind_head(c);
	buf_add(c->out, "\n", 1);
	callgrind_function(c, ROOT, "ob", "fl", "fn");
	buf_printf(c->out, "0x0 1");
	for (size_t event = 0; event < c->p->nevents; event++)
		buf_printf(c->out, " 0");
	buf_add(c->out, "\n", 1);
	for (size_t at = 0; at < c->ncosts;) {
		const struct callgrind_spot *spot = &c->spots[order[at]->spot];

		if (spot->function != function) {
			function = spot->function;
			buf_add(c->out, "\n", 1);
			callgrind_function(c, function, "ob", "fl", "fn");
		}
		if (spot->callee != ROOT)
			callgrind_call(c, order, at);
		at = callgrind_values(c, order, at);
	}
	free(order);
}

void report_callgrind(const struct report *r, struct buf *out)
{
	struct callgrind c = { .p = r->profile, .out = out };
	const struct callgrind_function root = { .symbol = NULL };
	int err = functions_add(&c, &root);

	for (size_t i = 0; !err && i < c.p->ntallies; i++)
		if (c.p->tallies[i].samples > 0)
			err = costs_add_tally(&c, i);
	if (err)
		out->failed = true;
	else
		callgrind_body(&c);
	free(c.functions);
	free(c.spots);
	free(c.costs);
	chain_free(&c.chain);
	pairs_free(&c.function_of);
	pairs_free(&c.spot_of);
	pairs_free(&c.cost_of);
	pairs_free(&c.edge_of);
}
