/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program to be dumped.  It reads letters: e, one of each kind of entry; 6, six parameters,
 * twice; f, FULL entries; m, many from two threads, without end; a, abort.  It answers each with a
 * dot.
 */
#define KTR
#define KTR_CTR6
#include <sys/ktr.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Static, since trace entries refer to it. */
static char *heap;

static void each_kind(void)
{
	static const char *const later = "a format that is no literal: %ld";
	volatile int dev = 0x1f;

	if (!heap)
		heap = strdup("of the heap\033");
	CTR1(KTR_DEV, "lpopen(dev=%x)", dev);
	CTR3(KTR_NET, "%s, %s, %s", "a literal", heap, (const char *)8);
	CTR2(KTR_GEN, "%x %lx", -1, -1L);
	CTR1(KTR_GEN, later, 77L);
	CTR5(KTR_PROC, "%d %d %d %d %d", 1, 2, 3, 4, 5);
	CTR0(KTR_SYSC, "no parameters");
}

static void six(void)
{
	CTR6(KTR_DEV, "%d %x %s %d %d %ld", 1, 2, "three", 4, 5, -6L);
	CTR1(KTR_GEN, "... and %lx", 7UL);
	CTR6(KTR_NET, "%d%d%d%d%d %s", 1, 2, 3, 4, 5, "six");
}

/* Shows torn entries: both parameters are the same. */
static void *endless(void *arg)
{
	for (unsigned long i = 0;; i++)
		CTR2(KTR_GEN, "%lu = %lu", i, i);
	return arg;
}

enum { FULL = 100000 };

static void fill(void)
{
	for (unsigned long i = 0; i < FULL; i++)
		CTR2(KTR_GEN, "%lu = %lu", i, i);
}

int main(void)
{
	pthread_t thread;
	char letter;

	while (read(STDIN_FILENO, &letter, 1) == 1) {
		if (letter == 'e')
			each_kind();
		else if (letter == '6')
			six();
		else if (letter == 'f')
			fill();
		else if (letter == 'm' && (pthread_create(&thread, NULL, endless, NULL) != 0 ||
					   pthread_create(&thread, NULL, endless, NULL) != 0))
			return 1;
		else if (letter == 'a')
			abort();
		if (putchar('.') == EOF || fflush(stdout) != 0)
			return 1;
	}
	return 0;
}
