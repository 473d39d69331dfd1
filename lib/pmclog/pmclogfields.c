/* SPDX-License-Identifier: BSD-2-Clause */
/* See pmclogfields.h. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "pmclogfields.h"

#define FIELDS_MAX 65536u		/* of a log: 6 MB */

static struct pmclogfields_pmc *pmc_find(struct pmclogfields *f, pmc_id_t id)
{
	if (f->latest < f->n && f->pmc[f->latest].id == id)
		return &f->pmc[f->latest];
	for (unsigned int i = 0; i < f->n; i++)
		if (f->pmc[i].id == id) {
			f->latest = i;
			return &f->pmc[i];
		}
	return NULL;
}

int pmclogfields_add(struct pmclogfields *f, const struct pmclog_ev_field *field)
{
	struct pmclogfields_pmc *p = pmc_find(f, field->pl_pmcid);

	if (f->total >= FIELDS_MAX)
		return -E2BIG;
	if (!p) {
		if (array_reserve(f->pmc, f->room, f->n + 1))
			return -ENOMEM;
		p = &f->pmc[f->n++];
		*p = (struct pmclogfields_pmc){ .id = field->pl_pmcid };
	}
	if (array_reserve(p->field, p->room, p->n + 1))
		return -ENOMEM;
	p->field[p->n++] = *field;
	f->total++;
	return 0;
}

void pmclogfields_forget(struct pmclogfields *f, pmc_id_t id)
{
	struct pmclogfields_pmc *p = pmc_find(f, id);

	if (!p)
		return;
	f->total -= p->n;
	free(p->field);
	*p = f->pmc[--f->n];
}

const struct pmclog_ev_field *pmclogfields_of(struct pmclogfields *f, pmc_id_t id, unsigned int *n)
{
	const struct pmclogfields_pmc *p = pmc_find(f, id);

	*n = p ? p->n : 0;
	return p ? p->field : NULL;
}

void pmclogfields_free(struct pmclogfields *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		free(f->pmc[i].field);
	free(f->pmc);
}
