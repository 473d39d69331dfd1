/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena: memory that is freed all at once. */
#ifndef PMCBPF_CLI_PROFILE_ARENA_H
#define PMCBPF_CLI_PROFILE_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_chunk *chunks;
	size_t used;		/* of the first chunk */
};

/* Zeroed, aligned for anything, freed with all others.  NULL: no memory. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_string(struct arena *a, const char *text);
void arena_free(struct arena *a);

#endif
