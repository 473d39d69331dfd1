/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a region's header: see region.h. */
#include <byteswap.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "region.h"

static const char *region_formats_fault(const struct ktr_region *head)
{
	uint64_t size = (uint64_t)head->formats * sizeof(struct ktr_format);

	if (head->formats && (head->formats_offset < sizeof(*head) ||
			      head->formats_offset > head->hdrsize ||
			      size > head->hdrsize - head->formats_offset))
		return "its table of formats is not in its header";
	return NULL;
}

const char *region_fault(const struct ktr_region *head, uint64_t size)
{
	if (size < KTR_REGION_PAGE || memcmp(head->magic, KTR_REGION_MAGIC, sizeof(head->magic)))
		return "it does not begin as a region does";
	if (head->version == bswap_32(KTR_REGION_VERSION))
		return "a machine of the other byte order wrote it: decode it there";
	if (head->version != KTR_REGION_VERSION)
		return "ktr version mismatch";
	if (head->entsize != KTR_ENTRY_SIZE)
		return "its entries are not of 64 bytes";
	if (head->entries == 0 || head->entries > KTR_REGION_ENTRIES ||
	    (head->entries & (head->entries - 1)))
		return "its number of entries is no power of two, or too large";
	if (head->ncpu == 0 || head->ncpu > KTR_REGION_CPUS)
		return "its number of rings is not possible";
	if (head->clock < KTR_CLOCK_TSC || head->clock > KTR_CLOCK_MONOTONIC)
		return "its clock is none that there is";
	if (head->hdrsize < KTR_REGION_PAGE || head->hdrsize % KTR_REGION_PAGE ||
	    head->hdrsize > REGION_HEADER_MAX ||
	    head->stride != sizeof(struct ktr_ring) + (uint64_t)head->entries * KTR_ENTRY_SIZE)
		return "its rings are not where they should be";
	if (region_size(head) > size)
		return "it is shorter than its rings";
	return region_formats_fault(head);
}

int region_map(int fd, struct ktr_region *head, const uint8_t **map, const char **fault)
{
	void *page = mmap(NULL, KTR_REGION_PAGE, PROT_READ, MAP_SHARED, fd, 0), *all;

	*fault = NULL;
	if (page == MAP_FAILED)
		return -errno;
	memcpy(head, page, sizeof(*head));
	munmap(page, KTR_REGION_PAGE);
	*fault = region_fault(head, UINT64_MAX);
	if (*fault)
		return -EBADMSG;
	/* The kernel refuses mappings larger than the map. */
	all = mmap(NULL, region_size(head), PROT_READ, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED)
		return -errno;
	*map = all;
	return 0;
}
