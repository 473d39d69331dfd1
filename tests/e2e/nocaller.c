/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes to fresh pages with a frame pointer to a frame whose return address is 0, as in a
 * program's outermost frame, or RETURN, and no frame follows.
 *
 *	nocaller PAGES [RETURN]
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t frames[4] = { 0, argc > 2 ? strtoull(argv[2], NULL, 0) : 0, 0, 0x123450 };
	uint64_t *frame = frames;
	char *p;

	if (!pages)
		return 1;
	p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	frames[0] = (uint64_t)(uintptr_t)&frames[2];
#if defined(__x86_64__)
	__asm__ volatile("push %%rbp\n\tmov %2, %%rbp\n"
			 "1:\tmovb $1, (%0)\n\tadd %3, %0\n\tdec %1\n\tjnz 1b\n\t"
			 "pop %%rbp"
			 : "+r"(p), "+r"(pages) : "r"(frame), "r"(page) : "memory", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x9, x29\n\tmov x10, x30\n\tmov x29, %2\n\tmov x30, xzr\n"
			 "1:\tstrb w29, [%0]\n\tadd %0, %0, %3\n\tsubs %1, %1, #1\n\tb.ne 1b\n\t"
			 "mov x29, x9\n\tmov x30, x10"
			 : "+r"(p), "+r"(pages) : "r"(frame), "r"(page)
			 : "memory", "cc", "x9", "x10", "x30");
#else
	return 2;
#endif
	return 0;
}
