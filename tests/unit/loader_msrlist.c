/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of registers: its meaning, and an error with a line for each kind of fault. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/config/msrlist.h"
#include "unit.h"

#define ALL "0xffffffffffffffff"

static struct msrlist list;
static struct reason why;

static int parse(const char *text, enum msr_vendor vendor)
{
	memset(&list, 0xff, sizeof(list));
	why.text[0] = '\0';
	return msrlist_text("msr.list", text, strlen(text), vendor, &list, &why);
}

static void test_columns(void **state)
{
	assert_int_equal(parse("# a comment\n\n \t\r\n"
			       "0xe8 " ALL " 0 x86 admin APERF SDM vol. 4 # the rest\n"
			       "0x34\t0xffffffff\t0x1\tintel\tany\t-\tSDM\n"
			       "16 0xff 0 x86 any TSC_low.1 x", MSR_INTEL), 0);
	assert_int_equal(list.n, 3);
	assert_int_equal(list.entry[0].reg, 16);	/* sorted */
	assert_string_equal(list.entry[0].name, "TSC_low.1");
	assert_int_equal(list.entry[1].reg, 0x34);
	assert_int_equal(list.entry[1].read, 0xffffffff);
	assert_int_equal(list.entry[1].write, 1);
	assert_false(list.entry[1].admin);
	assert_string_equal(list.entry[1].name, "");
	assert_int_equal(list.entry[2].read, ~0ull);
	assert_true(list.entry[2].admin);
	assert_string_equal(list.entry[2].name, "APERF");
	assert_ptr_equal(msrlist_find(&list, 0xe8), &list.entry[2]);
	assert_null(msrlist_find(&list, 0xe7));
	assert_int_equal(parse("", MSR_AMD), 0);
	assert_int_equal(list.n, 0);
	assert_null(msrlist_find(&list, 0));
}

/* The same number may be another register of another vendor's. */
static void test_vendors(void **state)
{
	static const char text[] = "0x10 " ALL " 0 x86 any TSC s\n0x20 1 0 intel any - s\n"
				   "0x20 3 0 amd any - s\n0xdf02 " ALL " 0 arm64 any CNTVCT s\n";
	static const struct {
		enum msr_vendor vendor;
		unsigned int n;
		uint64_t read20;
	} cases[] = { { MSR_INTEL, 2, 1 }, { MSR_AMD, 2, 3 }, { MSR_OTHER, 1, 0 },
		      { MSR_ARM64, 1, 0 } };

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct msrlist_entry *e;

		assert_int_equal(parse(text, cases[i].vendor), 0);
		assert_int_equal(list.n, cases[i].n);
		e = msrlist_find(&list, 0x20);
		assert_int_equal(e ? e->read : 0, cases[i].read20);
		assert_int_equal(!!msrlist_find(&list, 0xdf02), cases[i].vendor == MSR_ARM64);
	}
}

static void test_malformed(void **state)
{
	static const struct {
		const char *line, *what, *right;
	} cases[] = {
		{ "0xe8", "1 of 7 columns", "read-mask write-mask vendor who name source" },
		{ "0xe8 1 0 x86 any -", "6 of 7 columns", "source" },
		{ "0xe8 1 0 x86 any - # source", "6 of 7", "source" },
		{ "e8 1 0 x86 any - s", "\"e8\" is no register", "0xe8" },
		{ "-1 1 0 x86 any - s", "\"-1\" is no register", "to 0xffffffff" },
		{ "0x100000000 1 0 x86 any - s", "\"0x100000000\" is no register", "0xffffffff" },
		{ "0x10000 1 0 arm64 any - s", "\"0x10000\" is no register", "to 0xffff" },
		{ "0xe8z 1 0 x86 any - s", "\"0xe8z\" is no register", "number" },
		{ "1 0x1ffffffffffffffff 0 x86 any - s", "is no read mask", ALL },
		{ "1 x 0 x86 any - s", "\"x\" is no read mask", "number" },
		{ "1 1 +1 x86 any - s", "\"+1\" is no write mask", "number" },
		{ "1 0xf0 0 x86 any - s", "read mask 0xf0", "bit 0" },
		{ "1 5 0 x86 any - s", "read mask 0x5", "0xffffffff" },
		{ "1 0 0 x86 any - s", "neither bits to read nor", "leave 0x1 out" },
		{ "1 1 0 X86 any - s", "\"X86\" is no vendor", "x86, intel, amd or arm64" },
		{ "1 1 0 via any - s", "\"via\" is no vendor", "x86, intel, amd or arm64" },
		{ "1 1 0 x86 root - s", "\"root\" does not say who", "any or admin" },
		{ "1 1 0 x86 any 0x11 s", "\"0x11\" is no name", "a letter first" },
		{ "1 1 0 x86 any A,B s", "\"A,B\" is no name", "letters" },
		{ "1 1 0 x86 any ABCDEFGHIJKLMNOPQRSTUVWX s", "is no name", "at most 23" },
		{ "0x10 1 0 intel any - s", "register 0x10 is on line 2", "one line" },
		{ "1 1 0 intel any tsc s", "the name tsc is taken by line 2", "another, or -" },
	};
	char text[600], line[32];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "# one\n0x10 " ALL " 0 x86 any TSC s\n\n%s\n0x11 1 0 "
			 "x86 any - s\n", cases[i].line);
		assert_int_equal(parse(text, MSR_OTHER), -EINVAL);
		snprintf(line, sizeof(line), "msr.list:4: ");
		assert_int_equal(strncmp(why.text, line, strlen(line)), 0);
		assert_contains(why.text, cases[i].what);
		assert_contains(why.text, cases[i].right);
	}
}

static void test_no_text(void **state)
{
	char text[700];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(text, MSR_AMD), -EINVAL);
	assert_contains(why.text, "msr.list:1: not a line of text of at most 511 bytes");
	assert_int_equal(msrlist_text("msr.list", "#\n#\0\n", 5, MSR_AMD, &list, &why), -EINVAL);
	assert_contains(why.text, "msr.list:2: not a line");
}

/* As many as the module takes, and not one more. */
static void test_length(void **state)
{
	static char text[MSRLIST_MAX * 40];
	size_t used = 0;

	for (unsigned int i = MSRLIST_MAX; i; i--)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%u 1 0 amd any - s\n", i);
	assert_int_equal(parse(text, MSR_AMD), 0);
	assert_int_equal(list.n, MSRLIST_MAX);
	for (unsigned int i = 0; i < MSRLIST_MAX; i++)
		assert_int_equal(list.entry[i].reg, i + 1);
	snprintf(text + used, sizeof(text) - used, "500 1 0 x86 any - s\n");
	assert_int_equal(parse(text, MSR_INTEL), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(parse(text, MSR_AMD), -EINVAL);
	assert_contains(why.text, ":129: more than 128 registers");
}

static void test_file(void **state)
{
	char path[] = "/tmp/msrlist.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	assert_non_null(f);
	fputs("0x10 1 0 x86 any - s\nfoo\n", f);
	fclose(f);
	assert_int_equal(msrlist_read(path, MSR_AMD, &list, &why), -EINVAL);
	assert_contains(why.text, path);
	assert_contains(why.text, ":2: ");
	remove(path);
	assert_int_equal(msrlist_read(path, MSR_AMD, &list, &why), -ENOENT);
	assert_contains(why.text, path);
	assert_int_equal(msrlist_read("/", MSR_AMD, &list, &why), -EISDIR);
}

/* The list that is installed. */
static void test_shipped(void **state)
{
	static const enum msr_vendor vendors[] = { MSR_INTEL, MSR_AMD, MSR_ARM64, MSR_OTHER };
	static const uint32_t energy[] = { 0x611, 0x639, 0x641, 0x619, 0x64d, 0xc001029b,
					   0xc001029a, 0xe7, 0xe8, 0x64e, 0xc00000e9 };

	for (unsigned int v = 0; v < 4; v++) {
		assert_int_equal(msrlist_read("packaging/msr.list", vendors[v], &list, &why), 0);
		assert_true(list.n);
		for (unsigned int i = 0; i < list.n; i++)
			assert_int_equal(list.entry[i].write, 0);
		for (unsigned int i = 0; i < sizeof(energy) / sizeof(energy[0]); i++) {
			const struct msrlist_entry *e = msrlist_find(&list, energy[i]);

			assert_true(!e || e->admin);
		}
		assert_int_equal(!msrlist_find(&list, 0x10), vendors[v] == MSR_ARM64);
		assert_int_equal(!msrlist_find(&list, 0xdf02), vendors[v] != MSR_ARM64);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_columns), T(test_vendors), T(test_malformed), T(test_no_text),
		T(test_length), T(test_file), T(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
