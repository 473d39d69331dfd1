/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes: started so that they end with us, and killed. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "strangers.h"

#define STACK 16384u			/* of a sleeper */

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("strangers: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned int scaled(unsigned int n)
{
	n = (unsigned int)((uint64_t)n * stage->scale / 100);
	return n ? n : 1;
}

pid_t crew_fork(void)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0 && parent == stage->first)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (parent == stage->first) {
		/*
		 * Users and services have sessions of their own, among which the scheduler shares
		 * CPUs.
		 */
		setsid();
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
	}
	return 0;
}

void crew_become(uid_t uid)
{
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		prctl(PR_CAPBSET_DROP, cap);
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(2);
	/* A change of user clears both. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int sleeper(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		syscall(SYS_pause);
	return 0;
}

pid_t crew_sleeper(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return -errno;
	pid = clone(sleeper, stack + STACK, CLONE_VM | SIGCHLD, NULL);
	return pid < 0 ? -errno : pid;
}

void crew_kill(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- descendants --------------------------------------------------------------------------- */

struct process {
	pid_t pid, parent;
	bool ours;
};

static bool read_process(struct process *p, const char *name)
{
	char path[300], text[512];
	const char *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", name);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')');
	p->pid = atoi(name);
	p->ours = false;
	return end && sscanf(end, ") %*c %d", &p->parent) == 1;
}

static size_t read_processes(struct process **out)
{
	size_t n = 0, room = 0;
	struct process *all = NULL;
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		if (n == room) {
			room = room ? room * 2 : 1024;
			all = realloc(all, room * sizeof(*all));
			if (!all)
				die("no memory");
		}
		n += read_process(&all[n], e->d_name);
	}
	if (d)
		closedir(d);
	*out = all;
	return n;
}

static bool stays(pid_t pid, const pid_t *stay, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (stay[i] == pid)
			return true;
	return false;
}

/* Parents precede their children in the list, unless pids have wrapped. */
static unsigned int mark_and_kill(struct process *all, size_t n, const pid_t *stay,
				  unsigned int nstay)
{
	unsigned int killed = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			struct process *p = &all[i];
			bool ours = p->parent == getpid();

			if (p->ours || stays(p->pid, stay, nstay))
				continue;
			for (size_t j = 0; !ours && j < n; j++)
				ours = all[j].ours && all[j].pid == p->parent;
			if (!ours)
				continue;
			p->ours = more = true;
			kill(p->pid, SIGKILL);
			killed++;
		}
	}
	return killed;
}

void crew_clear(const pid_t *stay, unsigned int nstay)
{
	for (;;) {
		struct process *all;
		size_t n = read_processes(&all);
		unsigned int killed = mark_and_kill(all, n, stay, nstay);

		for (size_t i = 0; i < n; i++)
			if (all[i].ours)
				waitpid(all[i].pid, NULL, WNOHANG);
		free(all);
		if (!killed)
			return;
		usleep(2000);
	}
}

bool crew_patient(bool (*done)(void *arg), void *arg, unsigned int seconds)
{
	uint64_t end = now_ns() + seconds * 1000000000ull;

	while (!done(arg)) {
		if (now_ns() > end)
			return false;
		usleep(2000);
	}
	return true;
}
