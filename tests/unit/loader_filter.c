/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters for programs: which conditions an expression becomes, and where each goes on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kernel/hit_filter.h"
#include "loader/kernel/kernel_symbols.h"
#include "unit.h"

static const char format[] =
	"name: some_event\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned char tiny;\toffset:24;\tsize:1;\tsigned:0;\n"
	"\tfield:short small;\toffset:26;\tsize:2;\tsigned:1;\n"
	"\tfield:const char * user;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] near;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t cpus;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 words[3];\toffset:52;\tsize:12;\tsigned:0;\n"
	"\tfield:unsigned long a;\toffset:64;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long b;\toffset:72;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long c;\toffset:80;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"%s\", REC->prev_comm\n";

static struct abi_filter filter;
static struct reason why;

/* The kernel has the functions `low` and `high`, of 16 bytes each. */
int kernel_symbols_function(const struct engine *e, const char *text, struct kernel_symbol *found)
{
	bool low = !strcmp(text, "low") || !strcmp(text, "0x1008");

	*found = (struct kernel_symbol){ .start = low ? 0x1000 : 0xffffffff81000000, .size = 16 };
	return low || !strcmp(text, "high") ? 0 : -ENOENT;
}

static int compile_for(bool call, const char *text)
{
	return hit_filter_compile(NULL, format, call, text, &filter, &why);
}

static int compile(const char *text)
{
	return compile_for(false, text);
}

/* Follows the conditions, which compare a, b and c with 1; bit 0, 1 and 2 of `values`. */
static bool admits(unsigned int values)
{
	unsigned int at = 0;

	for (unsigned int i = 0; at < ABI_FILTER_HIT; i++) {
		const struct abi_condition *c = &filter.condition[at];

		assert_true(at < filter.n && i < filter.n);
		at = values >> (c->offset - 64) / 8 & 1 ? c->yes : c->no;
	}
	return at == ABI_FILTER_HIT;
}

#define A (v & 1)
#define B (v >> 1 & 1)
#define C (v >> 2 & 1)

static void and_binds_closer_than_or_and_not_than_both(void **state)
{
	for (unsigned int v = 0; v < 8; v++) {
		assert_int_equal(compile("a == 1 || b == 1 && c == 1"), 0);
		assert_int_equal(admits(v), A || (B && C));
		assert_int_equal(compile("(a == 1 || b == 1) && c == 1"), 0);
		assert_int_equal(admits(v), (A || B) && C);
		assert_int_equal(compile("!(a==1||b==1)&&!c==1"), 0);
		assert_int_equal(admits(v), !(A || B) && !C);
		assert_int_equal(compile("!(!(a == 1) && b != 1) || !(c == 1)"), 0);
		assert_int_equal(admits(v), !(!A && !B) || !C);
		assert_int_equal(compile("a != 1 && b == 1 && c == 1 || a == 1 && c != 1"), 0);
		assert_int_equal(admits(v), (!A && B && C) || (A && !C));
	}
}

static void a_number_has_the_fields_size_and_sign(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		enum abi_comparison comparison;
	} cases[] = {
		{ "tiny == 0x1ff", 0xff, ABI_COMPARE_EQ },
		{ "small <= -1", ~0ull, ABI_COMPARE_LE },
		{ "small < 0xffff", ~0ull, ABI_COMPARE_LT },
		{ "small>=010", 8, ABI_COMPARE_GE },
		{ "a > 18446744073709551615", ~0ull, ABI_COMPARE_GT },
		{ "a & 0x10", 16, ABI_COMPARE_BITS },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compile(cases[i].text), 0);
		assert_int_equal(filter.n, 1);
		assert_int_equal(filter.condition[0].value, cases[i].value);
		assert_int_equal(filter.condition[0].comparison, cases[i].comparison);
	}
	assert_int_equal(filter.condition[0].offset, 64);
	assert_int_equal(filter.condition[0].size, 8);
}

static void a_value_is_a_field_or_a_name_that_all_events_have(void **state)
{
	static const struct {
		const char *text;
		enum abi_operand operand;
	} cases[] = {
		{ "prev_comm == \"sh\"", ABI_OPERAND_TEXT }, { "path == 'x'", ABI_OPERAND_DATA },
		{ "near == 'x'", ABI_OPERAND_REL }, { "comm == 'x'", ABI_OPERAND_COMM },
		{ "COMM == 'x'", ABI_OPERAND_COMM }, { "CPU == 1", ABI_OPERAND_CPU },
		{ "common_pid == 1", ABI_OPERAND_PID }, { "a == 1", ABI_OPERAND_FIELD },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compile(cases[i].text), 0);
		assert_int_equal(filter.condition[0].operand, cases[i].operand);
	}
}

/* Follows the conditions, which all compare this number. */
static bool admits_number(uint64_t number)
{
	unsigned int at = 0;

	for (unsigned int i = 0; at < ABI_FILTER_HIT; i++) {
		const struct abi_condition *c = &filter.condition[at];
		bool holds = c->comparison == ABI_COMPARE_EQ ? number == c->value :
			     c->comparison == ABI_COMPARE_LE ? number <= c->value :
			     c->comparison == ABI_COMPARE_LT ? number < c->value :
							       number >= c->value;

		assert_true(at < filter.n && i < filter.n);
		at = holds ? c->yes : c->no;
	}
	return at == ABI_FILTER_HIT;
}

static void a_list_of_cpus_admits_the_numbers_in_it(void **state)
{
	static const struct {
		const char *text;
		unsigned int conditions;
		uint64_t admitted;	/* bit n: n */
	} cases[] = {
		{ "cpu & CPUS{3}", 1, 1 << 3 },
		{ "cpu == CPUS{3}", 1, 1 << 3 },
		{ "cpu != CPUS{3}", 1, 0xffff & ~(1 << 3) },
		{ "CPU & CPUS{0-2}", 1, 7 },
		{ "small & CPUS{2-4,6}", 3, 7 << 2 | 1 << 6 },
		{ "tiny & CPUS{0,2,4-5}", 4, 1 | 1 << 2 | 3 << 4 },
		{ "!(cpu & CPUS{1,3-4})", 3, 0xffff & ~(1 << 1 | 3 << 3) },
		{ "cpu & CPUS{1-3} && !(cpu & CPUS{2})", 3, 1 << 1 | 1 << 3 },
		{ "cpu == 9 || cpu & CPUS{1-3,5}", 4, 7 << 1 | 1 << 5 | 1 << 9 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compile(cases[i].text), 0);
		assert_int_equal(filter.n, cases[i].conditions);
		for (unsigned int n = 0; n < 16; n++)
			assert_int_equal(admits_number(n), cases[i].admitted >> n & 1);
	}
	/* The kernel takes a negative number for a large one. */
	assert_int_equal(compile("small & CPUS{0-3}"), 0);
	assert_false(filter.condition[0].is_signed);
	/* It looks for the low half of a long one, unless there is one CPU. */
	assert_int_equal(compile("a & CPUS{0-1} || b & CPUS{1}"), 0);
	assert_int_equal(filter.condition[0].size, 4);
	assert_int_equal(filter.condition[1].size, 8);
}

static void a_function_admits_its_addresses(void **state)
{
	static const struct {
		const char *text;
		bool inside, outside;
	} cases[] = {
		{ "a.function == low", true, false },
		{ "a.function != low", false, true },
		{ "a.function == 0x1008", true, false },
		{ "user.function == low", true, false },
		{ "a.function == high || a.function == low", true, false },
		{ "!(a.function == low )", false, true },
		{ "(a.function == 0x1008)", true, false },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compile(cases[i].text), 0);
		assert_false(filter.condition[0].is_signed);
		assert_int_equal(admits_number(0xfff), cases[i].outside);
		assert_int_equal(admits_number(0x1000), cases[i].inside);
		assert_int_equal(admits_number(0x100f), cases[i].inside);
		assert_int_equal(admits_number(0x1010), cases[i].outside);
	}
}

/* As the program follows the only pattern's places. */
static bool glob_matches(const char *text)
{
	const struct abi_condition *c = &filter.condition[0];
	const struct abi_glob *g = &filter.glob[c->text];
	uint64_t s = 1;

	assert_int_equal(c->comparison, ABI_COMPARE_GLOB);
	for (; *text; text++)
		s = (s & g->takes[(unsigned char)*text]) << 1 | (s & g->stars);
	return s >> c->length & 1;
}

static void a_glob_matches_what_the_kernel_matches(void **state)
{
	static const struct {
		const char *pattern, *matches[4], *others[4];
	} cases[] = {
		{ "a*b", { "ab", "axb", "abab" }, { "a", "abx", "xab" } },
		{ "*a*b*c*", { "abc", "xaxbxcx", "aabbcc" }, { "acb", "ab", "bca" } },
		{ "*/lib*.so?", { "/lib/libc.so.", "a/libx.so6", "/lib.so1.so2" },
		  { "/libc.so", "lib.so1" } },
		{ "a?c", { "abc", "a?c" }, { "ac", "abbc" } },
		{ "[a-cx]1", { "a1", "c1", "x1" }, { "d1", "-1", "1" } },
		{ "[!a-c]1", { "d1", "\xff" "1" }, { "b1", "1" } },
		{ "[]a]?", { "]1", "ab" }, { "b1", "[1" } },
		{ "[a-]", { "a", "-" }, { "b" } },
		{ "[a", { "[a" }, { "a", "[" } },
		{ "a\\*b*c", { "a*bc", "a*bxc" }, { "axbc" } },
		{ "?\\a", { "xa", "\\a" }, { "a", "x\\a" } },
	};
	char text[64];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "path ~ '%s'", cases[i].pattern);
		assert_int_equal(compile(text), 0);
		for (unsigned int j = 0; j < 4 && cases[i].matches[j]; j++)
			assert_true(glob_matches(cases[i].matches[j]));
		for (unsigned int j = 0; j < 4 && cases[i].others[j]; j++)
			assert_false(glob_matches(cases[i].others[j]));
	}
}

static void a_pattern_has_a_star_at_its_beginning_and_end(void **state)
{
	static const struct {
		const char *text, *pattern;
		enum abi_comparison comparison;
		bool is_not;
	} cases[] = {
		{ "path ~ 'ab'", "ab", ABI_COMPARE_WHOLE, false },
		{ "path ~ '*ab'", "ab", ABI_COMPARE_END, false },
		{ "path ~ 'ab*'", "ab", ABI_COMPARE_BEGIN, false },
		{ "path ~ '*ab*'", "ab", ABI_COMPARE_INSIDE, false },
		{ "path ~ '!*ab'", "ab", ABI_COMPARE_END, true },
		{ "path ~ '*'", "", ABI_COMPARE_END, false },
		{ "path ~ '7*'", "7*", ABI_COMPARE_WHOLE, false },
		{ "path == '*ab'", "*ab", ABI_COMPARE_WHOLE, false },
		{ "path != \"a'b\"", "a'b", ABI_COMPARE_WHOLE, true },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct abi_condition *c = &filter.condition[0];

		assert_int_equal(compile(cases[i].text), 0);
		assert_int_equal(c->comparison, cases[i].comparison);
		assert_int_equal(c->length, strlen(cases[i].pattern));
		assert_memory_equal(filter.text + c->text, cases[i].pattern, c->length);
		assert_int_equal(c->yes, cases[i].is_not ? ABI_FILTER_NO_HIT : ABI_FILTER_HIT);
	}
	assert_int_equal(compile("path ~ '*abacab*'"), 0);
	assert_memory_equal(filter.again, "\0\0\1\0\1\2", 6);
}

/* The program's own texts: an inverted comparison stays one condition. */
static void a_text_of_the_program_is_compared_where_the_field_points(void **state)
{
	const struct abi_condition *c = &filter.condition[0];

	assert_int_equal(compile("user.ustring != 'ab' && a == 1"), 0);
	assert_int_equal(filter.n, 2);
	assert_int_equal(c->operand, ABI_OPERAND_USER);
	assert_int_equal(c->comparison, ABI_COMPARE_WHOLE);
	assert_int_equal(c->offset, 32);
	assert_true(c->is_not);
	assert_int_equal(c->yes, 1);
	assert_int_equal(c->no, ABI_FILTER_NO_HIT);
	assert_int_equal(compile("user.ustring ~ '!*b?c'"), 0);
	assert_int_equal(c->comparison, ABI_COMPARE_GLOB);
	assert_true(c->is_not);
	assert_int_equal(compile("!(user.ustring ~ '*b')"), 0);
	assert_false(c->is_not);
	assert_int_equal(c->yes, ABI_FILTER_NO_HIT);
}

static void what_programs_cannot_evaluate_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *reason;
		int err;
	} cases[] = {
		{ "a == 1 && path ~ 'a?\\'", "character 18: the pattern's last", -EINVAL },
		{ "path ~ 'a?' || path ~ 'b?' || path ~ 'c?' || path ~ 'd?' || path ~ 'e?'",
		  "too many or too long patterns", -EOPNOTSUPP },
		{ "path ~ 'a*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
		  "the pattern is too long", -EOPNOTSUPP },
		{ "user == 'x'", "a text cannot be compared", -EOPNOTSUPP },
		{ "user.ustring == 1", "a number cannot be compared", -EOPNOTSUPP },
		{ "a.ustring == 'x'", "the field does not point to a text", -EOPNOTSUPP },
		{ "path.ustring == 'x'", "the field does not point to a text", -EOPNOTSUPP },
		{ "a == 1 || words == 1", "character 11: programs cannot read \"words\"",
		  -EOPNOTSUPP },
		{ "prev_comm & CPUS{1}", "CPUs cannot be compared there", -EOPNOTSUPP },
		{ "cpu & CPUS{}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{all}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{0-6:2/3}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{3-1}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{1,1}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{1,}", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu & CPUS{1-", "ascending lists of CPUs", -EOPNOTSUPP },
		{ "cpu == CPUS{1,2}", "several CPUs are compared by \"&\"", -EOPNOTSUPP },
		{ "cpu < CPUS{1-2}", "several CPUs are compared by \"&\"", -EOPNOTSUPP },
		{ "cpu & CPUS 1", "a number cannot be compared", -EOPNOTSUPP },
		{ "cpus & CPUS{1}", "programs cannot read \"cpus\"", -EOPNOTSUPP },
		{ "common_type == 1", "programs cannot read \"common_type\"", -EOPNOTSUPP },
		{ "path == 1", "a number cannot be compared", -EOPNOTSUPP },
		{ "a == 'x'", "a text cannot be compared", -EOPNOTSUPP },
		{ "a ~ 1", "a pattern has quotes", -EINVAL },
		{ "a == 0y", "no number", -EINVAL },
		{ "a == 99999999999999999999", "no number", -EINVAL },
		{ "a.function > low", "by == or !=", -EOPNOTSUPP },
		{ "small.function == low", "by == or !=", -EOPNOTSUPP },
		{ "a.function == none", "character 15: the kernel does not report", -EOPNOTSUPP },
		{ "(a.function == low)", "the kernel does not report", -EOPNOTSUPP },
		{ "path == 'x", "a text cannot be compared", -EOPNOTSUPP },
		{ "(a == 1", "\")\" is missing", -EINVAL },
		{ "a == 1 b == 1", "character 8: \"&&\" or \"||\" is missing", -EINVAL },
		{ "", "programs cannot read \"\"", -EOPNOTSUPP },
		{ "a == 1 &&", "programs cannot read \"\"", -EOPNOTSUPP },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compile(cases[i].text), cases[i].err);
		assert_non_null(strstr(why.text, cases[i].reason));
	}
	/* Of a system call there are the arguments only. */
	assert_int_equal(compile_for(true, "a == 1 || near ~ 'x*'"), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "character 11: programs cannot read \"near\""));
	assert_int_equal(compile_for(true, "prev_comm ~ 'x*'"), 0);
}

/* The kernel accepts it, and then no call passes. */
static void a_pointer_is_not_the_text_that_it_points_to(void **state)
{
	assert_int_equal(hit_filter_check_call(format, "a == 1 && user ~ \"x*\"", &why), -EINVAL);
	assert_contains(why.text, "the filter \"a == 1 && user ~ \"x*\"\": character 18: the field "
			"points to a text of the program: write .ustring behind its name");
	assert_int_equal(compile_for(true, "user == 'x'"), -EINVAL);
	assert_int_equal(hit_filter_check_call(format, "user.ustring ~ \"x*\"", &why), 0);
	assert_int_equal(hit_filter_check_call(format, "user == 0 || bogus ~ 1", &why), 0);
}

/* `n` times the unit, between a beginning and an end. */
static int compile_repeated(const char *begin, const char *unit, unsigned int n, const char *end)
{
	char *text = calloc(1, strlen(begin) + n * strlen(unit) + strlen(end) + 1);
	int err;

	assert_non_null(text);
	strcpy(text, begin);
	for (unsigned int i = 0; i < n; i++)
		strcat(text, unit);
	strcat(text, end);
	err = compile(text);
	free(text);
	return err;
}

static void long_and_deep_filters_are_taken_or_refused(void **state)
{
	assert_int_equal(compile_repeated("a == 1", " && a == 1", ABI_CONDITIONS - 1, ""), 0);
	assert_true(admits(1) && !admits(0));
	assert_int_equal(compile_repeated("a == 1", " && a == 1", ABI_CONDITIONS, ""),
			 -EOPNOTSUPP);
	assert_int_equal(compile_repeated("", "!", 30, "a == 1"), 0);
	assert_true(admits(1) && !admits(0));
	assert_int_equal(compile_repeated("", "!", 4000, "a == 1"), -EOPNOTSUPP);
	assert_int_equal(compile_repeated("", "(", 4000, ""), -EOPNOTSUPP);
	assert_int_equal(compile_repeated("a", "b", 4000, " == 1"), -EOPNOTSUPP);
	assert_int_equal(compile_repeated("path == '", "x", ABI_PATTERN - 1, "'"), 0);
	assert_int_equal(compile_repeated("path == '", "x", ABI_PATTERN, "'"), -EOPNOTSUPP);
	assert_int_equal(compile_repeated("path == 'x'", " || path == 'abcdefghijklmnopqrstuvwxy'",
					  30, ""), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(and_binds_closer_than_or_and_not_than_both),
		cmocka_unit_test(a_number_has_the_fields_size_and_sign),
		cmocka_unit_test(a_value_is_a_field_or_a_name_that_all_events_have),
		cmocka_unit_test(a_pattern_has_a_star_at_its_beginning_and_end),
		cmocka_unit_test(a_list_of_cpus_admits_the_numbers_in_it),
		cmocka_unit_test(a_function_admits_its_addresses),
		cmocka_unit_test(a_glob_matches_what_the_kernel_matches),
		cmocka_unit_test(a_text_of_the_program_is_compared_where_the_field_points),
		cmocka_unit_test(what_programs_cannot_evaluate_is_refused_with_its_place),
		cmocka_unit_test(a_pointer_is_not_the_text_that_it_points_to),
		cmocka_unit_test(long_and_deep_filters_are_taken_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
