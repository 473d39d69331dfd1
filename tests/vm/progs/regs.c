// SPDX-License-Identifier: BSD-2-Clause
/*
 * Changes registers, and so knows what they count while it runs.  Each step moves it to CPU AT;
 * there it writes VALUE to register REG of that CPU, through the kernel's own /dev/cpu/AT/msr:
 *
 *	regs STEP...	AT, AT:REG:VALUE, or +… (done by a child, which exits then)
 *	regs -		the same from standard input, a step a line, each answered by "done";
 *	regs busy	… and it runs all the time in between
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "regs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("no such CPU");
}

static void write_register(int cpu, uint32_t reg, uint64_t value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &value, sizeof(value), reg) != sizeof(value))
		die(path);
	close(fd);
}

static void step(const char *text)
{
	uint64_t value;
	uint32_t reg;
	int cpu, n = sscanf(text, "%d:%" SCNi32 ":%" SCNi64, &cpu, (int32_t *)&reg,
			    (int64_t *)&value);

	if (n != 1 && n != 3)
		die(text);
	move_to(cpu);
	if (n == 3)
		write_register(cpu, reg, value);
}

static void step_or_child(const char *text)
{
	int status;
	pid_t pid;

	if (text[0] != '+') {
		step(text);
		return;
	}
	pid = fork();
	if (!pid) {
		step(text + 1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("a child has failed");
}

/* Without ever giving up the CPU. */
static bool wait_for_input(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&in, 1, 0) == 0)
		;
	return in.revents & POLLIN;
}

int main(int argc, char **argv)
{
	char line[128];

	bool busy = argc == 2 && !strcmp(argv[1], "busy");

	if (!busy && (argc != 2 || strcmp(argv[1], "-"))) {
		for (int i = 1; i < argc; i++)
			step_or_child(argv[i]);
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (!busy || wait_for_input()) {
		if (!fgets(line, sizeof(line), stdin))
			break;
		step_or_child(line);
		puts("done");
	}
	return 0;
}
