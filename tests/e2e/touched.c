// SPDX-License-Identifier: BSD-2-Clause
/*
 * Faults fresh pages one by one, half of them in user code, half in read(2), with MARK in a
 * register that a call keeps and the page's address in another one, and prints the first address.
 *
 *	touched PAGES
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARK 0x5eed00000000beefull

#if defined(__x86_64__)
/* r12 and r13. */
static void touch(char *page)
{
	register uint64_t mark __asm__("r12") = MARK;
	register char *at __asm__("r13") = page;

	__asm__ volatile("movb $1, (%1)" : : "r"(mark), "r"(at) : "memory");
}

static long fill(int fd, char *page)
{
	register uint64_t mark __asm__("r12") = MARK;
	register char *at __asm__("r13") = page;
	long n = SYS_read;

	__asm__ volatile("syscall" : "+a"(n) : "D"((long)fd), "S"(at), "d"(1l), "r"(mark), "r"(at)
			 : "rcx", "r11", "memory");
	return n;
}
#else
/* x20 and x21. */
static void touch(char *page)
{
	register uint64_t mark __asm__("x20") = MARK;
	register char *at __asm__("x21") = page;

	__asm__ volatile("strb wzr, [%1]" : : "r"(mark), "r"(at) : "memory");
}

static long fill(int fd, char *page)
{
	register uint64_t mark __asm__("x20") = MARK;
	register char *at __asm__("x21") = page;
	register long number __asm__("x8") = SYS_read;
	register long a0 __asm__("x0") = fd;
	register char *a1 __asm__("x1") = page;
	register long a2 __asm__("x2") = 1;

	__asm__ volatile("svc #0" : "+r"(a0) : "r"(a1), "r"(a2), "r"(number), "r"(mark), "r"(at)
			 : "memory");
	return a0;
}
#endif

int main(int argc, char *argv[])
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t pages = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!pages || zero < 0 || at == MAP_FAILED || madvise(at, pages * page, MADV_NOHUGEPAGE))
		return 1;
	for (size_t i = 0; i < pages / 2; i++)
		touch(at + i * page);
	for (size_t i = pages / 2; i < pages; i++)
		if (fill(zero, at + i * page) != 1)
			return 1;
	printf("%p\n", (void *)at);
	return 0;
}
