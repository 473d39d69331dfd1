/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads, signals and changes of the CPU at once.  storm lost: no entry is lost, torn or out
 * of order; storm reader: a reader of rings that are overwritten at full speed gets no torn entry;
 * storm resize: writers switch to replaced rings.  storm WHAT N does an N-th of the work. Prints
 * whether the rings are written with rseq.
 */
#define KTR
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ktr.h>

#include "rings.h"

#define CHECK(what) do { \
		if (!(what)) { \
			printf("storm.c:%d: %s\n", __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

#define THREADS 8
#define POINTS 20000u		/* of each thread; divided by N, as all counts */
#define FEW 4			/* entries of rings that are always being overwritten */
#define HANDLER 0x48414e44u	/* writer: the signal handler */

static unsigned int handled, finished, stop, points, less = 1;
static int allowed[2];
static unsigned int cpus;	/* used CPUs, 1 or 2 */

/* Parameters that reveal a torn entry. */
static void point(uint64_t who, uint64_t i)
{
	CTR5(KTR_DEV, "%lx %lx %lx %lx %lx", who, i, ~who, i * 3 + 1, who ^ i);
}

static void check_whole(const struct ktr_entry *entry)
{
	uint64_t who = entry->ktr_parm1, i = entry->ktr_parm2;

	CHECK(entry->ktr_parm3 == ~who);
	CHECK(entry->ktr_parm4 == i * 3 + 1);
	CHECK(entry->ktr_parm5 == (who ^ i));
	CHECK(entry->ktr_tid != 0);
	CHECK(entry->ktr_time != 0);
}

static void handler(int sig)
{
	point(HANDLER, __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED));
}

static void *trace(void *who)
{
	for (unsigned int i = 0; i < points; i++)
		point((uintptr_t)who, i);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		sched_yield();
	return NULL;
}

static void hop(pthread_t thread, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(allowed[cpu % cpus], &set);
	CHECK(pthread_setaffinity_np(thread, sizeof(set), &set) == 0);
}

static void storm(void)
{
	pthread_t threads[THREADS];

	finished = stop = handled = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, trace, (void *)i) == 0);
	for (unsigned int round = 0;
	     !round || __atomic_load_n(&finished, __ATOMIC_ACQUIRE) < THREADS; round++)
		for (unsigned int i = 0; i < THREADS; i++) {
			hop(threads[i], round + i);
			CHECK(pthread_kill(threads[i], SIGUSR1) == 0);
		}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void lost(void)
{
	const struct ktr_region *region;
	unsigned int handlers = 0, rings = 0;
	uint8_t *seen = calloc(THREADS, points);
	struct ktr_entry *copy;

	CHECK(ktr_resize(1 << 18) == 0);
	region = rings_of_process("/memfd:ktr");
	CHECK(region);
	copy = calloc(region->entries, sizeof(*copy));
	CHECK(seen && copy);
	storm();
	CHECK(rings_total(region) == THREADS * points + handled);
	for (unsigned int cpu = 0; cpu < region->ncpu; cpu++) {
		size_t n = rings_copy(region, cpu, copy, NULL);
		uint64_t last[THREADS] = { 0 };

		CHECK(n == rings_head(region, cpu));
		CHECK(rings_ring(region, cpu)->lost == 0);
		rings += n > 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t who = copy[i].ktr_parm1, number = copy[i].ktr_parm2;

			check_whole(&copy[i]);
			/* Without rseq, a writer interrupted between number and clock is late. */
			CHECK(!i || !(region->flags & KTR_REGION_RSEQ) ||
				    copy[i].ktr_time >= copy[i - 1].ktr_time);
			if (who == HANDLER) {
				handlers++;
				continue;
			}
			CHECK(who < THREADS && number < points && number >= last[who]);
			last[who] = number;
			seen[who * points + number]++;
		}
	}
	CHECK(handlers == handled);
	for (size_t i = 0; i < (size_t)THREADS * points; i++)
		CHECK(seen[i] == 1);
	CHECK(rings == cpus || less > 1);
	free(seen);
	free(copy);
}

static void *flood(void *who)
{
	for (uint64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++)
		point((uintptr_t)who, i);
	return NULL;
}

static void reader(void)
{
	struct ktr_entry copy[FEW];
	uint64_t number[FEW], next[KTR_REGION_CPUS] = { 0 }, accepted = 0;
	const struct ktr_region *region;
	/* On one CPU they write only while we do not run, and only the last few entries stay. */
	unsigned int wanted = (cpus > 1 ? 100000 : 500) / less;
	pthread_t threads[3];

	CHECK(ktr_resize(FEW) == 0);
	region = rings_of_process("/memfd:ktr");
	CHECK(region);
	stop = 0;
	for (uintptr_t i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, flood, (void *)i) == 0);
	for (unsigned int round = 0; accepted < wanted; round++) {
		unsigned int cpu = (unsigned int)allowed[round % cpus];
		size_t n = rings_copy(region, cpu, copy, number);

		if (round % 64 == 0)
			hop(threads[round / 64 % 3], round / 512);
		for (size_t i = 0; i < n; i++) {
			check_whole(&copy[i]);
			CHECK(!i || number[i] > number[i - 1]);
			accepted += number[i] >= next[cpu];
		}
		if (n)
			next[cpu] = number[n - 1] + 1;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void resize(void)
{
	pthread_t threads[3];
	const struct ktr_region *region = NULL;

	stop = 0;
	for (uintptr_t i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, flood, (void *)i) == 0);
	for (unsigned int round = 0; round < 40 / less; round++) {
		CHECK(ktr_resize(1u << round % 10) == 0);
		region = rings_of_process("/memfd:ktr");
		CHECK(region);
		CHECK(region->entries == 1u << round % 10);
		while (rings_total(region) < 1000)
			sched_yield();
		hop(threads[round % 3], round);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char *argv[])
{
	struct sigaction action = { .sa_handler = handler };
	const struct ktr_region *region;

	allowed[0] = rings_cpu(0, &cpus);
	allowed[1] = rings_cpu(1, &cpus);
	cpus = cpus > 1 ? 2 : 1;
	sigaction(SIGUSR1, &action, NULL);
	if (argc == 3)
		less = (unsigned int)strtoul(argv[2], NULL, 0);
	if (argc < 2 || !less)
		return 2;
	points = POINTS / less;
	if (!strcmp(argv[1], "lost"))
		lost();
	else if (!strcmp(argv[1], "reader"))
		reader();
	else if (!strcmp(argv[1], "resize"))
		resize();
	else
		return 2;
	region = rings_of_process("/memfd:ktr");
	printf("%s\n", region && region->flags & KTR_REGION_RSEQ ? "rseq" : "atomic");
	return 0;
}
