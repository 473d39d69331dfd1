/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls the trace points of asm_points.S and prints their entries: class, format and parameter. */
#define KTR
#include <stdio.h>
#include <stdlib.h>
#include <sys/ktr.h>

#include "rings.h"

unsigned long asm_points(void);

int main(void)
{
	const struct ktr_region *region = rings_of_process("/memfd:ktr");
	unsigned long changed;

	if (!region)
		return 1;
	ktr_mask = KTR_GEN | KTR_SMP;
	changed = asm_points();
	if (changed)
		printf("registers have changed: %lx\n", changed);
	for (unsigned int cpu = 0; cpu < region->ncpu; cpu++) {
		struct ktr_entry *copy = calloc(region->entries, sizeof(*copy));
		size_t n = copy ? rings_copy(region, cpu, copy, NULL) : 0;

		for (size_t i = 0; i < n; i++) {
			const struct ktr_site *site = (const void *)(uintptr_t)copy[i].ktr_desc;

			printf("%x %s: %s: %llx\n", site->ktr_class,
			       strrchr((const char *)&site->ktr_file + site->ktr_file, '/') + 1,
			       (const char *)&site->ktr_fmt + site->ktr_fmt,
			       (unsigned long long)copy[i].ktr_parm1);
		}
		free(copy);
	}
	return 0;
}
