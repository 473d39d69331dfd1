/* SPDX-License-Identifier: BSD-2-Clause */
/* See places.h.  Functions return positions in the arrays of the profile; INDEX_NONE: no memory. */
#include "lib/base/array.h"
#include "places.h"

/* A full cache is emptied: it only saves time, and a hostile log must not fill the memory. */
#define PCS_MAX (1u << 20)

/* An address in an address space; the kernel's have space 0. */
struct pc {
	uint64_t address;
	uint32_t space;
	uint32_t place;
	bool call;
};

/* --- places ---------------------------------------------------------------------------------- */

struct wanted_place {
	const struct profile *p;
	struct place place;
};

static bool place_is(const void *arg, uint32_t i)
{
	const struct wanted_place *w = arg;
	const struct place *place = &w->p->places[i];

	return place->offset == w->place.offset && place->image == w->place.image &&
	       place->call == w->place.call && place->cut == w->place.cut;
}

static uint32_t place_add(struct profile *p, struct places *t, const struct place *place)
{
	if (array_reserve(p->places, t->places_size, p->nplaces + 1) != 0)
		return INDEX_NONE;
	p->places[p->nplaces] = *place;
	return (uint32_t)p->nplaces++;
}

static uint32_t place_number(struct profile *p, struct places *t, const struct place *place)
{
	const struct wanted_place wanted = { p, *place };
	uint64_t hash = index_mix(index_mix(place->call, place->offset),
				  place->image ? place->image->number + 1 : 0);
	uint32_t at = index_find(&t->places, index_fold(hash), place_is, &wanted);

	if (at != INDEX_NONE)
		return at;
	at = place_add(p, t, place);
	if (at == INDEX_NONE || index_add(&t->places, index_fold(hash), at) != 0)
		return INDEX_NONE;
	return at;
}

struct wanted_pc {
	const struct pc *list;
	struct pc pc;
};

static bool pc_is(const void *arg, uint32_t i)
{
	const struct wanted_pc *w = arg;
	const struct pc *pc = &w->list[i];

	return pc->address == w->pc.address && pc->space == w->pc.space && pc->call == w->pc.call;
}

static uint32_t pc_hash(const struct pc *pc)
{
	return index_fold(index_mix(index_mix(pc->space, pc->address), pc->call));
}

static uint32_t kernel_place(struct profile *p, struct places *t, uint64_t address, bool call)
{
	const struct wanted_pc wanted = { t->kernel_pc, { .address = address, .call = call } };
	uint32_t hash = pc_hash(&wanted.pc), at;
	struct place place = { .offset = address, .call = call };

	at = index_find(&t->kernel, hash, pc_is, &wanted);
	if (at != INDEX_NONE)
		return t->kernel_pc[at].place;
	if (array_reserve(t->kernel_pc, t->kernel_size, t->nkernel + 1) != 0)
		return INDEX_NONE;
	at = place_add(p, t, &place);
	if (at == INDEX_NONE || index_add(&t->kernel, hash, (uint32_t)t->nkernel) != 0)
		return INDEX_NONE;
	t->kernel_pc[t->nkernel] = wanted.pc;
	t->kernel_pc[t->nkernel++].place = at;
	return at;
}

static uint32_t user_place(struct profile *p, struct places *t, const struct walk_sample *s,
			   size_t i)
{
	struct wanted_pc wanted = { t->pc, { .address = s->pc[i], .call = walk_returns(s, i),
					     .space = s->process->space } };
	uint32_t at = index_find(&t->pcs, pc_hash(&wanted.pc), pc_is, &wanted);
	struct place place;

	if (at != INDEX_NONE)
		return t->pc[at].place;
	if (t->npcs >= PCS_MAX) {
		index_clear(&t->pcs);
		t->npcs = 0;
	}
	if (array_reserve(t->pc, t->pcs_size, t->npcs + 1) != 0)
		return INDEX_NONE;
	walk_place(p->walk, s, i, &place);
	wanted.pc.space = s->process->space;	/* walk_place() may have changed it */
	wanted.pc.place = place_number(p, t, &place);
	if (wanted.pc.place == INDEX_NONE ||
	    index_add(&t->pcs, pc_hash(&wanted.pc), (uint32_t)t->npcs) != 0)
		return INDEX_NONE;
	t->pc[t->npcs++] = wanted.pc;
	return wanted.pc.place;
}

/* --- stacks ---------------------------------------------------------------------------------- */

struct wanted_stack {
	const struct profile *p;
	struct stack stack;
};

static bool stack_is(const void *arg, uint32_t i)
{
	const struct wanted_stack *w = arg;
	const struct stack *stack = &w->p->stacks[i];

	return stack->caller == w->stack.caller && stack->place == w->stack.place;
}

/* INDEX_NONE: no memory. */
static uint32_t stack_number(struct profile *p, struct places *t, uint32_t caller, uint32_t place)
{
	const struct wanted_stack wanted = { p, { caller, place } };
	uint32_t hash = index_fold(index_mix(0, (uint64_t)caller << 32 | place));
	uint32_t at = index_find(&t->stacks, hash, stack_is, &wanted);

	if (at != INDEX_NONE)
		return at;
	if (array_reserve(p->stacks, t->stacks_size, p->nstacks + 1) != 0)
		return INDEX_NONE;
	p->stacks[p->nstacks] = wanted.stack;
	if (index_add(&t->stacks, hash, (uint32_t)p->nstacks) != 0)
		return INDEX_NONE;
	return (uint32_t)p->nstacks++;
}

uint32_t places_deepen(struct profile *p, struct places *t, const struct walk_sample *s, size_t n,
		       uint32_t stack)
{
	uint32_t place = s->pc[n] & WALK_KERNEL ?
				 kernel_place(p, t, s->pc[n], walk_returns(s, n)) :
				 user_place(p, t, s, n);

	return place == INDEX_NONE ? INDEX_NONE : stack_number(p, t, stack, place);
}

uint32_t places_cut(struct profile *p, struct places *t, uint32_t end, uint32_t stack)
{
	const struct place cut = { .offset = end, .cut = true };
	uint32_t place = place_number(p, t, &cut);

	return place == INDEX_NONE ? INDEX_NONE : stack_number(p, t, stack, place);
}

void places_expect(const struct places *t, const struct walk_sample *s, size_t i)
{
	const bool kernel = s->pc[i] & WALK_KERNEL;

	index_prefetch(kernel ? &t->kernel : &t->pcs,
		       pc_hash(&(struct pc){ .address = s->pc[i], .call = walk_returns(s, i),
					     .space = kernel ? 0 : s->process->space }));
}

/* --- all tables ------------------------------------------------------------------------------ */

int places_begin(struct profile *p, struct places *t)
{
	if (array_reserve(p->stacks, t->stacks_size, 1) != 0)
		return -ENOMEM;
	p->stacks[p->nstacks++] = (struct stack){ 0 };
	return 0;
}

void places_settle(struct profile *p, const struct places *t)
{
	for (size_t i = 0; i < t->nkernel; i++)
		walk_kernel_place(p->walk, t->kernel_pc[i].address, t->kernel_pc[i].call,
				  &p->places[t->kernel_pc[i].place]);
}

void places_forget(struct places *t)
{
	index_clear(&t->kernel);
	t->nkernel = 0;
}

void places_free(struct places *t)
{
	index_free(&t->places);
	index_free(&t->stacks);
	index_free(&t->pcs);
	index_free(&t->kernel);
	free(t->pc);
	free(t->kernel_pc);
}
