/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What surrounds a call of the library: its reason, and what may not happen meanwhile.
 *
 * FreeBSD's calls are system calls: a signal handler may make one while it interrupts another, and
 * a thread is not cancelled in the middle of one.  Here a call may hold a lock that the handler's
 * call wants, and a cancelled thread would leave it locked for ever.  So a call that takes a lock
 * or talks to the daemon is made between lib_enter() and lib_leave(): no handler runs meanwhile,
 * and no cancellation is acted upon.  What a fault raises stays as it is: its handler cannot wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "lib.h"

static __thread struct {
	int error;
	struct reason why;
	unsigned int depth;		/* of lib_block(): a fault's handler may nest */
	int cancel;			/* the program's, to be put back … */
	sigset_t mask;			/* … as this */
} call;

struct reason *lib_begin(void)
{
	call.why.text[0] = '\0';
	return &call.why;
}

int lib_end(int err)
{
	if (err >= 0)
		return 0;
	call.error = -err;
	errno = -err;
	return -1;
}

int (lib_missing)(struct reason *why, const char *argument)
{
	return refuse(why, -EFAULT, "%s is a null pointer", argument);
}

PMC_API_PUBLIC const char *pmc_errstr(void)
{
	return call.why.text[0] ? call.why.text : strerror(call.error);
}

/* --- signals and cancellation ---------------------------------------------------------------- */

static bool has_handler(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) &&
	       (now.sa_flags & SA_SIGINFO ||
		(now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN));
}

/*
 * SIGIO without a handler stays as it is: the daemon sends it to a process that handles or blocks
 * it, and would take our blocking for the program's.
 */
static void deferred_signals(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
	if (!has_handler(SIGIO))
		sigdelset(set, SIGIO);
}

bool lib_takes_signal(int sig)
{
	return has_handler(sig) || (__libc_single_threaded && sigismember(&call.mask, sig) == 1);
}

bool lib_emulated(void)
{
	char text[4096], *caught;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t mask;

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	caught = strstr(text, "\nSigCgt:\t");
	if (!caught)
		return false;
	mask = strtoull(caught + strlen("\nSigCgt:\t"), NULL, 16);
	for (int sig = 1; sig < __SIGRTMIN; sig++)
		if (mask >> (sig - 1) & 1 && !has_handler(sig))
			return true;
	return false;
}

void lib_block(void)
{
	sigset_t deferred, program;
	int cancel;

	deferred_signals(&deferred);
	/* First of all: a handler that still runs finds this call not yet begun. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_BLOCK, &deferred, &program);
	if (call.depth++)
		return;
	call.cancel = cancel;
	call.mask = program;
}

void lib_unblock(void)
{
	const sigset_t program = call.mask;
	const int cancel = call.cancel;

	if (--call.depth)
		return;
	/* The handlers run here, and may make calls of their own. */
	pthread_sigmask(SIG_SETMASK, &program, NULL);
	pthread_setcancelstate(cancel, NULL);
}

struct reason *lib_enter(void)
{
	lib_block();
	return lib_begin();
}

int lib_leave(int err)
{
	struct reason why = call.why;

	lib_unblock();
	/* A handler's call has its own reason, and must not leave it to the call it interrupted. */
	if (err < 0)
		call.why = why;
	return lib_end(err);
}

void lib_wait_on(void)
{
	sigset_t deferred, now = call.mask;

	if (!call.depth)
		return;
	deferred_signals(&deferred);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&deferred, sig) == 1 && has_handler(sig))
			sigaddset(&now, sig);
	pthread_sigmask(SIG_SETMASK, &now, NULL);
}
