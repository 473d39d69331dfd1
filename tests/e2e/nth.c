/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine whose nth bpf(2), perf_event_open(2) or allocation fails.
 *
 * As a library for LD_PRELOAD it counts these calls of pmcbpfd and its helpers in a page, the file
 * $NTH, and makes one of them fail with ENOMEM.  As a program:
 *
 *	nth FILE KIND N		from now on the Nth call of this kind fails, once: bpf, perf, memory
 *	nth FILE		prints the number of calls since then, of those that failed, and of
 *				the blocks of memory that pmcbpfd holds; no call fails any more
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum nth_kind { NTH_NONE, NTH_BPF, NTH_PERF, NTH_MEMORY, NTH_KINDS };

struct nth_page {
	_Atomic uint32_t kind, n;
	_Atomic uint32_t calls, failed;
	_Atomic int64_t blocks;		/* of the process itself, not of its helpers */
	_Atomic pid_t pid;
};

static struct nth_page *nth_map(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CLOEXEC | flags, 0666);
	struct nth_page *page = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*page)) == 0)
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return page == MAP_FAILED ? NULL : page;
}

#ifdef NTH_LIBRARY
static struct nth_page *page;

/* glibc's functions, under names that nothing else defines. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

__attribute__((constructor)) static void nth_start(void)
{
	const char *name = getenv("NTH");

	if (!name || strcmp(program_invocation_short_name, "pmcbpfd") != 0)
		return;
	page = nth_map(name, O_CREAT);
	if (page) {
		page->blocks = 0;
		page->pid = getpid();
	}
}

static bool nth_fails(enum nth_kind kind)
{
	if (!page || page->kind != kind || ++page->calls != page->n)
		return false;
	page->failed++;
	errno = ENOMEM;
	return true;
}

static void nth_count(const void *p, int n)
{
	if (p && page && page->pid == getpid())
		page->blocks += n;
}

static void *nth_block(void *p)
{
	nth_count(p, 1);
	return p;
}

void *malloc(size_t size)
{
	return nth_fails(NTH_MEMORY) ? NULL : nth_block(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return nth_fails(NTH_MEMORY) ? NULL : nth_block(__libc_calloc(n, size));
}

void *realloc(void *old, size_t size)
{
	void *p;

	if (nth_fails(NTH_MEMORY))
		return NULL;
	p = __libc_realloc(old, size);
	return old ? p : nth_block(p);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	if (nth_fails(NTH_MEMORY))
		return ENOMEM;
	*out = nth_block(__libc_memalign(align, size));
	return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size)
{
	return nth_fails(NTH_MEMORY) ? NULL : nth_block(__libc_memalign(align, size));
}

void free(void *p)
{
	nth_count(p, -1);
	__libc_free(p);
}

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	long a[6];
	va_list ap;

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (unsigned int i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if ((number == SYS_bpf && nth_fails(NTH_BPF)) ||
	    (number == SYS_perf_event_open && nth_fails(NTH_PERF)))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#else
int main(int argc, char **argv)
{
	static const char *const kinds[NTH_KINDS] = { "", "bpf", "perf", "memory" };
	struct nth_page *page = argc == 2 || argc == 4 ? nth_map(argv[1], O_CREAT) : NULL;
	enum nth_kind kind = NTH_NONE;

	while (argc == 4 && kind < NTH_KINDS && strcmp(argv[2], kinds[kind]) != 0)
		kind++;
	if (!page || kind == NTH_KINDS)
		return 2;
	page->kind = NTH_NONE;
	if (!kind) {
		printf("%u %u %lld\n", page->calls, page->failed, (long long)page->blocks);
		return 0;
	}
	page->calls = page->failed = 0;
	page->n = (uint32_t)strtoul(argv[3], NULL, 10);
	page->kind = kind;
	return 0;
}
#endif
