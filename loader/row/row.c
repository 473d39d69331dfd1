/* SPDX-License-Identifier: BSD-2-Clause */
/* The row table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>

#include "row.h"

int row_table_init(struct row_table *t, unsigned int ncpu, struct reason *why)
{
	memset(t, 0, sizeof(*t));
	t->ncpu = ncpu;
	if (ncpu == 0 || ncpu > ROW_CPU_MAX)
		return deny(why, -EINVAL, "%u CPUs: handles number at most %u", ncpu, ROW_CPU_MAX);
	return 0;
}

static void row_table_truncate(struct row_table *t, unsigned int nrow)
{
	while (t->nrow > nrow) {
		free(t->rows[--t->nrow].cpu);
		memset(&t->rows[t->nrow], 0, sizeof(t->rows[0]));
	}
}

void row_table_free(struct row_table *t)
{
	row_table_truncate(t, 0);
	t->nclass = 0;
}

int row_add_class(struct row_table *t, const struct row_class *class, struct reason *why)
{
	unsigned int first = t->nrow;

	if (t->nclass == WIRE_CLASS_MAX || first + class->info.num > ROW_MAX)
		return deny(why, -ENOSPC,
			    "no room for the %u rows of %s: at most %u classes and %u rows",
			    class->info.num, class->prefix, WIRE_CLASS_MAX, ROW_MAX);
	for (unsigned int i = 0; i < class->info.num; i++) {
		struct row *r = &t->rows[first + i];

		memset(r, 0, sizeof(*r));
		r->class = t->nclass;
		r->cpu = calloc(t->ncpu, sizeof(*r->cpu));
		if (!r->cpu) {
			row_table_truncate(t, first);
			return deny(why, -ENOMEM, "no memory for rows");
		}
		t->nrow++;
	}
	t->classes[t->nclass] = *class;
	t->classes[t->nclass++].info.first_row = first;
	return 0;
}

int row_drop_discovered(struct row_table *t)
{
	unsigned int nclass = t->nclass;

	while (nclass && t->classes[nclass - 1].ops->rediscovered)
		nclass--;
	if (nclass == t->nclass)
		return 0;
	for (unsigned int i = t->classes[nclass].info.first_row; i < t->nrow; i++)
		if (!LIST_EMPTY(&t->rows[i].pmcs))
			return -EBUSY;
	row_table_truncate(t, t->classes[nclass].info.first_row);
	t->nclass = nclass;
	return 0;
}

const struct row_class *row_class_find(const struct row_table *t, uint32_t class)
{
	for (unsigned int i = 0; i < t->nclass; i++)
		if (t->classes[i].info.class == class)
			return &t->classes[i];
	return NULL;
}

const struct row_class *row_class_find_pmu(const struct row_table *t, uint32_t class,
					   uint32_t pmu)
{
	for (unsigned int i = 0; i < t->nclass; i++) {
		const struct row_class *c = &t->classes[i];

		if (c->info.class == class &&
		    (!pmu || !c->ops->counters || c->info.perf_type == pmu))
			return c;
	}
	return NULL;
}

void row_name(const struct row_table *t, unsigned int row, char *buf, size_t size)
{
	const struct row_class *c = &t->classes[t->rows[row].class];
	unsigned int n = row - c->info.first_row;

	if (c->name)
		snprintf(buf, size, "%s-%s", c->prefix, c->name[n]);
	else if (!c->numbered)
		snprintf(buf, size, "%s", c->prefix);
	else
		snprintf(buf, size, "%s%s%u", c->prefix, c->ops->separator, n);
}

uint32_t row_disposition(const struct row *r)
{
	if (r->balance == 0)
		return PMC_DISP_FREE;
	return r->balance > 0 ? PMC_DISP_THREAD : PMC_DISP_STANDALONE;
}

bool row_class_pools(const struct row_class *c)
{
	return !c->ops->one_row && c->info.num > 1;
}

bool row_is_reserved(const struct row_class *c, unsigned int row, unsigned int reserve)
{
	return row_class_pools(c) && row - c->info.first_row + reserve >= c->info.num;
}

enum row_verdict row_judge(const struct row *r, const struct row_request *rq)
{
	if (rq->own)
		return ROW_OWN;
	if (rq->reserved)
		return ROW_RESERVED;
	if (rq->no_more && r->balance == 0)
		return ROW_NO_MORE;
	if (!rq->system) {
		if (r->balance < 0)
			return ROW_IS_STANDALONE;
		return rq->target ? ROW_TARGET : ROW_FITS;
	}
	if (r->balance > 0)
		return ROW_IS_THREAD;
	if (r->cpu[rq->cpu].disabled)
		return ROW_SLOT_DISABLED;
	return r->cpu[rq->cpu].users && !rq->shareable ? ROW_SLOT_USED : ROW_FITS;
}

static int row_by_preference(const void *pa, const void *pb)
{
	const struct row_choice *a = pa, *b = pb;
	int ka = a->rank ? 2 : !a->shared, kb = b->rank ? 2 : !b->shared;

	if (a->load != b->load)
		return a->load < b->load ? -1 : 1;
	return ka != kb ? ka - kb : (int)a->row - (int)b->row;
}

void row_order(struct row_choice *choices, unsigned int n)
{
	qsort(choices, n, sizeof(*choices), row_by_preference);
}

void row_take(struct row *r, bool system, unsigned int cpu, struct pmc *pmc)
{
	if (!system) {
		r->balance++;
		return;
	}
	r->balance--;
	r->cpu[cpu].users++;
	r->cpu[cpu].last = pmc;
}

void row_give(struct row *r, bool system, unsigned int cpu, struct pmc *next)
{
	if (!system) {
		r->balance--;
		return;
	}
	r->balance++;
	r->cpu[cpu].users--;
	r->cpu[cpu].last = next;
}

int row_disable(struct row *r, unsigned int cpu)
{
	if (r->balance > 0 || r->cpu[cpu].users)
		return -EBUSY;
	if (!r->cpu[cpu].disabled)
		r->balance--;
	r->cpu[cpu].disabled = true;
	return 0;
}

int row_enable(struct row *r, unsigned int cpu)
{
	if (r->cpu[cpu].users)
		return -EBUSY;
	if (r->cpu[cpu].disabled)
		r->balance++;
	r->cpu[cpu].disabled = false;
	return 0;
}
