/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address spaces: which file lies where in a process.  A log tells where a mapping begins and what
 * is unmapped, not where a mapping ends; that the image itself knows.  A child has its parent's
 * mappings until one of the two changes them.
 */
#ifndef PMCBPF_CLI_PROFILE_SPACE_H
#define PMCBPF_CLI_PROFILE_SPACE_H

#include "symbol.h"

#define SPACE_MAPPINGS 65536u	/* Linux allows a process fewer: vm.max_map_count */

struct space_maps;

struct space {
	struct space_maps *maps;	/* NULL: none */
	struct image *jit;	/* of what no mapping explains */
	bool asked;		/* whether there is one */
	uint32_t number;	/* changes with every change; that of a child is its parent's */
};

/*
 * `base`: where the file's first byte would be.  `number`: what the space is from now on.  0,
 * -ENOMEM, or -E2BIG of more than SPACE_MAPPINGS.
 */
int space_map(struct space *space, uint64_t start, uint64_t base, struct image *image,
	      uint32_t number);
int space_unmap(struct space *space, struct symbols *symbols, uint64_t start, uint64_t end,
		uint32_t number);
void space_copy(struct space *to, const struct space *from);
void space_clear(struct space *space);

/* What the address means.  false: no mapping explains it, and *place has no image. */
bool space_place(const struct space *space, struct symbols *symbols, uint64_t address,
		 struct place *place);

/* One function, called `name` as its image is, stands for all: *image, once it has been made. */
void space_stand_in(struct symbols *symbols, struct image **image, const char *name,
		    uint64_t address, struct place *place);

/* Where the next mapping above the address begins; UINT64_MAX: there is none. */
uint64_t space_next(const struct space *space, uint64_t address);

/* Where the image with this path begins, NULL: it has no mapping. */
struct image *space_image(const struct space *space, const char *path, uint64_t *base);

#endif
