/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs and the lists they are on. */
#include <errno.h>
#include <stdlib.h>

#include <sys/pmc.h>

#include "pmc.h"

bool pmc_is_system(const struct pmc *p)
{
	return PMC_IS_SYSTEM_MODE(p->mode);
}

bool pmc_is_sampling(const struct pmc *p)
{
	return PMC_IS_SAMPLING_MODE(p->mode);
}

void pmc_link(struct row_table *rows, struct pmc *p)
{
	struct row *r = &rows->rows[p->row];
	struct pmc **tail = &p->owner->pmcs;

	while (*tail)
		tail = &(*tail)->next_owned;
	*tail = p;
	p->next_owned = NULL;
	p->owner->npmc++;
	p->next_on_row = r->pmcs;
	r->pmcs = p;
	row_take(r, pmc_is_system(p), p->cpu, p);
}

void pmc_release(struct row_table *rows, struct pmc *p)
{
	struct row *r = &rows->rows[p->row];
	struct pmc **link, *latest;

	for (link = &p->owner->pmcs; *link != p; link = &(*link)->next_owned)
		;
	*link = p->next_owned;
	p->owner->npmc--;
	for (link = &r->pmcs; *link != p; link = &(*link)->next_on_row)
		;
	*link = p->next_on_row;
	/* The list has the latest first. */
	for (latest = r->pmcs; latest; latest = latest->next_on_row)
		if (pmc_is_system(latest) && latest->cpu == p->cpu)
			break;
	row_give(r, pmc_is_system(p), p->cpu, latest);
	count_free(p->count);
	free(p);
}

void pmc_release_all(struct row_table *rows, struct owner *o)
{
	while (o->pmcs)
		pmc_release(rows, o->pmcs);
}

int pmc_find(const struct owner *o, uint32_t id, struct pmc **out, struct why *why)
{
	if (!o->npmc)
		return deny(why, -ESRCH, "this process owns no PMC; allocate one first");
	for (struct pmc *p = o->pmcs; p; p = p->next_owned)
		if (p->id == id) {
			*out = p;
			return 0;
		}
	return deny(why, -EINVAL, "this process owns no PMC with the handle 0x%08x", id);
}

struct pmc *pmc_own_on_row(const struct row *r, const struct owner *o, bool system,
			   unsigned int cpu)
{
	for (struct pmc *p = r->pmcs; p; p = p->next_on_row)
		if (p->owner == o && pmc_is_system(p) == system && (!system || p->cpu == cpu))
			return p;
	return NULL;
}
