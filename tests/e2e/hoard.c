/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user that takes all of a resource: "hoard WHAT" takes until it is refused, prints
 * how many it got and the refusal, and holds that until its input ends.
 *
 *	rows		counting PMCs of one process
 *	samplers	sampling PMCs, in as many processes as it takes
 *	sources		counting PMCs of an event that the kernel does not keep per process
 *	threads		PMCs of single threads that count migrations
 *	sets		processes that each have another combination of twelve PMCs
 *	targets N	N children of a target whose PMC has PMC_F_DESCENDANTS; then reads it
 *	events N	a target of N threads that is sampled
 *	shares N	N children that six PMCs with PMC_F_LOG_PROCEXIT measure; then prints how
 *			many counts the log lacks
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmc.h>

#define COMBINED 12
#define LOGGED	 6
#define STACK	 16384

static __attribute__((noreturn)) void fail(const char *what)
{
	printf("hoard: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Blocks until the parent has ended. */
static __attribute__((noreturn)) void stay(void)
{
	for (;;)
		pause();
}

/* A child that ends with us.  Returns 0 in the child, else its pid. */
static pid_t bear(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(1);
	return 0;
}

static void say(unsigned int n)
{
	printf("%u %s: %s\n", n, strerrorname_np(errno), pmc_errstr());
}

static void begin(void)
{
	if (pmc_init())
		fail("pmc_init");
}

/* --- PMCs ------------------------------------------------------------------------------------ */

struct answer {
	unsigned int got;
	int err;
	char why[400];
};

/* The PMCs that one process gets. */
static struct answer take_all(const char *event, enum pmc_mode mode, uint32_t flags)
{
	struct answer a = { 0 };
	pmc_id_t id;

	begin();
	while (pmc_allocate(event, mode, flags, PMC_CPU_ANY, &id, 1000000) == 0)
		a.got++;
	a.err = errno;
	snprintf(a.why, sizeof(a.why), "%s", pmc_errstr());
	return a;
}

/* In one process after another, while only rows run out. */
static void take_in_many(const char *event, enum pmc_mode mode, uint32_t flags)
{
	struct answer a = { .err = EINVAL };
	unsigned int n = 0;
	int ends[2];

	while (a.err == EINVAL) {
		if (pipe(ends))
			fail("pipe");
		if (!bear()) {
			a = take_all(event, mode, flags);
			if (write(ends[1], &a, sizeof(a)) != sizeof(a))
				exit(1);
			stay();
		}
		close(ends[1]);
		if (read(ends[0], &a, sizeof(a)) != sizeof(a))
			fail("a process of ours");
		close(ends[0]);
		n += a.got;
		if (!a.got)
			break;
	}
	printf("%u %s: %s\n", n, strerrorname_np(a.err), a.why);
}

/* --- processes ------------------------------------------------------------------------------- */

static pid_t sleeper(void)
{
	pid_t pid = bear();

	if (!pid)
		stay();
	return pid;
}

static void take_sets(void)
{
	pmc_id_t id[COMBINED];
	unsigned int n = 0;

	begin();
	for (unsigned int i = 0; i < COMBINED; i++)
		if (pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id[i], 0))
			fail("pmc_allocate");
	for (unsigned int which = 1; which < 1u << COMBINED; which++) {
		pid_t pid = sleeper();

		for (unsigned int i = 0; i < COMBINED; i++)
			if (which >> i & 1 && pmc_attach(id[i], pid)) {
				say(n);
				return;
			}
		n++;
	}
	printf("%u 0: all of them\n", n);
}

static void take_targets(unsigned int children)
{
	pmc_value_t value;
	pmc_id_t id;

	begin();
	if (pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, PMC_F_DESCENDANTS, PMC_CPU_ANY, &id, 0) ||
	    pmc_attach(id, 0) || pmc_start(id))
		fail("pmc_start");
	for (unsigned int i = 0; i < children; i++)
		sleeper();
	if (pmc_read(id, &value) == 0)
		errno = 0;
	say(children);
}

static void take_shares(unsigned int children)
{
	FILE *log = tmpfile();
	struct pmc_driverstats stats;
	pmc_id_t id;
	int ends[2];
	char byte;

	begin();
	if (pipe(ends))
		fail("pipe");
	if (!log || pmc_configure_logfile(fileno(log)))
		fail("pmc_configure_logfile");
	for (unsigned int i = 0; i < LOGGED; i++)
		if (pmc_allocate("PAGE_FAULT.WRITE", PMC_MODE_TC,
				 PMC_F_DESCENDANTS | PMC_F_LOG_PROCEXIT, PMC_CPU_ANY, &id, 0) ||
		    pmc_attach(id, 0) || pmc_start(id))
			fail("pmc_start");
	for (unsigned int i = 0; i < children; i++)
		if (!bear()) {
			if (write(ends[1], "", 1) != 1)
				exit(1);
			stay();
		}
	/* Each has run, and all but a few have left the CPU again. */
	for (unsigned int i = 0; i < children; i++)
		if (read(ends[0], &byte, 1) != 1)
			fail("read");
	if (pmc_flush_logfile() || pmc_get_driver_stats(&stats))
		fail("pmc_flush_logfile");
	printf("%u\n", stats.pm_intr_bufferfull);
}

static void *rest(void *arg)
{
	stay();
}

static void take_events(unsigned int threads)
{
	pthread_attr_t attr;
	pmc_id_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned int i = 1; i < threads; i++) {
		pthread_t t;

		if (pthread_create(&t, &attr, rest, NULL))
			fail("pthread_create");
	}
	begin();
	if (pmc_allocate("CPU_CLOCK", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1000000))
		fail("pmc_allocate");
	if (pmc_attach(id, 0) == 0)
		errno = 0;
	say(threads);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int n = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	char byte;

	if (!strcmp(what, "rows")) {
		struct answer a = take_all("PAGE_FAULT.ALL", PMC_MODE_TC, 0);

		printf("%u %s: %s\n", a.got, strerrorname_np(a.err), a.why);
	} else if (!strcmp(what, "samplers")) {
		take_in_many("CPU_CLOCK", PMC_MODE_TS, 0);
	} else if (!strcmp(what, "sources")) {
		take_in_many("CGROUP_SWITCHES", PMC_MODE_TC, 0);
	} else if (!strcmp(what, "threads")) {
		take_in_many("CPU_MIGRATIONS", PMC_MODE_TC, PMC_F_THREAD);
	} else if (!strcmp(what, "sets")) {
		take_sets();
	} else if (!strcmp(what, "targets")) {
		take_targets(n);
	} else if (!strcmp(what, "shares")) {
		take_shares(n);
	} else if (!strcmp(what, "events")) {
		take_events(n);
	} else {
		fputs("usage: hoard rows|samplers|sources|threads|sets|targets N|events N|"
		      "shares N\n", stderr);
		return 2;
	}
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
