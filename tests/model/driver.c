/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's handling of actors and the daemon: it waits for effects, never for a fixed time. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

#define PATIENCE 120000			/* ms without an answer that count as none */
#define MOMENT	 20000			/* us between two polls */
#define LOOKS	 15000			/* an emulated machine may take minutes */
#define NOBODY	 65534

/* splitmix64 */
static uint64_t next(struct driver *d)
{
	uint64_t z = d->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t pick(struct driver *d, uint32_t n)
{
	return (uint32_t)(next(d) >> 33) % n;
}

bool chance(struct driver *d, unsigned int percent)
{
	return pick(d, 100) < percent;
}

static void append(char *line, const char *fmt, va_list ap)
{
	size_t n = strlen(line);

	vsnprintf(line + n, sizeof(((struct driver *)0)->trace[0]) - n, fmt, ap);
}

void note(struct driver *d, const char *fmt, ...)
{
	char *line = d->trace[++d->steps % TRACE];
	va_list ap;

	snprintf(line, sizeof(d->trace[0]), "%6lu ", d->steps);
	va_start(ap, fmt);
	append(line, fmt, ap);
	va_end(ap);
}

void more(struct driver *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(d->trace[d->steps % TRACE], fmt, ap);
	va_end(ap);
}

/* --- actors ------------------------------------------------------------------------------- */

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Its next message. */
static int hear(struct driver *d, unsigned int p)
{
	struct pollfd fds[2] = { { .fd = d->ctl[p], .events = POLLIN },
				 { .fd = d->pidfd[p], .events = POLLIN } };
	int n;

	do
		n = poll(fds, 2, PATIENCE);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return differ(&d->m, "process %u does not answer: does the daemon?", p);
	if (!(fds[0].revents & POLLIN))
		return differ(&d->m, "process %u has died unasked", p);
	if (recv(d->ctl[p], &d->rep, sizeof(d->rep), 0) < (ssize_t)ACTOR_REP_HEAD)
		return differ(&d->m, "process %u: %s", p, strerror(errno));
	return 0;
}

int tell(struct driver *d, unsigned int p)
{
	if (send(d->ctl[p], &d->cmd, sizeof(d->cmd), MSG_NOSIGNAL) < 0)
		return differ(&d->m, "process %u: %s", p, strerror(errno));
	return hear(d, p);
}

static long log_size(const struct driver *d)
{
	struct stat st;

	return stat(d->log, &st) ? 0 : (long)st.st_size;
}

static bool is_released(const struct driver *d, const struct ending *e)
{
	FILE *f = fopen(d->log, "re");
	char line[512], done[40];
	bool found = false;

	snprintf(done, sizeof(done), " owner=remove: pid %d (", e->pid);
	if (f && !fseek(f, e->at, SEEK_SET))
		while (!found && fgets(line, sizeof(line), f))
			found = strstr(line, done);
	if (f)
		fclose(f);
	return found;
}

/*
 * The model ends a process at once, but rows show the daemon's state: it waits until the daemon has
 * collected the slices it held back, and has logged that.
 */
static int wait_released(struct driver *d)
{
	for (unsigned int looks = 0; d->nending; looks++) {
		if (is_released(d, &d->ending[d->nending - 1])) {
			d->nending--;
			continue;
		}
		if (looks >= LOOKS)
			return differ(&d->m, "process %d still owns PMCs",
				      d->ending[d->nending - 1].pid);
		usleep(MOMENT);
	}
	return 0;
}

/* `at`: the size of the daemon's messages before that. */
static int note_endings(struct driver *d, long at)
{
	int err = d->nending + M_PROCS > ENDINGS ? wait_released(d) : 0;

	for (unsigned int p = 0; p < M_PROCS && !err; p++)
		if (d->m.ended >> p & 1)
			d->ending[d->nending++] = (struct ending){ d->m.proc[p].pid, at };
	d->m.ended = 0;
	return err;
}

static void live(struct driver *d, unsigned int p, bool root, bool dumpable, bool reap)
{
	static const int none[M_LINKS] = { -1, -1, -1 };

	for (unsigned int i = 0; i < M_PROCS; i++) {
		close(d->ctl[i]);
		if (d->m.proc[i].alive)
			close(d->pidfd[i]);
	}
	signal(SIGCHLD, reap ? SIG_IGN : SIG_DFL);
	if (!root && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		      setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(1);
	prctl(PR_SET_DUMPABLE, dumpable);
	actor_live(p, none);
}

/* Any order: its answer shows that the start is complete. */
int spawn(struct driver *d, unsigned int p, bool root, bool dumpable, bool reap)
{
	pid_t pid = fork();

	if (pid == 0)
		live(d, p, root, dumpable, reap);
	if (pid < 0)
		return differ(&d->m, "fork: %s", strerror(errno));
	d->pidfd[p] = pidfd_of(pid);
	model_born(&d->m, p, pid, root, dumpable);
	d->cmd = (struct actor_cmd){ .what = DO_WORK, .number = 1 };
	return tell(d, p);
}

int fork_actor(struct driver *d, unsigned int parent, unsigned int child)
{
	pid_t pid;

	d->cmd = (struct actor_cmd){ .what = DO_FORK, .number = (int)child };
	if (tell(d, parent))
		return -1;
	pid = d->rep.number;
	if (pid < 0)
		return differ(&d->m, "fork failed");
	d->pidfd[child] = pidfd_of(pid);
	model_forked(&d->m, parent, child, pid);
	return hear(d, child);
}

/* Which connections of this process still serve?  A holder of each sends a request. */
static int settle(struct driver *d, unsigned int p)
{
	for (unsigned int q = 0; q < M_PROCS; q++)
		for (unsigned int link = 0; link < M_LINKS && d->m.proc[q].alive; link++) {
			int i = d->m.proc[q].link[link];

			if (i < 0 || !d->m.conn[i].doubtful || d->m.conn[i].owner != p)
				continue;
			note(d, "p%u:%u is asked", q, link);
			d->cmd = (struct actor_cmd){ .op = WIRE_OP_GETCPUINFO };
			if (request(d, q, link, M_PID_NONE))
				return -1;
		}
	return 0;
}

int close_link(struct driver *d, unsigned int p, unsigned int link)
{
	long at = log_size(d);

	note(d, "p%u closes %u", p, link);
	d->cmd = (struct actor_cmd){ .what = DO_CLOSE, .link = link };
	if (tell(d, p))
		return -1;
	model_closed(&d->m, p, link);
	return note_endings(d, at);
}

int exec_actor(struct driver *d, unsigned int p, bool keep)
{
	long at = log_size(d);

	d->cmd = (struct actor_cmd){ .what = DO_EXEC, .keep = keep };
	if (tell(d, p))
		return -1;
	if (d->rep.error)
		return differ(&d->m, "exec: %s", strerror(d->rep.error));
	model_executed(&d->m, p, keep ? 7 : 0);
	return note_endings(d, at) ?: settle(d, p);
}

/*
 * A process is gone for all when its pidfd is ready and the kernel's list of processes is unlocked
 * again: a search for children waits for that.
 */
int kill_actor(struct driver *d, unsigned int p)
{
	struct pollfd fd = { .fd = d->pidfd[p], .events = POLLIN };
	long at = log_size(d);
	siginfo_t info;

	if (syscall(SYS_pidfd_send_signal, d->pidfd[p], SIGKILL, NULL, 0))
		return differ(&d->m, "kill: %s", strerror(errno));
	if (poll(&fd, 1, PATIENCE) != 1)
		return differ(&d->m, "process %u does not die", p);
	waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
	d->dead[d->ndead++ % 8] = d->m.proc[p].pid;
	close(d->pidfd[p]);
	model_died(&d->m, p);
	if (note_endings(d, at))
		return -1;
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
		if (pid == d->daemon)
			return differ(&d->m, "the daemon has died");
	return 0;
}

int connect_actor(struct driver *d, unsigned int p, unsigned int link)
{
	d->cmd = (struct actor_cmd){ .what = DO_CONNECT, .link = link };
	if (tell(d, p))
		return -1;
	if (d->rep.error)
		return differ(&d->m, "no connection: %s", strerror(d->rep.error));
	model_connected(&d->m, p, link);
	return 0;
}

int request(struct driver *d, unsigned int p, unsigned int link, int target)
{
	struct m_call call = { .who = p, .link = link, .op = d->cmd.op, .target = target,
			       .arg = d->cmd.arg, .len = d->cmd.len, .reply = d->rep.data };

	if (call.op == WIRE_OP_GETPMCINFO && wait_released(d))
		return -1;
	d->cmd.what = DO_SEND;
	d->cmd.link = link;
	if (tell(d, p))
		return -1;
	call.error = d->rep.error;
	call.reply_len = d->rep.len;
	call.reason = (const char *)d->rep.data + d->rep.len;
	call.reason_len = d->rep.reason_len;
	more(d, " = %s", call.error == M_CLOSED ? "closed" :
	     call.error ? strerrorname_np(call.error) : "0");
	if (d->rep.reason_len)
		more(d, " (%.*s)", (int)d->rep.reason_len, (char *)d->rep.data + d->rep.len);
	return model_call(&d->m, &call);
}

/* --- the daemon --------------------------------------------------------------------------- */

unsigned int daemon_fds(const struct driver *d)
{
	char path[32];
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", d->daemon);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Lastly: its other threads and its helpers close descriptors. */
bool daemon_fds_are_back(struct driver *d)
{
	for (unsigned int i = 0; i < LOOKS; i++) {
		if (daemon_fds(d) == d->fds)
			return true;
		usleep(MOMENT);
	}
	return false;
}

/* It sleeps in a call without a timeout: the fourth argument of all its wait calls. */
static bool thread_idle(pid_t pid, const char *tid)
{
	char path[80], state = 0;
	unsigned long long time = 1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) < 1)
		state = 0;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/syscall", pid, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*s %*s %*s %*s %llx", &time) < 1)
		time = 1;
	if (f)
		fclose(f);
	return state == 'S' && (!time || time >> 31 == 1 || time >> 31 == 0x1ffffffff);
}

static bool daemon_idle(const struct driver *d)
{
	const struct dirent *e;
	bool idle = true;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", d->daemon);
	dir = opendir(path);
	if (!dir)
		return false;
	while (idle && (e = readdir(dir)))
		idle = e->d_name[0] == '.' || thread_idle(d->daemon, e->d_name);
	closedir(dir);
	return idle;
}

/* With nothing left to do; one thread may have woken another that was found asleep, hence twice. */
void daemon_rests(struct driver *d)
{
	for (unsigned int i = 0; i < LOOKS && !(daemon_idle(d) && daemon_idle(d)); i++)
		usleep(MOMENT);
	d->fds = daemon_fds(d);
}

int start_daemon(struct driver *d, const char *program, bool syspmcs)
{
	const char *path = getenv("PMCBPF_SOCKET");
	int link = -1;

	snprintf(d->log, sizeof(d->log), "%s.log", path);
	d->daemon = fork();
	if (d->daemon == 0) {
		if (!freopen(d->log, "w", stderr) || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			_exit(126);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		for (unsigned int i = 0; i < M_PROCS; i++)
			close(ACTOR_FD + (int)i);
		/* Tables for unwinding take descriptors, and stay while their files are known. */
		execlp(program, program, "-f", "-s", path, "-o", "kern.hwpmc.unwind=0", "-o",
		       "kern.hwpmc.debugflags=owner=remove", "-o",
		       syspmcs ? "security.bsd.unprivileged_syspmcs=1" :
				 "security.bsd.unprivileged_syspmcs=0", (char *)NULL);
		_exit(127);
	}
	for (unsigned int i = 0; i < LOOKS; i++) {
		int err = actor_connect(&link);

		if (link >= 0)
			close(link);
		if (!err)
			return 0;
		if (waitpid(d->daemon, NULL, WNOHANG) == d->daemon)
			break;
		usleep(MOMENT);
	}
	return differ(&d->m, "%s does not start", program);
}

int stop_daemon(struct driver *d)
{
	int status = -1;

	kill(d->daemon, SIGTERM);
	if (waitpid(d->daemon, &status, 0) != d->daemon || status)
		return differ(&d->m, "the daemon ended with status 0x%x", status);
	return 0;
}
