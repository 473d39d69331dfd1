/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of regions: see rings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rings.h"
#include "cli/common/common.h"
#include "region.h"

static uint64_t rings_ring(const struct rings *rings, uint32_t ring)
{
	return rings->base + region_ring(&rings->header, ring);
}

static int rings_region_head(struct rings *rings, uint32_t ring, uint64_t *head)
{
	return memory_get(rings->mem, rings_ring(rings, ring), head, sizeof(*head));
}

static int rings_region_copy(struct rings *rings, uint32_t ring, uint64_t number, size_t count,
			     struct ktr_entry *to)
{
	uint64_t first = rings_ring(rings, ring) + sizeof(struct ktr_ring);
	uint32_t slot = (uint32_t)(number & (rings->header.entries - 1));
	size_t part = rings->header.entries - slot;
	int err;

	if (part > count)
		part = count;
	err = memory_get(rings->mem, first + (uint64_t)slot * KTR_ENTRY_SIZE, to,
		      part * sizeof(*to));
	if (!err && part < count)
		err = memory_get(rings->mem, first, to + part, (count - part) * sizeof(*to));
	return err;
}

int rings_probe(struct memory *mem, uint64_t base)
{
	char magic[sizeof(KTR_REGION_MAGIC)];
	int err = memory_get(mem, base, magic, sizeof(magic));

	if (err)
		return err;
	return memcmp(magic, KTR_REGION_MAGIC, sizeof(magic)) == 0 ? 0 : -ENOMSG;
}

static int rings_read_formats(struct rings *rings)
{
	const struct ktr_region *h = &rings->header;
	int err;

	if (!h->formats)
		return 0;
	rings->formats = calloc(h->formats, sizeof(*rings->formats));
	if (!rings->formats)
		return fail(EX_OSERR, "ERROR: out of memory");
	err = memory_get(rings->mem, rings->base + h->formats_offset, rings->formats,
		      h->formats * sizeof(*rings->formats));
	if (!err)
		return 0;
	rings_close(rings);
	return fail(EX_DATAERR, "ERROR: %s: the table of formats cannot be read: %s", rings->name,
		    strerror(-err));
}

int rings_open(struct rings *rings, struct memory *mem, uint64_t base, const char *name)
{
	const char *fault;
	int err;

	*rings = (struct rings){ .mem = mem,
				 .base = base,
				 .name = name,
				 .head = rings_region_head,
				 .copy = rings_region_copy };
	err = rings_probe(mem, base);
	if (err == -ENOMSG || err == -EFAULT)
		return fail(EX_DATAERR, "ERROR: %s: no trace rings: neither written by a program "
			    "with KTR_FILE nor by tdump --save", name);
	if (!err)
		err = memory_get(mem, base, &rings->header, sizeof(rings->header));
	if (err)
		return fail(EX_IOERR, "ERROR: %s: cannot be read: %s", name, strerror(-err));
	/* Terminates texts, whatever they contain. */
	rings->header.exe[sizeof(rings->header.exe) - 1] = '\0';
	rings->header.comm[sizeof(rings->header.comm) - 1] = '\0';
	if (rings->header.build_id_size > sizeof(rings->header.build_id))
		rings->header.build_id_size = 0;
	fault = region_fault(&rings->header, mem->size ? mem->size - base : UINT64_MAX);
	if (fault)
		return fail(EX_DATAERR, "ERROR: %s: unsound rings: %s", name, fault);
	return rings_read_formats(rings);
}

void rings_close(struct rings *rings)
{
	free(rings->formats);
	rings->formats = NULL;
}

static int rings_rate(struct rings *rings, const struct ktr_stamp *from, const struct ktr_stamp *to)
{
	if (!from->monotonic || to->monotonic <= from->monotonic || to->clock <= from->clock)
		return -ENODATA;
	rings->ns_a_clock = (double)(to->monotonic - from->monotonic) /
			    (double)(to->clock - from->clock);
	return 0;
}

int rings_to_ns(struct rings *rings, const struct ktr_stamp *now)
{
	const struct ktr_region *h = &rings->header;

	rings->clock0 = h->first.clock;
	rings->ns0 = h->first.monotonic;
	if (h->clock == KTR_CLOCK_MONOTONIC || h->clock == KTR_CLOCK_COARSE) {
		rings->clock0 = rings->ns0 = 0;
		rings->ns_a_clock = 1;
		return 0;
	}
	if ((now && rings_rate(rings, &h->first, now) == 0) ||
	    rings_rate(rings, &h->first, &h->last) == 0)
		return 0;
	if (!h->frequency)
		return -ENODATA;
	rings->ns_a_clock = 1e9 / (double)h->frequency;
	return 0;
}
