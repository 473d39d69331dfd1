/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon: time from exec to its first reply, and its memory before and after many clients. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define STARTS	5
#define CLIENTS 100
#define PATIENCE 30e9		/* ns for a start */

static bool answers(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		die("socket: %s", strerror(errno));
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	ok = connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0;
	close(fd);
	return ok;
}

/* A connection belongs to a process: every client of this file is a child. */
static void say_hello(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		check_pmc(pmc_init(), "pmc_init");
		_exit(0);
	}
	collect(pid);
}

static void died(const struct bench *b)
{
	char text[4096];
	ssize_t n = pread(b->log, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	rmdir(b->dir);
	die("%s ended while starting; it said:\n%s", b->daemon, text);
}

pid_t daemon_start(const struct bench *b, const char *path, const char *option, double *ms)
{
	const struct timespec moment = { .tv_nsec = 100000 };
	double begin = now();
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(b->log, 1);
		dup2(b->log, 2);
		execl(b->daemon, "pmcbpfd", "-f", "-s", path, option ? "-o" : NULL, option,
		      (char *)NULL);
		die("%s: %s", b->daemon, strerror(errno));
	}
	while (!answers(path)) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			died(b);
		if (now() - begin > PATIENCE)
			die("%s is not there after %.0f s", b->daemon, PATIENCE / 1e9);
		nanosleep(&moment, NULL);
	}
	if (setenv("PMCBPF_SOCKET", path, 1))
		die("setenv: %s", strerror(errno));
	say_hello();
	*ms = (now() - begin) / 1e6;
	return pid;
}

void daemon_end(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) == pid && status)
		die("pmcbpfd ended with status %#x", status);
}

static double resident(pid_t pid)
{
	char path[64], line[256];
	double kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !kb && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmRSS:", 6))
			kb = strtod(line + 6, NULL);
	if (!kb)
		die("%s does not say VmRSS", path);
	fclose(f);
	return kb / 1024;
}

/* A client with a running PMC, which reports that it runs and then sleeps until it is killed. */
static pid_t client(int ready)
{
	pid_t pid = fork();
	pmc_id_t id = 0;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check_pmc(pmc_init(), "pmc_init");
	check_pmc(pmc_allocate(soft_events[0].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0),
		  "pmc_allocate");
	check_pmc(pmc_start(id), "pmc_start");
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void many_clients(pid_t daemon, struct series *during, struct series *after)
{
	pid_t clients[CLIENTS];
	int ready[2];
	char c;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = client(ready[1]);
		if (read(ready[0], &c, 1) != 1)
			die("a client is gone");
	}
	add(during, resident(daemon));
	for (int i = 0; i < CLIENTS; i++)
		end(clients[i]);
	/* Requests are answered in order: after this reply the daemon has seen the others end. */
	say_hello();
	add(after, resident(daemon));
	close(ready[0]);
	close(ready[1]);
}

static void memory(const struct bench *b, pid_t pid)
{
	struct series idle = { 0 }, during = { 0 }, after = { 0 };

	add(&idle, resident(pid));
	many_clients(pid, &during, &after);
	report(&(struct figure){ .name = "pmcbpfd resident, idle", .unit = "MB", .ours = &idle,
				 .judge = JUDGE_VALUE, .goal = 16 });
	report(&(struct figure){ .name = "pmcbpfd resident, 100 clients", .unit = "MB",
				 .ours = &during });
	report(&(struct figure){ .name = "pmcbpfd resident, 100 clients gone", .unit = "MB",
				 .ours = &after, .judge = JUDGE_VALUE, .goal = 16 });
}

void bench_start(struct bench *b)
{
	struct series start = { 0 };
	char path[sizeof(b->dir) + 16];
	double ms;

	for (int i = 0; i < STARTS; i++) {
		snprintf(path, sizeof(path), "%s/%d", b->dir, i);
		b->main_daemon = daemon_start(b, path, NULL, &ms);
		add(&start, ms);
		if (i < STARTS - 1)
			daemon_end(b->main_daemon);
	}
	report(&(struct figure){ .name = "pmcbpfd exec to first answer",
				 .unit = b->icount ? "Minstr" : "ms", .ours = &start,
				 .judge = b->icount ? JUDGE_NOT : JUDGE_VALUE, .goal = 150 });
	memory(b, b->main_daemon);
}
