/* SPDX-License-Identifier: BSD-2-Clause */
/* The private daemon: it gets its end of the connection, and the program sees no child. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "unit.h"

/* This program's part when it is started as the daemon. */
static int act_as_daemon(char **argv)
{
	const int fd = atoi(argv[2] + strlen("--client-fd="));
	sigset_t blocked;
	socklen_t len = sizeof(int);
	char text[64];
	int n, told = 0;

	getsockopt(fd, SOL_SOCKET, SO_PASSCRED, &told, &len);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	n = snprintf(text, sizeof(text), "%s %s %d %d %d", argv[0], argv[1],
		     getsid(0) == getpid(), sigismember(&blocked, SIGUSR1), told);
	send(fd, text, n, 0);
	fprintf(stderr, "pmcbpfd: first line\npmcbpfd: /sys/kernel/btf/vmlinux is missing\n");
	return 1;
}

static volatile sig_atomic_t children;

static void on_child(int sig)
{
	children++;
}

static void test_spawn(void **state)
{
	struct reason why = { "" };
	char text[64] = "", line[200];
	int fd, log;
	sigset_t usr1;

	signal(SIGCHLD, on_child);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	setenv("PMCBPF_DAEMON", "/proc/self/exe", 1);
	assert_int_equal(spawn_daemon(&fd, &log, &why), 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "pmcbpfd -f 1 0 1");
	/* No end of the connection is open but ours and the daemon's: its exit is the end. */
	assert_int_equal(recv(fd, text, sizeof(text), 0), 0);
	spawn_last_line(log, line, sizeof(line));
	assert_string_equal(line, "pmcbpfd: /sys/kernel/btf/vmlinux is missing");
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(children, 0);
	close(fd);
	close(log);
}

static void test_cannot_start(void **state)
{
	struct reason why = { "" };
	int fd, log;

	setenv("PMCBPF_DAEMON", "/nonexistent/pmcbpfd", 1);
	assert_int_equal(spawn_daemon(&fd, &log, &why), -ENOENT);
	assert_contains(why.text, "/nonexistent/pmcbpfd");
}

static void test_last_line(void **state)
{
	char line[200], long_text[6000];
	int log = memfd_create("log", MFD_CLOEXEC);

	spawn_last_line(log, line, sizeof(line));
	assert_string_equal(line, "");
	assert_int_equal(write(log, "\n\n", 2), 2);
	spawn_last_line(log, line, sizeof(line));
	assert_string_equal(line, "");
	assert_int_equal(write(log, "one", 3), 3);
	spawn_last_line(log, line, sizeof(line));
	assert_string_equal(line, "one");
	memset(long_text, 'x', sizeof(long_text));
	assert_int_equal(write(log, long_text, sizeof(long_text)), sizeof(long_text));
	spawn_last_line(log, line, sizeof(line));
	assert_int_equal(strlen(line), sizeof(line) - 1);
	spawn_last_line(-1, line, sizeof(line));
	assert_string_equal(line, "");
	close(log);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spawn), cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_last_line),
	};

	if (argc == 3 && strncmp(argv[2], "--client-fd=", 12) == 0)
		return act_as_daemon(argv);
	alarm(600);
	return cmocka_run_group_tests_name("lib_spawn", tests, NULL, NULL);
}
