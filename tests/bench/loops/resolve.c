/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names addresses of a file, one hexadecimal address on each line of standard input, as `addr2line
 * -Cfi` does: its output is compared with addr2line's.  -t: prints, instead of names, the time of a
 * first and of a second pass.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/array.h"
#include "cli/profile/object.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print(const struct frame *frames, size_t n)
{
	char room[24];

	for (size_t i = 0; i < n; i++) {
		printf("%s\n", frames[i].symbol->name ? symbol_text(frames[i].symbol, room) : "??");
		printf("%s:", frames[i].file ? frames[i].file : "??");
		if (frames[i].line)
			printf("%u\n", frames[i].line);
		else
			printf("?\n");
	}
}

static int resolve(struct symbols *s, struct image *image, const uint64_t *list, size_t n, bool say)
{
	const struct frame *frames;
	size_t nframes;

	for (size_t i = 0; i < n; i++) {
		struct place place = { .image = image };

		if (!object_offset((struct object *)image, list[i], &place.offset))
			return fprintf(stderr, "resolve: not in the file: 0x%" PRIx64 "\n",
				       list[i]);
		frames = symbols_frames(s, &place, &nframes);
		if (!frames)
			return fprintf(stderr, "resolve: out of memory\n");
		if (say)
			print(frames, nframes);
	}
	return 0;
}

int main(int argc, char *argv[])
{
	bool timed = argc == 3 && strcmp(argv[1], "-t") == 0;
	struct symbols *s = symbols_new(&(struct symbols_config){ 0 });
	uint64_t *list = NULL, address;
	struct image *image;
	double t[3];
	size_t n = 0, room = 0;
	int err;

	if (argc != 2 && !timed)
		return fprintf(stderr, "usage: resolve [-t] FILE <ADDRESSES\n") ? 64 : 0;
	image = s ? symbols_image(s, argv[argc - 1], NULL, 0, 0) : NULL;
	while (image && scanf("%" SCNx64, &address) == 1 &&
	       array_reserve(list, room, n + 1) == 0)
		list[n++] = address;
	if (!image || !n)
		return fprintf(stderr, "resolve: no addresses\n") ? 1 : 0;
	t[0] = now();
	image_covers(s, image, 0);
	if (image->state != IMAGE_OPEN)
		fprintf(stderr, "resolve: %s\n", image->why);
	err = resolve(s, image, list, n, !timed);
	t[1] = now();
	if (!err && timed)
		err = resolve(s, image, list, n, false);
	t[2] = now();
	if (!err && timed)
		printf("%zu addresses: %.0f ns each, %.1f ns each again\n", n,
		       1e9 * (t[1] - t[0]) / (double)n, 1e9 * (t[2] - t[1]) / (double)n);
	symbols_free(s);
	free(list);
	return err ? 1 : 0;
}
