/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon under attack: its start and end, and its resources before and after. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strangers.h"

#define START	   120u			/* s: any expected event has occurred by then */
#define KINDS	   64u
#define SPARE_RSS  (64u * 1024)		/* KiB that an allocator or a sanitizer may keep */

/* Resources of a daemon and its helpers: descriptors by their target, threads, memory. */
struct state {
	unsigned int nkind;
	struct {
		char name[64];
		unsigned int n;
	} kind[KINDS];
	unsigned int processes, threads, rows;
	unsigned long rss;		/* KiB */
};

static struct state before;
static char output[96];

/* --- start --------------------------------------------------------------------------------- */

static bool answers(void *arg)
{
	int sock = link_open();

	if (sock >= 0)
		close(sock);
	return sock >= 0 || !host_alive();
}

static void be_daemon(const char *path, char *const *options, unsigned int noptions)
{
	char *argv[64] = { (char *)path, "-f", "-s", stage->socket, "-c", "/dev/null" };
	int log = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	for (unsigned int i = 0; i < noptions && i < 50; i++)
		argv[6 + i] = options[i];
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	setenv("ASAN_OPTIONS", "quarantine_size_mb=16:detect_leaks=1:handle_segv=1", 0);
	setenv("UBSAN_OPTIONS", "print_stacktrace=1", 0);
	execv(path, argv);
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	_exit(127);
}

static void show_output(void)
{
	char line[512];
	FILE *f = fopen(output, "re");

	while (f && fgets(line, sizeof(line), f))
		printf("# %s", line);
	if (f)
		fclose(f);
}

void host_start(const char *path, char *const *options, unsigned int noptions)
{
	pid_t pid;

	snprintf(output, sizeof(output), "%s/daemon.out", stage->dir);
	pid = crew_fork();
	if (pid == 0)
		be_daemon(path, options, noptions);
	stage->daemon = pid;
	if (crew_patient(answers, NULL, START) && host_alive())
		return;
	show_output();
	die("%s has not started", path);
}

bool host_alive(void)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)stage->daemon, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

/* --- resources ----------------------------------------------------------------------------- */

/* Only the kind of a descriptor matters, not its instance. */
static void name_kind(char *name)
{
	char *end = strpbrk(name, "[0123456789");

	if (!strncmp(name, "/proc/", 6))
		strcpy(name, "/proc");
	else if (end && name[0] != '/')
		*end = '\0';
}

static void add_kind(struct state *s, const char *name)
{
	unsigned int i = 0;

	while (i < s->nkind && strcmp(s->kind[i].name, name))
		i++;
	if (i == s->nkind && i < KINDS) {
		s->nkind++;
		snprintf(s->kind[i].name, sizeof(s->kind[i].name), "%s", name);
	}
	if (i < KINDS)
		s->kind[i].n++;
}

static void add_descriptors(struct state *s, pid_t pid)
{
	char path[64], name[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, name, sizeof(name) - 1);

		if (n < 0)
			continue;
		name[n] = '\0';
		name_kind(name);
		add_kind(s, name);
	}
	if (d)
		closedir(d);
}

static unsigned long status_of(pid_t pid, const char *field)
{
	char path[64], line[256];
	unsigned long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			value = strtoul(line + strlen(field), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static void add_process(void *arg, pid_t pid)
{
	struct state *s = arg;

	s->processes++;
	s->threads += (unsigned int)status_of(pid, "Threads:");
	s->rss += status_of(pid, "VmRSS:");
	add_descriptors(s, pid);
}

static unsigned int rows_in_use(void)
{
	unsigned int n = 0;
	int sock = link_open();

	for (uint32_t cpu = 0; sock >= 0 && cpu < stage->ncpu; cpu++) {
		struct wire_cpu_req r = { .cpu = cpu };
		struct wire_pmcinfo_rep *rep;
		const struct wire_pmcinfo *info;
		void *got;

		if (link_call(sock, WIRE_OP_GETPMCINFO, &r, sizeof(r), -1, &got))
			continue;
		rep = got;
		info = (const struct wire_pmcinfo *)(rep + 1);
		for (uint32_t i = 0; i < rep->npmc; i++)
			n += info[i].rowdisp != PMC_DISP_FREE;
	}
	if (sock >= 0)
		close(sock);
	return n;
}

static bool is_child(pid_t pid, pid_t parent)
{
	return parent > 0 && status_of(pid, "PPid:") == (unsigned long)parent;
}

/* The spawner and its helpers, whose resources are the daemon's. */
static void each_child(void (*fn)(void *arg, pid_t pid), void *arg)
{
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && (is_child(pid, stage->daemon) ||
				is_child((pid_t)status_of(pid, "PPid:"), stage->daemon)))
			fn(arg, pid);
	}
	if (d)
		closedir(d);
}

static void look(struct state *s)
{
	memset(s, 0, sizeof(*s));
	add_process(s, stage->daemon);
	each_child(add_process, s);
}

static unsigned int count_of(const struct state *s, const char *name)
{
	for (unsigned int i = 0; i < s->nkind; i++)
		if (!strcmp(s->kind[i].name, name))
			return s->kind[i].n;
	return 0;
}

/* --- before and after ---------------------------------------------------------------------- */

/* All threads wait without a timeout: resources that linger after their use are gone. */
static bool rests(pid_t pid)
{
	char path[64], text[256];
	struct dirent *e;
	bool all = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && all && (e = readdir(d))) {
		unsigned long long time;
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", pid, e->d_name);
		f = fopen(path, "re");
		all = f && fgets(text, sizeof(text), f) &&
		      sscanf(text, "%*d %*x %*x %*x %llx", &time) == 1 &&
		      (time == 0 || (time & 0xffffffff) == 0xffffffff);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return all;
}

/* The kernel's PF_EXITING, which it shows in stat. */
static bool is_exiting(pid_t pid)
{
	char path[64], text[512];
	unsigned int flags = 0;
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	if (f)
		fclose(f);
	return !state || sscanf(state, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
	       (flags & 0x4);
}

/*
 * It only waits for orders.  A killed one may seem to wait still, while it exits and its
 * descriptors are closed already.
 */
static void child_rests(void *arg, pid_t pid)
{
	bool *all = arg;
	char path[64];
	long call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "re");
	*all &= f && fscanf(f, "%ld", &call) == 1 && call == SYS_recvmsg && !is_exiting(pid);
	if (f)
		fclose(f);
}

/* Twice: one of them may have woken another one that was found at rest. */
static bool all_rest(void *arg)
{
	bool all = true;

	for (unsigned int i = 0; i < 2; i++) {
		all &= rests(stage->daemon);
		each_child(child_rests, &all);
	}
	return all || !host_alive();
}

/* Resources that exist after the first use of everything are permanent. */
static void use_everything(void)
{
	static const uint32_t modes[] = { PMC_MODE_TC, PMC_MODE_SC, PMC_MODE_TS };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), sock = link_open();

	if (sock < 0 || null < 0 || link_log(sock, null))
		die("the daemon does not answer: %s", link_reason());
	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		uint32_t id;

		if (link_allocate(sock, modes[i], 0x20000, 0, &id) ||
		    (modes[i] != PMC_MODE_SC && link_attach(sock, id, 0)) ||
		    link_id(sock, WIRE_OP_PMCSTART, id) || link_id(sock, WIRE_OP_PMCRELEASE, id))
			die("a PMC of mode %u does not work: %s", modes[i], link_reason());
	}
	link_log(sock, -1);
	close(sock);
	close(null);
}

void host_remember(void)
{
	use_everything();
	if (!crew_patient(all_rest, NULL, START))
		die("the daemon does not come to rest");
	look(&before);
	before.rows = rows_in_use();
}

struct difference {
	struct state now;
	unsigned int extra;
};

static bool as_before(void *arg)
{
	struct difference *d = arg;
	struct state *now = &d->now;

	if (!host_alive())
		return true;
	look(now);
	d->extra = 0;
	for (unsigned int i = 0; i < now->nkind; i++)
		d->extra += now->kind[i].n > count_of(&before, now->kind[i].name);
	if (d->extra || now->threads > before.threads || now->processes > before.processes ||
	    now->rss > before.rss + SPARE_RSS)
		return false;
	/* The connection of the query itself is open in the daemon for a moment more. */
	now->rows = rows_in_use();
	return now->rows == before.rows;
}

static void tell_difference(const char *name, const struct state *now)
{
	printf("%s: not given back:", name);
	for (unsigned int i = 0; i < now->nkind; i++) {
		unsigned int had = count_of(&before, now->kind[i].name);

		if (now->kind[i].n > had)
			printf(" %u %s,", now->kind[i].n - had, now->kind[i].name);
	}
	printf(" %u rows in use (%u before), %u threads (%u), %u processes (%u), %lu KiB (%lu)\n",
	       now->rows, before.rows, now->threads, before.threads, now->processes,
	       before.processes, now->rss, before.rss);
}

bool host_restored(const char *name, unsigned int patience)
{
	struct difference d = { .extra = 0 };
	bool back;

	back = crew_patient(as_before, &d, patience) && host_alive();
	if (!host_alive())
		printf("%s: the daemon is gone\n", name);
	else if (!back)
		tell_difference(name, &d.now);
	return back;
}

/* --- end ----------------------------------------------------------------------------------- */

bool host_clean(void)
{
	static const char *const findings[] = { "ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
						"runtime error:", "WARNING: ThreadSanitizer" };
	char line[1024];
	bool clean = true;
	FILE *f = fopen(output, "re");

	while (f && fgets(line, sizeof(line), f))
		for (unsigned int i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
			clean &= !strstr(line, findings[i]);
	if (f)
		fclose(f);
	return clean;
}

static bool gone(void *arg)
{
	return !host_alive();
}

bool host_stop(unsigned int patience)
{
	int status = -1;
	bool ended;

	if (stage->daemon <= 0)
		return true;
	kill(stage->daemon, SIGTERM);
	ended = crew_patient(gone, NULL, patience);
	if (!ended)
		printf("the daemon does not end by SIGTERM\n");
	kill(stage->daemon, SIGKILL);
	waitpid(stage->daemon, &status, 0);
	stage->daemon = 0;
	if (ended && status)
		printf("the daemon has ended with %s %d\n",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (status || !host_clean())
		show_output();
	return ended && !status && host_clean();
}
