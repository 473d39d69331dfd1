/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The right to debug depends on ids, capabilities, user namespaces, dumpability and whatever
 * security module is loaded, and the kernel answers for the calling process only.  So a child takes
 * on the client's credentials and asks: pidfd_getfd(2) checks the right to attach before it looks
 * at the descriptor number, here one that no process can have; get_robust_list(2) checks the right
 * to look, which is the same without Yama.
 *
 * The child shares memory and descriptors with the daemon, which makes it cheap.  Nobody but root
 * can look into it: it is not dumpable from before it drops its capabilities.  The client may send
 * it signals, though, so that the daemon does not wait for it blindly.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "file.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#define STACK	 16384
#define PATIENCE 1000			/* ms, for the child */
#define GLANCE	 20			/* ms, between looks whether it was stopped */
#define YAMA	 "/proc/sys/kernel/yama/ptrace_scope"

/* setresuid(2) and its like take 16-bit ids elsewhere. */
_Static_assert(sizeof(long) == 8, "64-bit systems only");

enum { YAMA_OFF, YAMA_RELATIVES, YAMA_CAPABLE, YAMA_NOBODY };

struct question {
	const struct access *a;
	int self;			/* the child's pidfd */
	const char *failed;		/* the call that did, with `error` */
	int error;
	int attach, look;		/* 0 or an errno */
	uint64_t lacked;		/* capabilities of the client that the child could not have */
};

/* --- in the child: system calls only, and none that the C library makes for all threads ------- */

static bool failed(struct question *q, const char *call, long result)
{
	if (result == 0)
		return false;
	q->failed = call;
	q->error = errno;
	return true;
}

/* Keeps of the capabilities those in the two sets; UINT64_MAX: all that there are. */
static long set_capabilities(uint64_t permitted, uint64_t effective, uint64_t *lacked)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	*lacked = permitted & ~(d[0].permitted | (uint64_t)d[1].permitted << 32);
	for (unsigned int i = 0; i < 2; i++) {
		d[i].permitted &= (uint32_t)(permitted >> 32 * i);
		d[i].effective = d[i].permitted & (uint32_t)(effective >> 32 * i);
		d[i].inheritable = 0;
	}
	return syscall(SYS_capset, &h, d);
}

static bool become(struct question *q)
{
	const struct cred *c = q->a->client;

	/* A change of ids takes the capabilities that the steps after it need, but for this. */
	if (failed(q, "prctl", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)) ||
	    failed(q, "setgroups", syscall(SYS_setgroups, 0, NULL)) ||
	    failed(q, "setresgid", syscall(SYS_setresgid, c->gid[ID_REAL], c->gid[ID_EFFECTIVE],
					   c->gid[ID_SAVED])) ||
	    failed(q, "setresuid", syscall(SYS_setresuid, c->uid[ID_REAL], c->uid[ID_EFFECTIVE],
					   c->uid[ID_SAVED])))
		return false;
	/* Both are forgotten whenever credentials grow, as they do in setns. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!policy_on_host(c)) {
		if (failed(q, "capset", set_capabilities(UINT64_MAX, UINT64_MAX, &q->lacked)) ||
		    failed(q, "setns", setns(q->a->client_pidfd, CLONE_NEWUSER)))
			return false;
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	}
	return !failed(q, "capset", set_capabilities(c->permitted, c->effective, &q->lacked));
}

/* EBADF means that the question about the descriptor came up at all. */
static int may_attach(int pidfd)
{
	return syscall(SYS_pidfd_getfd, pidfd, -1, 0) < 0 && errno != EBADF ? errno : 0;
}

static int may_look(pid_t pid)
{
	void *head;
	size_t len;

	return syscall(SYS_get_robust_list, pid, &head, &len) ? errno : 0;
}

static int ask(void *arg)
{
	struct question *q = arg;

	if (!become(q))
		return 1;
	/* Of itself everybody may ask: a refusal is about the call, as by a seccomp filter. */
	errno = may_attach(q->self);
	if (failed(q, "pidfd_getfd", errno))
		return 1;
	errno = may_look(0);
	if (failed(q, "get_robust_list", errno))
		return 1;
	q->attach = may_attach(q->a->target_pidfd);
	q->look = may_look(q->a->target->pid);
	return 0;
}

/* --- in the daemon ---------------------------------------------------------------------------- */

static bool was_stopped(int pidfd)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WSTOPPED | WNOHANG | __WALL) &&
	       info.si_pid != 0;
}

/* Waits for the child's end, and brings it about; true: it came by itself. */
static bool ended_well(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	siginfo_t info = { .si_code = 0 };
	bool in_time = false;

	for (int waited = 0; waited < PATIENCE && !in_time; waited += GLANCE) {
		in_time = poll(&p, 1, GLANCE) > 0;
		if (!in_time && was_stopped(pidfd))
			break;
	}
	if (!in_time)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) && errno == EINTR)
		;
	return info.si_code == CLD_EXITED;
}

static int ask_child(struct question *q, struct why *why)
{
	char stack[STACK] __attribute__((aligned(16)));
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	bool well = false;
	sigset_t all, old;
	pid_t pid;
	int error;

	/* No handler may run in the child, whose memory is ours. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = clone(ask, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_PIDFD, q, &q->self);
	error = errno;
	if (pid > 0) {
		well = ended_well(q->self);
		close(q->self);
	}
	/* The child's change of credentials has made the shared memory not dumpable. */
	if (dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return deny(why, -EAGAIN, "no process to ask the kernel for permission with: %s; "
			    "try again", strerror(error));
	if (q->failed)
		return deny(why, -EPERM, "pmcbpfd cannot ask the kernel for permission: %s: %s; "
			    "let it run without a seccomp filter and with CAP_SETUID, CAP_SETGID, "
			    "CAP_SYS_ADMIN and CAP_SYS_PTRACE", q->failed, strerror(q->error));
	if (!well)
		return deny(why, -EAGAIN, "the question for permission was interrupted; try again");
	return 0;
}

static int yama_scope(void)
{
	char text[16];
	int err = file_line(YAMA, text, sizeof(text));

	return err ? (err == -ENOENT ? YAMA_OFF : err) : atoi(text);
}

/*
 * The right to look is there, that to attach is not.  What Yama asks is a relation of the client's
 * own that no other process can have in its place.
 */
static int relation(const struct access *a, struct why *why)
{
	int scope = yama_scope();

	switch (scope) {
	case YAMA_OFF:
		return deny(why, -EPERM, "a security module of the kernel protects process %d; "
			    "that needs CAP_PERFMON", a->named);
	case YAMA_RELATIVES:
		if (policy_descends(a->target->pid, a->client))
			return 0;
		return deny(why, -EPERM, "process %d is no child of yours, and "
			    "kernel.yama.ptrace_scope is 1 (PR_SET_PTRACER for one process is not "
			    "seen here); start it yourself, or get CAP_SYS_PTRACE", a->named);
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

int access_debug(const struct access *a, struct why *why)
{
	struct question q = { .a = a, .self = -1 };
	int err = ask_child(&q, why);

	if (err || q.attach == 0)
		return err;
	if (q.attach == ESRCH || q.look == ESRCH)
		return deny(why, -ESRCH, "process %d is exiting", a->named);
	if (q.attach != EPERM || (q.look != 0 && q.look != EPERM))
		return deny(why, -EPERM, "the kernel cannot tell whether you may attach to "
			    "process %d: %s", a->named,
			    strerror(q.attach != EPERM ? q.attach : q.look));
	if (q.look == 0)
		return relation(a, why);
	if (a->target->permitted & q.lacked)
		return deny(why, -EPERM, "process %d has capabilities %#llx (CapPrm) as you, but "
			    "pmcbpfd does not, and so cannot ask the kernel; that needs "
			    "CAP_SYS_PTRACE", a->named,
			    (unsigned long long)(a->target->permitted & q.lacked));
	return policy_explain(a->client, a->target, a->named, why);
}
