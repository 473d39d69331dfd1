/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live view with every CPU sampled 20,000 times a second, under a rich load: CPU time of
 * pmcstat -T, and of pmcbpfd, which collects the samples.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define PERIOD "50000"		/* ns */
#define RUNS   3
#define WARM   2	/* seconds: the kernel's symbols are read once, and the first files */

/* The load of a busy machine: programs start and end, they and the kernel have deep stacks. */
static const char busy[] =
	"while :; do "
	"tar cf - /usr/include 2>/dev/null | gzip -1 >/dev/null; "
	"python3 -c 'import json; print(len(json.dumps([[i] * 9 for i in range(20000)])))' "
	">/dev/null; "
	"find /usr/lib /usr/share -newer /etc/passwd >/dev/null 2>&1; "
	"done";

static pid_t load_start(void)
{
	pid_t pid = fork_child();

	if (pid == 0) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", busy, (char *)NULL);
		_exit(127);
	}
	setpgid(pid, pid);
	return pid;
}

static void load_end(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct share {
	double view, daemon;	/* percent of one CPU */
};

/* pmcstat -T after its start.  Only a signal ends it. */
static struct share watch(const struct bench *b)
{
	struct share s;
	char pmcstat[256];
	int status = 0;
	pid_t pid;

	path_beside(pmcstat, sizeof(pmcstat), "../bin/pmcstat");
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 1);
		dup2(b->log, 2);
		execl(pmcstat, "pmcstat", "-T", "-w", "1", "-n", PERIOD, "-S", "CPU_CLOCK",
		      (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		die("no process for pmcstat -T");
	sleep_for(WARM);
	s = (struct share){ cpu_time(pid), cpu_time(b->main_daemon) };
	sleep_for(b->seconds);
	s.view = (cpu_time(pid) - s.view) / 1e7 / b->seconds;
	s.daemon = (cpu_time(b->main_daemon) - s.daemon) / 1e7 / b->seconds;
	kill(pid, SIGINT);
	if (waitpid(pid, &status, 0) != pid || status)
		die("pmcstat -T failed (status %#x)", status);
	return s;
}

void bench_live(const struct bench *b)
{
	struct series ours = { 0 }, collector = { 0 };
	static const char *const needs[] = { "../bin/pmcstat", "python3", "tar", "gzip", "find",
					     NULL };
	pid_t load[CPU_SETSIZE];
	int n = 0;

	if (b->icount) {
		left_out("report: the live view", "measured in real time only");
		return;
	}
	if (lacks("report: the live view", needs))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &b->cpus))
			load[n++] = load_start();
	for (int i = 0; i < RUNS; i++) {
		const struct share s = watch(b);

		add(&ours, s.view);
		add(&collector, s.daemon);
	}
	while (n)
		load_end(load[--n]);
	report(&(struct figure){ "top at 20 kHz per CPU, of one CPU", "%", &ours, "the daemon's",
				 &collector, JUDGE_VALUE, 5 });
}
