// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client of libpmc-compat that measures a process over an exec, as any user:
 *
 *	pmclife [-u UID] SPEC... -- COMMAND [ARG...]
 *
 * A child waits until PMCs are attached to it and run, becomes COMMAND, and ends.  Then it prints
 * "value VALUE SIGNALS" for each PMC: its final count, and how often SIGIO came for the read of it;
 * and before these "lost SIGNALS", how often it came by then: once at least, since they coalesce.
 */
#define _GNU_SOURCE
#include <err.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmc.h>

#define PMCS_MAX 16

static volatile sig_atomic_t signals;

static void count(int signo)
{
	signals += signo == SIGIO;
}

static void become_user(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		err(2, "cannot be user %d", (int)uid);
	/* As after a login: a user may inspect his own processes. */
	prctl(PR_SET_DUMPABLE, 1);
}

/* The child is at rest: its earlier events are not the PMCs'. */
static void settle(pid_t pid)
{
	char path[64], line[512], *end = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	do {
		usleep(10000);
		f = fopen(path, "r");
		if (!f || !fgets(line, sizeof(line), f))
			errx(2, "%s", path);
		fclose(f);
		end = strrchr(line, ')');
	} while (!end || strncmp(end, ") S", 3));
}

static pid_t spawn_waiting(char **command, int *go)
{
	int gate[2];
	pid_t pid;
	char c;

	if (pipe(gate) || (pid = fork()) < 0)
		err(2, "fork");
	*go = gate[1];
	if (pid) {
		settle(pid);
		return pid;
	}
	close(gate[1]);
	if (read(gate[0], &c, 1) != 1)
		_exit(2);
	close(gate[0]);
	execv(command[0], command);
	_exit(2);
}

static pmc_id_t begin(const char *spec, pid_t pid)
{
	pmc_id_t id;

	if (pmc_allocate(spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) || pmc_attach(id, pid) ||
	    pmc_start(id))
		errx(1, "%s: %s", spec, pmc_errstr());
	return id;
}

static void tell(pmc_id_t id)
{
	int before = signals;
	pmc_value_t value;

	if (pmc_read(id, &value))
		errx(1, "read: %s", pmc_errstr());
	printf("value %llu %d\n", (unsigned long long)value, signals - before);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = count, .sa_flags = SA_RESTART };
	pmc_id_t ids[PMCS_MAX];
	int n = 0, at = 1, go, status;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-u")) {
		become_user((uid_t)atoi(argv[2]));
		at = 3;
	}
	sigaction(SIGIO, &sa, NULL);
	while (at + n < argc && strcmp(argv[at + n], "--"))
		n++;
	if (n == 0 || n > PMCS_MAX || at + n + 1 >= argc)
		errx(2, "usage: pmclife [-u UID] SPEC... -- COMMAND [ARG...]");
	if (pmc_init())
		errx(1, "%s", pmc_errstr());
	pid = spawn_waiting(argv + at + n + 1, &go);
	for (int i = 0; i < n; i++)
		ids[i] = begin(argv[at + i], pid);
	if (write(go, "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		errx(2, "the command failed");
	for (int i = 0; i < 60000 && !signals; i++)
		usleep(1000);
	usleep(200000);		/* each PMC has its own */
	printf("lost %d\n", signals);
	for (int i = 0; i < n; i++)
		tell(ids[i]);
	return 0;
}
