/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "sigdefer.h"

/* The thread's state, from the outermost sigdefer_begin() to its end. */
static __thread struct {
	unsigned int depth;
	int cancel;			/* the program's cancellation state and signal mask, */
	sigset_t mask;			/* restored at the end */
} sigdefer;

static bool signal_has_handler(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) &&
	       (now.sa_flags & SA_SIGINFO ||
		(now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN));
}

/*
 * All signals except those that faults raise.  SIGIO is deferred only if the program handles it:
 * the daemon sends it to processes that handle or block it, and cannot see that the library blocks
 * it.
 */
static void sigdefer_set(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
	if (!signal_has_handler(SIGIO))
		sigdelset(set, SIGIO);
}

bool sigdefer_blocks(int sig)
{
	return sigismember(&sigdefer.mask, sig) == 1;
}

bool sigdefer_takes(int sig)
{
	return signal_has_handler(sig) || (__libc_single_threaded && sigdefer_blocks(sig));
}

bool sigdefer_emulated(void)
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
		if (mask >> (sig - 1) & 1 && !signal_has_handler(sig))
			return true;
	return false;
}

void sigdefer_begin(void)
{
	sigset_t deferred, program;
	int cancel;

	sigdefer_set(&deferred);
	/* The state is written last: a handler that runs before finds no call begun. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_BLOCK, &deferred, &program);
	if (sigdefer.depth++)
		return;
	sigdefer.cancel = cancel;
	sigdefer.mask = program;
}

void sigdefer_end(void)
{
	const sigset_t program = sigdefer.mask;
	const int cancel = sigdefer.cancel;

	if (--sigdefer.depth)
		return;
	/* Deferred handlers run here, and may make calls of the library. */
	pthread_sigmask(SIG_SETMASK, &program, NULL);
	pthread_setcancelstate(cancel, NULL);
}

void sigdefer_wait(void)
{
	sigset_t deferred, now = sigdefer.mask;

	if (!sigdefer.depth)
		return;
	sigdefer_set(&deferred);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&deferred, sig) == 1 && signal_has_handler(sig))
			sigaddset(&now, sig);
	pthread_sigmask(SIG_SETMASK, &now, NULL);
}
