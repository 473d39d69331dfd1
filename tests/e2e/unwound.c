/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of all shapes that a compiler makes, without frame pointers: unwound SHAPE runs 200 ms of
 * its CPU time at the innermost frame of one.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RUN_NS	200000000
#define LEVELS	60
#define COLD	__attribute__((noinline))

static volatile unsigned int sink;
static int *volatile nowhere;

static uint64_t spent(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

COLD static void spin(void)
{
	const uint64_t end = spent() + RUN_NS;

	while (spent() < end)
		for (unsigned int i = 0; i < 20000; i++)
			sink += i;
}

COLD static void deep(unsigned int n)
{
	if (n)
		deep(n - 1);
	else
		spin();
	sink++;				/* no tail call */
}

/* The frame's size is known at run time only: the CFA is found from the frame pointer. */
COLD static void sized(unsigned int n)
{
	char *room = __builtin_alloca(n);

	memset(room, 1, n);
	deep(3);
	sink += (unsigned char)room[n - 1];
}

/* The frame is aligned to more than the stack. */
COLD static void aligned(unsigned int n)
{
	char room[256] __attribute__((aligned(128)));

	memset(room, (int)n, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	deep(3);
	sink += (unsigned char)room[n];
}

/* … and has a size of its own. */
COLD static void both(unsigned int n)
{
	char room[64] __attribute__((aligned(64)));
	char *more = __builtin_alloca(n);

	memset(room, 1, sizeof(room));
	memset(more, 1, n);
	aligned(n);
	sink += (unsigned char)(room[3] + more[n - 1]);
}

static void handler(int signal)
{
	deep(3);
}

/* An instruction of it is interrupted. */
COLD static void raised(void)
{
	deep(0);
	*nowhere = 1;
}

static void segv(int signal)
{
	deep(3);
	_exit(0);
}

static void catch(int number, void (*function)(int), int flags)
{
	struct sigaction act = { .sa_handler = function, .sa_flags = flags };

	sigaction(number, &act, NULL);
}

COLD static void on_signal(void)
{
	catch(SIGUSR1, handler, 0);
	raise(SIGUSR1);
	sink++;
}

static char other_stack[128 * 1024];

/* On a stack of its own, called by an instruction. */
COLD static void on_fault(void)
{
	const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	sigaltstack(&stack, NULL);
	catch(SIGSEGV, segv, SA_ONSTACK);
	raised();
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 500 && !sink)
		deep(2);
	return *(const int *)a - *(const int *)b;
}

/* Called back by a library. */
COLD static void called_back(void)
{
	int list[1000];

	for (int i = 0; i < 1000; i++)
		list[i] = 1000 - i;
	qsort(list, 1000, sizeof(list[0]), compare);
	sink += (unsigned int)list[0];
}

static void *thread(void *arg)
{
	deep(20);
	return NULL;
}

COLD static void in_threads(void)
{
	pthread_t t[2];

	for (unsigned int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			exit(1);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* In the kernel most of the time, for a library's function. */
COLD static void calls(void)
{
	const uint64_t end = spent() + RUN_NS;

	while (spent() < end)
		for (unsigned int i = 0; i < 100; i++)
			sink += (unsigned int)getppid();
}

/* At any instruction: prologues, epilogues, PLT entries, leaves. */
COLD static unsigned int leaf(unsigned int n)
{
	char text[40];

	snprintf(text, sizeof(text), "%u", n);
	return (unsigned int)strlen(text) + (unsigned int)atoi(text);
}

COLD static unsigned int branch(unsigned int n)
{
	return n < 2 ? leaf(n) : branch(n - 1) + branch(n - 2);
}

COLD static void anywhere(void)
{
	const uint64_t end = spent() + 3ull * RUN_NS;

	while (spent() < end)
		sink += branch(12);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";

	if (!strcmp(shape, "deep"))
		deep(LEVELS);
	else if (!strcmp(shape, "sized"))
		sized(500);
	else if (!strcmp(shape, "aligned"))
		both(100);
	else if (!strcmp(shape, "signal"))
		on_signal();
	else if (!strcmp(shape, "fault"))
		on_fault();
	else if (!strcmp(shape, "callback"))
		called_back();
	else if (!strcmp(shape, "threads"))
		in_threads();
	else if (!strcmp(shape, "calls"))
		calls();
	else if (!strcmp(shape, "anywhere"))
		anywhere();
	else
		return 2;
	return 0;
}
