/* SPDX-License-Identifier: BSD-2-Clause */
/* kern.hwpmc.debugflags (REQ-103): grammar, and that a message costs nothing where it is off. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/base/debug.h"
#include "unit.h"

static uint32_t on[DEBUG_GROUPS];
static struct reason why;
static char heard[1024];
static int level;

static void hear(int priority, const char *line)
{
	level = priority;
	snprintf(heard, sizeof(heard), "%s", line);
}

static const struct messages loud = { .sink = hear };

static int setup(void **state)
{
	memset(on, 0, sizeof(on));
	heard[0] = why.text[0] = '\0';
	return 0;
}

static int parse(const char *text)
{
	return debug_parse(text, on, &why);
}

static uint32_t bit(enum debug_flag flag)
{
	return 1u << flag;
}

static void test_words(void **state)
{
	assert_int_equal(parse("pmc=allocate,release \t owner=find\n"), 0);
	assert_int_equal(on[DEBUG_GROUP_PMC],
			 bit(DEBUG_FLAG_ALLOCATE) | bit(DEBUG_FLAG_RELEASE));
	assert_int_equal(on[DEBUG_GROUP_OWNER], bit(DEBUG_FLAG_FIND));
	assert_int_equal(on[DEBUG_GROUP_CPU], 0);
	/* Flags that are not named any more are off. */
	assert_int_equal(parse("  cpu=*"), 0);
	assert_int_equal(on[DEBUG_GROUP_CPU], UINT32_MAX);
	assert_int_equal(on[DEBUG_GROUP_PMC], 0);
	assert_int_equal(parse("csw=swi csw=swo"), 0);
	assert_int_equal(on[DEBUG_GROUP_CSW], bit(DEBUG_FLAG_SWI) | bit(DEBUG_FLAG_SWO));
	assert_int_equal(parse(""), 0);
	for (unsigned int i = 0; i < DEBUG_GROUPS; i++)
		assert_int_equal(on[i], 0);
}

/* All flags of the reference are known, and no others: §7 */
static void test_vocabulary(void **state)
{
	static const char groups[] = "cpu csw logging module md owner pmc process sampling";
	static const char flags[] =
		"allocaterow allocate attach bind config exec exit find flush fork getbuf hook "
		"init intr linktarget mayberemove ops read register release remove sample "
		"scheduleio select signal swi swo start stop syscall unlinktarget write";
	char copy[512], text[64], *p;
	uint32_t all = 0;
	unsigned int n = 0;

	strcpy(copy, groups);
	for (p = strtok(copy, " "); p; p = strtok(NULL, " "), n++) {
		snprintf(text, sizeof(text), "%s=*", p);
		assert_int_equal(parse(text), 0);
	}
	assert_int_equal(n, DEBUG_GROUPS);
	strcpy(copy, flags);
	for (n = 0, p = strtok(copy, " "); p; p = strtok(NULL, " "), n++) {
		snprintf(text, sizeof(text), "md=%s", p);
		assert_int_equal(parse(text), 0);
		all |= on[DEBUG_GROUP_MD];
	}
	assert_int_equal(n, DEBUG_FLAGS);
	assert_int_equal(all, UINT32_MAX);
	assert_int_equal(parse("*=start"), 0);
	for (unsigned int i = 0; i < DEBUG_GROUPS; i++)
		assert_int_equal(on[i], bit(DEBUG_FLAG_START));
}

static void test_hostile(void **state)
{
	static const struct {
		const char *text, *names;
	} bad[] = {
		{ "pmc", "\"pmc\" is without flags" },
		{ "pmc=", "\"\" is no flag" },
		{ "pmc=allocate,", "\"\" is no flag" },
		{ "pmc=,allocate", "\"\" is no flag" },
		{ "pmc=allocate,,find", "\"\" is no flag" },
		{ "pmc=frob", "\"frob\" is no flag" },
		{ "pmc=Allocate", "\"Allocate\" is no flag" },
		{ "pmc=allocat", "\"allocat\" is no flag" },
		{ "pmc=allocate=find", "\"allocate=find\" is no flag" },
		{ "pmc=**", "\"**\" is no flag" },
		{ "pmc =find", "\"pmc\" is without flags" },
		{ "pmc= find", "\"\" is no flag" },
		{ "frob=find", "\"frob\" is no group" },
		{ "=find", "\"\" is no group" },
		{ "=", "\"\" is no group" },
		{ ",", "\",\" is no group" },
		{ "*", "\"*\" is without flags" },
		{ "pmc=find %s%n=x", "\"%s%n\" is no group" },
		{ "pmc=\xff\xfe", "is no flag" },
		{ "owner=find cpu=* \x1b[31m", "\"?[31m\" is no group" },
	};
	char long_word[2000];

	assert_int_equal(parse("md=read"), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text), -EINVAL);
		assert_contains(why.text, bad[i].names);
		/* The old value stays, all of it. */
		assert_int_equal(on[DEBUG_GROUP_MD], bit(DEBUG_FLAG_READ));
		assert_int_equal(on[DEBUG_GROUP_OWNER], 0);
	}
	memset(long_word, 'x', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	assert_int_equal(parse(long_word), -EINVAL);
	assert_contains(why.text, "groups are * cpu csw logging md module owner pmc process "
				  "sampling");
}

static int evaluated;

static int count_me(void)
{
	return ++evaluated;
}

static void test_messages(void **state)
{
	struct debug d = { .messages = &loud };

	evaluated = 0;
	DEBUG(&d, PMC, START, "number %d", count_me());
	assert_int_equal(evaluated, 0);
	assert_string_equal(heard, "");
	d.on[DEBUG_GROUP_PMC] = bit(DEBUG_FLAG_START);
	DEBUG(&d, PMC, STOP, "number %d", count_me());
	DEBUG(&d, MD, START, "number %d", count_me());
	assert_int_equal(evaluated, 0);
	DEBUG(&d, PMC, START, "number %d of %s", count_me(), "a\nb\x1b");
	assert_string_equal(heard, "pmc=start: number 1 of a?b?");
	assert_int_equal(level, LOG_DEBUG);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_words), T(test_vocabulary), T(test_hostile), T(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
