/* SPDX-License-Identifier: BSD-2-Clause */
/* Time, series, processes, and the lines of which tests/bench/run makes a table. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void check_pmc(int result, const char *what)
{
	if (result)
		die("%s: %s", what, pmc_errstr());
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void pin_thread(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		memset(&set, 0xff, sizeof(set));
	else
		CPU_SET(cpu, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		die("cannot run on CPU %d: %s", cpu, strerror(errno));
}

void pin(int cpu)
{
	pin_thread(0, cpu);
}

void pin_any(const struct bench *b)
{
	if (sched_setaffinity(0, sizeof(b->cpus), &b->cpus))
		die("cannot run everywhere: %s", strerror(errno));
}

void pin_process(pid_t pid, int cpu)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		die("%s: %s", path, strerror(errno));
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			pin_thread(atoi(d->d_name), cpu);
	closedir(dir);
}

/* No other process runs on the CPU then, so that a ping and its pong are exactly two switches. */
void realtime(void)
{
	struct sched_param sp = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &sp))
		die("SCHED_FIFO: %s", strerror(errno));
}

void add(struct series *s, double v)
{
	if (s->n == SERIES_MAX)
		die("a series has more than %d measurements", SERIES_MAX);
	s->v[s->n++] = v;
}

/* Measurement i was made right after base i, so the difference cancels drift. */
void subtract(struct series *s, const struct series *base)
{
	for (unsigned int i = 0; i < s->n && i < base->n; i++)
		s->v[i] -= base->v[i];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct series sorted(const struct series *s)
{
	struct series t = *s;

	qsort(t.v, t.n, sizeof(t.v[0]), compare);
	return t;
}

double median(const struct series *s)
{
	return sorted(s).v[s->n / 2];
}

static void print_series(const struct series *s)
{
	struct series t;

	if (!s || !s->n) {
		printf("\t-\t-\t-");
		return;
	}
	t = sorted(s);
	printf("\t%.6g\t%.6g\t%.6g", t.v[t.n / 2], t.v[0], t.v[t.n - 1]);
}

void report(const struct figure *f)
{
	static const char *const names[] = {
		[JUDGE_NOT] = "none", [JUDGE_RATIO] = "ratio", [JUDGE_DIFFERENCE] = "difference",
		[JUDGE_VALUE] = "value",
	};

	printf("figure\t%s\t%s", f->name, f->unit);
	print_series(f->ours);
	printf("\t%s", f->other_name ? f->other_name : "-");
	print_series(f->other);
	printf("\t%s\t%g\n", names[f->judge], f->goal);
	fflush(stdout);
}

void note(const char *fmt, ...)
{
	va_list ap;

	fputs("note\t", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void collect(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	if (status)
		die("a measured process failed (status %#x)", status);
}

void path_beside(char *path, size_t size, const char *name)
{
	char self[PATH_MAX - 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	snprintf(path, size, "%s/%s", dirname(self), name);
}

void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

void sleep_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

double cpu_time(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		die("no CPU time of process %d", (int)pid);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

bool room_for(const char *dir, double bytes)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize > bytes;
}

struct used run(const struct bench *b, char *const argv[], const char *in)
{
	struct used u = { 0 };
	struct rusage ru;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int from = open(in ? in : "/dev/null", O_RDONLY), to = open("/dev/null", O_WRONLY);

		dup2(from, 0);
		dup2(to, 1);
		dup2(b->log, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid || status)
		die("%s failed (status %#x)", argv[0], status);
	u.seconds = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	u.mb = (double)ru.ru_maxrss / 1024;
	return u;
}

pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

pid_t sleeper(void)
{
	pid_t pid = fork_child();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}
