/* SPDX-License-Identifier: BSD-2-Clause */
/* The spawner and the helpers: one thread each, and nothing of the daemon's but a socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"
#include "helper_impl.h"

int helper_emit(const struct helper_call *call, const void *data, size_t len, const int *fds,
		unsigned int nfds)
{
	const struct helper_answer head = { .end = 0 };

	return message_send(call->socket, &head, sizeof(head), data, len, fds, nfds, 0);
}

_Noreturn void helper_finish(const struct helper_call *call, int result)
{
	const struct helper_answer end = { .end = HELPER_END_ALL, .result = result };

	(void)!write(call->socket, &end, sizeof(end));
	_exit(0);
}

/* Waits until the daemon has closed its own copies of the descriptors, so that ours are last. */
static void helper_await_owner(int socket)
{
	int fds[HELPER_MAX_FDS];
	unsigned int nfds;
	char byte;

	(void)message_receive(socket, &byte, 1, NULL, 0, fds, &nfds, 0);
}

/* All descriptors of a call are closed before its end is reported. */
static void helper_serve(int socket, helper_job *const *jobs, unsigned int njobs)
{
	uint8_t arg[HELPER_MAX_ARG] __attribute__((aligned(8)));
	int fds[HELPER_MAX_FDS];
	struct helper_answer end = { .end = HELPER_END_CALL };
	struct helper_order order;
	struct helper_call call = { .arg = arg, .fds = fds, .socket = socket };
	long n = message_receive(socket, &order, sizeof(order), arg, sizeof(arg), fds, &call.nfds,
				 0);

	if (n < (long)sizeof(order))
		_exit(0);
	call.len = (size_t)n - sizeof(order);
	if (order.job < njobs)
		end.result = jobs[order.job](&call);
	else
		helper_await_owner(socket);
	for (unsigned int i = 0; i < call.nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (message_send(socket, &end, sizeof(end), NULL, 0, NULL, 0, 0))
		_exit(0);
}

/*
 * A service manager signals the whole process group.  A helper ignores that, and ends when the
 * daemon's end of its socket closes.
 */
static void helper_ignore_signals(void)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	sigset_t none;

	for (unsigned int i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Helpers must not get a terminal's signals, nor keep the daemon's standard output open for its
 * readers.  Sanitizers report to standard error.
 */
static void helper_leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
#ifndef __SANITIZE_ADDRESS__
	dup2(null, STDERR_FILENO);
#endif
	if (null > STDERR_FILENO)
		close(null);
}

/* A fork that returns a descriptor of the child; there are no threads that it could surprise. */
static long helper_fork(int *pidfd)
{
	return syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, pidfd, 0, 0);
}

_Noreturn void helper_process_serve(int socket, const struct helpers_spec *spec)
{
	int fds[HELPER_MAX_FDS], pidfd = -1;
	const pid_t spawner = getpid();
	unsigned int nfds;
	char byte;

	/* Jobs read what other users have written. */
	if (confine_capabilities(spec->capabilities, spec->capabilities))
		_exit(1);
	helper_ignore_signals();
	helper_leave_terminal();
	signal(SIGCHLD, SIG_IGN);	/* helpers need not be collected */
	prctl(PR_SET_NAME, spec->name, 0, 0, 0);
	while (message_receive(socket, &byte, 1, NULL, 0, fds, &nfds, 0) > 0) {
		int32_t err = nfds == 1 ? 0 : -EPROTO;
		long pid = err ? -1 : helper_fork(&pidfd);

		if (pid == 0) {
			close(socket);
			/* If a helper hangs when the daemon dies, the spawner's end kills it. */
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			/* It may have ended before. */
			if (getppid() != spawner)
				_exit(0);
			for (;;)
				helper_serve(fds[0], spec->jobs, spec->njobs);
		}
		if (!err && pid < 0)
			err = -errno;
		for (unsigned int i = 0; i < nfds; i++)
			close(fds[i]);
		(void)message_send(socket, &err, sizeof(err), NULL, 0, &pidfd, pid > 0, 0);
		if (pid > 0)
			close(pidfd);
	}
	_exit(0);
}
