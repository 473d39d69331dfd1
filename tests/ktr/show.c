/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A traced program for tests of libktr's start, end and children: show [WHAT]... performs WHAT and
 * prints its own region; show -f FILE prints a KTR_FILE's.  For each entry, in the order of stamps,
 * it prints the first parameter and whether a thread other than the program's first wrote it.
 */
#define KTR
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ktr.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rings.h"

/* Before libktr's constructor: EARLY trace points, and state that exec(2) would reset. */
static void before_all(int argc, char *argv[], char *environment[])
{
	long n = 0;

	for (; *environment; environment++) {
		if (!strcmp(*environment, "NOTSC=1"))
			prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		if (!strncmp(*environment, "EARLY=", 6))
			n = strtol(*environment + 6, NULL, 0);
	}
	for (long i = 1; i <= n; i++)
		CTR1(KTR_INIT, "before %ld", 1000 + i);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) =
	before_all;

__attribute__((constructor(101))) static void construct(void)
{
	CTR1(KTR_INIT, "constructor %d", 101);
}

__attribute__((destructor(101))) static void destruct(void)
{
	CTR1(KTR_INIT, "destructor %d", 901);
}

static void at_exit(void)
{
	CTR1(KTR_INIT, "at exit %d", 900);
}

/* Entries of one CPU may have the same time. */
static int by_time(const void *a, const void *b)
{
	const struct ktr_entry *x = a, *y = b;

	if (x->ktr_time != y->ktr_time)
		return x->ktr_time < y->ktr_time ? -1 : 1;
	return x->ktr_seq < y->ktr_seq ? -1 : x->ktr_seq > y->ktr_seq;
}

static void print_region(const struct ktr_region *region)
{
	static const char *const clocks[] = { "none", "tsc", "cntvct", "coarse", "monotonic" };
	struct ktr_entry *entries;
	uint64_t lost = 0;
	size_t n = 0;

	if (!region) {
		printf("none mask=0x%x entries=%d\n", ktr_mask, ktr_entries);
		return;
	}
	for (unsigned int cpu = 0; cpu < region->ncpu; cpu++)
		lost += rings_ring(region, cpu)->lost;
	printf("entries=%u clock=%s rseq=%d compile=0x%x verbose=%u cpumask=0x%llx lost=%llu\n",
	       region->entries, clocks[region->clock], !!(region->flags & KTR_REGION_RSEQ),
	       region->compile, region->verbose, (unsigned long long)region->cpumask[0],
	       (unsigned long long)lost);
	entries = calloc((size_t)region->entries * region->ncpu + 1, sizeof(*entries));
	for (unsigned int cpu = 0; entries && cpu < region->ncpu; cpu++)
		n += rings_copy(region, cpu, entries + n, NULL);
	if (entries)
		qsort(entries, n, sizeof(*entries), by_time);
	for (size_t i = 0; entries && i < n; i++)
		printf("%llu%s\n", (unsigned long long)entries[i].ktr_parm1,
		       entries[i].ktr_tid == region->pid ? "" : " another thread");
	free(entries);
}

static void *threaded(void *nothing)
{
	CTR1(KTR_PROC, "thread %d", 500);
	return NULL;
}

static void forked(int (*fork_how)(void))
{
	pid_t pid = fork_how();

	if (!pid) {
		CTR1(KTR_PROC, "child %d", 600);
		if (getenv("KTR_FORK")) {
			print_region(rings_of_process("/memfd:ktr"));
			printf("of %u regions\n", rings_of_process_count("/memfd:ktr"));
			fflush(stdout);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CTR1(KTR_PROC, "parent %d", 601);
}

static int raw_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void do_this(const char *what)
{
	pthread_t thread;
	char *end;
	long n = strtol(what, &end, 0);

	if (end != what && !*end) {
		for (long i = 1; i <= n; i++)
			CTR1(KTR_DEV, "%ld", i);
	} else if (!strcmp(what, "clk")) {
		CTR1(KTR_CLK, "clk %d", 700);
	} else if (!strcmp(what, "thread")) {
		if (!pthread_create(&thread, NULL, threaded, NULL))
			pthread_join(thread, NULL);
	} else if (!strcmp(what, "fork")) {
		forked(fork);
	} else if (!strcmp(what, "clone")) {
		forked(raw_fork);
	} else if (!strcmp(what, "mask")) {
		ktr_mask = ~0u;
	} else if (!strcmp(what, "atexit")) {
		atexit(at_exit);
	} else if (!strcmp(what, "abort")) {
		abort();
	} else if (!strcmp(what, "fault")) {
		raise(SIGSEGV);
	} else {
		fprintf(stderr, "show: %s: not known\n", what);
		exit(2);
	}
}

int main(int argc, char *argv[])
{
	if (argc == 3 && !strcmp(argv[1], "-f")) {
		ktr_mask = 0;
		if (!rings_of_file(argv[2]))
			printf("no region\n");
		else
			print_region(rings_of_file(argv[2]));
		return 0;
	}
	for (int i = 1; i < argc; i++)
		do_this(argv[i]);
	print_region(rings_of_process(getenv("KTR_FILE") ?: "/memfd:ktr"));
	return 0;
}
