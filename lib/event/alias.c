/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FreeBSD's machine-independent event names, and the names of the same events here.  Two of them
 * are exact here, or refused: FreeBSD takes the time stamp counter for "cycles" on x86, and clock
 * ticks for "instructions" where there are no counters.  A cell lists spellings of one and the same
 * event, separated by "|": first the kernel's name for it, then libpfm4's.  An empty cell means
 * that the CPUs of that column have no event of that meaning.
 */
#include <stdio.h>
#include <string.h>

#include "alias.h"

#include <sys/pmc.h>

struct alias {
	const char *name;
	const char *to[EVSPEC_FAMILIES - 1];	/* without counters no name has a meaning */
};

static const struct alias aliases[] = {
	/* name                     Intel, AMD, arm64 */
	{ "cycles",                 { "cpu-cycles", "cpu-cycles", "armv8-cpu_cycles" } },
	{ "instructions",           { "instructions", "instructions", "armv8-inst_retired" } },
	{ "unhalted-cycles",        { "cpu-cycles", "cpu-cycles", "armv8-cpu_cycles" } },
	{ "unhalted-core-cycles",   { "cpu-cycles", "cpu-cycles", "armv8-cpu_cycles" } },
	{ "unhalted-reference-cycles", { "ref-cycles", "", "" } },
	{ "instruction-retired",    { "instructions", "instructions", "armv8-inst_retired" } },
	{ "branches",               { "branch-instructions", "branch-instructions",
				      "armv8-br_retired" } },
	{ "branch-instruction-retired", { "branch-instructions", "branch-instructions",
				      "armv8-br_retired" } },
	{ "branch-mispredicts",     { "branch-misses", "branch-misses",
				      "armv8-br_mis_pred_retired" } },
	{ "branch-misses-retired",  { "branch-misses", "branch-misses",
				      "armv8-br_mis_pred_retired" } },
	{ "llc-misses",             { "cache-misses", "", "armv8-ll_cache_miss_rd" } },
	{ "llc-reference",          { "cache-references", "", "armv8-ll_cache_rd" } },
	{ "ic-misses",              { "frontend_retired.l1i_miss|l1i.misses|icache.misses",
				      "instruction_cache_misses", "armv8-l1i_cache_refill" } },
	{ "dc-misses",              { "", "data_cache_misses", "armv8-l1d_cache_refill" } },
	{ "interrupts",             { "hw_interrupts.received|hw_int.rcv",
				      "ls_int_taken|interrupt_taken|interrupts_taken",
				      "armv8-exc_irq" } },
	{ "llc-miss-rhitm",         { "mem_load_l3_miss_retired.remote_hitm", "", "" } },
	{ "resource-stall",         { "resource_stalls.any", "", "" } },
	{ "resource-stalls-any",    { "resource_stalls.any", "", "" } },
};

/* Names that are not aliases of a machine but second names of one class's events. */
struct second_name {
	const char *name, *event;
};

static const struct second_name iaf_events[] = {
	{ "instr-retired.any", "instructions" },
	{ "cpu-clk-unhalted.core", "cpu-cycles" },
	{ "cpu-clk-unhalted.ref", "ref-cycles" },
};

/* perf's names where folding does not make them ours. */
static const struct second_name soft_events[] = {
	{ "page-faults", "PAGE_FAULT.ALL" },
	{ "faults", "PAGE_FAULT.ALL" },
	{ "minor-faults", "PAGE_FAULT.MINOR" },
	{ "major-faults", "PAGE_FAULT.MAJOR" },
	{ "cs", "CONTEXT_SWITCHES" },
	{ "migrations", "CPU_MIGRATIONS" },
};

static const char *alias_second(const struct second_name *table, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (evspec_same(name, table[i].name))
			return table[i].event;
	return NULL;
}

const char *alias_iaf_event(const char *name)
{
	return alias_second(iaf_events, sizeof(iaf_events) / sizeof(iaf_events[0]), name);
}

const char *alias_soft_event(const char *name)
{
	return alias_second(soft_events, sizeof(soft_events) / sizeof(soft_events[0]), name);
}

static const char *alias_meaning(const struct alias *a, const struct evspec_machine *m)
{
	return m->family == EVSPEC_NO_PMU ? "" : a->to[m->family - 1];
}

const char *alias_name(unsigned int i, const struct evspec_machine *m)
{
	if (i >= sizeof(aliases) / sizeof(aliases[0]))
		return NULL;
	return *alias_meaning(&aliases[i], m) ? aliases[i].name : "";
}

bool alias_is_known(const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (evspec_same(name, aliases[i].name))
			return true;
	return false;
}

unsigned int alias_spell(const char *text, const struct evspec_machine *m,
			 char out[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1])
{
	size_t n = strcspn(text, ","), i;
	const char *to = NULL;
	unsigned int count = 0;

	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]) && !to; i++)
		if (evspec_same_n(text, n, aliases[i].name))
			to = alias_meaning(&aliases[i], m);
	while (to && *to && count < ALIAS_MAX_SPELLINGS) {
		size_t len = strcspn(to, "|");
		int used = snprintf(out[count], EVSPEC_MAX + 1, "%.*s%s", (int)len, to, text + n);

		/* Too long: evspec_parse() refuses the text as it was. */
		if (used > (int)EVSPEC_MAX)
			return 0;
		count++;
		to += len + (to[len] == '|');
	}
	return count;
}
