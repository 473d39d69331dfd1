/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "class.h"
#include "machine.h"

const struct wire_classinfo *machine_class(const struct machine *m, uint32_t class)
{
	for (unsigned int i = 0; i < m->cpu.nclass; i++)
		if (m->cpu.classes[i].class == class)
			return &m->cpu.classes[i];
	return NULL;
}

const struct wire_classinfo *machine_class_of(const struct machine *m, uint32_t class,
					      uint32_t pmu)
{
	for (unsigned int i = 0; i < m->cpu.nclass; i++)
		if (m->cpu.classes[i].class == class && m->cpu.classes[i].perf_type == pmu)
			return &m->cpu.classes[i];
	return machine_class(m, class);
}

bool machine_class_is_hardware(const struct wire_classinfo *class)
{
	return class_of(class->class)->hardware && class->pmu[0];
}

const struct machine_event *machine_pmu(const struct machine *m, const char *name)
{
	for (unsigned int i = 0; i < m->pmus.n; i++)
		if (strcmp(m->pmus.event[i].name, name) == 0)
			return &m->pmus.event[i];
	return NULL;
}

void machine_evspec(const struct machine *m, struct evspec_machine *out)
{
	static const struct {
		uint32_t class;
		enum evspec_family family;
	} families[] = {
		{ PMC_CLASS_IAP, EVSPEC_INTEL },
		{ PMC_CLASS_K8, EVSPEC_AMD },
		{ PMC_CLASS_ARMV8, EVSPEC_ARM64 },
	};

	memset(out, 0, sizeof(*out));
	out->nclass = m->cpu.nclass;
	for (unsigned int i = 0; i < out->nclass; i++)
		out->class[i] = m->cpu.classes[i].class;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !out->family; i++)
		if (machine_class(m, families[i].class))
			out->family = families[i].family;
}
