/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_name_of_*: the lists of <sys/pmc.h> turned into text. */
#include <errno.h>

#include "lib.h"
#include "lib/base/generic.h"

struct name {
	uint32_t value;
	const char *text;
};

#define NAME(text, value) { value, #text },
#define CAP_NAME(text, bit) { 1u << (bit), #text },

static const struct name modes[] = { PMC__MODES(NAME) };
static const struct name states[] = { PMC__STATES(NAME) };
static const struct name disps[] = { PMC__DISPS(NAME) };
static const struct name caps[] = { PMC__CAPS(CAP_NAME) };
static const struct name classes[] = { PMC__CLASSES(NAME) };
static const struct name cputypes[] = { PMC__CPUS(NAME) };
static const struct name iaf_events[] = {
	{ PMC_EV_IAF_INSTR_RETIRED_ANY, "INSTR_RETIRED_ANY" },
	{ PMC_EV_IAF_CPU_CLK_UNHALTED_CORE, "CPU_CLK_UNHALTED_CORE" },
	{ PMC_EV_IAF_CPU_CLK_UNHALTED_REF, "CPU_CLK_UNHALTED_REF" },
};

#define LOOKUP(table, value, what) name_lookup(table, sizeof(table) / sizeof(table[0]), value, what)

static const char *name_find(const struct name *table, size_t n, uint32_t value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (table[i].value == value)
			return table[i].text;
	return NULL;
}

static const char *name_lookup(const struct name *table, size_t n, uint32_t value, const char *what)
{
	const char *text = name_find(table, n, value);

	if (!text)
		call_end(deny(call_begin(), -EINVAL, "0x%x is not a %s", value, what));
	return text;
}

PMC_API_PUBLIC const char *pmc_name_of_mode(enum pmc_mode mode)
{
	return LOOKUP(modes, mode, "mode");
}

PMC_API_PUBLIC const char *pmc_name_of_state(enum pmc_state state)
{
	return LOOKUP(states, state, "state");
}

PMC_API_PUBLIC const char *pmc_name_of_disposition(enum pmc_disp disp)
{
	return LOOKUP(disps, disp, "disposition");
}

PMC_API_PUBLIC const char *pmc_name_of_capability(enum pmc_caps cap)
{
	return LOOKUP(caps, cap, "capability");
}

PMC_API_PUBLIC const char *pmc_name_of_class(enum pmc_class class)
{
	return LOOKUP(classes, class, "class");
}

PMC_API_PUBLIC const char *pmc_name_of_cputype(enum pmc_cputype cputype)
{
	return LOOKUP(cputypes, cputype, "CPU type");
}

PMC_API_PUBLIC const char *pmc_name_of_event(enum pmc_event event)
{
	const char *text = NULL;
	unsigned int i;

	if (event == PMC_EV_TSC_TSC)
		return "TSC";
	if (event >= PMC_EV_IAF_FIRST && event <= PMC_EV_IAF_LAST)
		return LOOKUP(iaf_events, event, "event");
	for (i = 0; i < pmc_lib.machine.soft.n && !text; i++)
		if (pmc_lib.machine.soft.event[i].code == (uint32_t)event)
			text = pmc_lib.machine.soft.event[i].name;
	if (!text && generic_by_code(event))
		text = generic_by_code(event)->name;
	if (!text)
		text = intern_name(event);
	if (!text)
		call_end(deny(call_begin(), -EINVAL, "0x%x is not an event", event));
	return text;
}
