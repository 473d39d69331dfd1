/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of event specifiers: splitting, folding, prefixes, aliases, and each way to be wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/event/event.h"
#include "unit.h"

#include <sys/pmc.h>

static const struct evspec_machine none = {
	.family = EVSPEC_NO_PMU, .nclass = 2, .class = { PMC_CLASS_SOFT, PMC_CLASS_TSC },
};
static const struct evspec_machine intel = {
	.family = EVSPEC_INTEL, .nclass = 3,
	.class = { PMC_CLASS_SOFT, PMC_CLASS_TSC, PMC_CLASS_IAP },
};
static const struct evspec_machine amd = {
	.family = EVSPEC_AMD, .nclass = 3, .class = { PMC_CLASS_SOFT, PMC_CLASS_TSC, PMC_CLASS_K8 },
};
static const struct evspec_machine arm = {
	.family = EVSPEC_ARM64, .nclass = 2, .class = { PMC_CLASS_SOFT, PMC_CLASS_ARMV8 },
};

static void good(const char *text, const struct evspec_machine *m, int class, const char *event)
{
	struct evspec spec;
	struct reason why = { "" };

	assert_int_equal(evspec_parse(text, m, &spec, &why), 0);
	assert_false(spec.raw);
	assert_int_equal(spec.class, class);
	assert_string_equal(spec.event, event);
}

static void bad(const char *text, const char *part)
{
	struct evspec spec;
	struct reason why = { "" };

	assert_int_equal(evspec_parse(text, &intel, &spec, &why), -EINVAL);
	assert_contains(why.text, part);
}

static void test_fold(void **state)
{
	assert_true(evspec_same("PAGE_FAULT.ALL", "page-fault all"));
	assert_true(evspec_same("", ""));
	assert_false(evspec_same("PAGE_FAULT.ALL", "pagefaultall"));
	assert_false(evspec_same("PAGE_FAULT", "PAGE_FAULT."));
	assert_false(evspec_same("PAGE_FAULT.", "PAGE_FAULT"));
	assert_true(evspec_same_n("cycles,usr", 6, "CYCLES"));
	assert_false(evspec_same_n("cycles,usr", 6, "CYCLE"));
	assert_false(evspec_same_n("cyc", 6, "CYCLES"));
}

static void test_prefix(void **state)
{
	good("SOFT-CLOCK.HARD", &none, PMC_CLASS_SOFT, "CLOCK.HARD");
	good("soft-clock.hard", &none, PMC_CLASS_SOFT, "clock.hard");
	good("soft.page-faults", &none, PMC_CLASS_SOFT, "page-faults");
	good("tsc-tsc", &none, PMC_CLASS_TSC, "tsc");
	good("TSC", &none, -1, "TSC");
	good("iap-inst_retired.any_p", &intel, PMC_CLASS_IAP, "inst_retired.any_p");
	/* A class of another machine is no prefix: the text is a name as a whole. */
	good("iap-inst_retired.any_p", &amd, -1, "iap-inst_retired.any_p");
	good("k8-ic-miss", &amd, PMC_CLASS_K8, "ic-miss");
	good("armv8-cpu_cycles", &arm, PMC_CLASS_ARMV8, "cpu_cycles");
	/* The fixed counters share a PMU with the general ones. */
	good("iaf-instr-retired.any", &intel, PMC_CLASS_IAF, "instr-retired.any");
	good("iaf-instr-retired.any", &arm, -1, "iaf-instr-retired.any");
	good("softly", &none, -1, "softly");
}

static void test_qualifiers(void **state)
{
	struct evspec spec;
	struct reason why = { "" };

	assert_int_equal(evspec_parse("a,usr,cmask=0x2,,mask=a+b,", &intel, &spec, &why), 0);
	assert_int_equal(spec.nquals, 5);
	assert_string_equal(spec.quals[0].key, "usr");
	assert_null(spec.quals[0].value);
	assert_string_equal(spec.quals[1].key, "cmask");
	assert_string_equal(spec.quals[1].value, "0x2");
	assert_string_equal(spec.quals[2].key, "");
	assert_string_equal(spec.quals[3].value, "a+b");
	assert_string_equal(spec.quals[4].key, "");
	assert_int_equal(evspec_parse("a", &intel, &spec, &why), 0);
	assert_int_equal(spec.nquals, 0);
	bad("a,period=3,period=5", "period is given twice");
	bad("a,Period=3,usr,PERIOD=3", "PERIOD is given twice");
	bad("a,branch=any,branch", "branch is given twice");
	bad("cpu/event=1,umask=2,event=3/", "event is given twice");
	assert_int_equal(evspec_parse("a,usr,usr,os", &intel, &spec, &why), 0);
}

/* A slash behind "breakpoint:" is part of the event. */
static void test_breakpoints(void **state)
{
	static const struct evspec_machine m = {
		.family = EVSPEC_NO_PMU, .nclass = 1, .class = { PMC_CLASS_BREAKPOINT },
	};
	struct evspec spec;
	struct reason why = { "" };

	good("breakpoint:0x10/4:w", &m, PMC_CLASS_BREAKPOINT, "0x10/4:w");
	good("BREAKPOINT-word+4/2", &m, PMC_CLASS_BREAKPOINT, "word+4/2");
	good("mem:0x10/1", &m, PMC_CLASS_BREAKPOINT, "0x10/1");
	good("mem:0x10", &intel, PMC_CLASS_BREAKPOINT, "0x10");
	assert_int_equal(evspec_parse("cpu/a=1/,usr", &m, &spec, &why), 0);
	assert_true(spec.raw);
	assert_int_equal(evspec_parse("mem:kernel:a+1/8:rw,os,usr", &m, &spec, &why), 0);
	assert_string_equal(spec.event, "kernel:a+1/8:rw");
	assert_int_equal(spec.nquals, 2);
	assert_int_equal(evspec_parse("breakpoint:", &m, &spec, &why), -EINVAL);
}

/* A filter takes the rest of the text; "tracepoint:" is a prefix where there are tracepoints. */
static void test_tracepoints(void **state)
{
	static const struct evspec_machine m = {
		.family = EVSPEC_NO_PMU, .nclass = 2,
		.class = { PMC_CLASS_SOFT, PMC_CLASS_TRACEPOINT },
	};
	struct evspec spec;
	struct reason why = { "" };

	good("sched:sched_switch", &m, -1, "sched:sched_switch");
	good("tracepoint:a:b", &m, PMC_CLASS_TRACEPOINT, "a:b");
	good("TRACEPOINT-xhci-hcd:b.c", &m, PMC_CLASS_TRACEPOINT, "xhci-hcd:b.c");
	good("tracepoint:a:b", &intel, -1, "tracepoint:a:b");
	good("soft:cs", &m, -1, "soft:cs");
	assert_int_equal(evspec_parse("a:b,os,Filter=c == \"x,y\" || d=1,usr", &m, &spec, &why), 0);
	assert_int_equal(spec.nquals, 2);
	assert_string_equal(spec.quals[1].key, "Filter");
	assert_string_equal(spec.quals[1].value, "c == \"x,y\" || d=1,usr");
	assert_int_equal(evspec_parse("a:b,filter,os", &m, &spec, &why), 0);
	assert_int_equal(spec.nquals, 2);
}

static void test_raw(void **state)
{
	struct evspec spec;
	struct reason why = { "" };

	assert_int_equal(evspec_parse("cpu/event=0x3c,umask=1,inv/,usr", &intel, &spec, &why), 0);
	assert_true(spec.raw);
	assert_int_equal(spec.class, -1);
	assert_string_equal(spec.event, "cpu");
	assert_int_equal(spec.nterms, 3);
	assert_string_equal(spec.terms[0].key, "event");
	assert_string_equal(spec.terms[0].value, "0x3c");
	assert_string_equal(spec.terms[2].key, "inv");
	assert_null(spec.terms[2].value);
	assert_int_equal(spec.nquals, 1);
	assert_string_equal(spec.quals[0].key, "usr");
	assert_int_equal(evspec_parse("cpu/event=1/", &intel, &spec, &why), 0);
	assert_int_equal(spec.nquals, 0);
	/* A slash after the first comma belongs to a qualifier, whose class will judge it. */
	assert_int_equal(evspec_parse("a,b/c", &intel, &spec, &why), 0);
	assert_false(spec.raw);
}

static void test_errors(void **state)
{
	char text[EVSPEC_MAX + 2];
	unsigned int i;
	size_t n;

	bad("", "missing");
	bad(",usr", "missing");
	bad("iap-", "missing");
	bad("iap-,usr", "missing");
	bad("cpu/event=1", "second /");
	bad("/event=1/", "name of a PMU");
	bad("cpu//", "no terms");
	bad("cpu/event=1/u", "after the second /");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	bad(text, "at most 512");
	for (i = 0, n = sprintf(text, "a"); i <= EVSPEC_MAX_PAIRS; i++)
		n += sprintf(text + n, ",b");
	bad(text, "more than 32");
	for (i = 0, n = sprintf(text, "cpu/"); i <= EVSPEC_MAX_PAIRS; i++)
		n += sprintf(text + n, "b,");
	strcpy(text + n, "/");
	bad(text, "more than 32");
}

static void test_longest(void **state)
{
	char text[EVSPEC_MAX + 1];
	struct evspec spec;
	struct reason why = { "" };

	memset(text, 'a', EVSPEC_MAX);
	text[EVSPEC_MAX] = '\0';
	assert_int_equal(evspec_parse(text, &intel, &spec, &why), 0);
	assert_string_equal(spec.event, text);
}

static void alias(const char *text, const struct evspec_machine *m, const char *first,
		  unsigned int count)
{
	char out[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];

	assert_int_equal(alias_spell(text, m, out), count);
	if (count)
		assert_string_equal(out[0], first);
}

static void test_alias(void **state)
{
	alias("instructions", &none, "", 0);
	alias("cycles", &none, "", 0);
	alias("instructions", &intel, "instructions", 1);
	alias("instructions", &arm, "armv8-inst_retired", 1);
	alias("CYCLES", &intel, "cpu-cycles", 1);
	alias("cycles", &amd, "cpu-cycles", 1);
	alias("cycles", &arm, "armv8-cpu_cycles", 1);
	alias("unhalted-cycles", &none, "", 0);
	alias("unhalted_cycles", &amd, "cpu-cycles", 1);
	alias("UNHALTED_CORE_CYCLES", &intel, "cpu-cycles", 1);
	alias("LLC-MISSES", &intel, "cache-misses", 1);
	alias("branches", &arm, "armv8-br_retired", 1);
	alias("ic-misses", &intel, "frontend_retired.l1i_miss", 3);
	alias("instructions,usr,cmask=1", &intel, "instructions,usr,cmask=1", 1);
	alias("cycles,usr", &intel, "cpu-cycles,usr", 1);
	alias("instruction", &intel, "", 0);
	alias("instructionss", &intel, "", 0);
	alias("iap-instructions", &intel, "", 0);
	alias("", &intel, "", 0);
}

static void test_alias_too_long(void **state)
{
	char text[EVSPEC_MAX + 1], out[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];

	memset(text, 'a', EVSPEC_MAX);
	memcpy(text, "cycles,", 7);
	text[EVSPEC_MAX] = '\0';
	assert_int_equal(alias_spell(text, &arm, out), 0);
}

static void test_second_names(void **state)
{
	assert_string_equal(alias_iaf_event("INSTR_RETIRED_ANY"), "instructions");
	assert_string_equal(alias_iaf_event("cpu-clk-unhalted.core"), "cpu-cycles");
	assert_null(alias_iaf_event("instructions"));
	assert_string_equal(alias_soft_event("page-faults"), "PAGE_FAULT.ALL");
	assert_null(alias_soft_event("PAGE_FAULT.ALL"));
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_fold), T(test_prefix), T(test_qualifiers), T(test_tracepoints),
		T(test_breakpoints), T(test_raw),
		T(test_errors),
		T(test_longest), T(test_alias), T(test_alias_too_long), T(test_second_names),
	};

	return cmocka_run_group_tests_name("lib_event", tests, NULL, NULL);
}
