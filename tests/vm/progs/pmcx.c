// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client of libpmc-compat that tests control: see usage().  Numbers go to stdout, one line for
 * each step; a refusal is the line "CALL: ERRNAME text" and exit status 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <machine/cpufunc.h>
#include <pmc.h>

#include "spin.h"

#define HOLD_MAX 64
#define SAMPLES	 8
#define TO_SLEEP 60	/* instructions from the end of a spinner's step until it sleeps */

/* A child that spins on request. */
struct spinner {
	pid_t pid;
	int order[2], done[2];
	unsigned long sleeps;		/* how often it has gone to sleep */
};

static void refused(const char *what)
{
	printf("%s: %s %s\n", what, strerrorname_np(errno), pmc_errstr());
	exit(1);
}

static void check(int result, const char *what)
{
	if (result)
		refused(what);
}

static void bad(const char *what)
{
	fprintf(stderr, "pmcx: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static uint64_t value_of(pmc_id_t id)
{
	pmc_value_t v;

	check(pmc_read(id, &v), "read");
	return v;
}

static pmc_id_t allocate(const char *spec, uint32_t flags)
{
	pmc_id_t id;

	check(pmc_allocate(spec, PMC_MODE_TC, flags, PMC_CPU_ANY, &id, 0), "allocate");
	return id;
}

/*
 * --- a child that spins
 * ------------------------------------------------------------------------
 */

static void spinner_serve(const struct spinner *s, uint64_t rounds)
{
	char byte;

	close(s->order[1]);
	while (read(s->order[0], &byte, 1) == 1) {
		spin(rounds);
		if (write(s->done[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* Waits until it sleeps again: the scheduler counts that as the process leaves the CPU. */
static void spinner_asleep(struct spinner *s)
{
	char path[64], line[128], state = 0;
	unsigned long sleeps = s->sleeps;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
	while (state != 'S' || sleeps == s->sleeps) {
		FILE *f = fopen(path, "r");

		if (!f)
			bad(path);
		while (fgets(line, sizeof(line), f)) {
			sscanf(line, "State: %c", &state);
			sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
		}
		fclose(f);
		if (state == 'Z')
			bad("the child has ended");
		sched_yield();
	}
	s->sleeps = sleeps;
}

static void spinner_new(struct spinner *s, uint64_t rounds)
{
	s->sleeps = 0;
	if (pipe(s->order) || pipe(s->done))
		bad("pipe");
	s->pid = fork();
	if (s->pid < 0)
		bad("fork");
	if (!s->pid)
		spinner_serve(s, rounds);
	spinner_asleep(s);
}

static void spinner_step(struct spinner *s)
{
	char byte = 0;

	if (write(s->order[1], &byte, 1) != 1 || read(s->done[0], &byte, 1) != 1)
		bad("the child");
	spinner_asleep(s);
}

static void spinner_end(const struct spinner *s)
{
	close(s->order[1]);
	waitpid(s->pid, NULL, 0);
}

/*
 * --- commands
 * ------------------------------------------------------------------------------------
 */

/*
 * hold N SPEC-1 SPEC: as many of N as it gets, the first for SPEC-1, on itself, until input
 * comes
 */
static int cmd_hold(char **argv)
{
	int n = atoi(argv[0]), held = 0;
	pmc_id_t id[HOLD_MAX];
	char byte;

	while (held < n && held < HOLD_MAX &&
	       !pmc_allocate(argv[held ? 2 : 1], PMC_MODE_TC, 0, PMC_CPU_ANY, &id[held], 0)) {
		check(pmc_start(id[held]), "start");
		held++;
	}
	if (held < n)
		printf("%d held, then: %s %s\n", held, strerrorname_np(errno), pmc_errstr());
	else
		printf("%d held\n", held);
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		bad("the input");
	for (int i = 0; i < held; i++) {
		pmc_value_t v;

		if (pmc_read(id[i], &v))
			printf("row %u: %s %s\n", PMC_ID_TO_ROWINDEX(id[i]), strerrorname_np(errno),
			       pmc_errstr());
	}
	return 0;
}

/* fill N CPU SPEC: N system-scope PMCs, until the input ends */
static int cmd_fill(char **argv)
{
	int n = atoi(argv[0]), cpu = atoi(argv[1]);
	pmc_id_t id;
	char byte;

	for (int i = 0; i < n; i++)
		check(pmc_allocate(argv[2], PMC_MODE_SC, 0, cpu, &id, 0), "allocate");
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

/*
 * steps ROUNDS SPEC: a child makes equal steps; the count after each of: two steps, STOP, a step
 * while stopped, START, a step, the child's exit.
 */
static int cmd_steps(char **argv)
{
	pmc_id_t id = allocate(argv[1], 0);
	uint64_t v[SAMPLES];
	struct spinner s;
	int n = 0;

	spinner_new(&s, number(argv[0]));
	spinner_step(&s);
	check(pmc_attach(id, s.pid), "attach");
	check(pmc_start(id), "start");
	spinner_step(&s);
	v[n++] = value_of(id);
	spinner_step(&s);
	v[n++] = value_of(id);
	check(pmc_stop(id), "stop");
	v[n++] = value_of(id);
	spinner_step(&s);
	v[n++] = value_of(id);
	check(pmc_start(id), "start");
	v[n++] = value_of(id);
	spinner_step(&s);
	v[n++] = value_of(id);
	spinner_end(&s);
	v[n++] = value_of(id);
	v[n++] = value_of(id);
	for (int i = 0; i < n; i++)
		printf("%lu%s", v[i], i + 1 < n ? " " : "\n");
	check(pmc_release(id), "release");
	return 0;
}

/*
 * preset ROUNDS SPEC VALUE: the count of a child after pmc_set(VALUE), after a step, after
 * pmc_rw(VALUE), and after another step
 */
static int cmd_preset(char **argv)
{
	uint64_t value = strtoull(argv[2], NULL, 0);
	pmc_id_t id = allocate(argv[1], 0);
	uint64_t v[4];
	pmc_value_t old;
	struct spinner s;

	spinner_new(&s, number(argv[0]));
	spinner_step(&s);
	check(pmc_attach(id, s.pid), "attach");
	check(pmc_set(id, value), "set");
	v[0] = value_of(id);
	check(pmc_start(id), "start");
	spinner_step(&s);
	check(pmc_stop(id), "stop");
	v[1] = value_of(id);
	check(pmc_rw(id, value, &old), "rw");
	if (old != v[1])
		bad("the old value is not the one that was read");
	v[2] = value_of(id);
	check(pmc_start(id), "start");
	spinner_step(&s);
	check(pmc_stop(id), "stop");
	v[3] = value_of(id);
	spinner_end(&s);
	printf("%lu %lu %lu %lu\n", v[0], v[1], v[2], v[3]);
	return 0;
}

/* --- two owners on one row -------------------------------------------------------------------- */

struct party {
	const char *name;
	pmc_id_t id;
	struct spinner s;
};

static void party_allocate(struct party *p, const char *name, const char *spec, uint64_t rounds)
{
	p->name = name;
	spinner_new(&p->s, rounds);
	spinner_step(&p->s);
	p->id = allocate(spec, 0);
	check(pmc_attach(p->id, p->s.pid), "attach");
}

/* Two steps, with a reading after each. */
static void party_count(struct party *p)
{
	uint64_t one, two;

	spinner_step(&p->s);
	one = value_of(p->id);
	spinner_step(&p->s);
	two = value_of(p->id);
	check(pmc_stop(p->id), "stop");
	if (value_of(p->id) - two > TO_SLEEP)
		bad("the count moved while its process slept");
	spinner_end(&p->s);
	printf("%s row %u: %lu %lu\n", p->name, PMC_ID_TO_ROWINDEX(p->id), one, two - one);
	fflush(stdout);
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		bad("the other owner");
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(2);	/* it has printed the reason */
}

/*
 * two ROUNDS SPEC-A SPEC-B [running]: B allocates before A starts, or while A runs; then both
 * count
 */
static int cmd_two(char **argv)
{
	uint64_t rounds = number(argv[0]);
	int to[2], from[2], status;
	struct party p;
	pid_t pid;

	if (pipe(to) || pipe(from))
		bad("pipe");
	pid = fork();
	if (pid < 0)
		bad("fork");
	if (!pid) {
		close(to[1]);
		check(pmc_init(), "init");
		hear(to[0]);
		party_allocate(&p, "B", argv[2], rounds);
		tell(from[1]);
		hear(to[0]);
		check(pmc_start(p.id), "start");
		party_count(&p);
		return 0;
	}
	close(from[1]);
	party_allocate(&p, "A", argv[1], rounds);
	if (argv[3])
		check(pmc_start(p.id), "start");
	tell(to[1]);
	hear(from[0]);
	check(pmc_start(p.id), "start");
	tell(to[1]);
	party_count(&p);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* climb READS SPEC: reads the count of a child that never stops; says how often it rose and fell */
static int cmd_climb(char **argv)
{
	uint64_t reads = number(argv[0]), last = 0, rose = 0, fell = 0;
	pmc_id_t id = allocate(argv[1], 0);
	pid_t pid = fork();

	if (pid < 0)
		bad("fork");
	while (!pid)
		spin(1000);
	check(pmc_attach(id, pid), "attach");
	check(pmc_start(id), "start");
	for (uint64_t i = 0; i < reads; i++) {
		uint64_t now = value_of(id);

		rose += now > last;
		fell += now < last;
		last = now;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%lu %lu\n", rose, fell);
	return 0;
}

/*
 * gone PAGES SPEC: the count when the only target has exited, and twice later; stopped in
 * between
 */
static int cmd_gone(char **argv)
{
	pmc_id_t id = allocate(argv[1], 0);
	uint64_t first, running;
	char work[64], byte;
	int go[2];
	pid_t pid;

	if (pipe(go))
		bad("pipe");
	snprintf(work, sizeof(work), "pages=%s", argv[0]);
	pid = fork();
	if (pid < 0)
		bad("fork");
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 0 || dup2(2, 1) != 1)
			_exit(1);
		execlp("load", "load", work, (char *)NULL);
		_exit(1);
	}
	check(pmc_attach(id, pid), "attach");
	check(pmc_start(id), "start");
	close(go[1]);
	waitpid(pid, NULL, 0);
	first = value_of(id);
	running = value_of(id);
	check(pmc_stop(id), "stop");
	printf("%lu %lu %lu\n", first, running, value_of(id));
	return 0;
}

static void *spin_thread(void *arg)
{
	spin(*(uint64_t *)arg);
	return NULL;
}

/* The work between two reads of one's own count. */
static void self_step(const char *how, uint64_t rounds)
{
	pthread_t t[2];
	pid_t pid;

	if (!strcmp(how, "spin"))
		spin(rounds);
	if (!strcmp(how, "threads")) {
		for (int i = 0; i < 2; i++)
			if (pthread_create(&t[i], NULL, spin_thread, &rounds))
				bad("pthread_create");
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	}
	if (!strcmp(how, "fork")) {
		pid = fork();
		if (pid < 0)
			bad("fork");
		if (!pid) {
			spin(rounds);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/*
 * self ROUNDS SPEC HOW [d]: counts itself over nothing, twice, then steps of 1, 1, 2 and 3 times
 * ROUNDS
 */
static int cmd_self(char **argv)
{
	static const unsigned int times[SAMPLES - 2] = { 0, 0, 1, 1, 2, 3 };
	pmc_id_t id = allocate(argv[1], argv[3] ? PMC_F_DESCENDANTS : 0);
	uint64_t rounds = number(argv[0]), before, after[SAMPLES - 2];

	check(pmc_start(id), "start");
	/* First-time costs of the process. */
	self_step(argv[2], rounds);
	before = value_of(id);
	for (int i = 0; i < SAMPLES - 2; i++) {
		uint64_t now;

		self_step(times[i] ? argv[2] : "nothing", times[i] * rounds);
		now = value_of(id);
		after[i] = now - before;
		before = now;
	}
	for (int i = 0; i < SAMPLES - 2; i++)
		printf("%lu%s", after[i], i + 3 < SAMPLES ? " " : "\n");
	check(pmc_stop(id), "stop");
	if (value_of(id) < before)
		bad("the count fell at STOP");
	return 0;
}

/* The result of a call that may fail. */
static void outcome(const char *what, int result)
{
	printf("%s: %s\n", what, result ? strerrorname_np(errno) : "0");
}

/*
 * msr ROUNDS SPEC: its register before START, while it runs, read directly around ROUNDS, and what
 * attaching is after that
 */
static int cmd_msr(char **argv)
{
	pmc_id_t id = allocate(argv[1], 0);
	uint64_t rounds = number(argv[0]), raw, count;
	uint32_t msr = 12345, width;
	pid_t pid;

	outcome("unattached", pmc_get_msr(id, &msr));
	check(pmc_attach(id, 0), "attach");
	outcome("stopped", pmc_get_msr(id, &msr));
	check(pmc_start(id), "start");
	if (msr != 12345)
		bad("a failure stored a number");
	if (pmc_get_msr(id, &msr))
		refused("running");
	check(pmc_width(id, &width), "width");
	for (int i = 0; i < 2; i++) {
		if (i)		/* the register does not restart at 0 */
			spin(rounds);
		count = value_of(id);
		raw = rdpmc(msr);
		spin(rounds);
		raw = rdpmc(msr) - raw;
		count = value_of(id) - count;
		if (width < 64)
			raw &= (1ull << width) - 1;
		printf("%u: %lu %lu\n", msr, raw, count);
	}
	check(pmc_stop(id), "stop");
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	outcome("other", pmc_attach(id, pid));
	outcome("self", pmc_attach(id, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(pmc_start(id), "start again");
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: pmcx hold N SPEC SPEC | fill N CPU SPEC |\n"
		"            steps ROUNDS SPEC | climb READS SPEC |\n"
		"            gone PAGES SPEC | preset ROUNDS SPEC VALUE |\n"
		"            self ROUNDS SPEC {spin|threads|fork} [d] |\n"
		"            msr ROUNDS SPEC |\n"
		"            two ROUNDS SPEC SPEC [running]\n");
	return 2;
}

static const struct command {
	const char *name;
	int least, most;
	int (*run)(char **argv);
} commands[] = {
	{ "hold", 3, 3, cmd_hold },   { "fill", 3, 3, cmd_fill }, { "steps", 2, 2, cmd_steps },
	{ "climb", 2, 2, cmd_climb }, { "gone", 2, 2, cmd_gone }, { "self", 3, 4, cmd_self },
	{ "two", 3, 4, cmd_two },     { "msr", 2, 2, cmd_msr },     { "preset", 3, 3, cmd_preset },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *c = &commands[i];

		if (strcmp(argv[1], c->name) || argc - 2 < c->least || argc - 2 > c->most)
			continue;
		check(pmc_init(), "init");
		return c->run(argv + 2);
	}
	return usage();
}
