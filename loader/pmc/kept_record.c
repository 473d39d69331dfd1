/* SPDX-License-Identifier: BSD-2-Clause */
/* See kept_record.h. */
#include <stdlib.h>
#include <string.h>

#include "kept_record.h"

#define KINDS	4			/* of records that belong to a sample */
#define SAMPLES 3			/* a task's hit, an interrupt's, and one that masks these */
#define PLACES	(KINDS * SAMPLES)

struct kept_record {
	uint64_t order;			/* of its arrival; 0: the place is free */
	struct abi_rec rec;
	uint64_t *data;
	size_t room;			/* words */
};

struct kept_records {
	uint64_t order;
	unsigned int ncpu;
	struct kept_record cpu[][PLACES];
};

struct kept_records *kept_records_new(unsigned int ncpu)
{
	struct kept_records *k = calloc(1, sizeof(*k) + ncpu * sizeof(k->cpu[0]));

	if (k)
		k->ncpu = ncpu;
	return k;
}

void kept_records_free(struct kept_records *k)
{
	for (unsigned int cpu = 0; k && cpu < k->ncpu; cpu++)
		for (unsigned int i = 0; i < PLACES; i++)
			free(k->cpu[cpu][i].data);
	free(k);
}

/* A free place; without one, the place of the oldest record. */
static struct kept_record *place_find(struct kept_record *place)
{
	struct kept_record *oldest = place;

	for (unsigned int i = 1; i < PLACES && oldest->order; i++)
		if (place[i].order < oldest->order)
			oldest = &place[i];
	return oldest;
}

void kept_record_add(struct kept_records *k, const struct abi_rec *rec, const uint64_t *data)
{
	struct kept_record *r;

	if (rec->cpu >= k->ncpu)
		return;
	r = place_find(k->cpu[rec->cpu]);
	r->order = 0;
	if (rec->n > r->room) {
		free(r->data);
		r->data = malloc(rec->n * sizeof(*data));
		r->room = r->data ? rec->n : 0;
	}
	if (!r->data)
		return;
	r->order = ++k->order;
	r->rec = *rec;
	memcpy(r->data, data, rec->n * sizeof(*data));
}

const uint64_t *kept_record_take(struct kept_records *k, uint16_t kind,
				 const struct abi_rec *sample, size_t *words)
{
	for (unsigned int i = 0; sample->cpu < k->ncpu && i < PLACES; i++) {
		struct kept_record *r = &k->cpu[sample->cpu][i];

		if (r->order && r->rec.kind == kind && r->rec.pmc == sample->pmc &&
		    r->rec.tid == sample->tid && r->rec.time == sample->time) {
			r->order = 0;
			*words = r->rec.n;
			return r->data;
		}
	}
	return NULL;
}
