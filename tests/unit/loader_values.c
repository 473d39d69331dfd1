/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of samples: from the ring's record to the log's words, and which sample they belong to. */
#include <string.h>

#include "loader/pmc/sample_values.h"
#include "loader/pmc/value_record.h"
#include "unit.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static struct abi_values values;
static struct abi_rec rec = { .kind = ABI_REC_VALUES, .time = 5, .pmc = 7, .tid = 9, .cpu = 1 };
static const struct abi_rec sample = { .kind = ABI_REC_SAMPLE, .time = 5, .pmc = 7, .tid = 9,
				       .cpu = 1 };
static struct pmclog_ev_values v;

static void keep(struct kept_records *k, size_t bytes)
{
	rec.n = (__u16)(bytes / 8);
	kept_record_add(k, &rec, (const uint64_t *)&values);
}

static void expect(uint32_t bits, const uint64_t *words, unsigned int n)
{
	assert_int_equal(v.pl_values, bits);
	assert_int_equal(v.pl_nwords, n);
	assert_memory_equal(v.pl_word, words, n * sizeof(*words));
}

/*
 * PERF-119: the order of values is the log's.  PERF-276 to words of the kernel: PERF-277, PERF-278,
 * PERF-279, PERF-280, PERF-281 (data sources),
 * PERF-282, PERF-283, PERF-284, PERF-285, PERF-286, PERF-287, PERF-288, PERF-289, PERF-290
 * (transactions) are as the kernel has them.
 */
static void test_words(void **state)
{
	static const uint64_t wanted[] = { 100, 0x7f00, 33, 0x5080021, 0x9abc00000055 };
	struct kept_records *k = kept_records_new(2);

	memset(&values, 0, sizeof(values));
	values.values = PMCLOG_VALUE_PERIOD | PMCLOG_VALUE_ADDR | PMCLOG_VALUE_WEIGHT |
			PMCLOG_VALUE_DATA_SRC | PMCLOG_VALUE_TXN;
	values.word[ABI_VALUE_PERIOD] = 100;
	values.word[ABI_VALUE_ADDR] = 0x7f00;
	values.word[ABI_VALUE_WEIGHT] = 33;
	values.word[ABI_VALUE_DATA_SRC] = 0x5080021;
	values.word[ABI_VALUE_TXN] = 0x9abc00000055;
	keep(k, 8 * (1 + ABI_VALUES));
	assert_true(sample_values_take(k, &sample, &v));
	expect((uint32_t)values.values, wanted, N(wanted));
	/* Once. */
	assert_false(sample_values_take(k, &sample, &v));
	kept_records_free(k);
}

/* PERF-266, PERF-267, PERF-268, PERF-269, PERF-270, PERF-271, PERF-272: perf's branches. */
static void test_branches(void **state)
{
	static const uint64_t wanted[] = { 2, 0x10, 0x20, 1, 0x30, 0x40, 0xe };
	struct kept_records *k = kept_records_new(2);

	memset(&values, 0, sizeof(values));
	values.values = PMCLOG_VALUE_BRANCHES;
	values.word[ABI_VALUE_BRANCHES] = 2;
	memcpy(values.branch, wanted + 1, 6 * 8);
	keep(k, sizeof(values));
	assert_true(sample_values_take(k, &sample, &v));
	expect(PMCLOG_VALUE_BRANCHES, wanted, N(wanted));
	values.word[ABI_VALUE_BRANCHES] = ABI_BRANCHES + 1;	/* a damaged record */
	keep(k, sizeof(values));
	assert_true(sample_values_take(k, &sample, &v));
	assert_int_equal(v.pl_nwords, 1 + 3 * ABI_BRANCHES);
	kept_records_free(k);
}

/* All values there are have room in a record; a thread without registers has a word for that. */
static void test_all(void **state)
{
	struct kept_records *k = kept_records_new(2);

	memset(&values, 0xff, sizeof(values));
	values.values &= ~(uint64_t)PMCLOG_VALUE_RAW;
	values.word[ABI_VALUE_BRANCHES] = ABI_BRANCHES;
	keep(k, sizeof(values));
	assert_true(sample_values_take(k, &sample, &v));
	assert_true(v.pl_nwords <= PMCLOG_VALUES_MAX);
	memset(&values, 0, sizeof(values));
	values.values = PMCLOG_VALUE_USER_REGS | PMCLOG_VALUE_INTR_REGS;
	keep(k, offsetof(struct abi_values, branch));
	assert_true(sample_values_take(k, &sample, &v));
	assert_int_equal(v.pl_nwords, 2);
	assert_int_equal((uint32_t)v.pl_word[0], 0);
	kept_records_free(k);
}

/* A tracepoint's record: its bytes, those of the whole, and no more words than that. */
static void test_record(void **state)
{
	static const uint64_t wanted[] = { 5000ull << 32 | 12, 0, 0x11223344 };
	struct kept_records *k = kept_records_new(2);

	memset(&values, 0, sizeof(values));
	values.values = PMCLOG_VALUE_RAW;
	values.word[ABI_VALUE_RAW] = wanted[0];
	values.raw[1] = wanted[2];
	keep(k, offsetof(struct abi_values, raw) + 16);
	assert_true(sample_values_take(k, &sample, &v));
	expect(PMCLOG_VALUE_RAW, wanted, N(wanted));
	values.word[ABI_VALUE_RAW] = ABI_RAW;
	keep(k, sizeof(values));
	assert_true(sample_values_take(k, &sample, &v));
	assert_int_equal(v.pl_nwords, 1 + ABI_RAW / 8);
	values.word[ABI_VALUE_RAW] = ABI_RAW + 1;	/* damaged ones */
	keep(k, sizeof(values));
	assert_false(sample_values_take(k, &sample, &v));
	values.word[ABI_VALUE_RAW] = 8;
	values.values |= PMCLOG_VALUE_USER_REGS;
	keep(k, sizeof(values));
	assert_false(sample_values_take(k, &sample, &v));
	kept_records_free(k);
}

/* Another sample's are not taken, nor those of a record that is longer than all values. */
static void test_other_sample(void **state)
{
	struct kept_records *k = kept_records_new(2);
	uint64_t longer[sizeof(values) / 8 + 1] = { 0 };
	struct abi_rec other = sample;

	assert_false(sample_values_take(k, &sample, &v));
	memset(&values, 0, sizeof(values));
	keep(k, 8);
	other.time++;
	assert_false(sample_values_take(k, &other, &v));
	other = sample;
	other.tid++;
	assert_false(sample_values_take(k, &other, &v));
	other = sample;
	other.pmc++;
	assert_false(sample_values_take(k, &other, &v));
	other = sample;
	other.cpu = 0;
	assert_false(sample_values_take(k, &other, &v));
	other.cpu = 2;
	assert_false(sample_values_take(k, &other, &v));
	assert_true(sample_values_take(k, &sample, &v));
	rec.n = N(longer);
	kept_record_add(k, &rec, longer);
	assert_false(sample_values_take(k, &sample, &v));
	kept_records_free(k);
}

/* The rest of a tick goes to the next record of the kind. */
static void test_ticks(void **state)
{
	struct value_clock t = { .rate = 0 };

	assert_int_equal(value_record_ticks(&t, ABI_REC_VALUES, 12345), 12345);
	t.rate = 1000;
	assert_int_equal(value_record_ticks(&t, ABI_REC_VALUES, 1500000), 1);
	assert_int_equal(value_record_ticks(&t, ABI_REC_EXIT, 1500000), 1);
	assert_int_equal(value_record_ticks(&t, ABI_REC_VALUES, 1500000), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words), cmocka_unit_test(test_branches),
		cmocka_unit_test(test_all), cmocka_unit_test(test_record),
		cmocka_unit_test(test_other_sample), cmocka_unit_test(test_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
