/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of numbers; all zero: it is empty. */
#ifndef PMCBPF_LIB_BASE_NUMBER_SET_H
#define PMCBPF_LIB_BASE_NUMBER_SET_H

#include "array.h"
#include "index.h"

struct number_set {
	uint64_t *numbers;
	size_t n, room;
	struct index index;
};

struct number_set_wanted {
	const uint64_t *numbers;
	uint64_t number;
};

static inline bool number_set_is(const void *arg, uint32_t position)
{
	const struct number_set_wanted *w = arg;

	return w->numbers[position] == w->number;
}

static inline uint32_t number_set_hash(uint64_t number)
{
	return index_fold(index_mix(0, number));
}

static inline bool number_set_has(const struct number_set *s, uint64_t number)
{
	const struct number_set_wanted wanted = { s->numbers, number };

	return index_find(&s->index, number_set_hash(number), number_set_is, &wanted) !=
	       INDEX_NONE;
}

/* Adds a number that number_set_has() has not found.  0 or -ENOMEM. */
static inline int number_set_add(struct number_set *s, uint64_t number)
{
	if (array_reserve(s->numbers, s->room, s->n + 1) != 0 ||
	    index_add(&s->index, number_set_hash(number), (uint32_t)s->n) != 0)
		return -ENOMEM;
	s->numbers[s->n++] = number;
	return 0;
}

static inline void number_set_clear(struct number_set *s)
{
	index_clear(&s->index);
	s->n = 0;
}

static inline void number_set_free(struct number_set *s)
{
	index_free(&s->index);
	free(s->numbers);
	*s = (struct number_set){ 0 };
}

#endif
