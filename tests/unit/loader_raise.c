/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that handle a signal, and threads that would die of it (REQ-064, REQ-065). */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/daemon/raise.h"
#include "unit.h"

static void handler(int signo)
{
}

static pthread_barrier_t begun;

static void *wait_blocking(void *arg)
{
	pthread_barrier_wait(&begun);
	for (;;)
		pause();
	return NULL;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	pthread_sigmask(how, &set, NULL);
}

static void set_default(void) {}

static void set_ignored(void)
{
	signal(SIGIO, SIG_IGN);
	block(SIG_BLOCK);
}

static void set_handler(void)
{
	signal(SIGIO, handler);
}

static void set_blocked(void)
{
	block(SIG_BLOCK);
}

/* The C library's state while it forks: all signals blocked, and only for a moment. */
static void set_all_blocked(void)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
}

/* Until it runs: the C library starts a thread with all signals blocked. */
static void begin_thread(void)
{
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, wait_blocking, NULL);
	pthread_barrier_wait(&begun);
}

static void set_blocked_by_all_threads(void)
{
	block(SIG_BLOCK);
	begin_thread();
}

static void set_blocked_by_one_thread(void)
{
	begin_thread();
	block(SIG_BLOCK);
}

/* In a child that has prepared itself by `set`. */
static bool wanted_after(void (*set)(void))
{
	int ready[2];
	bool wanted;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		set();
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	wanted = raise_wanted(pid, SIGIO);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return wanted;
}

static void test_one_thread(void **state)
{
	assert_false(wanted_after(set_default));
	assert_false(wanted_after(set_ignored));
	assert_true(wanted_after(set_handler));
	assert_true(wanted_after(set_blocked));
	assert_false(wanted_after(set_all_blocked));
}

static void test_threads(void **state)
{
	assert_true(wanted_after(set_blocked_by_all_threads));
	assert_false(wanted_after(set_blocked_by_one_thread));
}

static void test_nobody(void **state)
{
	assert_false(raise_wanted(0x3fffffff, SIGIO));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
