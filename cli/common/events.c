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

/* The page that describes the events of a class; NULL: the library prints a line for each. */
static const char *class_page(enum pmc_class class)
{
	switch (class) {
	case PMC_CLASS_SOFT:
		return "pmc.soft(3)";
	case PMC_CLASS_TSC:
		return "pmc.tsc(3)";
	case PMC_CLASS_BREAKPOINT:
		return "pmc.breakpoint(3)";
	default:
		return NULL;
	}
}

static char char_fold(char c)
{
	return c == ' ' || c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
}

/* Event names differ in more than case and these signs, so those are not compared. */
static bool name_contains(const char *name, const char *substr, size_t len)
{
	do {
		size_t i = 0;

		while (i < len && char_fold(name[i]) == char_fold(substr[i]))
			i++;
		if (i == len)
			return true;
	} while (*name++);
	return false;
}

/* Calls `print` for names of a class that contain `len` bytes of it; their number, or -1. */
static int class_each(enum pmc_class class, const char *substr, size_t len,
		      void (*print)(enum pmc_class class, int letter, const char *name), int letter)
{
	const char **names;
	int count, found = 0;

	if (pmc_event_names_of_class(class, &names, &count) != 0)
		return -1;
	for (int n = 0; n < count; n++) {
		if (!name_contains(names[n], substr, len))
			continue;
		found++;
		if (print)
			print(class, letter, names[n]);
	}
	free(names);
	return found;
}

static bool events_any(const char *substr, size_t len)
{
	const struct pmc_cpuinfo *info = machine_info();
	bool found = false;

	for (uint32_t i = 0; i < info->pm_nclass && !found; i++)
		found = class_each(info->pm_classes[i].pm_class, substr, len, NULL, 0) > 0;
	return found;
}

/* What events' names contain: of perf's plurals, as page-faults, all but the last letter. */
static size_t events_part(const char *substr)
{
	size_t len = strlen(substr);

	if (len > 2 && char_fold(substr[len - 1]) == 's' && !events_any(substr, len))
		return len - 1;
	return len;
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
	if (class_is_known(substr))
		return fail(EX_USAGE, "ERROR: no event matches \"%s\", which is a class; "
			    "\"pmccontrol -L\" lists the events of each", substr);
	return fail(EX_USAGE, "ERROR: no event or class of this machine matches \"%s\"; \"pmc "
		    "list-events\" lists the events, \"pmccontrol -L\" by class", substr);
}

static void name_print(enum pmc_class class, int letter, const char *name)
{
	printf("\t%s\n", name);
}

int events_print(const char *substr)
{
	const struct pmc_cpuinfo *info = machine_info();
	size_t len = substr ? events_part(substr) : 0;

	if (substr && !events_any(substr, len))
		return events_explain_none(substr);
	for (uint32_t i = 0; i < info->pm_nclass; i++) {
		enum pmc_class class = info->pm_classes[i].pm_class;

		if (class_each(class, substr ? substr : "", len, name_print, 0) < 0)
			return fail_pmc(EX_OSERR, "ERROR: Cannot list the events of class %s",
					pmc_name_of_class(class));
	}
	return opt_flush_stdout();
}

/* In the form of the library's descriptions. */
static void name_refer(enum pmc_class class, int letter, const char *name)
{
	const char *form = letter == 'u' ? "%s:\tsee %s\n" : letter == 'U' ? "%s:\nsee %s\n" :
			   "name: %s\n\tdesc: see %s\n";

	printf(form, name, class_page(class));
}

int events_describe(int letter, const char *substr)
{
	const struct pmc_cpuinfo *info = machine_info();
	size_t len = events_part(substr);
	char part[256];

	if (!events_any(substr, len))
		return events_explain_none(substr);
	snprintf(part, sizeof(part), "%.*s", (int)len, substr);
	if (letter == 'u')
		pmc_pmu_print_counter_desc(part);
	else if (letter == 'U')
		pmc_pmu_print_counter_desc_long(part);
	else
		pmc_pmu_print_counter_full(part);
	for (uint32_t i = 0; i < info->pm_nclass; i++)
		if (class_page(info->pm_classes[i].pm_class))
			class_each(info->pm_classes[i].pm_class, substr, len, name_refer, letter);
	return opt_flush_stdout();
}
