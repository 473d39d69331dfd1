/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the list of registers: a refusal names the place; an accepted list is valid for the
 * module.
 */
#include <stdlib.h>
#include <string.h>

#include "loader/config/msrlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct msrlist list;
	struct reason why = { "" };

	for (enum msr_vendor v = MSR_INTEL; v <= MSR_OTHER; v++) {
		if (msrlist_text("f", (const char *)data, size, v, &list, &why)) {
			if (strncmp(why.text, "f:", 2) || strchr(why.text, '\n'))
				abort();
			continue;
		}
		for (unsigned int i = 0; i < list.n; i++) {
			const struct msrlist_entry *e = &list.entry[i];

			if ((i && e[-1].reg >= e->reg) || e->read & (e->read + 1) ||
			    !(e->read | e->write) || msrlist_find(&list, e->reg) != e)
				abort();
		}
	}
	return 0;
}
