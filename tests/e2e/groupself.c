/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * groupself [-d PID] [-w] EVENT...: counts itself by a group of events, and checks what it reads.
 * Members of one event have one count in each reading; the first event, instructions, counts all
 * work, threads' as well, and none while the group is stopped.  -d: the readings need nothing of
 * the daemon, which is stopped meanwhile.  -w: waits with the running group for the end of its
 * input, and reads it again.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmc.h>

#define WORK 1000000u		/* instructions */

static char **events;
static uint32_t n;
static pmc_id_t ids[PMC_GROUP_MAX_MEMBERS];
static struct pmc_group_member before[PMC_GROUP_MAX_MEMBERS], now[PMC_GROUP_MAX_MEMBERS];
static pid_t daemon_pid;

static void die(const char *what)
{
	fprintf(stderr, "groupself: %s: %s\n", what, pmc_errstr());
	exit(1);
}

static void *execute_work(void *arg)
{
	long left = WORK / 2;

#if defined(__x86_64__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(left));
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(left) : : "cc");
#endif
	return arg;
}

static void read_members(struct pmc_group_member *members)
{
	uint32_t size = PMC_GROUP_MAX_MEMBERS;

	if (pmc_group_read(ids[0], &size, members, NULL))
		die("pmc_group_read");
	if (size != n)
		printf("%u members of %u\n", size, n);
}

/* The first event has counted at least `least` and at most `most` since the last call. */
static void check(const char *when, uint64_t least, uint64_t most)
{
	uint64_t counted;

	read_members(now);
	counted = now[0].pm_value - before[0].pm_value;
	if (counted < least || counted > most)
		printf("%s: %ju, not %ju to %ju\n", when, (uintmax_t)counted, (uintmax_t)least,
		       (uintmax_t)most);
	for (uint32_t i = 0; i < n; i++) {
		if (now[i].pm_pmcid != ids[i])
			printf("%s: member %u is another PMC\n", when, i);
		if (now[i].pm_value < before[i].pm_value)
			printf("%s: %s was %ju and is %ju\n", when, events[i],
			       (uintmax_t)before[i].pm_value, (uintmax_t)now[i].pm_value);
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(events[i], events[j]) && now[i].pm_value != now[j].pm_value)
				printf("%s: %s is %ju and %ju\n", when, events[i],
				       (uintmax_t)now[j].pm_value, (uintmax_t)now[i].pm_value);
	}
	memcpy(before, now, sizeof(before));
}

/* Each member alone, after `before` was read. */
static void check_alone(void)
{
	pmc_value_t value;

	for (uint32_t i = 0; i < n; i++) {
		if (pmc_read(ids[i], &value))
			die("pmc_read");
		if (value < before[i].pm_value)
			printf("%s was %ju, and alone it is %ju\n", events[i],
			       (uintmax_t)before[i].pm_value, (uintmax_t)value);
	}
}

static void allocate_group(void)
{
	uint32_t group;

	if (pmc_init() || pmc_group_create(&group))
		die("pmc_group_create");
	for (uint32_t i = 0; i < n; i++)
		if (pmc_allocate_group(events[i], PMC_MODE_TC, 0, PMC_CPU_ANY, &ids[i], 0) ||
		    pmc_group_add(group, ids[i], !i))
			die(events[i]);
	if (pmc_group_commit(group))
		die("pmc_group_commit");
}

static void check_run(void)
{
	pthread_t thread;
	struct pmc_group_times times;
	uint32_t size = n;

	if (pmc_start(ids[0]))
		die("pmc_start");
	check("start", 0, WORK / 2);
	if (daemon_pid)
		kill(daemon_pid, SIGSTOP);
	for (int i = 0; i < 100; i++) {
		execute_work(NULL);
		check("work", WORK, WORK + WORK / 2);
	}
	check_alone();
	if (pmc_group_read(ids[0], &size, now, &times) || times.pgt_running == 0)
		printf("no time\n");
	if (daemon_pid)
		kill(daemon_pid, SIGCONT);
	check("time", 0, WORK / 2);
	if (pthread_create(&thread, NULL, execute_work, NULL) || pthread_join(thread, NULL))
		die("pthread");
	check("thread", WORK, WORK + WORK / 2);
	execute_work(NULL);
	check("work beside a thread's", WORK, WORK + WORK / 2);
}

int main(int argc, char **argv)
{
	bool waits = false;
	char c;
	int opt;

	while ((opt = getopt(argc, argv, "+d:w")) != -1) {
		if (opt == 'd')
			daemon_pid = atoi(optarg);
		else
			waits = true;
	}
	events = &argv[optind];
	n = (uint32_t)(argc - optind);
	allocate_group();
	check_run();
	printf(waits ? "running\n" : "");
	fflush(stdout);
	while (waits && read(0, &c, 1) > 0)
		;
	if (waits)
		check("after a wait", 0, WORK);
	if (pmc_stop(ids[0]))
		die("pmc_stop");
	check("stop", 0, WORK / 2);
	execute_work(NULL);
	check("stopped", 0, 0);
	check_run();
	if (pmc_stop(ids[0]) || pmc_detach(ids[0], 0))
		die("pmc_detach");
	check("detached", 0, WORK / 2);
	if (pmc_group_release(ids, n))
		die("pmc_group_release");
	return 0;
}
