/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers of tests of names: the function at an offset, the address of a function. */
#ifndef PMCBPF_UNIT_NAMING_H
#define PMCBPF_UNIT_NAMING_H

#include <stdio.h>
#include <stdlib.h>

#include "cli/profile/object.h"
#include "scratch.h"
#include "unit.h"

static inline struct symbols *with_root(const char *root)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ .root = root });

	assert_non_null(s);
	return s;
}

static inline const struct symbol *function(struct symbols *s, struct image *image, uint64_t offset)
{
	const struct place place = { .image = image, .offset = offset };
	const struct symbol *symbol = symbols_function(s, &place);

	assert_non_null(symbol);
	return symbol;
}

static inline void expect_name(struct symbols *s, struct image *image, uint64_t offset,
			       const char *name)
{
	char room[24];

	assert_string_equal(symbol_text(function(s, image, offset), room), name);
}

static inline struct image *open_image(struct symbols *s, const char *path)
{
	struct image *image = symbols_image(s, path, NULL, 0, 0);

	assert_non_null(image);
	image_covers(s, image, 0);
	return image;
}

/* The address of a symbol, by nm. */
static inline uint64_t nm(const char *file, const char *name)
{
	char *text, *end;
	uint64_t address;

	assert_int_equal(scratch_run("nm %s | grep -w '[tT] %s' >nm", file, name), 0);
	text = scratch_read("nm", NULL);
	address = strtoull(text, &end, 16);
	assert_int_equal(*end, ' ');
	free(text);
	return address;
}

static inline uint64_t offset_of(struct image *image, const char *file, const char *name)
{
	uint64_t offset;

	assert_true(object_offset((struct object *)image, nm(file, name), &offset));
	return offset;
}

#endif
