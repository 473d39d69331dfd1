/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted arrays, copied when a shared one is changed: see space.h. */
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "space.h"

struct space_mapping {
	uint64_t start, base;
	struct image *image;
	uint32_t age;
};

/* A range that was unmapped: older mappings do not count there. */
struct cut {
	uint64_t start, end;
	uint32_t age;
};

struct space_maps {
	unsigned int users;
	uint32_t age;			/* of the newest mapping or cut */
	struct space_mapping *mappings;	/* by start */
	size_t nmappings, mappings_size;
	struct cut *cuts;		/* by start, none overlaps another */
	size_t ncuts, cuts_size;
};

static void maps_release(struct space_maps *m)
{
	if (!m || --m->users)
		return;
	free(m->mappings);
	free(m->cuts);
	free(m);
}

/* Gives the space its own copy of its maps, with room for `more`.  NULL: no memory. */
static struct space_maps *maps_own(struct space *space, size_t more)
{
	struct space_maps *old = space->maps, *m = old;

	if (!old || old->users > 1) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return NULL;
		m->users = 1;
		m->age = old ? old->age : 0;
	}
	if (array_reserve(m->mappings, m->mappings_size, (old ? old->nmappings : 0) + more) ||
	    array_reserve(m->cuts, m->cuts_size, (old ? old->ncuts : 0) + more)) {
		if (m != old)
			maps_release(m);
		return NULL;
	}
	if (old && m != old) {
		memcpy(m->mappings, old->mappings, old->nmappings * sizeof(*m->mappings));
		memcpy(m->cuts, old->cuts, old->ncuts * sizeof(*m->cuts));
		m->nmappings = old->nmappings;
		m->ncuts = old->ncuts;
		maps_release(old);
	}
	space->maps = m;
	return m;
}

/* How many mappings begin at or below the address. */
static size_t maps_below(const struct space_maps *m, uint64_t address)
{
	return array_upto(m->mappings, m->nmappings, start, address);
}

/* The first cut that ends behind the address. */
static size_t maps_cut_at(const struct space_maps *m, uint64_t address)
{
	return array_upto(m->cuts, m->ncuts, end, address);
}

int space_map(struct space *space, uint64_t start, uint64_t base, struct image *image,
	      uint32_t number)
{
	struct space_maps *m = maps_own(space, 1);
	size_t at;

	if (!m)
		return -ENOMEM;
	at = maps_below(m, start);
	if (at && m->mappings[at - 1].start == start) {
		at--;
	} else if (m->nmappings >= SPACE_MAPPINGS) {
		return -E2BIG;
	} else {
		memmove(&m->mappings[at + 1], &m->mappings[at],
			(m->nmappings - at) * sizeof(*m->mappings));
		m->nmappings++;
	}
	m->mappings[at] = (struct space_mapping){ start, base, image, ++m->age };
	space->number = number;
	return 0;
}

/* Memory without code of a file is unmapped often, and is of no interest here. */
static bool maps_hold_code(const struct space_maps *m, struct symbols *symbols, uint64_t start,
			   uint64_t end)
{
	size_t below = m && start < end ? maps_below(m, end - 1) : 0;
	const struct space_mapping *map = below ? &m->mappings[below - 1] : NULL;

	return map && (map->start >= start ||
		       image_covers(symbols, map->image, start - map->base) ||
		       image_covers(symbols, map->image, end - 1 - map->base));
}

/* Removes cuts within the new one, shortens overlapping ones, splits one around it. */
int space_unmap(struct space *space, struct symbols *symbols, uint64_t start, uint64_t end,
		uint32_t number)
{
	struct cut left = { 0 }, right = { 0 };
	struct space_maps *m = space->maps;
	size_t from, to, n = 0;

	if (!maps_hold_code(m, symbols, start, end))
		return 0;
	if (m->ncuts >= SPACE_MAPPINGS)
		return -E2BIG;
	m = maps_own(space, 2);
	if (!m)
		return -ENOMEM;
	from = to = maps_cut_at(m, start);
	while (to < m->ncuts && m->cuts[to].start < end)
		to++;
	if (from < to) {
		left = m->cuts[from];
		left.end = start;
		right = m->cuts[to - 1];
		right.start = end;
	}
	n = 1 + (left.start < left.end) + (right.start < right.end);
	memmove(&m->cuts[from + n], &m->cuts[to], (m->ncuts - to) * sizeof(*m->cuts));
	m->ncuts = m->ncuts - (to - from) + n;
	if (left.start < left.end)
		m->cuts[from++] = left;
	m->cuts[from++] = (struct cut){ start, end, ++m->age };
	if (right.start < right.end)
		m->cuts[from] = right;
	space->number = number;
	return 0;
}

void space_clear(struct space *space)
{
	maps_release(space->maps);
	*space = (struct space){ 0 };
}

void space_copy(struct space *to, const struct space *from)
{
	space_clear(to);
	*to = *from;
	to->dump = NULL;
	if (to->maps)
		to->maps->users++;
}

int space_announce(struct space *space, struct image *dump, uint32_t number)
{
	space->dump = dump;
	space->asked = false;
	space->number = number;
	return 0;
}

bool space_place(const struct space *space, struct symbols *symbols, uint64_t address,
		 struct place *place)
{
	const struct space_maps *m = space->maps;
	uint32_t age = 0;
	size_t at;

	place->image = NULL;
	place->offset = address;
	place->cut = false;
	if (!m)
		return false;
	at = maps_cut_at(m, address);
	if (at < m->ncuts && m->cuts[at].start <= address)
		age = m->cuts[at].age;
	for (at = maps_below(m, address); at--;) {
		const struct space_mapping *map = &m->mappings[at];

		if (map->age <= age || !image_covers(symbols, map->image, address - map->base))
			continue;
		place->image = map->image;
		place->offset = address - map->base;
		return true;
	}
	return false;
}

void space_stand_in(struct symbols *symbols, struct image **image, const char *name,
		    uint64_t address, struct place *place)
{
	if (!*image) {
		*image = symbols_image(symbols, name, NULL, 0, SYMBOLS_KERNEL);
		if (*image)
			(void)symbols_add(symbols, *image, 0, name);
	}
	*place = (struct place){ .image = *image, .offset = address };
}

uint64_t space_next(const struct space *space, uint64_t address)
{
	const struct space_maps *m = space->maps;
	size_t at = m ? maps_below(m, address) : 0;

	return m && at < m->nmappings ? m->mappings[at].start : UINT64_MAX;
}

struct image *space_image(const struct space *space, const char *path, uint64_t *base)
{
	const struct space_maps *m = space->maps;

	for (size_t i = m ? m->nmappings : 0; i--;) {
		if (strcmp(m->mappings[i].image->path, path) != 0)
			continue;
		*base = m->mappings[i].base;
		return m->mappings[i].image;
	}
	return NULL;
}
