/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program under an emulator that handles all signals itself, as valgrind does: sigaction(2) shows
 * the program's own handlers only.  A signal for which it has none ends it.
 *
 * emulated none|first|later|blocked: releases an attached PMC, which raises SIGIO, and reports how
 * many came.  The handler is set before pmc_init() or after pmc_start().
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmc.h>

extern int __sigaction(int sig, const struct sigaction *to, struct sigaction *was);

static struct sigaction program[NSIG];
static volatile sig_atomic_t came;

static void emulator(int sig)
{
	if (program[sig].sa_handler == SIG_DFL) {
		printf("killed by signal %d\n", sig);
		fflush(stdout);
		_exit(1);
	}
	if (program[sig].sa_handler != SIG_IGN)
		program[sig].sa_handler(sig);
}

/* Also for the library, which is linked with this. */
int sigaction(int sig, const struct sigaction *to, struct sigaction *was)
{
	if (sig != SIGIO && sig != SIGBUS)
		return __sigaction(sig, to, was);
	if (was)
		*was = program[sig];
	if (to)
		program[sig] = *to;
	return 0;
}

static void on_io(int sig)
{
	came++;
}

static void handle(void)
{
	const struct sigaction sa = { .sa_handler = on_io };

	sigaction(SIGIO, &sa, NULL);
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s\n", what, pmc_errstr());
	exit(1);
}

int main(int argc, char **argv)
{
	const struct sigaction own = { .sa_handler = emulator };
	const char *how = argc > 1 ? argv[1] : "none";
	const struct timespec patience = { .tv_sec = 60 };
	sigset_t io;
	pmc_id_t id;

	__sigaction(SIGIO, &own, NULL);
	__sigaction(SIGBUS, &own, NULL);
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	if (!strcmp(how, "first"))
		handle();
	check(pmc_init(), "init");
	check(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), "allocate");
	check(pmc_start(id), "start");
	if (!strcmp(how, "later"))
		handle();
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_BLOCK, &io, NULL);
	/* The signal has been sent by the time of the reply. */
	check(pmc_release(id), "release");
	if (!strcmp(how, "blocked"))
		came = sigtimedwait(&io, NULL, &patience) == SIGIO;
	printf("%d\n", (int)came);
	return 0;
}
