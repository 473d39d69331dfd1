/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting samples: see profile.h.
 *
 * A log has millions of samples but only thousands of different call chains, most of which differ
 * in the sampled address alone.  So the callers are remembered as a whole, and a sample usually
 * takes three searches: its callers (chains), its sampled address below these (leaves), its tally.
 * The tables are larger than the CPU's caches: samples are taken in batches, each step for a whole
 * batch, and each step prefetches the memory that the next one reads.
 *
 * A batch has to be counted before a record other than a sample takes effect.
 */
#include "lib/base/array.h"
#include "lib/base/chain_end.h"
#include "cli/common/common.h"
#include "places.h"

/* A full cache is emptied: it only saves time, and a hostile log must not fill the memory. */
#define CHAIN_WORDS (4u << 20)
#define CHAINS_MAX  (1u << 20)
#define LEAVES_MAX  (1u << 20)

/* The addresses of a sample's callers in a space. */
struct known_chain {
	uint32_t space, stack;
	uint32_t words, npc;	/* position in tables.words, and how many */
	uint32_t cut;		/* chain_cut() */
	bool entered;		/* the first one is where the kernel was entered */
};

/* A sampled address below its callers. */
struct leaf {
	uint64_t address;
	uint32_t space, caller;
	uint32_t stack;
};

#define BATCH	    32u
#define BATCH_WORDS (BATCH * 32 + SAMPLE_WORDS)
#define SAMPLE_WORDS (2 * PMC_CALLCHAIN_DEPTH_MAX)	/* its own chain, and its waker's */

/* A sample on its way into the tables. */
struct pending {
	struct walk_sample sample;
	struct walk_waker waker;	/* if sample.waker is not NULL */
	uint64_t words_hash;	/* of the callers' addresses */
	uint32_t space;
	uint32_t cut;		/* chain_cut() */
	uint32_t hash;		/* for the next search */
	uint32_t caller, stack;
};

struct batch {
	unsigned int n;
	size_t nwords;
	struct pending each[BATCH];
	uintptr_t words[BATCH_WORDS];
};

struct tables {
	struct places places;
	struct index tallies, chains, leaves;
	size_t tallies_size, events_size;
	struct known_chain *chain;
	size_t nchains, chains_size;
	uint64_t *words;
	size_t nwords, words_size;
	struct leaf *leaf;
	size_t nleaves, leaves_size;
	struct batch batch;
	int code;			/* why the last batch was not taken */
};

static int profile_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: no memory for the profile");
}

static bool in_kernel(uint64_t pc)
{
	return pc & WALK_KERNEL;
}

/* --- chains ---------------------------------------------------------------------------------- */

struct wanted_chain {
	const struct tables *t;
	const uintptr_t *pc;
	size_t npc;
	uint32_t space;
	uint32_t cut;
	bool entered;
};

/* 0, or in one number the reason for missing callers, and the address above which they are. */
static uint32_t chain_cut(const struct walk_sample *s)
{
	uint32_t at = chain_end_cut_at(s->flags, s->pc, (unsigned int)s->npc);

	return at ? at << 4 | PMC_CC_F_TO_END(s->flags) : 0;
}

static bool same_chain(const void *arg, uint32_t i)
{
	const struct wanted_chain *w = arg;
	const struct known_chain *c = &w->t->chain[i];

	return c->space == w->space && c->npc == w->npc && c->entered == w->entered &&
	       c->cut == w->cut &&
	       memcmp(&w->t->words[c->words], w->pc, w->npc * sizeof(*w->pc)) == 0;
}

static int known_chain_add(struct tables *t, const struct wanted_chain *w, uint32_t hash,
			   uint32_t stack)
{

	if (t->nchains >= CHAINS_MAX || t->nwords >= CHAIN_WORDS) {
		index_clear(&t->chains);
		t->nchains = t->nwords = 0;
	}
	if (array_reserve(t->chain, t->chains_size, t->nchains + 1) ||
	    array_reserve(t->words, t->words_size, t->nwords + w->npc) ||
	    index_add(&t->chains, hash, (uint32_t)t->nchains) != 0)
		return -ENOMEM;
	memcpy(&t->words[t->nwords], w->pc, w->npc * sizeof(*w->pc));
	t->chain[t->nchains++] = (struct known_chain){ w->space, stack, (uint32_t)t->nwords,
					       (uint32_t)w->npc, w->cut, w->entered };
	t->nwords += w->npc;
	return 0;
}

/* A chain of kernel addresses only is the same in all processes. */
static uint32_t sample_space(const struct walk_sample *s)
{
	return in_kernel(s->pc[s->npc - 1]) ? 0 : s->process->space;
}

static uint32_t chain_hash(const struct pending *one)
{
	return index_fold(index_mix(index_mix(one->words_hash, one->space), one->cut));
}

/* The stack of all addresses but the first, and of the missing ones among them. */
static uint32_t callers_stack(struct profile *p, struct tables *t, const struct pending *one)
{
	const struct walk_sample *s = &one->sample;
	uint32_t stack = STACK_NONE;

	for (size_t i = s->npc; --i;)
		places_expect(&t->places, s, i);
	for (size_t i = s->npc; i && stack != INDEX_NONE; i--) {
		if (i < s->npc)
			stack = places_deepen(p, &t->places, s, i, stack);
		if (i == one->cut >> 4 && stack != INDEX_NONE)
			stack = places_cut(p, &t->places, one->cut & 15, stack);
	}
	return stack;
}

/* Adds the waker to the stack of its thread: from its place to its program's start. */
static uint32_t waker_stack(struct profile *p, struct places *t, const struct walk_waker *waker,
			    uint32_t stack)
{
	const struct walk_sample *s = &waker->at;
	const struct walk_sample name = { .npc = 1, .pc = &waker->name };
	uint32_t cut = chain_cut(s);

	for (size_t i = 0; i < s->npc && stack != INDEX_NONE; i++) {
		stack = places_deepen(p, t, s, i, stack);
		if (i + 1 == cut >> 4 && stack != INDEX_NONE)
			stack = places_cut(p, t, cut & 15, stack);
	}
	return stack == INDEX_NONE ? stack : places_deepen(p, t, &name, 0, stack);
}

/* The stack of the callers: of all addresses but the first. */
static int find_callers(struct profile *p, struct pending *one)
{
	const struct walk_sample *s = &one->sample;
	struct tables *t = p->index;
	struct wanted_chain wanted = { t, s->pc + 1, s->npc - 1, one->space, one->cut,
				       s->npc > 1 && !walk_returns(s, 1) };
	uint32_t at, stack;

	one->caller = STACK_NONE;
	if (!wanted.npc) {
		one->caller = callers_stack(p, t, one);
		return one->caller == INDEX_NONE ? -ENOMEM : 0;
	}
	at = index_find(&t->chains, one->hash, same_chain, &wanted);
	if (at != INDEX_NONE) {
		one->caller = t->chain[at].stack;
		return 0;
	}
	stack = callers_stack(p, t, one);
	/* walk_place() may have changed the space. */
	one->space = wanted.space = sample_space(s);
	one->caller = stack;
	return stack == INDEX_NONE ? -ENOMEM : known_chain_add(t, &wanted, chain_hash(one), stack);
}

struct wanted_leaf {
	const struct leaf *list;
	struct leaf leaf;
};

static bool same_leaf(const void *arg, uint32_t i)
{
	const struct wanted_leaf *w = arg;
	const struct leaf *leaf = &w->list[i];

	return leaf->address == w->leaf.address && leaf->caller == w->leaf.caller &&
	       leaf->space == w->leaf.space;
}

static uint32_t leaf_hash(const struct leaf *leaf)
{
	return index_fold(index_mix(index_mix(leaf->address, leaf->caller), leaf->space));
}

static int find_stack(struct profile *p, struct pending *one)
{
	const struct walk_sample *s = &one->sample;
	struct tables *t = p->index;
	struct wanted_leaf wanted = { t->leaf, { s->pc[0], one->space, one->caller, 0 } };
	uint32_t at = index_find(&t->leaves, one->hash, same_leaf, &wanted);

	if (at != INDEX_NONE) {
		one->stack = t->leaf[at].stack;
		return 0;
	}
	if (t->nleaves >= LEAVES_MAX) {
		index_clear(&t->leaves);
		t->nleaves = 0;
	}
	wanted.leaf.stack = one->stack = places_deepen(p, &t->places, s, 0, one->caller);
	wanted.leaf.space = sample_space(s);
	if (one->stack == INDEX_NONE || array_reserve(t->leaf, t->leaves_size, t->nleaves + 1) ||
	    index_add(&t->leaves, leaf_hash(&wanted.leaf), (uint32_t)t->nleaves) != 0)
		return -ENOMEM;
	t->leaf[t->nleaves++] = wanted.leaf;
	return 0;
}

/* --- tallies --------------------------------------------------------------------------------- */

struct wanted_tally {
	const struct profile *p;
	struct tally tally;
};

static bool same_tally(const void *arg, uint32_t i)
{
	const struct wanted_tally *w = arg;
	const struct tally *tally = &w->p->tallies[i];

	return tally->stack == w->tally.stack && tally->event == w->tally.event &&
	       tally->process == w->tally.process && tally->tid == w->tally.tid;
}

static uint32_t tally_hash(const struct pending *one)
{
	const struct walk_sample *s = &one->sample;

	return index_fold(index_mix(index_mix((uint64_t)one->stack << 32 | s->process->number,
					      (uint32_t)s->tid), s->event_number));
}

static int tally_sample(struct profile *p, const struct pending *one)
{
	const struct walk_sample *s = &one->sample;
	const struct wanted_tally wanted = { p, { s->event_number, s->process->number, s->tid,
						  one->stack, 0, 0 } };
	struct tables *t = p->index;
	uint32_t at = index_find(&t->tallies, one->hash, same_tally, &wanted);

	if (at == INDEX_NONE) {
		if (array_reserve(p->tallies, t->tallies_size, p->ntallies + 1) != 0)
			return -ENOMEM;
		p->tallies[p->ntallies] = wanted.tally;
		at = (uint32_t)p->ntallies;
		if (index_add(&t->tallies, one->hash, at) != 0)
			return -ENOMEM;
		p->ntallies++;
	}
	p->tallies[at].samples += s->weight;
	p->tallies[at].taken++;
	return 0;
}

static int count_event(struct profile *p, uint32_t event, uint64_t weight)
{
	struct tables *t = p->index;

	if (event >= p->nevents) {
		if (array_reserve(p->event_samples, t->events_size, (size_t)event + 1) != 0)
			return -ENOMEM;
		memset(&p->event_samples[p->nevents], 0,
		       (event + 1 - p->nevents) * sizeof(*p->event_samples));
		p->nevents = (size_t)event + 1;
	}
	p->event_samples[event] += weight;
	p->samples += weight;
	return 0;
}

/* --- batches --------------------------------------------------------------------------------- */

static void expect_chain(const struct tables *t, const struct pending *one)
{
	uint32_t at = index_guess(&t->chains, one->hash);

	if (at != INDEX_NONE)
		__builtin_prefetch(&t->chain[at]);
}

static void expect_words(const struct tables *t, const struct pending *one)
{
	uint32_t at = index_guess(&t->chains, one->hash);
	const uint64_t *words = at == INDEX_NONE ? NULL : &t->words[t->chain[at].words];

	for (size_t i = 0; words && i < one->sample.npc; i += 8)
		__builtin_prefetch(&words[i]);
}

static void expect_leaf(const struct tables *t, const struct pending *one)
{
	uint32_t at = index_guess(&t->leaves, one->hash);

	if (at != INDEX_NONE)
		__builtin_prefetch(&t->leaf[at]);
}

static void expect_tally(const struct profile *p, const struct pending *one)
{
	const struct tables *t = p->index;
	uint32_t at = index_guess(&t->tallies, one->hash);

	if (at != INDEX_NONE)
		__builtin_prefetch(&p->tallies[at], 1);
}

static int callers_found(struct profile *p, struct pending *one)
{
	struct tables *t = p->index;
	int err = find_callers(p, one);

	if (!err && one->sample.waker) {
		one->caller = waker_stack(p, &t->places, &one->waker, one->caller);
		err = one->caller == INDEX_NONE ? -ENOMEM : 0;
	}
	one->hash = leaf_hash(&(struct leaf){ one->sample.pc[0], one->space, one->caller, 0 });
	index_prefetch(&t->leaves, one->hash);
	return err;
}

static int stack_found(struct profile *p, struct pending *one)
{
	const struct tables *t = p->index;
	int err = find_stack(p, one);

	one->hash = tally_hash(one);
	index_prefetch(&t->tallies, one->hash);
	return err;
}

/* Counts all pending samples.  0 or an exit code. */
static int batch_count(struct profile *p)
{
	struct tables *t = p->index;
	struct pending *first = t->batch.each, *end = first + t->batch.n, *one;
	int err = 0;

	for (one = first; one < end; one++)
		expect_chain(t, one);
	for (one = first; one < end; one++)
		expect_words(t, one);
	for (one = first; one < end && !err; one++)
		err = callers_found(p, one);
	for (one = first; one < end && !err; one++)
		expect_leaf(t, one);
	for (one = first; one < end && !err; one++)
		err = stack_found(p, one);
	for (one = first; one < end && !err; one++)
		expect_tally(p, one);
	for (one = first; one < end && !err; one++)
		err = tally_sample(p, one);
	t->batch.n = 0;
	t->batch.nwords = 0;
	if (err && !t->code)
		t->code = profile_no_memory();
	return t->code;
}

static void waker_keep(struct pending *one, const struct walk_waker *waker, struct batch *b)
{
	uintptr_t *words = &b->words[b->nwords];

	one->waker = *waker;
	one->waker.at.pc = words;
	memcpy(words, waker->at.pc, waker->at.npc * sizeof(*words));
	b->nwords += waker->at.npc;
}

static int profile_take_sample(void *arg, struct walk *w, const struct walk_sample *s)
{
	struct profile *p = arg;
	struct tables *t = p->index;
	struct batch *b = &t->batch;
	struct pending *one = &b->each[b->n++];
	uintptr_t *words = &b->words[b->nwords];

	one->sample = *s;
	one->sample.npc = s->npc ? s->npc : 1;
	one->sample.pc = words;
	*words = 0;
	memcpy(words, s->pc, s->npc * sizeof(*words));
	b->nwords += one->sample.npc;
	if (s->waker)
		waker_keep(one, s->waker, b);
	one->space = sample_space(&one->sample);
	one->cut = chain_cut(&one->sample);
	one->words_hash = index_hash(0, words + 1, one->sample.npc - 1);
	one->hash = chain_hash(one);
	index_prefetch(&t->chains, one->hash);
	if (count_event(p, s->event_number, s->weight) != 0)
		return profile_no_memory();
	return b->n == BATCH || b->nwords + SAMPLE_WORDS > BATCH_WORDS ?
		       batch_count(p) : 0;
}

/* --- PMCs of one name ------------------------------------------------------------------------ */

/* Have samples of this name different periods, all of them known? */
static bool event_is_mixed(const struct profile *p, uint32_t first)
{
	const struct walk_event *e, *one = NULL;
	bool mixed = false;

	for (uint32_t i = first; i < p->nevents; i++) {
		e = walk_event(p->walk, i);
		if (e->first != first || !p->event_samples[i])
			continue;
		if (!e->rate)
			return false;
		one = one ? one : e;
		mixed |= e->rate != one->rate || e->steered != one->steered;
	}
	return mixed;
}

static void event_weigh(struct profile *p, uint32_t event)
{
	uint64_t times = walk_weigh(p->walk, event);

	p->samples += (times - 1) * p->event_samples[event];
	p->event_samples[event] *= times;
	for (size_t i = 0; times != 1 && i < p->ntallies; i++)
		if (p->tallies[i].event == event)
			p->tallies[i].samples *= times;
}

/* PMCs of one name are shown as one event: samples of different periods are counted in events. */
static void profile_weigh(struct profile *p)
{
	for (uint32_t first = 0; first < p->nevents; first++) {
		if (walk_event(p->walk, first)->first != first || !event_is_mixed(p, first))
			continue;
		for (uint32_t i = first; i < p->nevents; i++)
			if (walk_event(p->walk, i)->first == first &&
			    walk_event(p->walk, i)->rate)
				event_weigh(p, i);
	}
}

/* --- the profile ----------------------------------------------------------------------------- */

void profile_settle(struct profile *p)
{
	const struct tables *t = p->index;

	batch_count(p);
	profile_weigh(p);
	places_settle(p, &t->places);
}

/* Another log begins, with other processes and another kernel: forgets all addresses. */
static void profile_forget(struct profile *p)
{
	struct tables *t = p->index;

	profile_settle(p);
	places_forget(&t->places);
	index_clear(&t->chains);
	index_clear(&t->leaves);
	t->nchains = t->nwords = t->nleaves = 0;
}

/* Pending samples belong before the record, which may change the mappings. */
static int profile_take_record(void *arg, struct walk *w, const struct pmclog_ev *ev)
{
	struct profile *p = arg;

	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN || ev->pl_type == PMCLOG_TYPE_PCSAMPLE ||
	    ev->pl_type == PMCLOG_TYPE_VALUES || ev->pl_type == PMCLOG_TYPE_WAKER)
		return 0;
	if (ev->pl_type == PMCLOG_TYPE_INITIALIZE)
		profile_forget(p);
	return batch_count(p);
}

struct profile *profile_new(struct symbols *symbols, const struct filter *filter)
{
	struct profile *p = calloc(1, sizeof(*p));
	const struct walk_user user = { .sample = profile_take_sample,
					 .record = profile_take_record, .arg = p };
	struct tables *t = p ? calloc(1, sizeof(*t)) : NULL;

	if (!t) {
		profile_no_memory();
		free(p);
		return NULL;
	}
	p->index = t;
	p->symbols = symbols;
	if (places_begin(p, &t->places) == 0)
		p->walk = walk_new(symbols, filter, &user);
	else
		profile_no_memory();
	if (!p->walk) {
		profile_free(p);
		return NULL;
	}
	return p;
}

void profile_free(struct profile *p)
{
	struct tables *t = p ? p->index : NULL;

	if (!p)
		return;
	walk_free(p->walk);
	places_free(&t->places);
	index_free(&t->tallies);
	index_free(&t->chains);
	index_free(&t->leaves);
	free(t->chain);
	free(t->words);
	free(t->leaf);
	free(t);
	free(p->places);
	free(p->stacks);
	free(p->tallies);
	free(p->event_samples);
	free(p);
}

int profile_log(struct profile *p, int fd, const char *name, int terminal)
{
	const struct tables *t = p->index;
	int code = walk_log(p->walk, fd, name, terminal);

	profile_settle(p);
	return code ? code : t->code;
}

int profile_record(struct profile *p, const struct pmclog_ev *ev)
{
	return walk_record(p->walk, ev);
}

void profile_clear(struct profile *p)
{
	struct tables *t = p->index;

	batch_count(p);
	batch_count(p);
	index_clear(&t->tallies);
	p->ntallies = 0;
	p->samples = 0;
	if (p->nevents)
		memset(p->event_samples, 0, p->nevents * sizeof(*p->event_samples));
}
