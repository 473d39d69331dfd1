/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the decoder of trace rings: the input is a file of rings, decoded from both ends, an ELF
 * file, or an image of memory.  For any input, no read goes beyond it, no line exceeds the maximum,
 * and both ends find the same entries.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/points.h"
#include "cli/trace/scan.h"
#include "cli/common/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The tool's messages are not tested. */
int fail(int code, const char *format, ...)
{
	return code;
}

void note(const char *format, ...)
{
}

static uint64_t decode(struct rings *rings, struct points *points, enum merge_order order)
{
	char *line = malloc(FORMAT_ROOM);
	const struct item *item;
	struct merge merge;
	uint64_t n = 0;

	if (merge_open(&merge, &rings, 1, order, NULL, NULL) != 0)
		abort();
	for (; (item = merge_next(&merge)); n++) {
		const struct point *point = item->corrupt ? NULL :
			points_get(points, item->entry->ktr_desc);
		char *end = points_text(points, point, item, line);

		if (end < line || end > line + FORMAT_ROOM ||
		    item->index >= rings->header.entries || item->cpu >= rings->header.ncpu)
			abort();
		for (const char *p = line; p < end; p++)
			if ((unsigned char)*p < ' ' || *p == 0x7f)
				abort();
	}
	merge_close(&merge);
	free(line);
	return n;
}

static void decode_all(struct rings *rings, struct objects *objects, const struct saved *saved)
{
	struct points points;
	uint64_t n;

	points_open(&points, rings, objects);
	points.saved = saved;
	n = decode(rings, &points, MERGE_NEWEST);
	if (decode(rings, &points, MERGE_OLDEST) != n || decode(rings, &points, MERGE_APART) != n)
		abort();
	points_close(&points);
}

static void decode_file(struct memory *mem)
{
	struct objects objects = { 0 };
	struct saved saved = { 0 };
	struct rings rings;

	if (rings_open(&rings, mem, 0, "input") != 0)
		return;
	objects.region = &rings.header;
	if (saved_open(&saved, &rings) == -ENOENT)
		objects_of_region(&objects, mem, &rings.header);
	/* The names in the lines are files of this machine. */
	for (size_t i = 0; i < objects.nobjects; i++)
		objects.objects[i]->state = OBJECT_NONE;
	decode_all(&rings, &objects, saved.data ? &saved : NULL);
	saved_close(&saved);
	objects_close(&objects);
	rings_close(&rings);
}

static void decode_image(struct memory *mem)
{
	struct rings rings;
	struct scan *scan;

	if (scan_open(&scan, mem, "input") == 0 && scan_rings(scan, &rings) == 0) {
		decode_all(&rings, NULL, NULL);
		rings_close(&rings);
	}
	scan_close(scan);
}

/* The input as a program's executable, mapped at 0, with a trace point at each possible place. */
static void decode_elf(struct memory *mem)
{
	struct object_map map = { .start = 0, .end = UINT64_MAX };
	struct mapped_file object = { .path = NULL, .state = OBJECT_FILE };
	struct mapped_file *list[1] = { &object };
	struct memory nothing;
	struct objects objects = { .memory = &nothing, .maps = &map, .nmaps = 1, .objects = list,
				   .nobjects = 1 };
	char format[FORMAT_TEXT + 1], file[POINT_FILE];
	struct objects more = { 0 };
	struct ktr_site site;

	memory_map(&nothing, "", 0);
	if (elf_open(&object.elf, mem) != 0)
		return;
	map.object = &object;
	for (uint64_t n = 0; n < 64; n++)
		objects_site(&objects, object.elf.sites + 24 * n, &site, format, sizeof(format),
			     file, sizeof(file));
	if (objects_of_core(&more, mem, &object.elf) == 0 && more.nmaps > 1 &&
	    more.maps[0].start > more.maps[1].start)
		abort();
	objects_close(&more);
	elf_close(&object.elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory mem;

	memory_map(&mem, data, size);
	if (rings_probe(&mem, 0) == 0)
		decode_file(&mem);
	else if (size >= 4 && memcmp(data, "\177ELF", 4) == 0)
		decode_elf(&mem);
	else
		decode_image(&mem);
	return 0;
}
