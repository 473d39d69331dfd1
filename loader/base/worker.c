/* SPDX-License-Identifier: BSD-2-Clause */
/* See worker.h. */
#include <signal.h>

#include "worker.h"

/* A thread begins with its creator's mask, so that it takes no signal before it has its own. */
int worker_start(pthread_t *thread, void *(*run)(void *arg), void *arg, int signal)
{
	sigset_t blocked, before;
	int err;

	sigfillset(&blocked);
	if (signal)
		sigdelset(&blocked, signal);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}
