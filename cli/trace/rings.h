/* SPDX-License-Identifier: BSD-2-Clause */
/* The rings of a region (<sys/ktr_region.h>) in any memory, checked. */
#ifndef PMCBPF_CLI_TRACE_RINGS_H
#define PMCBPF_CLI_TRACE_RINGS_H

#include <sys/ktr_region.h>

#include "memory.h"

struct rings {
	struct memory *mem;
	const char *name;	/* for messages */
	struct ktr_region header;
	struct ktr_format *formats;
	uint64_t base;		/* of the header in memory */
	/* Entries ever written; copies entries [number, number + count).  0 or -errno. */
	int (*head)(struct rings *rings, uint32_t ring, uint64_t *head);
	int (*copy)(struct rings *rings, uint32_t ring, uint64_t number, size_t count,
		    struct ktr_entry *to);
	struct scan *scan;	/* scan.c's entries; NULL: a region */
	/* Conversion to the clock on which all rings are shown; 0: none. */
	double ns_a_clock;
	uint64_t clock0, ns0;
};

/* Opens the region at `base`.  0, or an exit code after a line that names `name`. */
int rings_open(struct rings *rings, struct memory *mem, uint64_t base, const char *name);
void rings_close(struct rings *rings);

/* Checks a region's magic.  0 or -errno. */
int rings_probe(struct memory *mem, uint64_t base);

static inline bool rings_kernel(const struct rings *rings)
{
	return rings->header.flags & KTR_REGION_KERNEL;
}

/*
 * Converts times to ns from now on.  `now` is a stamp taken on the same machine, or NULL.  0, or
 * -ENODATA: the frequency of the clock is unknown.
 */
int rings_to_ns(struct rings *rings, const struct ktr_stamp *now);

/* An entry's time on the chosen clock; a coarse clock's in us. */
static inline uint64_t rings_time(const struct rings *rings, uint64_t time)
{
	if (rings->header.clock == KTR_CLOCK_COARSE)
		return ((time >> 32) * 1000000 + (uint32_t)time) *
		       (rings->ns_a_clock != 0 ? 1000 : 1);
	if (rings->ns_a_clock == 0)
		return time;
	return rings->ns0 + (uint64_t)(int64_t)((double)(int64_t)(time - rings->clock0) *
						rings->ns_a_clock);
}

#endif
