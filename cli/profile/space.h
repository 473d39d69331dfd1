/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address spaces: which image is mapped where in a process.
 *
 * A log has the start of each mapping and the ranges that are unmapped, but no ends: whether an
 * address still belongs to a mapping is decided by the segments of its image (image_covers()).  So
 * an address belongs to the newest mapping that starts at or below it, has an image that covers it,
 * and is newer than the last unmapping of that address.  Mappings and unmapped ranges (cuts) are
 * numbered by age for that.
 *
 * A forked child shares its parent's mappings until one of the two changes them.
 */
#ifndef PMCBPF_CLI_PROFILE_SPACE_H
#define PMCBPF_CLI_PROFILE_SPACE_H

#include "symbol.h"

#define SPACE_MAPPINGS 65536u	/* Linux allows a process fewer: vm.max_map_count */

struct space_maps;

struct space {
	struct space_maps *maps;	/* NULL: none */
	struct image *jit;	/* of addresses outside all mappings */
	struct image *dump;	/* the jitdump that the process has mapped */
	bool asked;		/* it was looked for */
	uint32_t number;	/* changes with every change; a child begins with its parent's */
};

/*
 * `base`: the address of the file's first byte.  `number`: the new one of the space.  0, -ENOMEM,
 * or -E2BIG: more than SPACE_MAPPINGS.
 */
int space_map(struct space *space, uint64_t start, uint64_t base, struct image *image,
	      uint32_t number);
int space_unmap(struct space *space, struct symbols *symbols, uint64_t start, uint64_t end,
		uint32_t number);
/* A page of a jitdump is mapped to announce it; no code is there.  Returns 0. */
int space_announce(struct space *space, struct image *dump, uint32_t number);
void space_copy(struct space *to, const struct space *from);
void space_clear(struct space *space);

/* The place of an address.  false: it is in no mapping, and *place has no image. */
bool space_place(const struct space *space, struct symbols *symbols, uint64_t address,
		 struct place *place);

/* An image `name` with one function of the same name, for all addresses; made once, in *image. */
void space_stand_in(struct symbols *symbols, struct image **image, const char *name,
		    uint64_t address, struct place *place);

/* Where the next mapping above the address begins; UINT64_MAX: there is none. */
uint64_t space_next(const struct space *space, uint64_t address);

/* Where the image with this path begins, NULL: it has no mapping. */
struct image *space_image(const struct space *space, const char *path, uint64_t *base);

#endif
