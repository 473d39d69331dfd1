/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and descriptions of events, for pmc list-events and pmcstat -L and -u. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <pmc.h>

#include "events.h"
#include "msg.h"
#include "opt.h"

/* The classes of this machine; none if the library does not know them. */
static const struct pmc_cpuinfo *machine_info(void)
{
	static const struct pmc_cpuinfo none;
	const struct pmc_cpuinfo *info;

	return pmc_cpuinfo(&info) == 0 ? info : &none;
}

/* Only the hardware's events and registers have descriptions. */
static bool class_is_described(enum pmc_class class)
{
	return class != PMC_CLASS_SOFT && class != PMC_CLASS_TSC;
}

static char char_fold(char c)
{
	return c == ' ' || c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
}

/* Event names differ in more than case and these signs, so those are not compared. */
static bool name_contains(const char *name, const char *substr)
{
	do {
		size_t i = 0;

		while (substr[i] && char_fold(name[i]) == char_fold(substr[i]))
			i++;
		if (!substr[i])
			return true;
	} while (*name++);
	return false;
}

/* Does an event's name contain `substr`?  With `described` only events with a description count. */
static bool events_any(const char *substr, bool described)
{
	const struct pmc_cpuinfo *info = machine_info();
	bool found = false;

	for (uint32_t i = 0; i < info->pm_nclass && !found; i++) {
		enum pmc_class class = info->pm_classes[i].pm_class;
		const char **names;
		int count;

		if ((described && !class_is_described(class)) ||
		    pmc_event_names_of_class(class, &names, &count) != 0)
			continue;
		for (int n = 0; n < count && !found; n++)
			found = name_contains(names[n], substr);
		free(names);
	}
	return found;
}

static bool class_is_known(const char *word)
{
	const struct pmc_cpuinfo *info = machine_info();

	for (uint32_t i = 0; i < info->pm_nclass; i++) {
		const char *name = pmc_name_of_class(info->pm_classes[i].pm_class);

		if (name && strcasecmp(name, word) == 0)
			return true;
	}
	return false;
}

/* Nothing was listed: prints the reason. */
static int events_explain_none(const char *substr)
{
	if (events_any(substr, false))
		return fail(EX_USAGE, "ERROR: no event that matches \"%s\" has a description: only "
			    "the hardware's have one; \"pmc list-events %s\" lists the names",
			    substr, substr);
	if (class_is_known(substr))
		return fail(EX_USAGE, "ERROR: no event matches \"%s\", which is a class; "
			    "\"pmccontrol -L\" lists the events of each", substr);
	return fail(EX_USAGE, "ERROR: no event or class of this machine matches \"%s\"; \"pmc "
		    "list-events\" lists the events, \"pmccontrol -L\" by class", substr);
}

static int class_print_names(enum pmc_class class, const char *substr)
{
	const char **names;
	int count;

	if (pmc_event_names_of_class(class, &names, &count) != 0)
		return fail_pmc(EX_OSERR, "ERROR: Cannot list the events of class %s",
				pmc_name_of_class(class));
	for (int i = 0; i < count; i++) {
		if (!substr || strcasestr(names[i], substr))
			printf("\t%s\n", names[i]);
	}
	free(names);
	return 0;
}

int events_print(const char *substr)
{
	const struct pmc_cpuinfo *info = machine_info();
	int code = 0;

	if (substr && !events_any(substr, false))
		return events_explain_none(substr);
	for (uint32_t i = 0; i < info->pm_nclass && !code; i++)
		code = class_print_names(info->pm_classes[i].pm_class, substr);
	return code ? code : opt_flush_stdout();
}

int events_describe(int letter, const char *substr)
{
	if (!events_any("", true))
		return fail(EX_UNAVAILABLE, "ERROR: no event of this machine has a description: it "
			    "has no hardware counters; \"pmc list-events\" without options lists "
			    "the events of its software");
	if (!events_any(substr, true))
		return events_explain_none(substr);
	if (letter == 'u')
		pmc_pmu_print_counter_desc(substr);
	else if (letter == 'U')
		pmc_pmu_print_counter_desc_long(substr);
	else
		pmc_pmu_print_counter_full(substr);
	return opt_flush_stdout();
}
