/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the resolution of addresses: the input is an ELF file with any debug information, and a
 * JIT map.  Each address gets at least one frame, each frame a text, and a second lookup gives the
 * same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/profile/object.h"

#define PROBES 256u
#define PID    7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void probe(struct symbols *s, struct image *image, uint64_t offset, bool call)
{
	struct place place = { .image = image, .offset = offset, .call = call };
	const struct frame *frames, *again;
	size_t n = 0, m = 0;
	char room[24];

	frames = symbols_frames(s, &place, &n);
	check(frames && n > 0);
	for (size_t i = 0; i < n; i++)
		check(*symbol_text(frames[i].symbol, room) &&
		      !strpbrk(symbol_text(frames[i].symbol, room), "\n\r\033"));
	again = symbols_frames(s, &place, &m);
	check(again == frames && m == n && symbols_function(s, &place) == frames[n - 1].symbol);
}

static void probe_image(struct symbols *s, struct image *image)
{
	const struct object *o = (const struct object *)image;
	uint64_t offset;

	image_covers(s, image, 0);
	check((image->state == IMAGE_OPEN) == !image->why || o->kind == OBJECT_JIT);
	for (size_t i = 0; i < o->nsegments && i < 8; i++)
		for (uint64_t at = 0; at < PROBES && at < o->segments[i].size; at += 3)
			probe(s, image, o->segments[i].offset + at, at & 1);
	for (size_t i = 0; i < o->names.n && i < PROBES; i++) {
		object_offset(o, o->names.entry[i].start, &offset);
		probe(s, image, offset, false);
		probe(s, image, offset, true);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/dev/shm/fuzz-symbols-XXXXXX", file[64], map[64], tmp[64];
	struct symbols *s = symbols_new(&(struct symbols_config){ .root = folder });
	struct image *image;

	check(s && mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(tmp, sizeof(tmp), "%s/tmp", folder);
	snprintf(map, sizeof(map), "%s/perf-%d.map", tmp, PID);
	put(file, data, size);
	image = symbols_image(s, "/file", NULL, 0, 0);
	check(image);
	probe_image(s, image);
	check(mkdir(tmp, 0700) == 0);
	put(map, data, size);
	image = symbols_jit(s, PID);
	check(image);
	probe(s, image, 0x1000, false);
	probe_image(s, image);
	symbols_free(s);
	check(unlink(map) == 0 && rmdir(tmp) == 0 && unlink(file) == 0 && rmdir(folder) == 0);
	return 0;
}
