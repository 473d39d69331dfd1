/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace points: a program's, compared with the clock that they read and with LTTng-UST's; the
 * kernel's, compared with the untraced call.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

/* A program of tests/bench/loops. */
struct loops {
	pid_t pid;
	FILE *to, *from;
};

/* --- programs of loops ---------------------------------------------------------------------- */

static void become(char *const argv[], int cpu, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		die("dup2: %s", strerror(errno));
	execv(argv[0], argv);
	die("%s: %s", argv[0], strerror(errno));
}

static void loops_start(struct loops *l, char *const argv[], int cpu)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	fflush(stdout);
	l->pid = fork();
	if (l->pid < 0)
		die("fork: %s", strerror(errno));
	if (l->pid == 0)
		become(argv, cpu, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	l->to = fdopen(to[1], "w");
	l->from = fdopen(from[0], "r");
	if (!l->to || !l->from)
		die("fdopen: %s", strerror(errno));
}

/* The time of one round of the loop in that program. */
static double ask(struct loops *l, char letter)
{
	char line[64];

	fputc(letter, l->to);
	fflush(l->to);
	if (!fgets(line, sizeof(line), l->from))
		die("a program of loops has ended at '%c'", letter);
	return strtod(line, NULL);
}

static void loops_end(struct loops *l)
{
	fclose(l->to);
	fclose(l->from);
	collect(l->pid);
}

/* --- a program's trace points --------------------------------------------------------------- */

struct users {
	struct series counter, empty, masked, ctr0, ctr2, ctr5, atomic, lttng;
};

static bool have_lttng(char *program, char *script, size_t size)
{
	path_beside(script, size, "lttng");
	path_beside(program, size, "lttng-loops");
	return access(program, X_OK) == 0 &&
	       system("command -v lttng lttng-sessiond >/dev/null 2>&1") == 0;
}

static void measure_users(const struct bench *b, struct users *u, bool *lttng)
{
	char ktr[PATH_MAX], other[PATH_MAX], script[PATH_MAX];
	struct loops ours, plain, theirs;

	path_beside(ktr, sizeof(ktr), "ktr-loops");
	loops_start(&ours, (char *[]){ ktr, NULL }, b->arena);
	/* glibc does not register rseq then, and libktr takes its slow path. */
	loops_start(&plain, (char *[]){ (char *)"/usr/bin/env",
		(char *)"GLIBC_TUNABLES=glibc.pthread.rseq=0", ktr, NULL }, b->arena);
	*lttng = have_lttng(other, script, sizeof(other));
	if (*lttng)
		loops_start(&theirs, (char *[]){ script, other, NULL }, b->arena);
	for (unsigned int i = 0; i < b->reps; i++) {
		add(&u->counter, ask(&ours, 'c'));
		add(&u->ctr5, ask(&ours, '5'));
		add(&u->ctr0, ask(&ours, '0'));
		add(&u->empty, ask(&ours, 'e'));
		add(&u->masked, ask(&ours, 'm'));
		add(&u->ctr2, ask(&ours, '2'));
		if (*lttng)
			add(&u->lttng, ask(&theirs, '2'));
		add(&u->atomic, ask(&plain, '5'));
	}
	loops_end(&ours);
	loops_end(&plain);
	if (*lttng)
		loops_end(&theirs);
}

static void users(const struct bench *b)
{
	struct users u = { 0 };
	bool lttng;
#ifdef __x86_64__
	const char *unit = "clocks";
#else
	const char *unit = "ns";
#endif

	measure_users(b, &u, &lttng);
	report(&(struct figure){ "CTR5, enabled", unit, &u.ctr5, "a bare clock read", &u.counter,
				 JUDGE_RATIO, 1.2 });
	report(&(struct figure){ "CTR0, enabled", unit, &u.ctr0, "a bare clock read", &u.counter,
				 JUDGE_RATIO, 1.1 });
	report(&(struct figure){ "CTR5, class off", unit, &u.masked, "an empty loop", &u.empty,
				 JUDGE_DIFFERENCE, 1 });
	report(&(struct figure){ "CTR5 without rseq", unit, &u.atomic, "a bare clock read",
				 &u.counter, JUDGE_NOT, 0 });
	if (lttng)
		report(&(struct figure){ "CTR2, enabled", unit, &u.ctr2, "LTTng-UST", &u.lttng,
					 JUDGE_RATIO, 0.15 });
	else
		left_out("ktr: CTR2 beside LTTng", "packaging/deps bench installs it");
}

/* --- the kernel's --------------------------------------------------------------------------- */

#define CALLS	10000
#define BATCHES 10

/* A system call with as little work as possible besides the kernel's entry and exit: ns. */
static double one_call(void)
{
	double best = 1e18;

	for (int i = 0; i < BATCHES; i++) {
		double took = now();

		for (int j = 0; j < CALLS; j++)
			syscall(SYS_getppid);
		took = now() - took;
		if (took < best)
			best = took;
	}
	return best / CALLS;
}

static void set(const char *name, const char *value)
{
	check_pmc(pmc_tunable_set(name, value), name);
}

/* Entry and exit of a call are both traced: one event costs half of the difference. */
static void halve(struct series *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		s->v[i] /= 2;
}

static void kernel(const struct bench *b)
{
	struct series base = { 0 }, on = { 0 }, masked = { 0 }, floor = { 0 };
	struct counters c;

	pin(b->arena);
	set("ktr.mask", "SYSC");
	for (unsigned int i = 0; i < b->reps; i++) {
		set("ktr.compile", "none");
		add(&base, one_call());
		counters_open(&c, HOW_FLOOR_CALLS, NULL, 0, getpid(), false);
		add(&floor, one_call());
		counters_close(&c);
		set("ktr.compile", "SYSC");
		add(&on, one_call());
		check_pmc(pmc_ktr_control(PMC_KTR_FREEZE, NULL), "freeze");
		add(&masked, one_call());
		check_pmc(pmc_ktr_control(PMC_KTR_THAW, NULL), "thaw");
	}
	set("ktr.compile", "none");
	pin(b->home);
	subtract(&on, &base);
	subtract(&masked, &base);
	subtract(&floor, &base);
	halve(&on);
	halve(&masked);
	halve(&floor);
	report(&(struct figure){ "a kernel event, over the unhooked", "ns", &on, NULL, NULL,
				 JUDGE_VALUE, 120 });
	report(&(struct figure){ "the same, class masked", "ns", &masked, "an empty program",
				 &floor, JUDGE_VALUE, 40 });
}

void bench_ktr(struct bench *b)
{
	static const char *const needs[] = { "./ktr-loops", NULL };

	if (b->icount) {
		left_out("ktr", "measured in real time only");
		return;
	}
	if (!lacks("ktr: trace points of programs", needs))
		users(b);
	kernel(b);
	bench_ktr_decode(b);
}
