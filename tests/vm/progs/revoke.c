// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that counts itself while its right to read counters comes and goes: see usage().  Its
 * own SIGILL handler must receive its own illegal instructions and no others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <pmc.h>

#include "spin.h"

#define ACCESS "/proc/sys/kernel/perf_user_access"
#define TIMES  5

static int access_fd;
static bool grouped;			/* the PMC that is read leads a group of two */
static volatile sig_atomic_t handled;

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %s %s\n", what, strerrorname_np(errno), pmc_errstr());
	exit(1);
}

static void user_access(const char *value)
{
	check(pwrite(access_fd, value, 1, 0) != 1, ACCESS);
}

#if defined(__aarch64__)
#define UDF 0x00000000u

static void on_illegal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (*(const uint32_t *)uc->uc_mcontext.pc != UDF || info->si_signo != sig) {
		static const char text[] = "an instruction of the library reached the program\n";

		_exit(write(1, text, sizeof(text) - 1) > 0 ? 3 : 4);
	}
	handled++;
	uc->uc_mcontext.pc += 4;
}

static void illegal(void)
{
	__asm__ volatile("udf #0");
}
#else
static void on_illegal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
}

static void illegal(void)
{
}
#endif

static void handle(void)
{
	struct sigaction sa = { .sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO };

	check(sigaction(SIGILL, &sa, NULL), "sigaction");
}

static pmc_id_t allocate(const char *spec)
{
	pmc_id_t id;

	check(pmc_allocate(spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), "allocate");
	return id;
}

static pmc_id_t allocate_group(const char *spec)
{
	pmc_id_t id, member;
	uint32_t group;

	check(pmc_group_create(&group), "create");
	check(pmc_allocate_group(spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), "allocate");
	check(pmc_allocate_group("cpu_cycles", PMC_MODE_TC, 0, PMC_CPU_ANY, &member, 0),
	      "allocate");
	check(pmc_group_add(group, id, 1) || pmc_group_add(group, member, 0), "add");
	check(pmc_group_commit(group), "commit");
	return id;
}

static uint64_t value_of(pmc_id_t id)
{
	struct pmc_group_member members[2];
	uint32_t n = 2;
	pmc_value_t v;

	if (!grouped) {
		check(pmc_read(id, &v), "read");
		return v;
	}
	check(pmc_group_read(id, &n, members, NULL), "read the group");
	return members[0].pm_value;
}

/* The minimum and maximum that a step has counted beyond its loop. */
struct range {
	uint64_t last;
	int64_t least, most;
};

static void step(struct range *r, pmc_id_t id, uint64_t rounds)
{
	uint64_t now;
	int64_t extra;

	spin(rounds);
	now = value_of(id);
	extra = (int64_t)(now - r->last - 2 * rounds);
	r->last = now;
	if (extra < r->least)
		r->least = extra;
	if (extra > r->most)
		r->most = extra;
}

static void steps(pmc_id_t id, struct range *r, uint64_t rounds)
{
	for (int i = 0; i < TIMES; i++) {
		user_access("0");
		step(r, id, rounds);		/* the page does not know yet */
		step(r, id, rounds);
		illegal();
		usleep(1000);			/* now it does */
		step(r, id, rounds);
		user_access("1");
		step(r, id, rounds);
		usleep(1000);
		step(r, id, rounds);
		step(r, id, rounds);
		user_access("0");
		user_access("1");		/* the page permits, the instruction traps */
		step(r, id, rounds);
		usleep(400000);			/* it is retried at some point */
		step(r, id, rounds);
		step(r, id, rounds);
	}
}

/* Its handler is installed before the first START, or after. */
static int cmd_steps(const char *spec, uint64_t rounds, int late)
{
	struct range r = { .least = INT64_MAX, .most = INT64_MIN };
	pmc_id_t read = grouped ? allocate_group(spec) : allocate(spec), other = allocate(spec);
	pmc_value_t a, b;

	if (!late)
		handle();
	check(pmc_start(read) || pmc_start(other), "start");
	for (int i = 0; i < 3; i++)
		r.last = value_of(read);
	if (late) {
		handle();
		usleep(20000);
	}
	r.last = value_of(read);
	steps(read, &r, rounds);
	check(pmc_stop(other), "stop");
	check(pmc_stop(read), "stop");
	check(pmc_read(read, &a) || pmc_read(other, &b), "read");
	printf("%ld %ld %ld %ld %d\n", r.least, r.most, (int64_t)(a - r.last), (int64_t)(a - b),
	       (int)handled);
	return 0;
}

/* A read, once its way has been determined. */
static uint64_t cost(pmc_id_t id)
{
	uint64_t least = UINT64_MAX, last = value_of(id);

	for (int i = 0; i < 10; i++) {
		uint64_t now = value_of(id);

		if (now - last < least)
			least = now - last;
		last = now;
	}
	return least;
}

static int cmd_cost(const char *spec)
{
	pmc_id_t id = allocate(spec);

	check(pmc_start(id), "start");
	printf("%lu", cost(id));
	user_access("0");
	printf(" %lu", cost(id));
	user_access("1");
	usleep(1100000);
	printf(" %lu\n", cost(id));
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: revoke steps SPEC ROUNDS   least and most of a step beyond 2 * ROUNDS,\n"
		"                                  counted after the last, and beyond another\n"
		"                                  PMC's count; own signals\n"
		"       revoke late SPEC ROUNDS    ... with a handler that comes after START\n"
		"       revoke group SPEC ROUNDS   steps of a group's leader\n"
		"       revoke cost SPEC           of a read: granted, revoked, granted\n");
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return usage();
	access_fd = open(ACCESS, O_RDWR | O_CLOEXEC);
	check(access_fd < 0, ACCESS);
	user_access("1");
	check(pmc_init(), "init");
	if (!strcmp(argv[1], "cost") && argc == 3)
		return cmd_cost(argv[2]);
	grouped = !strcmp(argv[1], "group");
	if ((grouped || !strcmp(argv[1], "steps") || !strcmp(argv[1], "late")) && argc == 4)
		return cmd_steps(argv[2], strtoull(argv[3], NULL, 10), argv[1][0] == 'l');
	return usage();
}
