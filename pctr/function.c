/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event, unit mask, edge, inversion and threshold are at the same bits in the function word, in the
 * selector registers of Intel and AMD, and in perf's config; modes are qualifiers there.
 */
#include <errno.h>
#include <stdio.h>

#include <machine/pctr.h>

#include "function.h"

#define EVENT_MASK  0xffffu
#define CONFIG_MASK (0xff000000u | PCTR_I | PCTR_E | EVENT_MASK)

int function_check(enum vendor vendor, uint32_t fn)
{
	uint32_t wrong = FUNCTION_RESERVED;

	if (vendor == VENDOR_ARM)
		wrong |= CONFIG_MASK & ~EVENT_MASK;
	return fn & wrong ? -EINVAL : 0;
}

bool function_counts(uint32_t fn)
{
	return fn & PCTR_EN && fn & (PCTR_U | PCTR_K);
}

/* Software events for machines without counters: the whole path can be tested there. */
static const char *function_stand_in(uint32_t fn)
{
	switch (fn & 0xff) {
	case 0x76:
		return "CPU_CLOCK";
	case 0xc0:
		return "PAGE_FAULT.ALL";
	default:
		return "CONTEXT_SWITCHES";
	}
}

static const char *function_modes(uint32_t fn)
{
	switch (fn & (PCTR_U | PCTR_K)) {
	case PCTR_U:
		return ",usr";
	case PCTR_K:
		return ",os";
	default:
		return "";
	}
}

void function_spec(enum vendor vendor, uint32_t fn, const char *pmu, char *spec, size_t size)
{
	uint32_t config = fn & (vendor == VENDOR_ARM ? EVENT_MASK : CONFIG_MASK);

	if (pmu)
		snprintf(spec, size, "%s/config=0x%x/%s", pmu, config, function_modes(fn));
	else
		snprintf(spec, size, "%s", function_stand_in(fn));
}
