/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * newthreads EVENT ROUNDS: creates threads all the time while a PMC is started that counts this
 * process.  Then each thread in turn does once what the event counts, and the PMC must have counted
 * that once: prints a line for each thread for which it has not.  EVENT is "store", or one of
 * instructions, of which each thread executes WORK.
 *
 * An emulator may have one counter of instructions for all CPUs.  So a thread for which too many
 * were counted does the same again, up to TRIES times: one that is counted twice is so each time.
 *
 * newthreads -w PAUSE: creates threads until its input ends, with a pause of so many microseconds
 * after each; then each stores once into new_word.  Prints the number of threads.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmc.h>

#define THREADS 1500
#define WORK	1000000u	/* instructions */
#define TRIES	3		/* of instructions */

long new_word;

static pthread_t threads[THREADS];
static sem_t turns[THREADS], done;
static bool ending;			/* the turn is a thread's last */
static unsigned int works;		/* since the first reading */
static int made;			/* threads */
static bool enough;			/* threads */
static unsigned int pause_us;		/* after each */
static bool stores;

static void die(const char *what)
{
	fprintf(stderr, "newthreads: %s: %s\n", what, pmc_errstr());
	exit(1);
}

static void execute_work(void)
{
#if defined(__x86_64__)
	long n = WORK / 2;

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n));
#elif defined(__aarch64__)
	long n = WORK / 2;

	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#endif
}

static void turn_wait(sem_t *turn)
{
	while (sem_wait(turn))
		;
}

static void *thread_main(void *arg)
{
	for (;;) {
		turn_wait(&turns[(long)arg]);
		if (ending)
			return NULL;
		if (stores)
			__atomic_store_n(&new_word, 1, __ATOMIC_RELAXED);
		else
			execute_work();
		sem_post(&done);
	}
}

static void *make_threads(void *arg)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE) && made < THREADS &&
	       !pthread_create(&threads[made], &small, thread_main, (void *)(long)made)) {
		__atomic_add_fetch(&made, 1, __ATOMIC_RELEASE);
		usleep(pause_us);
	}
	pthread_attr_destroy(&small);
	return arg;
}

static pthread_t begin_making(void)
{
	pthread_t maker;

	made = 0;
	enough = false;
	if (pthread_create(&maker, NULL, make_threads, NULL)) {
		perror("newthreads");
		exit(1);
	}
	while (__atomic_load_n(&made, __ATOMIC_ACQUIRE) < 20)
		sched_yield();
	return maker;
}

static void end_making(pthread_t maker)
{
	__atomic_store_n(&enough, true, __ATOMIC_RELEASE);
	pthread_join(maker, NULL);
}

static void thread_work(int number)
{
	sem_post(&turns[number]);
	turn_wait(&done);
}

static void thread_end(int number)
{
	ending = true;
	sem_post(&turns[number]);
	pthread_join(threads[number], NULL);
	ending = false;
}

/* What a thread adds to the count each time, and the most that is taken for that. */
static pmc_value_t work_least(void) { return stores ? 1 : WORK; }
static pmc_value_t work_most(void) { return stores ? 1 : WORK + WORK / 2; }

static pmc_value_t read_count(pmc_id_t id)
{
	pmc_value_t value;

	if (pmc_read(id, &value))
		die("pmc_read");
	return value;
}

static pmc_value_t check_thread(pmc_id_t id, int number, pmc_value_t before)
{
	pmc_value_t counted = work_most() + 1;

	for (int i = 0; i < (stores ? 1 : TRIES) && counted > work_most(); i++) {
		thread_work(number);
		works++;
		counted = read_count(id) - before;
		before += counted;
	}
	if (counted < work_least() || counted > work_most())
		printf("thread %d of %d: %ju\n", number, made, (uintmax_t)counted);
	thread_end(number);
	return before;
}

static void count_threads(const char *event)
{
	pthread_t maker = begin_making();
	pmc_value_t begun, now;
	pmc_id_t id;

	if (pmc_allocate(event, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0))
		die("pmc_allocate");
	if (pmc_start(id))
		die("pmc_start");
	end_making(maker);
	works = 0;
	now = begun = read_count(id);
	for (int i = 0; i < made; i++)
		now = check_thread(id, i, now);
	/* What ended threads have counted stays, and counts once. */
	now = read_count(id) - begun;
	if (now < work_least() * works || now > work_most() * works)
		printf("of all %d threads: %ju\n", made, (uintmax_t)now);
	if (pmc_release(id))
		die("pmc_release");
}

int main(int argc, char **argv)
{
	char event[64], c;
	pthread_t maker;

	if (argc != 3)
		return 2;
	stores = !strcmp(argv[1], "-w") || !strcmp(argv[1], "store");
	if (!strcmp(argv[1], "-w")) {
		pause_us = (unsigned int)atoi(argv[2]);
		maker = begin_making();
		while (read(0, &c, 1) > 0)
			;
		end_making(maker);
		for (int i = 0; i < made; i++) {
			thread_work(i);
			thread_end(i);
		}
		printf("%d\n", made);
		return 0;
	}
	snprintf(event, sizeof(event), "breakpoint:%p:w", (void *)&new_word);
	if (pmc_init())
		die("pmc_init");
	for (int i = 0; i < atoi(argv[2]); i++)
		count_threads(stores ? event : argv[1]);
	return 0;
}
