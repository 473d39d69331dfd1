/* SPDX-License-Identifier: BSD-2-Clause */
/* Many short children of a process whose descendants are counted: the cost of forks and exits. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* The median of an odd number of chunks ignores ticks and single disturbances. */
#define CHUNKS	 63
#define CHILDREN 6		/* of a chunk */

static double chunk(void)
{
	double t = now();

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		collect(child);
	}
	return (now() - t) / CHILDREN;
}

static double work(void)
{
	struct series chunks = { 0 };

	chunk();	/* warms up */
	for (int i = 0; i < CHUNKS; i++)
		add(&chunks, chunk());
	return median(&chunks);
}

/* The time of one fork, exit and wait in a measured process. */
static double one_run(const struct bench *b, enum how how, const struct event *ev, unsigned int n)
{
	struct counters c;
	int go[2], result[2];
	pid_t pid;
	double t = 0;
	char byte;

	if (pipe(go) || pipe(result))
		die("pipe: %s", strerror(errno));
	pid = fork_child();
	if (pid == 0) {
		pin(b->arena);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		t = work();
		_exit(write(result[1], &t, sizeof(t)) != sizeof(t));
	}
	counters_open(&c, how, ev, n, pid, true);
	if (write(go[1], "g", 1) != 1 || read(result[0], &t, sizeof(t)) != sizeof(t))
		die("the process that forks is gone");
	collect(pid);
	counters_close(&c);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(result[i]);
	}
	return t;
}

static void one_test(const struct bench *b, const char *name, const struct event *ev,
		     unsigned int n)
{
	struct series bare = { 0 }, ours = { 0 }, perf = { 0 };
	char against[64];
	struct figure f = { .name = against, .unit = b->unit, .ours = &ours };

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&bare, one_run(b, HOW_BASE, NULL, 0));
		add(&ours, one_run(b, HOW_OURS, ev, n));
		add(&perf, one_run(b, HOW_PERF, ev, n));
	}
	snprintf(against, sizeof(against), "fork+exit, %s", name);
	f.other = &bare;
	f.other_name = "bare";
	f.judge = JUDGE_RATIO;
	f.goal = 1.05;
	report(&f);
	f.other = &perf;
	f.other_name = "perf inherit";
	f.judge = JUDGE_NOT;
	report(&f);
}

void bench_fork(struct bench *b)
{
	one_test(b, "1 SOFT PMC", soft_events, 1);
	one_test(b, "4 SOFT PMCs", soft_events, 4);
	if (!b->hardware)
		return;
	one_test(b, "1 hardware PMC", hard_events, 1);
	one_test(b, "4 hardware PMCs", hard_events, 4);
}
