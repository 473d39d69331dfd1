// SPDX-License-Identifier: BSD-2-Clause
/*
 * System calls of a thread that is preempted wherever the kernel permits it, and of the thread that
 * preempts it, on one CPU: the kernel skips a tracing program that has not finished on that CPU.
 *
 *	preempt N
 *
 * A thread of real-time priority wakes up N times and makes one call of sched_get_priority_max(2)
 * each time; the other one makes CALLS * N calls meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALLS  50
#define NAP_NS 20000

static unsigned long wakeups;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "preempt: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void *calls_make(void *arg)
{
	for (unsigned long i = 0; i < CALLS * wakeups; i++)
		sched_get_priority_max(SCHED_OTHER);
	return arg;
}

static void *wakeups_make(void *arg)
{
	const struct sched_param prio = { .sched_priority = 1 };
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (sched_setscheduler(0, SCHED_FIFO, &prio))
		die("real-time priority");
	for (unsigned long i = 0; i < wakeups; i++) {
		nanosleep(&nap, NULL);
		sched_get_priority_max(SCHED_OTHER);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t calls, preempts;
	cpu_set_t one;

	if (argc != 2) {
		fprintf(stderr, "usage: preempt N\n");
		return 2;
	}
	wakeups = strtoul(argv[1], NULL, 10);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("one CPU");
	if (pthread_create(&preempts, NULL, wakeups_make, NULL) ||
	    pthread_create(&calls, NULL, calls_make, NULL))
		die("threads");
	pthread_join(calls, NULL);
	pthread_join(preempts, NULL);
	return 0;
}
