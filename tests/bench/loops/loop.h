/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of loops: for each letter on standard input it runs one loop and prints the time of a
 * round, so that loops of several programs can be measured in turn.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define LOOP_ROUNDS 20000u	/* half a millisecond: most batches are not interrupted */
#define LOOP_BATCHES 60

struct loop {
	char letter;
	void (*run)(unsigned long rounds);
};

/* The TSC if there is one, else ns. */
static inline uint64_t loop_clock(void)
{
#ifdef __x86_64__
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* The minimum of many batches: disturbances only add time. */
static inline double loop_measure(const struct loop *loop)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < LOOP_BATCHES; i++) {
		uint64_t begin = loop_clock(), took;

		loop->run(LOOP_ROUNDS);
		took = loop_clock() - begin;
		if (took < best)
			best = took;
	}
	return (double)best / LOOP_ROUNDS;
}

static inline int loop_serve(const struct loop *loops, size_t count)
{
	int letter;

	setvbuf(stdin, NULL, _IONBF, 0);
	while ((letter = getchar()) != EOF) {
		size_t i = 0;

		while (i < count && loops[i].letter != letter)
			i++;
		if (i == count) {
			fprintf(stderr, "no loop '%c'\n", letter);
			return 1;
		}
		printf("%.3f\n", loop_measure(&loops[i]));
		fflush(stdout);
	}
	return 0;
}

#endif
