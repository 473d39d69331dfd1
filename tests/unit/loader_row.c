/* SPDX-License-Identifier: BSD-2-Clause */
/* The row table: numbering, preference, limits; dispositions are in tests/e2e/req_rows.bats. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "loader/row/row.h"
#include "unit.h"

#define CPUS 4u

static const struct row_class soft = {
	.ops = &class_soft, .prefix = "SOFT", .numbered = true,
	.info = { .class = PMC_CLASS_SOFT, .num = 16 },
};
static const struct row_class tsc = {
	.ops = &class_tsc, .prefix = "TSC", .info = { .class = PMC_CLASS_TSC, .num = 1 },
};
static const struct row_class iap = {
	.ops = &class_hardware, .prefix = "IAP", .numbered = true,
	.info = { .class = PMC_CLASS_IAP, .num = 4 },
};

static struct row_table table;
static struct pmc *const somebody = (struct pmc *)&table;	/* never looked into */

static int setup(void **state)
{
	struct reason why;

	assert_int_equal(row_table_init(&table, CPUS, &why), 0);
	assert_int_equal(row_add_class(&table, &soft, &why), 0);
	assert_int_equal(row_add_class(&table, &tsc, &why), 0);
	assert_int_equal(row_add_class(&table, &iap, &why), 0);
	return 0;
}

static int teardown(void **state)
{
	row_table_free(&table);
	return 0;
}

static void test_numbering(void **state)
{
	char name[PMC_NAME_MAX];

	assert_int_equal(table.nrow, 21);
	row_name(&table, 0, name, sizeof(name));
	assert_string_equal(name, "SOFT0");
	row_name(&table, 15, name, sizeof(name));
	assert_string_equal(name, "SOFT15");
	row_name(&table, 16, name, sizeof(name));
	assert_string_equal(name, "TSC");
	row_name(&table, 20, name, sizeof(name));
	assert_string_equal(name, "IAP-3");
	assert_int_equal(row_class_find(&table, PMC_CLASS_IAP)->info.first_row, 17);
	assert_null(row_class_find(&table, PMC_CLASS_ARMV8));
}

static void test_preference(void **state)
{
	struct row_choice c[] = {
		{ .row = 9, .rank = 1, .shared = true }, { .row = 5, .rank = 0 },
		{ .row = 7, .rank = 0, .shared = true }, { .row = 3, .rank = 0 },
		{ .row = 2, .rank = 1, .shared = true }, { .row = 8, .rank = 0, .shared = true },
	};
	static const unsigned int expected[] = { 7, 8, 3, 5, 2, 9 };

	row_order(c, 6);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(c[i].row, expected[i]);
}

static void test_limits(void **state)
{
	struct row_class big = iap;
	struct reason why;

	big.info.num = ROW_MAX;
	assert_int_equal(row_add_class(&table, &big, &why), -ENOSPC);
	assert_int_equal(table.nrow, 21);
	row_table_free(&table);
	assert_int_equal(row_table_init(&table, ROW_CPU_MAX + 1, &why), -EINVAL);
	assert_int_equal(row_table_init(&table, ROW_CPU_MAX, &why), 0);
}

static void test_drop_hardware(void **state)
{
	struct reason why;

	LIST_FIRST(&table.rows[18].pmcs) = somebody;
	assert_int_equal(row_drop_discovered(&table), -EBUSY);
	assert_int_equal(table.nrow, 21);
	LIST_INIT(&table.rows[18].pmcs);
	assert_int_equal(row_drop_discovered(&table), 0);
	assert_int_equal(table.nrow, 17);
	assert_int_equal(table.nclass, 2);
	assert_int_equal(row_drop_discovered(&table), 0);
	assert_int_equal(table.nrow, 17);
	assert_int_equal(row_add_class(&table, &iap, &why), 0);
	assert_int_equal(table.nrow, 21);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_numbering), T(test_preference), T(test_limits), T(test_drop_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
