/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of a sample in their record, which the parser has checked. */
#include "lib/base/logfield.h"
#include "lib/base/logvalues.h"
#include "lib/pmc/pmc.h"
#include "pmclog.h"

PMC_API_PUBLIC const uint64_t *pmclog_value(const struct pmclog_ev_values *v,
					    enum pmclog_value value, unsigned int *words)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < PMCLOG_VALUES; i++) {
		unsigned int n = v->pl_values >> i & 1 ?
					 logvalue_words(&logvalues[i], v->pl_word + at,
							v->pl_nwords - at) : 0;

		if (value == 1u << i) {
			*words = n;
			return n ? v->pl_word + at : NULL;
		}
		at += n;
	}
	return NULL;
}

PMC_API_PUBLIC const void *pmclog_field(const struct pmclog_ev_values *v,
					const struct pmclog_ev_field *field, size_t *size)
{
	unsigned int words;
	const uint64_t *at = pmclog_value(v, PMCLOG_VALUE_RAW, &words);

	return at ? logfield_bytes(at, field, size) : NULL;
}
