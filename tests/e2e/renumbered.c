/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread whose number is another's later, or which gets another number.
 *
 *	renumbered again N	makes N calls and ends; another thread of its number makes N more
 *	renumbered exec N	makes N calls and executes a program, which makes N more
 *
 * It sleeps after each call.  Prints the thread's number, waits for a line, and after the last call
 * prints "done" and waits for another one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned int calls;
static int mode_exec;
static pid_t number;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void line_read(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

__attribute__((noinline)) static void renumbered_call(void)
{
	sched_get_priority_max(SCHED_FIFO);
}

static void calls_make(void)
{
	for (unsigned int i = 0; i < calls; i++) {
		renumbered_call();
		usleep(1000);
	}
}

static void finish(void)
{
	puts("done");
	fflush(stdout);
	line_read();
	exit(0);
}

static void *first(void *arg)
{
	char n[16];

	number = (pid_t)syscall(SYS_gettid);
	printf("%d\n", number);
	fflush(stdout);
	line_read();
	calls_make();
	if (!mode_exec)
		return NULL;
	snprintf(n, sizeof(n), "%u", calls);
	execl("/proc/self/exe", "renumbered", "on", n, NULL);
	die("execl");
	return NULL;
}

static void *next(void *arg)
{
	if (syscall(SYS_gettid) != number)
		return NULL;
	calls_make();
	finish();
	return NULL;
}

/* The kernel gives the number to this process unless another one is faster. */
static void number_again(void)
{
	pthread_t t;

	for (;;) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

		if (!f || fprintf(f, "%d", number - 1) < 0 || fclose(f))
			die("/proc/sys/kernel/ns_last_pid");
		if (pthread_create(&t, NULL, next, NULL))
			die("pthread_create");
		pthread_join(t, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	pthread_t t;

	calls = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	if (!strcmp(what, "on")) {
		calls_make();
		finish();
	}
	mode_exec = !strcmp(what, "exec");
	if (!mode_exec && strcmp(what, "again"))
		return 2;
	if (pthread_create(&t, NULL, first, NULL))
		die("pthread_create");
	pthread_join(t, NULL);
	number_again();
	return 0;
}
