// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client of libpmc-compat that does what its input says, a line at a time, and answers each line
 * with one: the value or "ok", or the error's name and the reason.  Errors do not end it.
 *
 *	alloc NAME sc|tc CPU SPEC	start NAME	stop NAME	read NAME	write NAME N
 *	release NAME			attach NAME PID	child NAME	kill NAME
 *	pin NAME CPU			rounds NAME		atleast NAME N
 *	info CPU	disable CPU ROW	enable CPU ROW	! SHELL COMMAND
 *
 * child makes a process that spins for ever, counting its rounds, and attaches the PMC to it; kill
 * ends it, and answers when it has left its CPU.
 * rounds prints them, pin binds the child to a CPU (-1: to none).  atleast reads, and answers
 * "short" if the count grew by less than N times the rounds made since the last one, those that the
 * child was just making then aside: something was not counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmc.h>

#include "spin.h"

#define NAMES	26
#define WORDS	8
#define ROUNDS	1000		/* between two updates of the counter that others see */

struct slot {
	pmc_id_t id;
	pid_t child;
	volatile uint64_t *rounds;	/* the child's, shared */
	uint64_t count, then;		/* at the last `atleast` */
};

struct client {
	struct slot slot[NAMES];
	char *word[WORDS];
	unsigned int nwords;
};

static struct slot *slot_of(struct client *c)
{
	return &c->slot[c->nwords > 1 ? (unsigned int)(c->word[1][0] - 'a') % NAMES : 0];
}

static uint64_t number(const struct client *c, unsigned int at)
{
	return c->nwords > at ? strtoull(c->word[at], NULL, 0) : 0;
}

/* The answer to a line whose call returned `result`. */
static void answer(const struct client *c, int result)
{
	if (result)
		printf("%s: %s %s\n", c->word[0], strerrorname_np(errno), pmc_errstr());
	else
		printf("%s: ok\n", c->word[0]);
}

static void answer_value(const struct client *c, int result, uint64_t value)
{
	if (result)
		answer(c, result);
	else
		printf("%s: %lu\n", c->word[0], value);
}

static void do_alloc(struct client *c)
{
	bool system = c->nwords > 2 && !strcmp(c->word[2], "sc");
	int cpu = system ? (int)number(c, 3) : PMC_CPU_ANY;

	answer(c, pmc_allocate(c->nwords > 4 ? c->word[4] : "", system ? PMC_MODE_SC : PMC_MODE_TC,
			       0, cpu, &slot_of(c)->id, 0));
}

/* The starting point of `atleast`. */
static void mark(struct slot *s, uint64_t count)
{
	s->count = count;
	s->then = s->rounds ? *s->rounds : 0;
}

static void do_start(struct client *c)
{
	struct slot *s = slot_of(c);
	pmc_value_t v = 0;
	int result = pmc_start(s->id);

	answer(c, result);
	if (!result && !pmc_read(s->id, &v))
		mark(s, v);
}

static void do_stop(struct client *c)
{
	answer(c, pmc_stop(slot_of(c)->id));
}

static void do_read(struct client *c)
{
	pmc_value_t v = 0;
	int result = pmc_read(slot_of(c)->id, &v);

	answer_value(c, result, v);
}

static void do_write(struct client *c)
{
	answer(c, pmc_write(slot_of(c)->id, number(c, 2)));
}

static void do_release(struct client *c)
{
	answer(c, pmc_release(slot_of(c)->id));
}

static void do_attach(struct client *c)
{
	answer(c, pmc_attach(slot_of(c)->id, (pid_t)number(c, 2)));
}

static void do_info(struct client *c)
{
	struct pmc_pmcinfo *info;
	int result = pmc_pmcinfo((int)number(c, 1), &info);

	answer(c, result);
	if (!result)
		free(info);
}

static void do_disable(struct client *c)
{
	answer(c, pmc_disable((int)number(c, 1), (int)number(c, 2)));
}

static void do_enable(struct client *c)
{
	answer(c, pmc_enable((int)number(c, 1), (int)number(c, 2)));
}

static void do_child(struct client *c)
{
	struct slot *s = slot_of(c);

	if (!s->child) {
		s->rounds = mmap(NULL, sizeof(*s->rounds), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (s->rounds == MAP_FAILED)
			abort();
		s->child = fork();
		if (s->child < 0)
			abort();
		prctl(PR_SET_PDEATHSIG, s->child ? 0 : SIGKILL);
	}
	while (!s->child) {
		spin(ROUNDS);
		*s->rounds += ROUNDS;
	}
	answer(c, pmc_attach(s->id, s->child));
}

static void do_pin(struct client *c)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	if (c->nwords > 2 && c->word[2][0] != '-') {
		CPU_ZERO(&set);
		CPU_SET((int)number(c, 2), &set);
	}
	answer(c, sched_setaffinity(slot_of(c)->child, sizeof(set), &set));
}

/* A buffer of the kernel's tracer for this program alone. */
#define TRACER "/sys/kernel/tracing/instances/pmci"

static void trace_set(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), TRACER "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		perror(path);
		abort();
	}
	close(fd);
}

/* The child has left its CPU for good: it has been collected, and its last switch is over. */
static void await_last_switch(pid_t child)
{
	int fd = open(TRACER "/trace_pipe", O_RDONLY | O_CLOEXEC);
	char line[512], name[64];
	ssize_t n;

	snprintf(name, sizeof(name), " pid=%d ", child);
	do {
		n = read(fd, line, sizeof(line) - 1);
		line[n > 0 ? n : 0] = '\0';
	} while (n > 0 && (!strstr(line, "sched_process_free") || !strstr(line, name)));
	if (n <= 0)
		abort();
	close(fd);
}

/* A zombie still runs until its last switch, and is charged for that. */
static void do_kill(struct client *c)
{
	struct slot *s = slot_of(c);
	char filter[64];
	int err;

	snprintf(filter, sizeof(filter), "pid == %d", s->child);
	if (mkdir(TRACER, 0700))
		abort();
	trace_set("events/sched/sched_process_free/filter", filter);
	trace_set("events/sched/sched_process_free/enable", "1");
	kill(s->child, SIGKILL);
	err = waitpid(s->child, NULL, 0) != s->child;
	if (!err)
		await_last_switch(s->child);
	rmdir(TRACER);
	answer(c, err);
	s->child = 0;
}

static void do_rounds(struct client *c)
{
	answer_value(c, 0, *slot_of(c)->rounds);
}

static void do_atleast(struct client *c)
{
	struct slot *s = slot_of(c);
	uint64_t now = *s->rounds;
	pmc_value_t v = 0;
	int result = pmc_read(s->id, &v);

	if (result)
		answer(c, result);
	else if (v - s->count + number(c, 2) * ROUNDS < number(c, 2) * (now - s->then))
		printf("%s: short: %lu for %lu rounds\n", c->word[0], v - s->count, now - s->then);
	else
		printf("%s: %lu for %lu rounds\n", c->word[0], v - s->count, now - s->then);
	/* Rounds made between the read and here are left out of the next bound. */
	mark(s, v);
}

static const struct command {
	const char *name;
	void (*run)(struct client *c);
} commands[] = {
	{ "alloc", do_alloc },	   { "start", do_start },     { "stop", do_stop },
	{ "read", do_read },	   { "write", do_write },     { "release", do_release },
	{ "attach", do_attach },   { "info", do_info },	      { "disable", do_disable },
	{ "enable", do_enable },   { "child", do_child },     { "kill", do_kill },
	{ "rounds", do_rounds },   { "pin", do_pin },	      { "atleast", do_atleast },
};

static void serve(struct client *c, char *line)
{
	char *save = NULL;

	if (line[0] == '!') {
		int status = system(line + 1);

		if (status)
			printf("!: status %d\n", status);
		return;
	}
	c->nwords = 0;
	for (char *w = strtok_r(line, " \n", &save); w && c->nwords < WORDS;
	     w = strtok_r(NULL, " \n", &save))
		c->word[c->nwords++] = w;
	for (size_t i = 0; c->nwords && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, c->word[0])) {
			commands[i].run(c);
			return;
		}
	if (c->nwords)
		printf("%s: no such command\n", c->word[0]);
}

int main(void)
{
	static struct client c;
	char *line = NULL;
	size_t room = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pmc_init()) {
		printf("init: %s %s\n", strerrorname_np(errno), pmc_errstr());
		return 1;
	}
	while (getline(&line, &room, stdin) > 0)
		serve(&c, line);
	free(line);
	return 0;
}
