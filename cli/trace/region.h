/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of trace regions (<sys/ktr_region.h>), written by others: one check for all readers. */
#ifndef PMCBPF_CLI_TRACE_REGION_H
#define PMCBPF_CLI_TRACE_REGION_H

#include <sys/ktr_region.h>

#define REGION_HEADER_MAX (16u << 20)	/* bytes before the first ring: all formats there can be */

/* The fault of a header of a region of `size` bytes; NULL: none. */
const char *region_fault(const struct ktr_region *head, uint64_t size);

/*
 * Maps all of the kernel's rings, to be read; their size is in their first page.  0; -EBADMSG and
 * *fault says why; or -errno.
 */
int region_map(int fd, struct ktr_region *head, const uint8_t **map, const char **fault);

/* Offsets in a header that was checked: of a ring, behind the last one. */
static inline uint64_t region_ring(const struct ktr_region *head, uint32_t ring)
{
	return head->hdrsize + ring * head->stride;
}

static inline uint64_t region_size(const struct ktr_region *head)
{
	return region_ring(head, head->ncpu);
}

/* The offset of what a saved file appends to its rings. */
static inline uint64_t region_tail(const struct ktr_region *head)
{
	return (region_size(head) + KTR_REGION_PAGE - 1) & ~(uint64_t)(KTR_REGION_PAGE - 1);
}

#endif
