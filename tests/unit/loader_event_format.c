/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of trace events: their fields, and the shape of the record that a program copies. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pmclog.h>

#include "loader/kernel/event_format.h"
#include "unit.h"

#define LINE(type, offset, size, sign) \
	"\tfield:" type ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"
#define COMMON LINE("unsigned short common_type", 0, 2, 0) LINE("int common_pid", 4, 4, 1) "\n"

static struct reason why;

static void fields_have_the_kinds_of_their_types(void **state)
{
	static const char format[] = "name: some_event\nID: 1\nformat:\n" COMMON
		LINE("char prev_comm[16]", 8, 16, 0)
		LINE("unsigned char address[TASK_COMM_LEN]", 24, 6, 0)
		LINE("const char * user", 32, 8, 0)
		LINE("__data_loc char[] path", 40, 4, 0)
		LINE("__rel_loc u16[] near", 44, 4, 0)
		LINE("__data_loc cpumask_t cpus", 48, 4, 0)
		LINE("unsigned long args[6]", 56, 48, 0)
		LINE("int32_t some[2]", 104, 8, 1)
		LINE("int dfd", 112, 8, 0)
		"\tfield:int damaged;\toffset:x;\n"
		LINE("int a23456789012345678901234567890123456789012345678901234567890123", 0, 4, 1)
		"\nprint fmt: \"%s\", REC->prev_comm\n";
	static const struct event_field wanted[] = {
		{ .name = "prev_comm", .offset = 8, .size = 16, .element = 1, .is_array = true,
		  .is_text = true },
		{ .name = "address", .offset = 24, .size = 6, .element = 1, .is_array = true,
		  .is_text = true, .is_bytes = true },
		{ .name = "user", .offset = 32, .size = 8, .element = 8, .is_address = true },
		{ .name = "path", .offset = 40, .size = 4, .element = 1, .is_array = true,
		  .is_text = true, .elsewhere = true },
		{ .name = "near", .offset = 44, .size = 4, .element = 2, .is_array = true,
		  .elsewhere = true, .behind = true },
		{ .name = "cpus", .offset = 48, .size = 4, .element = 1, .is_array = true,
		  .elsewhere = true },
		{ .name = "args", .offset = 56, .size = 48, .element = 8, .is_array = true },
		{ .name = "some", .offset = 104, .size = 8, .element = 4, .is_array = true,
		  .is_signed = true },
		{ .name = "dfd", .offset = 112, .size = 8, .element = 8 },
		{ .name = "" },
		{ .name = "a23456789012345678901234567890123456789012345678901234567890123",
		  .size = 4, .element = 4, .is_signed = true },
	};
	const char *at = format;
	struct event_field f;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(event_format_next(&at, &f));
		assert_string_equal(f.name, wanted[i].name);
		assert_memory_equal(&f, &wanted[i], sizeof(f));
	}
	assert_false(event_format_next(&at, &f));
}

static void a_shape_ends_behind_the_last_field(void **state)
{
	static const char texts[] = COMMON LINE("int a", 8, 4, 1)
		LINE("__data_loc char[] b", 12, 4, 0) LINE("__rel_loc char[] c", 16, 4, 0);
	struct abi_record_shape shape;

	assert_int_equal(event_format_shape(COMMON, false, &shape, &why), 0);
	assert_int_equal(shape.bytes, 8);
	assert_int_equal(shape.n, 0);
	assert_int_equal(event_format_shape(texts, false, &shape, &why), 0);
	assert_int_equal(shape.bytes, 20);
	assert_int_equal(shape.n, 2);
	assert_int_equal(shape.word[0], 12);
	assert_int_equal(shape.word[1], 16);
	assert_int_equal(shape.behind, 2);
	/* Of a system call there are the arguments only. */
	assert_int_equal(event_format_shape(texts, true, &shape, &why), 0);
	assert_int_equal(shape.bytes, 12);
	assert_int_equal(shape.n, 0);
}

static void what_no_program_copies_is_refused(void **state)
{
	static const char *const unknown[] = {
		LINE("int a", 4096, 4, 1), LINE("char a[5000]", 8, 5000, 1),
		"\tfield:int damaged;\toffset:x;\n",
		LINE("int a2345678901234567890123456789012345678901234567890123456789012345",
		     8, 4, 1),
	};
	struct abi_record_shape shape;
	char many[4096] = COMMON;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(event_format_shape(unknown[i], false, &shape, &why), -EOPNOTSUPP);
		assert_non_null(strstr(why.text, "is unknown"));
	}
	for (unsigned int i = 0; i <= ABI_RECORD_WORDS; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many),
			 "\tfield:__data_loc char[] a%u;\toffset:%u;\tsize:4;\tsigned:0;\n", i,
			 8 + 4 * i);
	assert_int_equal(event_format_shape(many, false, &shape, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "more than 16 texts"));
	strcpy(many, COMMON);
	for (unsigned int i = 0; i <= PMCLOG_FIELDS_MAX; i++)
		strcat(many, LINE("int a", 8, 4, 1));
	assert_int_equal(event_format_shape(many, false, &shape, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "more than 64 fields"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_the_kinds_of_their_types),
		cmocka_unit_test(a_shape_ends_behind_the_last_field),
		cmocka_unit_test(what_no_program_copies_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
