/* SPDX-License-Identifier: BSD-2-Clause */
/* When a daemon's lock is free again; which files it can be is in tests/e2e/lock.bats. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/lockfile.h"
#include "scratch.h"
#include "unit.h"

static struct lockfile held;
static char why[256];

static int setup(void **state)
{
	held = LOCKFILE_NONE;
	why[0] = '\0';
	return scratch_run("rm -rf pmc.sock*");
}

static int take(struct lockfile *l)
{
	return lockfile_take(l, scratch_file("pmc.sock"), why, sizeof(why));
}

static const char *file(void)
{
	return scratch_file("pmc.sock" LOCKFILE_SUFFIX);
}

/* A process that holds the lock until it is killed; its child has the same descriptors. */
static pid_t start_holder(bool inherited, pid_t *child)
{
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pid_t heir = take(&held) ? -1 : 0;

		if (!heir && inherited)
			heir = fork();
		if ((inherited && heir == 0) || write(ready[1], &heir, sizeof(heir)) > 0)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], child, sizeof(*child)), sizeof(*child));
	assert_int_not_equal(*child, -1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_file(void **state)
{
	struct stat st;
	char *text, pid[32];

	/* Left by an earlier holder with a longer pid. */
	scratch_write("pmc.sock" LOCKFILE_SUFFIX, "1234567890\n", 11);
	assert_int_equal(chmod(file(), 0600), 0);
	assert_int_equal(take(&held), 0);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	text = scratch_read("pmc.sock" LOCKFILE_SUFFIX, NULL);
	assert_string_equal(text, pid);
	free(text);
	assert_int_equal(stat(file(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(fcntl(held.fd, F_GETFD) & FD_CLOEXEC);
	lockfile_release(&held);
	assert_int_equal(held.fd, -1);
	assert_int_equal(access(file(), F_OK), -1);
	lockfile_release(&held);
}

/* Children have the holder's descriptors, but not its lock. */
static void test_inherited(void **state)
{
	pid_t child, holder = start_holder(true, &child);

	assert_int_equal(take(&held), -EADDRINUSE);
	end(holder);
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(take(&held), 0);
	lockfile_release(&held);
	kill(child, SIGKILL);
}

static char state_of(pid_t pid)
{
	char path[32], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

/* A killed holder that has not released anything yet. */
static void test_killed(void **state)
{
	pid_t child, holder = start_holder(false, &child), taker;
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, holder, 0, PTRACE_O_TRACEEXIT), 0);
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, &status, 0), holder);
	assert_int_equal(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	taker = fork();
	if (taker == 0)
		_exit(take(&held) == 0 ? 0 : 1);
	while (state_of(taker) == 'R')
		sched_yield();
	assert_int_equal(state_of(taker), 'S');
	assert_int_equal(ptrace(PTRACE_CONT, holder, 0, 0), 0);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	assert_int_equal(waitpid(taker, &status, 0), taker);
	assert_int_equal(status, 0);
}

/* Another user's file that has replaced the lock file is not removed. */
static void test_replaced(void **state)
{
	assert_int_equal(take(&held), 0);
	assert_int_equal(scratch_run("mv pmc.sock.lock pmc.sock.moved; touch pmc.sock.lock"), 0);
	lockfile_release(&held);
	assert_int_equal(access(file(), F_OK), 0);
}

static void test_path(void **state)
{
	char longest[sizeof(held.path) + 1];

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(lockfile_take(&held, longest, why, sizeof(why)), -ENAMETOOLONG);
	assert_int_equal(lockfile_take(&held, scratch_file("none/pmc.sock"), why, sizeof(why)),
			 -ENOENT);
	assert_contains(why, "none/pmc.sock.lock");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_file), T(test_inherited), T(test_killed), T(test_replaced), T(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
