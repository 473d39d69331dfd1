/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that knows how long it has waited.
 *
 *	waited sleep N NS	sleeps N times NS nanoseconds
 *	waited lock N NS	waits N times for a lock that another thread holds while it sleeps
 *	waited meet N		meets another thread N times at a barrier
 *	waited crowd N NS	has N threads that begin to sleep NS nanoseconds when all exist
 *	waited share N		runs for N ms of CPU time beside another thread on the same CPU
 *	waited read FILE	reads a file from the disk
 *
 * Prints "TID BEGIN END ASKED QUEUE RAN": its first thread, when it began and ended its work, how
 * long it has waited there at least, and its time on run queues and on CPUs by /proc, in ns.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct figures {
	uint64_t time, queue, ran;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static unsigned int rounds;
static long ns;

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void read_schedstat(struct figures *now)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ran, queue;

	if (!f || fscanf(f, "%llu %llu", &ran, &queue) != 2)
		die("/proc/thread-self/schedstat");
	fclose(f);
	now->ran = ran;
	now->queue = queue;
}

/* All of one moment: the thread has not been preempted between them. */
static struct figures figures(void)
{
	struct figures now, after;

	do {
		read_schedstat(&now);
		now.time = clock_of(CLOCK_MONOTONIC);
		read_schedstat(&after);
	} while (after.queue != now.queue);
	return now;
}

__attribute__((noinline)) static void sleep_once(void)
{
	const struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void sleep_often(void)
{
	for (unsigned int i = 0; i < rounds; i++)
		sleep_once();
	__asm__ volatile("");
}

/* Returns when the first thread waits in futex(2). */
static void first_waits(void)
{
	char path[64], text[16];
	long call = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	while (call != SYS_futex) {
		FILE *f = fopen(path, "r");

		if (!f || !fgets(text, sizeof(text), f))
			die(path);
		fclose(f);
		call = *text >= '0' && *text <= '9' ? atol(text) : -1;
		sched_yield();
	}
}

static void *hold(void *arg)
{
	for (unsigned int i = 0; i <= rounds; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&both);
		first_waits();
		sleep_once();
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&both);
	}
	return arg;
}

__attribute__((noinline)) static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	__asm__ volatile("");
}

/* The work begins after a first wait, which maps the memory that the others use. */
static void wait_for_lock(struct figures *from)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&t, NULL, hold, NULL))
		die("pthread_create");
	for (unsigned int i = 0; i <= rounds; i++) {
		if (i == 1)
			*from = figures();
		pthread_barrier_wait(&both);
		take_lock();
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&both);
	}
	pthread_join(t, NULL);
}

static void *meet(void *arg)
{
	for (unsigned int i = 0; i < rounds; i++)
		pthread_barrier_wait(&both);
	return arg;
}

__attribute__((noinline)) static void meet_often(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&t, NULL, meet, NULL))
		die("pthread_create");
	meet(NULL);
	pthread_join(t, NULL);
	__asm__ volatile("");
}

static void *spin(void *arg)
{
	uint64_t until = clock_of(CLOCK_THREAD_CPUTIME_ID) + rounds * 1000000ull;

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	return arg;
}

static void share(void)
{
	cpu_set_t one;
	pthread_t t;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pthread_create(&t, NULL, spin, NULL))
		die("share");
	spin(NULL);
	pthread_join(t, NULL);
}

static void *sleep_with_all(void *arg)
{
	pthread_barrier_wait(&both);
	sleep_once();
	return arg;
}

static void crowd(void)
{
	pthread_t *t = calloc(rounds, sizeof(*t));

	if (!t)
		die("crowd");
	pthread_barrier_init(&both, NULL, rounds + 1);
	for (unsigned int i = 0; i < rounds; i++)
		if (pthread_create(&t[i], NULL, sleep_with_all, NULL))
			die("pthread_create");
	sleep_with_all(NULL);
	for (unsigned int i = 0; i < rounds; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static void read_file(const char *path)
{
	static char buf[1 << 16];
	int fd = open(path, O_RDONLY);

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die(path);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	struct figures from, to;
	uint64_t asked;

	rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	ns = argc > 3 ? atol(argv[3]) : 0;
	asked = rounds * (uint64_t)ns;
	from = figures();
	if (!strcmp(what, "sleep"))
		sleep_often();
	else if (!strcmp(what, "lock"))
		wait_for_lock(&from);
	else if (!strcmp(what, "meet"))
		meet_often();
	else if (!strcmp(what, "crowd"))
		crowd();
	else if (!strcmp(what, "share"))
		share();
	else if (!strcmp(what, "read"))
		read_file(argv[2]);
	else
		return 2;
	to = figures();
	printf("%d %ju %ju %ju %ju %ju\n", getpid(), (uintmax_t)from.time, (uintmax_t)to.time,
	       (uintmax_t)asked, (uintmax_t)(to.queue - from.queue),
	       (uintmax_t)(to.ran - from.ran));
	return 0;
}
