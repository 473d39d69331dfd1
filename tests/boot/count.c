// SPDX-License-Identifier: BSD-2-Clause
/* Counts its own page faults: at least one for each page that it touches first. */
#include <err.h>
#include <pmc.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGES 1000
#define SIZE  ((size_t)PAGES * 4096)

int main(void)
{
	pmc_value_t before, after;
	pmc_id_t id;
	char *memory;

	if (pmc_init() < 0 ||
	    pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) < 0 ||
	    pmc_start(id) < 0)
		errx(1, "%s", pmc_errstr());
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, SIZE, MADV_NOHUGEPAGE) != 0)
		err(1, "memory");
	if (pmc_read(id, &before) < 0)
		errx(1, "%s", pmc_errstr());
	for (int i = 0; i < PAGES; i++)
		((volatile char *)memory)[i * 4096] = 1;
	if (pmc_read(id, &after) < 0)
		errx(1, "%s", pmc_errstr());
	printf("%d pages, %ju faults\n", PAGES, (uintmax_t)(after - before));
	return pmc_release(id) < 0;
}
