/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that belong to samples: each sample has its own, also where one interrupts another. */
#include <string.h>

#include "loader/pmc/kept_record.h"
#include "unit.h"

#define CPU 1

static uint64_t words[64];

/* Keeps a record of n words that are all `word`, for the sample of that time. */
static void keep(struct kept_records *k, uint16_t kind, uint64_t time, uint64_t word, uint16_t n)
{
	const struct abi_rec rec = { .kind = kind, .time = time, .pmc = 7, .tid = 9, .cpu = CPU,
				     .n = n };

	for (unsigned int i = 0; i < n; i++)
		words[i] = word;
	kept_record_add(k, &rec, words);
}

/* The first of the n words of the sample's record; 0: it has none. */
static uint64_t take(struct kept_records *k, uint16_t kind, uint64_t time, size_t n)
{
	const struct abi_rec sample = { .kind = ABI_REC_SAMPLE, .time = time, .pmc = 7, .tid = 9,
					.cpu = CPU };
	size_t is;
	const uint64_t *data = kept_record_take(k, kind, &sample, &is);

	if (!data)
		return 0;
	assert_int_equal(is, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(data[i], data[0]);
	return data[0];
}

/* A hit, interrupted by a sample, and that by one that nothing masks: each of all kinds. */
static void test_interrupted(void **state)
{
	static const uint16_t kind[] = { ABI_REC_VALUES, ABI_REC_STACK, ABI_REC_PYTHON };
	struct kept_records *k = kept_records_new(2);

	for (uint64_t time = 1; time <= 3; time++)
		for (unsigned int i = 0; i < 3; i++)
			keep(k, kind[i], time, 10 * time + i, (uint16_t)(4 * time + i));
	for (uint64_t time = 3; time; time--)
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(take(k, kind[i], time, 4 * time + i), 10 * time + i);
			assert_int_equal(take(k, kind[i], time, 0), 0);
		}
	kept_records_free(k);
}

/* Records whose samples were lost do not take the places of others for good. */
static void test_lost(void **state)
{
	struct kept_records *k = kept_records_new(2);

	for (uint64_t time = 1; time <= 100; time++)
		keep(k, ABI_REC_STACK, time, time, 8);
	/* A hit that is interrupted. */
	keep(k, ABI_REC_PYTHON, 101, 1, 64);
	keep(k, ABI_REC_PYTHON, 102, 2, 16);
	assert_int_equal(take(k, ABI_REC_PYTHON, 102, 16), 2);
	assert_int_equal(take(k, ABI_REC_PYTHON, 101, 64), 1);
	assert_int_equal(take(k, ABI_REC_STACK, 1, 8), 0);
	assert_int_equal(take(k, ABI_REC_STACK, 100, 8), 100);
	kept_records_free(k);
}

static void test_other_cpu(void **state)
{
	struct kept_records *k = kept_records_new(CPU);

	keep(k, ABI_REC_STACK, 1, 1, 8);
	assert_int_equal(take(k, ABI_REC_STACK, 1, 8), 0);
	kept_records_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_other_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
