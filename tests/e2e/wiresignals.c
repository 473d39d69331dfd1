/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw client as a process that expects signals, in each possible way, or does not; and as an
 * owner that execs another program but keeps its connection.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wireclient.h"

#define PATIENCE 60		/* seconds for a signal that is to come */

static volatile sig_atomic_t caught[NSIG];

static int signal_number(const char *name)
{
	if (!strcmp(name, "IO"))	/* the C library's name is POLL */
		return SIGIO;
	for (int n = 1; n < NSIG; n++)
		if (sigabbrev_np(n) && !strcmp(sigabbrev_np(n), name))
			return n;
	die("%s is no signal", name);
}

static void count(int signo)
{
	caught[signo]++;
}

static void react(const char *name, void (*handler)(int signo))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(signal_number(name), &sa, NULL);
}

/*
 * catch SIGNAL, ignore SIGNAL, forget SIGNAL: sets a handler, ignores it, restores the initial
 * state.
 */
void do_catch(char **arg)
{
	react(arg[0], count);
}

void do_ignore(char **arg)
{
	react(arg[0], SIG_IGN);
}

void do_forget(char **arg)
{
	react(arg[0], SIG_DFL);
}

/* block SIGNAL: also in threads that are created later. */
void do_block(char **arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number(arg[0]));
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static sem_t exposed;

static void *expose(void *arg)
{
	sigset_t *set = arg;

	pthread_sigmask(SIG_UNBLOCK, set, NULL);
	sem_post(&exposed);
	for (;;)
		pause();
	return NULL;
}

/* expose SIGNAL: a thread that it would kill. */
void do_expose(char **arg)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, signal_number(arg[0]));
	if (sem_init(&exposed, 0, 0) || pthread_create(&thread, NULL, expose, &set))
		die("no thread");
	while (sem_wait(&exposed))
		;
}

/* The number of signals since the last call; a blocked one counts once. */
static unsigned int came(int signo)
{
	struct timespec now = { 0 };
	unsigned int n = (unsigned int)caught[signo];
	sigset_t set;

	caught[signo] = 0;
	sigemptyset(&set);
	sigaddset(&set, signo);
	while (sigtimedwait(&set, NULL, &now) == signo)
		n++;
	return n;
}

static void tell(const char *word, const char *name, unsigned int n)
{
	printf("%s %s %u\n", word, name, n);
	fflush(stdout);
}

void do_came(char **arg)
{
	tell("came", arg[0], came(signal_number(arg[0])));
}

/* await SIGNAL: until it comes. */
void do_await(char **arg)
{
	int signo = signal_number(arg[0]);
	unsigned int n = 0;

	for (int i = 0; i < PATIENCE * 100 && !n; i++) {
		n = came(signo);
		if (!n)
			usleep(10000);
	}
	tell("await", arg[0], n);
}

/* become: this program anew, with the old connection. */
void do_become(char **arg)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", c.sock);
	execl("/proc/self/exe", "wireclient", "inherited", fd, "orders", (char *)NULL);
	die("exec: %s", strerror(errno));
}

/* inherited FD: continues with that connection; this ends the order to become. */
void do_inherited(char **arg)
{
	c.sock = (int)number(arg[0]);
	printf("inherited %d\n.\n", c.sock);
	fflush(stdout);
}
