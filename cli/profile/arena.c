/* SPDX-License-Identifier: BSD-2-Clause */
/* See arena.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define CHUNK (64u << 10)
#define ALIGN 16u

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	_Alignas(ALIGN) unsigned char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *chunk = a->chunks;
	size_t want;

	if (size > SIZE_MAX / 2)
		return NULL;
	want = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!chunk || chunk->size - a->used < want) {
		size_t room = want > CHUNK ? want : CHUNK;

		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = a->chunks;
		a->chunks = chunk;
		a->used = 0;
	}
	a->used += want;
	return chunk->data + a->used - want;
}

char *arena_string(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = arena_alloc(a, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void arena_free(struct arena *a)
{
	struct arena_chunk *chunk;

	while ((chunk = a->chunks)) {
		a->chunks = chunk->next;
		free(chunk);
	}
	a->used = 0;
}
