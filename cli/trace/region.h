/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of trace regions (<sys/ktr_region.h>), which are untrusted: one check for all readers. */
#ifndef PMCBPF_CLI_TRACE_REGION_H
#define PMCBPF_CLI_TRACE_REGION_H

#include <sys/ktr_region.h>

#define REGION_HEADER_MAX (16u << 20)	/* bytes before the first ring: at most so many formats */

/* The fault in the header of a region of `size` bytes; NULL: none. */
const char *region_fault(const struct ktr_region *head, uint64_t size);

/*
 * Maps all of the kernel's rings for reading; the first page has their size.  0; -EBADMSG, with the
 * reason in *fault; or -errno.
 */
int region_map(int fd, struct ktr_region *head, const uint8_t **map, const char **fault);

/* Offsets in a region with a checked header: of a ring, of the end of the last one. */
static inline uint64_t region_ring(const struct ktr_region *head, uint32_t ring)
{
	return head->hdrsize + ring * head->stride;
}

static inline uint64_t region_size(const struct ktr_region *head)
{
	return region_ring(head, head->ncpu);
}

/* The offset of the data that a saved file has behind its rings. */
static inline uint64_t region_tail(const struct ktr_region *head)
{
	return (region_size(head) + KTR_REGION_PAGE - 1) & ~(uint64_t)(KTR_REGION_PAGE - 1);
}

#endif
