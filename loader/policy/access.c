/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The right to debug depends on ids, capabilities, user namespaces, dumpability and the security
 * modules, and the kernel answers for the calling process only.  For the process that it names, a
 * client sends the kernel's answer as a descriptor (op/permit.c).  For descendants of that process
 * it has no descriptor: a child takes on the client's file system ids and capabilities and asks.
 * read(2) of /proc/PID/personality checks the reader's right to attach, also if another process
 * opened the file; readlink(2) of /proc/PID/ns/user checks the right to look, which is the same
 * without Yama.
 *
 * The child shares memory and descriptors with the daemon, which makes it cheap.  Its real and
 * saved ids stay root's, so that the client cannot send it signals, and it is not dumpable, so that
 * only root can look into it.  In the client's own user namespace a client with CAP_KILL can stop
 * it: a stopped child is killed at once.  While a target executes a program it holds the lock that
 * the question takes, until it has closed its files; so the daemon limits its wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "loader/base/base.h"
#include "rules.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#define STACK	 16384
#define BLOCKED	 10			/* ms, for a child that sleeps in the kernel */
#define PATIENCE 200			/* ms, for a child that waits for a CPU */
#define YAMA	 "/proc/sys/kernel/yama/ptrace_scope"

/* setfsuid(2) and its like take 16-bit ids elsewhere. */
_Static_assert(sizeof(long) == 8, "64-bit systems only");

enum { YAMA_OFF, YAMA_RELATIVES, YAMA_CAPABLE, YAMA_NOBODY };

struct question {
	const struct access *a;
	pid_t pid;			/* the child's */
	int self;			/* its pidfd */
	int dir, file;			/* the target's folder in /proc, and the file to read */
	const char *failed;		/* the call that failed with `error` */
	int error;
	const char *held_up;		/* why the daemon has killed the child */
	int attach, look;		/* 0 or an errno */
	uint64_t lacked;		/* capabilities of the client that the child lacks */
};

/* --- in the child: only system calls that the C library does not make for all threads --------- */

static bool question_failed(struct question *q, const char *call, long result)
{
	if (result == 0)
		return false;
	q->failed = call;
	q->error = errno;
	return true;
}

static bool question_take_id(struct question *q, const char *call, int (*set)(uid_t), uid_t id)
{
	set(id);
	errno = EPERM;
	/* -1 changes nothing and returns the id. */
	return !question_failed(q, call, (uid_t)set((uid_t)-1) != id);
}

/* Makes these effective, as far as the daemon has them; permitted ones stay. */
static long child_use_capabilities(uint64_t caps, uint64_t *lacked)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	*lacked = caps & ~(d[0].permitted | (uint64_t)d[1].permitted << 32);
	for (unsigned int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted & (uint32_t)(caps >> 32 * i);
	return syscall(SYS_capset, &h, d);
}

/* The kernel knows the owner of a user namespace by its effective id. */
static bool question_take_effective(struct question *q, uid_t id)
{
	if (question_failed(q, "setresuid", syscall(SYS_setresuid, -1L, id, -1L)))
		return false;
	/* The change of ids has cleared the effective capabilities, which later steps need. */
	return !question_failed(q, "capset", child_use_capabilities(UINT64_MAX, &q->lacked));
}

/* Each change of credentials resets both. */
static void child_close_up(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/*
 * Takes on the credentials that ptrace(2) checks: the client's real ids and its permitted
 * capabilities, but CAP_SYS_PTRACE only if it is effective.
 */
static bool question_become(struct question *q)
{
	const struct cred *c = q->a->client;
	uint64_t ptrace = 1ull << CAP_SYS_PTRACE;
	uint64_t caps = (c->permitted & ~ptrace) | (c->effective & ptrace);

	/* Ids are in the daemon's user namespace, hence before setns(). */
	if ((c->user_ns != q->a->target->user_ns &&
	     !question_take_effective(q, c->uid[ID_EFFECTIVE])) ||
	    !question_take_id(q, "setfsgid", setfsgid, c->gid[ID_REAL]) ||
	    !question_take_id(q, "setfsuid", setfsuid, c->uid[ID_REAL]))
		return false;
	child_close_up();
	if (!policy_on_host(c)) {
		if (question_failed(q, "setns", setns(q->a->client_pidfd, CLONE_NEWUSER)))
			return false;
		child_close_up();
	}
	return !question_failed(q, "capset", child_use_capabilities(caps, &q->lacked));
}

static int may_attach(int file)
{
	char byte;

	return pread(file, &byte, 1, 0) < 0 ? errno : 0;
}

static int may_look(int dir)
{
	char link[64];

	return readlinkat(dir, "ns/user", link, sizeof(link)) < 0 ? errno : 0;
}

static int question_ask(void *arg)
{
	struct question *q = arg;

	if (!question_become(q))
		return 1;
	q->attach = may_attach(q->file);
	q->look = may_look(q->dir);
	return 0;
}

/* --- in the daemon ---------------------------------------------------------------------------- */

static bool child_was_stopped(int pidfd)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WSTOPPED | WNOHANG | __WALL) &&
	       info.si_pid != 0;
}

/* Waiting for something other than a CPU. */
static bool child_is_blocked(pid_t pid)
{
	char path[32], text[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && (end[2] == 'S' || end[2] == 'D');
}

/* Waits for the child, but not for too long; NULL: it has exited. */
static const char *child_held_up(const struct question *q)
{
	struct pollfd p = { .fd = q->self, .events = POLLIN };

	for (int waited = 0; waited < PATIENCE; waited++) {
		if (poll(&p, 1, 1) > 0)
			return NULL;
		if (child_was_stopped(q->self))
			return "it was stopped";
		if (waited >= BLOCKED && child_is_blocked(q->pid))
			return "it waited in the kernel, as while a process executes a program";
	}
	return "it got no CPU";
}

/* True: the child has exited by itself. */
static bool child_ended_well(struct question *q)
{
	siginfo_t info = { .si_code = 0 };

	q->held_up = child_held_up(q);
	if (q->held_up)
		syscall(SYS_pidfd_send_signal, q->self, SIGKILL, NULL, 0);
	while (waitid((idtype_t)P_PIDFD, (id_t)q->self, &info, WEXITED | __WALL) && errno == EINTR)
		;
	return info.si_code == CLD_EXITED;
}

static int question_refuse(const char *call, int error, struct reason *why)
{
	return deny(why, -EPERM, "pmcbpfd cannot ask the kernel for permission: %s: %s; let it run "
		    "without a seccomp filter and with CAP_SETUID, CAP_SETGID, CAP_SYS_ADMIN, "
		    "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", call, strerror(error));
}

/* The open folder is the target's if the target has not exited by then. */
static int question_open(struct question *q, struct reason *why)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", q->a->target->pid);
	q->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	q->file = q->dir < 0 ? -1 : openat(q->dir, "personality", O_RDONLY | O_CLOEXEC);
	if (q->file >= 0 && !policy_pidfd_exited(q->a->target_pidfd))
		return 0;
	if (q->file >= 0 || errno == ENOENT || errno == ESRCH)
		return deny(why, -ESRCH, "process %d is exiting", q->a->named);
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return deny(why, -EAGAIN, "no descriptor to ask the kernel for permission with: "
			    "%m; try again");
	return question_refuse("open", errno, why);
}

/* Clears the marks of AddressSanitizer that a killed child leaves in the daemon's memory. */
static void stack_clean(char *stack)
{
#ifdef __SANITIZE_ADDRESS__
	__asan_unpoison_memory_region(stack, STACK);
#endif
}

static int question_run(struct question *q, struct reason *why)
{
	char stack[STACK] __attribute__((aligned(16)));
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	bool well = false;
	sigset_t all, old;
	int error;

	/* No signal handler may run in the child, which shares our memory. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	q->pid = clone(question_ask, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_PIDFD, q,
		       &q->self);
	error = errno;
	if (q->pid > 0) {
		well = child_ended_well(q);
		close(q->self);
		stack_clean(stack);
	}
	/* The child's change of credentials has made the shared memory undumpable. */
	if (dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (q->pid < 0)
		return deny(why, -EAGAIN, "no process to ask the kernel for permission with: %s; "
			    "try again", strerror(error));
	if (q->failed)
		return question_refuse(q->failed, q->error, why);
	if (!well)
		return deny(why, -EAGAIN, "the question for permission to measure process %d was "
			    "held up: %s; try again", q->a->named,
			    q->held_up ? q->held_up : "it was killed");
	return 0;
}

static int yama_scope(void)
{
	char text[16];
	int err = file_line(YAMA, text, sizeof(text));

	return err ? (err == -ENOENT ? YAMA_OFF : err) : atoi(text);
}

/* If looking is permitted, only Yama or another module forbids attaching. */
static int yama_explain(const struct access *a, int scope, struct reason *why)
{
	switch (scope) {
	case YAMA_OFF:
		return deny(why, -EPERM, "a security module (Landlock, AppArmor, SELinux) keeps "
			    "process %d from you; that needs CAP_PERFMON", a->named);
	case YAMA_RELATIVES:
		return deny(why, -EPERM, "process %d is no child of yours, and "
			    "kernel.yama.ptrace_scope is 1; start it yourself, let it call "
			    "prctl(PR_SET_PTRACER), or get CAP_SYS_PTRACE", a->named);
	case YAMA_CAPABLE:
		return deny(why, -EPERM, "process %d needs CAP_SYS_PTRACE: "
			    "kernel.yama.ptrace_scope is 2", a->named);
	case YAMA_NOBODY:
		return deny(why, -EPERM, "process %d needs CAP_PERFMON: "
			    "kernel.yama.ptrace_scope is 3", a->named);
	default:
		return deny(why, -EPERM, "process %d needs CAP_PERFMON: pmcbpfd cannot read "
			    YAMA, a->named);
	}
}

/* Yama permits descendants of the client, but the child that asks is not their ancestor. */
static bool is_relative(const struct access *a, int scope)
{
	return scope == YAMA_RELATIVES && policy_descends(a->target->pid, a->client);
}

int access_explain(const struct access *a, struct reason *why)
{
	int scope = yama_scope();
	bool elsewhere = a->client->user_ns != a->target->user_ns;

	if (!policy_plain(a->client, a->target) ||
	    (elsewhere && !policy_ptracer(a->client, a->target)))
		return policy_explain(a->client, a->target, a->named, why);
	if (scope != YAMA_OFF && !is_relative(a, scope) &&
	    (scope == YAMA_NOBODY || !policy_ptracer(a->client, a->target)))
		return yama_explain(a, scope, why);
	return deny(why, -EPERM, "nothing has proven that you may debug process %d: a security "
		    "module (Landlock, AppArmor, SELinux) or a missing /proc keeps its "
		    "/proc/%d/mem from you, or libpmc-compat is older than pmcbpfd: update it; "
		    "CAP_PERFMON needs no proof", a->named, a->named);
}

int access_debug(const struct access *a, struct reason *why)
{
	struct question q = { .a = a, .self = -1, .dir = -1, .file = -1 };
	int scope, err = question_open(&q, why);

	err = err ?: question_run(&q, why);
	if (q.file >= 0)
		close(q.file);
	if (q.dir >= 0)
		close(q.dir);
	if (err || q.attach == 0)
		return err;
	if (q.attach == ESRCH || q.look == ESRCH)
		return deny(why, -ESRCH, "process %d is exiting", a->named);
	if (q.attach != EPERM && q.attach != EACCES)
		return deny(why, -EPERM, "the kernel cannot decide whether you may attach to "
			    "process %d: %s", a->named, strerror(q.attach));
	if (q.look && a->target->permitted & q.lacked)
		return deny(why, -EPERM, "process %d has capabilities %#llx (CapPrm) as you, but "
			    "pmcbpfd does not, and so cannot ask the kernel; that needs "
			    "CAP_SYS_PTRACE", a->named,
			    (unsigned long long)(a->target->permitted & q.lacked));
	if (q.look)
		return policy_explain(a->client, a->target, a->named, why);
	scope = yama_scope();
	return is_relative(a, scope) ? 0 : yama_explain(a, scope, why);
}
