/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The additional cost of a context switch when processes are measured: two processes pass a byte to
 * and fro on one CPU that runs nothing else.  Each measurement is paired with one without PMCs.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* The median of an odd number of chunks ignores ticks and single disturbances. */
#define CHUNKS 21
#define ROUNDS 100		/* of a chunk, two switches each */

/* How the measured process and the other one are related. */
enum pair {
	PAIR_STRANGER,		/* the other is not a target */
	PAIR_CHILD,		/* the other is the target's child and is measured as well */
	PAIR_SPLIT,		/* … and one PMC is the parent's alone: their accounts differ */
	PAIR_NEITHER,		/* a third process is measured, which sleeps */
	PAIR_CGROUPS,		/* they are in two of the cgroups that are counted */
};

struct pipes {
	int ping[2], pong[2], go[2], result[2];
};

static void open_pipes(struct pipes *p)
{
	if (pipe(p->ping) || pipe(p->pong) || pipe(p->go) || pipe(p->result))
		die("pipe: %s", strerror(errno));
}

static void close_pipes(struct pipes *p)
{
	int *fds[] = { p->ping, p->pong, p->go, p->result };

	for (unsigned int i = 0; i < 4; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
}

static void get(int fd, void *data, size_t size)
{
	if (read(fd, data, size) != (ssize_t)size)
		die("a partner of the measurement is gone");
}

static void put(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		die("a partner of the measurement is gone");
}

static void pong(const struct pipes *p)
{
	char c;

	for (int i = 0; i < (CHUNKS + 1) * ROUNDS; i++) {
		get(p->ping[0], &c, 1);
		put(p->pong[1], &c, 1);
	}
}

static double chunk(const struct pipes *p)
{
	double t = now();
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		put(p->ping[1], &c, 1);
		get(p->pong[0], &c, 1);
	}
	return (now() - t) / (2 * ROUNDS);
}

static void ping(const struct pipes *p)
{
	struct series chunks = { 0 };
	double t;
	char c;

	get(p->go[0], &c, 1);
	chunk(p);	/* warms up */
	for (int i = 0; i < CHUNKS; i++)
		add(&chunks, chunk(p));
	t = median(&chunks);
	put(p->result[1], &t, sizeof(t));
}

static pid_t player(const struct bench *b)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	pin(b->arena);
	realtime();
	return 0;
}

/* The child is forked after the counters are opened: perf's inheritance requires it. */
static void play_with_child(const struct pipes *p, const struct bench *b)
{
	char c = 0;
	pid_t child;

	get(p->go[0], &c, 1);
	child = player(b);
	if (!child) {
		pong(p);
		_exit(0);
	}
	ping(p);
	collect(child);
}

/*
 * While programs of the last measurement are still attached, and the kernel frees closed objects
 * (RCU), every switch is slower, and realtime players keep that from ever finishing on their CPU.
 * There is no notification when it is done.
 */
void settle(void)
{
	const struct timespec moment = { .tv_nsec = 250 * 1000000 };

	nanosleep(&moment, NULL);
}

/* A player of the pair that is not the other's child. */
static pid_t player_of(const struct bench *b, enum pair pair, const struct cgroups *g,
		       unsigned int which)
{
	pid_t pid = player(b);

	if (!pid && pair == PAIR_CGROUPS)
		cgroup_enter(g, which);
	return pid;
}

static double one_run(const struct bench *b, enum pair pair, struct cgroups *g, enum how how,
		      const struct event *ev, unsigned int n)
{
	bool related = pair == PAIR_CHILD || pair == PAIR_SPLIT;
	struct counters c;
	struct pipes p;
	pid_t a, other = 0, third = 0;
	pmc_id_t own = 0;
	double t;

	open_pipes(&p);
	a = player_of(b, pair, g, 0);
	if (!a) {
		if (related)
			play_with_child(&p, b);
		else
			ping(&p);
		_exit(0);
	}
	if (!related) {
		other = player_of(b, pair, g, 1);
		if (!other) {
			pong(&p);
			_exit(0);
		}
	}
	if (pair == PAIR_NEITHER)
		third = sleeper();
	if (pair == PAIR_CGROUPS)
		cgroups_count(b, g, how, ev);
	else
		counters_open(&c, how, ev, n, third ? third : a, related);
	/* A PMC without work at a switch: it only makes the accounts differ. */
	if (pair == PAIR_SPLIT && how == HOW_OURS)
		own = pmc_open(&soft_events[0], a, 0);
	settle();
	put(p.go[1], "gg", related ? 2 : 1);
	get(p.result[0], &t, sizeof(t));
	collect(a);
	if (other)
		collect(other);
	if (third)
		end(third);
	if (pair == PAIR_SPLIT && how == HOW_OURS)
		check_pmc(pmc_release(own), "pmc_release");
	if (pair == PAIR_CGROUPS)
		cgroups_count_end(g);
	else
		counters_close(&c);
	close_pipes(&p);
	return t;
}

struct test {
	const char *name;
	enum pair pair;
	bool hardware;
	const struct event *ev;
	unsigned int n;
	enum how other;
	const char *other_name;
	enum judge judge;
	double goal;
};

/* Between non-targets the goal is in instructions. */
static const struct test tests[] = {
	{ "switch of two others, nobody measured", PAIR_STRANGER, false, NULL, 0,
	  HOW_BASE, NULL, JUDGE_NOT, 0 },
	{ "switch target/other, waits sampled", PAIR_STRANGER, false, soft_events, 1,
	  HOW_SWITCHES, "perf sched_switch", JUDGE_VALUE, 600 },
	{ "switch target/other, waits and wakers", PAIR_STRANGER, false, soft_events, 1,
	  HOW_WAKEUPS, "perf sched_waking -g", JUDGE_NOT, 0 },
	{ "switch target/other, 1 hardware PMC", PAIR_STRANGER, true, hard_events, 1,
	  HOW_PERF, "perf per task", JUDGE_RATIO, 0.6 },
	{ "switch target/other, 4 hardware PMCs", PAIR_STRANGER, true, hard_events, 4,
	  HOW_PERF, "perf per task", JUDGE_RATIO, 0.4 },
	{ "switch target/child, 1 hardware PMC", PAIR_CHILD, true, hard_events, 1,
	  HOW_PERF, "perf inherit", JUDGE_RATIO, 0.5 },
	{ "switch target/child, 4 hardware PMCs", PAIR_CHILD, true, hard_events, 4,
	  HOW_PERF, "perf inherit", JUDGE_RATIO, 0.5 },
	{ "switch target/child, 1 hardware, split", PAIR_SPLIT, true, hard_events, 1,
	  HOW_PERF, "perf inherit", JUDGE_RATIO, 2 },
	{ "switch target/child, 4 hardware, split", PAIR_SPLIT, true, hard_events, 4,
	  HOW_PERF, "perf inherit", JUDGE_RATIO, 2 },
	{ "switch of two others, 1 hardware PMC", PAIR_NEITHER, true, hard_events, 1,
	  HOW_FLOOR, "empty tp_btf", JUDGE_DIFFERENCE, 40 },
	{ "switch target/other, 1 hardware, 1 MSR", PAIR_STRANGER, true, msr_events, 2,
	  HOW_OURS, "2 hardware PMCs", JUDGE_DIFFERENCE, 100 },
	{ "switch between cgroups, 20 hardware PMCs", PAIR_CGROUPS, true, hard_events, 1,
	  HOW_PERF, "perf per cgroup", JUDGE_RATIO, 0.3 },
	/* An event that perf switches at no cost of hardware. */
	{ "switch between cgroups, 20 SOFT PMCs", PAIR_CGROUPS, false, &soft_events[1], 1,
	  HOW_PERF, "perf per cgroup", JUDGE_NOT, 0 },
	{ "switch target/other, 1 SOFT PMC", PAIR_STRANGER, false, soft_events, 1,
	  HOW_PERF, "perf per task", JUDGE_RATIO, 0.05 },
	{ "switch target/other, 4 SOFT PMCs", PAIR_STRANGER, false, soft_events, 4,
	  HOW_PERF, "perf per task", JUDGE_RATIO, 0.05 },
	{ "switch target/other, 4 TRACEPOINT PMCs", PAIR_STRANGER, false, rare_tracepoints, 4,
	  HOW_PERF, "perf per task", JUDGE_RATIO, 0.4 },
	{ "switch of two others, 4 TRACEPOINT PMCs", PAIR_NEITHER, false, rare_tracepoints, 4,
	  HOW_FLOOR, "empty tp_btf", JUDGE_DIFFERENCE, 40 },
	{ "switch target/other, 1 sliced SOFT PMC", PAIR_STRANGER, false, soft_slice, 1,
	  HOW_PERF, "perf per task", JUDGE_NOT, 0 },
	/* Our record has the slice's events; perf's only marks the switch. */
	{ "switch target/other, 1 SOFT PMC, logged", PAIR_STRANGER, false, soft_events, 1,
	  HOW_RECORDS, "perf switch records", JUDGE_NOT, 0 },
	{ "switch target/other, 1 hardware, logged", PAIR_STRANGER, true, hard_events, 1,
	  HOW_RECORDS, "perf switch records", JUDGE_NOT, 0 },
	{ "switch target/child, 4 SOFT PMCs", PAIR_CHILD, false, soft_events, 4,
	  HOW_PERF, "perf inherit", JUDGE_NOT, 0 },
	{ "switch of two others, 4 SOFT PMCs", PAIR_NEITHER, false, soft_events, 4,
	  HOW_FLOOR, "empty tp_btf", JUDGE_DIFFERENCE, 40 },
	{ "switch of two others, 1 sliced SOFT PMC", PAIR_NEITHER, false, soft_slice, 1,
	  HOW_FLOOR, "empty tp_btf", JUDGE_DIFFERENCE, 40 },
};

static enum how ours_beside(enum how other)
{
	switch (other) {
	case HOW_RECORDS:
		return HOW_LOGGED;
	case HOW_SWITCHES:
		return HOW_WAITS;
	case HOW_WAKEUPS:
		return HOW_WAKERS;
	default:
		return HOW_OURS;
	}
}

/* Events of tracefs. */
static bool needs_tracepoints(const struct test *t)
{
	return t->ev == rare_tracepoints || t->other == HOW_SWITCHES || t->other == HOW_WAKEUPS;
}

static void one_test(const struct bench *b, struct cgroups *g, const struct test *t)
{
	/* Ours against ours: another event replaces the register. */
	const struct event *other_ev = t->other == HOW_OURS ? hard_events : t->ev;
	struct series base = { 0 }, ours = { 0 }, other = { 0 };
	struct figure f = {
		.name = t->name, .unit = b->unit, .ours = &ours, .other = &other,
		.other_name = t->other_name, .judge = t->judge, .goal = t->goal,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, one_run(b, t->pair, g, HOW_BASE, NULL, 0));
		if (t->other == HOW_BASE)
			continue;
		add(&ours, one_run(b, t->pair, g, ours_beside(t->other), t->ev, t->n));
		add(&other, one_run(b, t->pair, g, t->other, other_ev, t->n));
	}
	subtract(&ours, &base);
	subtract(&other, &base);
	if (t->other == HOW_BASE)
		f.ours = &base;
	if (t->judge == JUDGE_DIFFERENCE && !b->icount)
		f.judge = JUDGE_NOT;
	report(&f);
}

/* Some kernels have no waits for programs, or no wakers. */
static bool has_waits(uint32_t flags, const char *what)
{
	pmc_id_t id;

	if (pmc_allocate("OFFCPU_TIME", PMC_MODE_TS, flags, PMC_CPU_ANY, &id, 1)) {
		left_out(what, "%s", pmc_errstr());
		return false;
	}
	check_pmc(pmc_release(id), "pmc_release");
	return true;
}

void bench_switch(struct bench *b)
{
	const bool waits = has_waits(0, "switch: waits");
	const bool wakers = has_waits(PMC_F_WAKERS, "switch: wakers");
	struct cgroups g;
	const bool cgroups = cgroups_make(b, &g);

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if ((!tests[i].hardware || b->hardware) &&
		    (tests[i].ev != msr_events || b->registers) &&
		    (!needs_tracepoints(&tests[i]) || b->tracepoints) &&
		    (tests[i].other != HOW_SWITCHES || waits) &&
		    (tests[i].other != HOW_WAKEUPS || wakers) &&
		    (tests[i].pair != PAIR_CGROUPS || cgroups))
			one_test(b, &g, &tests[i]);
	if (cgroups)
		cgroups_remove(&g);
}
