/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: event specifiers, and the kernel's descriptions of PMU fields.  For any input,
 * parsing stays inside its buffers and keeps its invariants.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/event/event.h"

#include <sys/pmc.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct evspec_machine machines[] = {
	{ .family = EVSPEC_NO_PMU, .nclass = 2, .class = { PMC_CLASS_SOFT, PMC_CLASS_TSC } },
	{ .family = EVSPEC_INTEL,
	  .nclass = 3,
	  .class = { PMC_CLASS_SOFT, PMC_CLASS_TSC, PMC_CLASS_IAP } },
	{ .family = EVSPEC_AMD,
	  .nclass = 3,
	  .class = { PMC_CLASS_SOFT, PMC_CLASS_TSC, PMC_CLASS_K8 } },
	{ .family = EVSPEC_ARM64, .nclass = 2, .class = { PMC_CLASS_SOFT, PMC_CLASS_ARMV8 } },
};

static void check(bool good)
{
	if (!good)
		abort();
}

static bool inside(const struct evspec *spec, const char *p)
{
	return p >= spec->text && p < spec->text + sizeof(spec->text);
}

static void parse(const char *text, const struct evspec_machine *m)
{
	struct evspec spec;
	struct reason why = { "" };
	unsigned int i;

	if (evspec_parse(text, m, &spec, &why) < 0) {
		check(*why.text && !strpbrk(why.text, "\n\r\033"));
		return;
	}
	check(inside(&spec, spec.event) && *spec.event);
	check(spec.nterms <= EVSPEC_MAX_PAIRS && spec.nquals <= EVSPEC_MAX_PAIRS);
	check(spec.class == -1 || !spec.raw);
	for (i = 0; i < spec.nterms; i++)
		check(inside(&spec, spec.terms[i].key) &&
		      (!spec.terms[i].value || inside(&spec, spec.terms[i].value)));
	for (i = 0; i < spec.nquals; i++)
		check(inside(&spec, spec.quals[i].key) && !strchr(spec.quals[i].key, ','));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char spelling[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];
	char *text = malloc(size + 1);
	struct pmu_field field;
	uint64_t config[3] = { 0 };
	unsigned int i, j, n;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		parse(text, &machines[i]);
		n = alias_spell(text, &machines[i], spelling);
		check(n <= ALIAS_MAX_SPELLINGS);
		for (j = 0; j < n; j++)
			parse(spelling[j], &machines[i]);
	}
	if (pmu_field_parse(text, &field) == 0) {
		check(field.word < 3 && field.mask);
		check(pmu_field_set(&field, 0, config) == 0 && config[field.word] == 0);
		check(pmu_field_set(&field, 1, config) == 0 &&
		      config[field.word] == (field.mask & -field.mask));
	}
	free(text);
	return 0;
}
