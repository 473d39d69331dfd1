/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of pmcstat, byte for byte: the table's geometry, CSV and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/measure/table.h"

static struct column process(const char *spec, unsigned int bits, pmc_value_t value)
{
	struct column column = { .spec = spec, .name = column_name(spec), .mode = PMC_MODE_TC,
				 .cpu = PMC_CPU_ANY, .value = value };

	column_measure(&column, bits);
	return column;
}

static struct column on_cpu(const char *spec, int cpu, unsigned int bits, pmc_value_t value)
{
	struct column column = { .spec = spec, .name = column_name(spec), .mode = PMC_MODE_SC,
				 .cpu = cpu, .value = value };

	column_measure(&column, bits);
	return column;
}

/* One row, then `more` further ones, then the end. */
static void expect(const struct count_format *format, struct column *columns, size_t count,
		   unsigned int page, unsigned int more, const char *text)
{
	struct count_table table = { .page = page };
	struct buf out = { 0 };

	for (unsigned int i = 0; i <= more; i++) {
		format->row(&out, &table, 0.25 + i, columns, count);
		for (size_t c = 0; c < count; c++)
			columns[c].printed = columns[c].value;
	}
	format->end(&out, &table);
	assert_false(out.failed);
	buf_add(&out, "", 1);
	assert_string_equal(out.data, text);
	buf_free(&out);
	for (size_t c = 0; c < count; c++)
		free(columns[c].name);
}

static void names_end_at_separators(void **state)
{
	static const char *const pairs[][2] = {
		{ "branches", "branches" }, { "a,usr,os", "a" }, { "a b", "a" }, { "a\tb", "a" },
		{ "", "" }, { ",x", "" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *name = column_name(pairs[i][0]);

		assert_string_equal(name, pairs[i][1]);
		free(name);
	}
}

static void widths_follow_counter_or_head(void **state)
{
	static const struct {
		unsigned int bits, field;
	} table[] = { { 64, 20 }, { 48, 15 }, { 40, 13 }, { 32, 10 }, { 1, 3 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct column column = process("x", table[i].bits, 0);

		assert_int_equal(column.field, table[i].field);
		assert_int_equal(column.skip, table[i].field - 3);
		free(column.name);
	}
}

static void cpu_numbers_of_three_digits_stay_aligned(void **state)
{
	struct column columns[] = { on_cpu("unhalted-cycles", 128, 48, 7),
				    on_cpu("x", 4000, 48, 8) };

	expect(&format_table, columns, 2, 256, 0,
	       "# s/128/unhalted-cycles        s/4000/x \n"
	       "                      7               8 \n");
}

static void the_largest_value_fits(void **state)
{
	struct column columns[] = { process("big", 64, UINT64_MAX) };

	expect(&format_table, columns, 1, 256, 0,
	       "#                p/big \n"
	       "  18446744073709551615 \n");
}

static void csv_quotes(void **state)
{
	struct column columns[] = { on_cpu("a\"b", 3, 64, 1), process("x,y", 64, 2) };

	expect(&format_csv, columns, 2, 1, 1,
	       "time,\"s/03/a\"\"b\",p/x\n0.250000,1,2\n1.250000,0,0\n");
}

static void json_objects(void **state)
{
	struct column columns[] = { on_cpu("tsc", 3, 64, 1), process("x,usr", 64, 2) };

	columns[1].cumulative = true;
	expect(&format_json, columns, 2, 256, 0,
	       "{\"time\":0.250000,\"counters\":["
	       "{\"name\":\"tsc\",\"spec\":\"tsc\",\"scope\":\"system\",\"cpu\":3,"
	       "\"cumulative\":false,\"value\":1},"
	       "{\"name\":\"x\",\"spec\":\"x,usr\",\"scope\":\"process\",\"cpu\":null,"
	       "\"cumulative\":true,\"value\":2}]}\n");
}

static void nothing_printed_nothing_ended(void **state)
{
	struct count_table table = { .page = 256 };
	struct buf out = { 0 };

	format_table.end(&out, &table);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_end_at_separators),
		cmocka_unit_test(widths_follow_counter_or_head),
		cmocka_unit_test(cpu_numbers_of_three_digits_stay_aligned),
		cmocka_unit_test(the_largest_value_fits),
		cmocka_unit_test(csv_quotes),
		cmocka_unit_test(json_objects),
		cmocka_unit_test(nothing_printed_nothing_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
