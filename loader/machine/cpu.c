/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU identification: a table of Intel's models, AMD as one type, ARM by its part number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>

#include "cpu.h"

#define MODELS(...) (const uint8_t[]){ __VA_ARGS__, 0 }

static const struct {
	uint32_t type;
	const uint8_t *models;		/* of family 6, ended by 0 */
} intel_models[] = {
	{ PMC_CPU_INTEL_CORE, MODELS(0x0e) },
	{ PMC_CPU_INTEL_CORE2, MODELS(0x0f) },
	{ PMC_CPU_INTEL_CORE2EXTREME, MODELS(0x17) },
	{ PMC_CPU_INTEL_ATOM, MODELS(0x1c, 0x26, 0x27, 0x35, 0x36) },
	{ PMC_CPU_INTEL_COREI7, MODELS(0x1a, 0x1e, 0x1f) },
	{ PMC_CPU_INTEL_NEHALEM_EX, MODELS(0x2e) },
	{ PMC_CPU_INTEL_WESTMERE, MODELS(0x25, 0x2c) },
	{ PMC_CPU_INTEL_WESTMERE_EX, MODELS(0x2f) },
	{ PMC_CPU_INTEL_SANDYBRIDGE, MODELS(0x2a) },
	{ PMC_CPU_INTEL_SANDYBRIDGE_XEON, MODELS(0x2d) },
	{ PMC_CPU_INTEL_IVYBRIDGE, MODELS(0x3a) },
	{ PMC_CPU_INTEL_IVYBRIDGE_XEON, MODELS(0x3e) },
	{ PMC_CPU_INTEL_HASWELL, MODELS(0x3c, 0x45, 0x46) },
	{ PMC_CPU_INTEL_HASWELL_XEON, MODELS(0x3f) },
	{ PMC_CPU_INTEL_ATOM_SILVERMONT, MODELS(0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d) },
	{ PMC_CPU_INTEL_BROADWELL, MODELS(0x3d, 0x47) },
	{ PMC_CPU_INTEL_BROADWELL_XEON, MODELS(0x4f, 0x56) },
	{ PMC_CPU_INTEL_SKYLAKE, MODELS(0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6) },
	{ PMC_CPU_INTEL_SKYLAKE_XEON, MODELS(0x55) },
	{ PMC_CPU_INTEL_ATOM_GOLDMONT, MODELS(0x5c, 0x5f) },
	{ PMC_CPU_INTEL_ATOM_GOLDMONT_P, MODELS(0x7a) },
	{ PMC_CPU_INTEL_ICELAKE, MODELS(0x7d, 0x7e, 0x8c, 0x8d, 0xa7) },
	{ PMC_CPU_INTEL_ICELAKE_XEON, MODELS(0x6a, 0x6c) },
	{ PMC_CPU_INTEL_ATOM_TREMONT, MODELS(0x86, 0x96, 0x9c) },
	{ PMC_CPU_INTEL_ALDERLAKE, MODELS(0x97, 0x9a, 0xb7, 0xba, 0xbf) },
	{ PMC_CPU_INTEL_ALDERLAKEN, MODELS(0xbe) },
	{ PMC_CPU_INTEL_SAPPHIRE_RAPIDS, MODELS(0x8f) },
	{ PMC_CPU_INTEL_EMERALD_RAPIDS, MODELS(0xcf) },
	{ PMC_CPU_INTEL_GRANITE_RAPIDS, MODELS(0xad, 0xae) },
	{ PMC_CPU_INTEL_METEOR_LAKE, MODELS(0xaa, 0xac, 0xb5, 0xc5, 0xc6) },
};

uint32_t cpu_intel_type(unsigned int family, unsigned int model)
{
	for (unsigned int i = 0; family == 6 && i < sizeof(intel_models) / sizeof(intel_models[0]);
	     i++)
		for (const uint8_t *m = intel_models[i].models; *m; m++)
			if (*m == model)
				return intel_models[i].type;
	return PMC_CPU_GENERIC;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

void cpu_identify(struct cpu *cpu)
{
	unsigned int max, eax, ebx, ecx, edx, family, model;
	char vendor[13];

	memset(cpu, 0, sizeof(*cpu));
	cpu->type = PMC_CPU_GENERIC;
	if (!__get_cpuid(0, &max, &ebx, &ecx, &edx))
		return;
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &edx, 4);
	memcpy(vendor + 8, &ecx, 4);
	vendor[12] = '\0';
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return;
	family = eax >> 8 & 0xf;
	model = eax >> 4 & 0xf;
	if (family == 6 || family == 15)
		model |= eax >> 12 & 0xf0;
	if (family == 15)
		family += eax >> 20 & 0xff;
	cpu->tsc = edx >> 4 & 1;
	snprintf(cpu->id, sizeof(cpu->id), "%s-%u-%02X-%X", vendor, family, model, eax & 0xf);
	cpu->aperf = __get_cpuid(6, &eax, &ebx, &ecx, &edx) && ecx & 1;
	if (!strcmp(vendor, "GenuineIntel"))
		cpu->type = cpu_intel_type(family, model);
	else if (!strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine"))
		cpu->type = PMC_CPU_AMD_K8;
}
#else

#define MIDR_FILE "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"

void cpu_identify(struct cpu *cpu)
{
	char text[32] = "";
	FILE *f = fopen(MIDR_FILE, "re");
	unsigned long long midr;

	memset(cpu, 0, sizeof(*cpu));
	cpu->type = PMC_CPU_GENERIC;
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	midr = strtoull(text, NULL, 16);
	if (!midr)
		return;
	snprintf(cpu->id, sizeof(cpu->id), "0x%016llx", midr);
	switch (midr >> 4 & 0xfff) {
	case 0xd03:
		cpu->type = PMC_CPU_ARMV8_CORTEX_A53;
		break;
	case 0xd0b:
	case 0xd0c:	/* Neoverse N1, derived from the A76 */
		cpu->type = PMC_CPU_ARMV8_CORTEX_A76;
		break;
	default:	/* every other ARMv8 counts the architecture's events, like the A57 */
		cpu->type = PMC_CPU_ARMV8_CORTEX_A57;
	}
}
#endif
