/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of pmcstat, byte for byte: the table's geometry, CSV and JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/common/topology.h"
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

/* A sum of growths, one of totals, and a column between that stands for itself. */
static void sums_of_units(void **state)
{
	struct column a = on_cpu("x", 0, 48, 1), b = on_cpu("x", 1, 48, 20), alone =
		on_cpu("y", 0, 48, 7), other = on_cpu("x", 2, 48, 300);
	struct column columns[] = { a, b, alone, other };
	struct column rows[4];

	for (unsigned int i = 0; i < 4; i++)
		if (i != 2)
			strcpy(columns[i].unit, i == 1 ? "S1" : "S0");
	columns[3].part = 1;
	for (unsigned int i = 0; i < 4; i++) {
		column_measure(&columns[i], 48);
		rows[i] = columns[i];
		rows[i].name = column_name(columns[i].spec);
	}
	expect(&format_table, columns, 4, 256, 1,
	       "#          s/S0/x          s/S1/x          s/00/y \n"
	       "              301              20               7 \n"
	       "                0               0               0 \n");
	rows[0].cumulative = rows[3].cumulative = true;
	expect(&format_csv, rows, 4, 1, 1,
	       "time,s/S0/x,s/S1/x,s/00/y\n0.250000,301,20,7\n1.250000,301,0,0\n");
}

static void a_sum_as_json(void **state)
{
	struct column columns[] = { on_cpu("tsc", 3, 64, 1), on_cpu("tsc", 5, 64, 4) };

	strcpy(columns[0].unit, "all");
	strcpy(columns[1].unit, "all");
	columns[1].part = 1;
	expect(&format_json, columns, 2, 256, 0,
	       "{\"time\":0.250000,\"counters\":["
	       "{\"name\":\"tsc\",\"spec\":\"tsc\",\"scope\":\"system\",\"cpu\":null,"
	       "\"unit\":\"all\",\"cumulative\":false,\"value\":5}]}\n");
}

/* --- units of a machine ----------------------------------------------------------------------- */

static void put(const char *root, const char *file, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p \"$(dirname %s/sys/devices/system/cpu/%s)\"", root,
		 file);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/%s", root, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void is_in(const char *root, int cpu, enum topology_unit unit, const char *want)
{
	char name[TOPOLOGY_NAME];

	assert_int_equal(topology_name(root, cpu, unit, name), want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(name, want);
}

/* Cores of equal numbers in two dies, a CPU without dies and nodes, one without a number. */
static void units_of_cpus(void **state)
{
	char root[] = "/tmp/topology.XXXXXX", command[64];

	assert_non_null(mkdtemp(root));
	put(root, "cpu0/topology/physical_package_id", "0\n");
	put(root, "cpu0/topology/die_id", "0\n");
	put(root, "cpu0/topology/core_id", "3\n");
	put(root, "cpu0/node1/cpumap", "");
	put(root, "cpu1/topology/physical_package_id", "0\n");
	put(root, "cpu1/topology/die_id", "1\n");
	put(root, "cpu1/topology/core_id", "3\n");
	put(root, "cpu2/topology/physical_package_id", "36\n");
	put(root, "cpu2/topology/core_id", "12\n");
	put(root, "cpu3/topology/physical_package_id", "-1\n");
	is_in(root, 0, UNIT_CPU, "");
	is_in(root, 0, UNIT_CORE, "S0-D0-C3");
	is_in(root, 1, UNIT_CORE, "S0-D1-C3");
	is_in(root, 2, UNIT_CORE, "S36-C12");
	is_in(root, 0, UNIT_SOCKET, "S0");
	is_in(root, 1, UNIT_SOCKET, "S0");
	is_in(root, 2, UNIT_SOCKET, "S36");
	is_in(root, 0, UNIT_NODE, "N1");
	is_in(root, 1, UNIT_NODE, NULL);
	is_in(root, 3, UNIT_SOCKET, NULL);
	is_in(root, 3, UNIT_CORE, NULL);
	is_in(root, 9, UNIT_SOCKET, NULL);
	is_in(root, 9, UNIT_MACHINE, "all");
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
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
		cmocka_unit_test(sums_of_units),
		cmocka_unit_test(a_sum_as_json),
		cmocka_unit_test(units_of_cpus),
		cmocka_unit_test(nothing_printed_nothing_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
