/* SPDX-License-Identifier: BSD-2-Clause */
/* Overlapping ranges against a linear search, and the contents of tables and arenas. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/profile/arena.h"
#include "cli/profile/item_table.h"
#include "cli/profile/spans.h"
#include "unit.h"

#define ADDRESSES 300u

/* The item at an address, by checking all ranges; -1: none. */
static int64_t plain(const struct span *list, size_t n, uint64_t address)
{
	int64_t item = -1;
	uint32_t rank = 0;

	for (size_t i = 0; i < n; i++) {
		const struct span *s = &list[i];

		if (address >= s->start && address < s->end && (item < 0 || s->rank > rank)) {
			item = s->item;
			rank = s->rank;
		}
	}
	return item;
}

static void test_overlaps(void **state)
{
	struct span list[64];
	unsigned int seed = 1;

	for (unsigned int round = 0; round < 500; round++) {
		struct spans s = { 0 };
		size_t n = (size_t)rand_r(&seed) % 64;

		for (size_t i = 0; i < n; i++) {
			list[i].start = (uint64_t)rand_r(&seed) % ADDRESSES;
			list[i].end = (uint64_t)rand_r(&seed) % ADDRESSES;
			list[i].item = (uint32_t)i;
			list[i].rank = (uint32_t)(round & 1 ? i : n - i);
			assert_int_equal(spans_add(&s, list[i]), 0);
		}
		assert_int_equal(spans_sort(&s), 0);
		for (uint64_t a = 0; a < ADDRESSES; a++) {
			const struct span *found = spans_find(&s, a);

			assert_int_equal(found ? (int64_t)found->item : -1, plain(list, n, a));
		}
		spans_free(&s);
	}
}

/* A later addition to sorted ranges wins by its rank. */
static void test_added_later(void **state)
{
	struct spans s = { 0 };

	assert_int_equal(spans_add(&s, (struct span){ 10, 30, 0, 0 }), 0);
	assert_int_equal(spans_sort(&s), 0);
	assert_int_equal(spans_add(&s, (struct span){ 20, 40, 1, 1 }), 0);
	assert_int_equal(spans_sort(&s), 0);
	assert_int_equal(spans_find(&s, 19)->item, 0);
	assert_int_equal(spans_find(&s, 20)->item, 1);
	assert_int_equal(spans_find(&s, 39)->item, 1);
	assert_null(spans_find(&s, 40));
	assert_null(spans_find(&s, 9));
	spans_free(&s);
}

static void test_none(void **state)
{
	struct spans s = { 0 };

	assert_int_equal(spans_add(&s, (struct span){ 5, 5, 0, 0 }), 0);
	assert_int_equal(spans_add(&s, (struct span){ 7, 5, 0, 0 }), 0);
	assert_int_equal(spans_sort(&s), 0);
	assert_null(spans_find(&s, 5));
	spans_free(&s);
}

static bool same_word(const void *item, const void *key)
{
	return *(const uint64_t *)item == *(const uint64_t *)key;
}

static void test_table(void **state)
{
	struct arena arena = { 0 };
	struct item_table t = { 0 };
	uint64_t key;

	for (key = 0; key < 5000; key++) {
		uint64_t *item = arena_alloc(&arena, sizeof(*item));

		assert_non_null(item);
		*item = key;
		/* All of them collide in the worst way that a hash can. */
		assert_int_equal(item_table_add(&t, index_mix(0, key % 100), item), 0);
	}
	for (key = 0; key < 5000; key++)
		assert_int_equal(*(uint64_t *)item_table_find(&t, index_mix(0, key % 100),
							      same_word, &key), key);
	assert_null(item_table_find(&t, index_mix(0, key % 100), same_word, &key));
	item_table_free(&t);
	arena_free(&arena);
}

static void test_arena(void **state)
{
	struct arena a = { 0 };
	char *first = arena_string(&a, "first"), *large = arena_alloc(&a, 1u << 20);

	assert_non_null(large);
	memset(large, 1, 1u << 20);
	assert_string_equal(arena_string(&a, ""), "");
	assert_string_equal(first, "first");
	assert_null(arena_alloc(&a, SIZE_MAX - 5));
	arena_free(&a);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_overlaps), T(test_added_later), T(test_none), T(test_table), T(test_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
