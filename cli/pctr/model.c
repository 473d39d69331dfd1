/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters, options and events of each CPU. */
#include <string.h>

#include "pctr.h"

#define INTEL(what, table, complete) {							\
		what, "AEeIiMSkumft",							\
		"[-AEeIiklMSu] [-f funct] [-m umask] [-s ctr] [-t thold]",		\
		2, true, complete, table						\
	}
#define AMD(what, table) {								\
		what, "eikumft",							\
		"[-eilku] [-f funct] [-m umask] [-s ctr] [-t thold]",			\
		4, false, false, table							\
	}

static const struct pctr_table no_events;

static const struct pctr_model
	p6 = INTEL("Intel P6", &pctr_p6, true),
	core2 = INTEL("Intel Core 2", &pctr_core2, true),
	intel = INTEL("Intel", &pctr_intel, false),
	netburst = INTEL("Intel Pentium 4", &no_events, false),
	k8 = AMD("AMD K8", &pctr_k8),
	zen = AMD("AMD Zen", &pctr_zen),
	other = AMD("other", &no_events),
	arm = {
		"ARM", "kumf", "[-klu] [-f funct] [-m umask] [-s ctr]", 4, false, false, &pctr_arm
	};

/* Family and model as both vendors extend them. */
static unsigned int cpuid_family(uint32_t id)
{
	unsigned int family = id >> 8 & 0xf;

	return family == 0xf ? family + (id >> 20 & 0xff) : family;
}

static unsigned int cpuid_model(uint32_t id)
{
	return (id >> 4 & 0xf) | (id >> 12 & 0xf0);
}

static const struct pctr_model *cpuid_intel(uint32_t id)
{
	if (cpuid_family(id) == 15)
		return &netburst;
	if (cpuid_family(id) != 6)
		return &intel;
	switch (cpuid_model(id)) {
	case 0x0f: case 0x16: case 0x17: case 0x1d:
		return &core2;
	default:
		return cpuid_model(id) < 0x0f ? &p6 : &intel;
	}
}

const struct pctr_model *pctr_model(const char *vendor, uint32_t id)
{
	if (!strcmp(vendor, "GenuineIntel"))
		return cpuid_intel(id);
	if (!strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine"))
		return cpuid_family(id) < 0x17 ? &k8 : &zen;
	return strcmp(vendor, "ARM") ? &other : &arm;
}
