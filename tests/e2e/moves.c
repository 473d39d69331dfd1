/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moves DAEMON: reads the migrations of itself and of its child, while pmcbpfd is stopped, and
 * prints for each what the PMC and the kernel have counted.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmc.h>

#define MOVES 100

static void check(int result, const char *what)
{
	if (result)
		errx(1, "%s: %s", what, pmc_errstr());
}

static void move(int times)
{
	cpu_set_t cpus;

	for (int i = 0; i < times; i++) {
		CPU_ZERO(&cpus);
		CPU_SET(i & 1, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			err(1, "sched_setaffinity");
	}
}

static unsigned long moves_of(pid_t pid)
{
	static const char name[] = "se.nr_migrations";
	char path[64], line[256];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/sched", pid);
	f = fopen(path, "r");
	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, sizeof(name) - 1))
			n = strtoul(strchr(line, ':') + 1, NULL, 10);
	fclose(f);
	return n;
}

/* Moves when it reads a byte, answers by one, and waits for the next. */
static void child(int in, int out)
{
	char byte;

	move(1);
	while (write(out, "x", 1) == 1 && read(in, &byte, 1) == 1)
		move(MOVES);
	_exit(0);
}

static pmc_id_t count(pid_t pid)
{
	pmc_id_t id;

	check(pmc_allocate("CPU_MIGRATIONS", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), "pmc_allocate");
	check(pmc_attach(id, pid), "pmc_attach");
	check(pmc_start(id), "pmc_start");
	return id;
}

static void say(const char *name, pmc_id_t id, pmc_value_t before, unsigned long kernel)
{
	pmc_value_t now;

	check(pmc_read(id, &now), "pmc_read");
	printf("%s %lu %lu\n", name, (unsigned long)(now - before), kernel);
}

int main(int argc, char *argv[])
{
	const pid_t server = argc == 2 ? (pid_t)atoi(argv[1]) : 0;
	pmc_id_t own, other;
	pmc_value_t own_before, other_before;
	unsigned long own_moves, other_moves;
	int to[2], from[2];
	char byte;
	pid_t pid;

	if (server <= 0)
		errx(1, "usage: moves DAEMON");
	if (pipe(to) || pipe(from))
		err(1, "pipe");
	move(1);
	pid = fork();
	if (!pid) {
		close(to[1]);
		child(to[0], from[1]);
	}
	if (pid < 0 || read(from[0], &byte, 1) != 1)
		err(1, "child");
	check(pmc_init(), "pmc_init");
	own = count(0);
	other = count(pid);
	own_moves = moves_of(getpid());
	other_moves = moves_of(pid);
	check(pmc_read(own, &own_before), "pmc_read");
	check(pmc_read(other, &other_before), "pmc_read");
	if (kill(server, SIGSTOP))
		err(1, "pmcbpfd");
	move(MOVES);
	if (write(to[1], "x", 1) != 1 || read(from[0], &byte, 1) != 1)
		err(1, "child");
	say("self", own, own_before, moves_of(getpid()) - own_moves);
	say("child", other, other_before, moves_of(pid) - other_moves);
	if (kill(server, SIGCONT))
		err(1, "pmcbpfd");
	close(to[1]);
	return 0;
}
