/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that knows where its time went: plain code, an inlined function, a recursion, a library
 * that it loads, code that it makes itself and names in /tmp/perf-PID.map, and a second thread.  It
 * prints what share each had, by its threads' own clocks.
 *
 *	hot LIBRARY MS [NAP]
 *
 * MS: of CPU time, of the first thread; the second has half of it.  NAP: with the figures printed,
 * stays until standard input ends, and forks now and then, so that a log shows that the work is
 * over.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../vm/progs/spin.h"

#define DEPTH 6

typedef void work_fn(unsigned long rounds);

work_fn plain, outside, threaded;
void recurse(unsigned long rounds, unsigned int depth);

enum place { PLAIN, TIGHT, RECURSE, LIBRARY, JIT, THREADED, PLACES };

static const char *const names[PLACES] = {
	"plain", "tight", "recurse", "in_library", "jit_code", "threaded",
};

struct hot {
	uint64_t ns[PLACES], limit;
	uint64_t least[PLACES];		/* duration of a round in ps: loops differ */
	work_fn *fn[PLACES];
	uint32_t random;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) void plain(unsigned long rounds)
{
	spin(rounds);
}

static inline __attribute__((always_inline)) void tight(unsigned long rounds)
{
	spin(rounds);
}

__attribute__((noinline)) void outside(unsigned long rounds)
{
	tight(rounds);
}

__attribute__((noinline)) void recurse(unsigned long rounds, unsigned int depth)
{
	spin(rounds / DEPTH);
	if (depth > 1)
		recurse(rounds, depth - 1);
	__asm__ volatile("");
}

__attribute__((noinline)) void threaded(unsigned long rounds)
{
	spin(rounds);
}

static void whole_recursion(unsigned long rounds)
{
	recurse(rounds, DEPTH);
}

/* --- code without a file ---------------------------------------------------------------------- */

#ifdef __x86_64__
static const uint8_t code[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x48, 0xff, 0xcf,		/* 1: dec %rdi */
	0x75, 0xfb,			/* jnz 1b */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};
#else
static const uint32_t code[] = {
	0xa9bf7bfd,			/* stp x29, x30, [sp, #-16]! */
	0x910003fd,			/* mov x29, sp */
	0xf1000400,			/* 1: subs x0, x0, #1 */
	0x54ffffe1,			/* b.ne 1b */
	0xa8c17bfd,			/* ldp x29, x30, [sp], #16 */
	0xd65f03c0,			/* ret */
};
#endif

static work_fn *make_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	work_fn *fn;
	FILE *map;

	if (p == MAP_FAILED)
		return NULL;
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + 4096);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) || !map)
		return NULL;
	fprintf(map, "%lx %zx jit_code\n", (unsigned long)p, sizeof(code));
	fclose(map);
	memcpy(&fn, &p, sizeof(fn));
	return fn;
}

/* --- work ------------------------------------------------------------------------------------- */

/* Turns of random length, so that no sampling period can be in step with them. */
static unsigned long turn(struct hot *h)
{
	h->random = h->random * 1664525 + 1013904223;
	return 200000 + (h->random >> 8) % 800000;
}

static uint64_t go(struct hot *h, enum place place)
{
	unsigned long rounds = turn(h);
	uint64_t begin = cpu_ns(), ps;

	h->fn[place](rounds);
	ps = (cpu_ns() - begin) * 1000 / rounds;
	if (!h->least[place] || ps < h->least[place])
		h->least[place] = ps;
	/* Time that the host steals from a virtual machine is on its clock, but in no sample. */
	if (ps > 5 * h->least[place])
		ps = h->least[place];
	ps = ps * rounds / 1000;
	h->ns[place] += ps;
	return ps;
}

static void *second(void *arg)
{
	struct hot *h = arg;

	while (h->ns[THREADED] < h->limit / 2)
		go(h, THREADED);
	return NULL;
}

static void first(struct hot *h)
{
	static const enum place order[] = {
		PLAIN, TIGHT, PLAIN, RECURSE, LIBRARY, PLAIN, JIT, RECURSE, TIGHT, PLAIN,
	};

	uint64_t ns = 0;

	for (unsigned int i = 0; ns < h->limit; i++)
		ns += go(h, order[i % (sizeof(order) / sizeof(order[0]))]);
}

int main(int argc, char **argv)
{
	struct hot h = { .random = 1 }, other;
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_t thread;

	if (library)
		*(void **)&h.fn[LIBRARY] = dlsym(library, "in_library");
	h.limit = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000 : 0;
	h.fn[PLAIN] = plain;
	h.fn[TIGHT] = outside;
	h.fn[RECURSE] = whole_recursion;
	h.fn[JIT] = make_code();
	h.fn[THREADED] = threaded;
	if (!h.limit || !h.fn[LIBRARY] || !h.fn[JIT]) {
		fprintf(stderr, "hot: LIBRARY MS, and a /tmp that can be written: %s\n", dlerror());
		return 1;
	}
	other = h;
	other.random = 2;
	if (pthread_create(&thread, NULL, second, &other))
		return 1;
	first(&h);
	pthread_join(thread, NULL);
	h.ns[THREADED] = other.ns[THREADED];
	for (unsigned int i = 0; i < PLACES; i++)
		printf("%s %llu\n", names[i], (unsigned long long)h.ns[i]);
	fflush(stdout);
	while (argc > 3 && !poll(&in, 1, 200)) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
