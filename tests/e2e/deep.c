/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose call chain is known: main calls outer, which calls itself to the given depth,
 * where leaf is.  There it runs for some rounds, writes to fresh pages, and naps.  Every function
 * has a frame.
 *
 *	deep DEPTH ROUNDS PAGES NAPS
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../vm/progs/spin.h"

struct work {
	unsigned long rounds, pages, naps;
};

__attribute__((noinline)) int leaf(const struct work *w);
__attribute__((noinline)) int outer(const struct work *w, unsigned long depth);

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* A sleep is over before it begins if the timer was quicker: that is no switch, and no nap. */
static inline __attribute__((always_inline)) void nap(void)
{
	const struct timespec time = { .tv_nsec = 200000 };
	long before = switches();

	do
		nanosleep(&time, NULL);
	while (switches() == before);
}

int leaf(const struct work *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p;

	if (w->rounds)
		spin(w->rounds);
	p = mmap(NULL, (w->pages + 1) * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	madvise((void *)p, (w->pages + 1) * page, MADV_NOHUGEPAGE);
	for (unsigned long i = 0; i < w->pages; i++)
		p[i * page] = 1;
	for (unsigned long i = 0; i < w->naps; i++)
		nap();
	return 0;
}

int outer(const struct work *w, unsigned long depth)
{
	int status = depth ? outer(w, depth - 1) : leaf(w);

	/* Work after the call, so that no call becomes a jump. */
	__asm__ volatile("" : : "r"(&status) : "memory");
	return status;
}

int main(int argc, char **argv)
{
	struct work w;

	if (argc != 5)
		return 2;
	w.rounds = strtoul(argv[2], NULL, 10);
	w.pages = strtoul(argv[3], NULL, 10);
	w.naps = strtoul(argv[4], NULL, 10);
	return outer(&w, strtoul(argv[1], NULL, 10));
}
