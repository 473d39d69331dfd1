/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids and limits of a process, and a thread that adopts them. */
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/policy/policy.h"
#include "unit.h"

enum { ALICE = 54321, STAFF = 54322 };

static void line_of(pid_t tid, const char *name, char *to, size_t size)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	assert_non_null(f);
	*to = '\0';
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			snprintf(to, size, "%s", line + strlen(name));
	fclose(f);
	to[strcspn(to, "\n")] = '\0';
}

static void assert_line(pid_t tid, const char *name, const char *expected)
{
	char text[512];

	line_of(tid, name, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void test_read(void **state)
{
	struct rlimit before, limit;
	struct identity *id = NULL;
	gid_t groups[64];
	int n = getgroups(64, groups);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(identity_read(getpid(), &id), 0);
	assert_int_equal(id->uid, geteuid());
	assert_int_equal(id->gid, getegid());
	assert_int_equal(id->sender.pid, getpid());
	assert_int_equal(id->sender.uid, getuid());
	assert_int_equal(id->sender.gid, getgid());
	assert_true(id->file_limit == (before.rlim_cur == RLIM_INFINITY ? UINT64_MAX :
									  before.rlim_cur));
	assert_int_equal(id->ngroups, n);
	assert_memory_equal(id->groups, groups, (size_t)n * sizeof(groups[0]));
	free(id);
	limit = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(identity_read(getpid(), &id), 0);
	assert_true(id->file_limit == 4096);
	free(id);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void test_gone(void **state)
{
	struct identity *id;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(identity_read(pid, &id), -ESRCH);
}

/* As many groups as the kernel allows; their line is longer than what is read at once. */
static void test_groups(void **state)
{
	enum { MANY = 65536 };
	struct identity *id = NULL;
	int to[2], from[2];
	char byte;
	pid_t pid;

	if (geteuid())
		skip();
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (!pid) {
		static gid_t groups[MANY];

		for (unsigned int i = 0; i < MANY; i++)
			groups[i] = 4000000000u + i;
		if (setgroups(MANY, groups) || setgid(STAFF) || setuid(ALICE) ||
		    write(from[1], "", 1) != 1)
			_exit(1);
		close(to[1]);
		_exit(read(to[0], &byte, 1) != 0);
	}
	close(from[1]);
	assert_int_equal(read(from[0], &byte, 1), 1);
	assert_int_equal(identity_read(pid, &id), 0);
	assert_int_equal(id->uid, ALICE);
	assert_int_equal(id->gid, STAFF);
	assert_int_equal(id->sender.uid, ALICE);
	assert_int_equal(id->ngroups, MANY);
	assert_int_equal(id->groups[0], 4000000000u);
	assert_int_equal(id->groups[MANY - 1], 4000000000u + MANY - 1);
	free(id);
	close(to[1]);
	close(to[0]);
	close(from[0]);
	waitpid(pid, NULL, 0);
}

struct turn {
	struct identity *id;
	bool sender;
	int err;
	const char *call;
	pthread_barrier_t barrier;
	pid_t tid;
};

static void *take_on(void *arg)
{
	struct turn *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	t->err = identity_take_on(t->id, t->sender, &t->call);
	pthread_barrier_wait(&t->barrier);
	pthread_barrier_wait(&t->barrier);
	return NULL;
}

/* Only the ids that files are written with, and of this thread only. */
static void test_take_on(void **state)
{
	struct turn t = { .sender = false };
	char before[4][512];
	pthread_t thread;

	if (geteuid())
		skip();
	t.id = malloc(sizeof(*t.id) + 2 * sizeof(gid_t));
	assert_non_null(t.id);
	*t.id = (struct identity){ .uid = ALICE, .gid = STAFF, .ngroups = 2 };
	t.id->groups[0] = 7;
	t.id->groups[1] = 8;
	line_of(getpid(), "Uid:\t", before[0], sizeof(before[0]));
	line_of(getpid(), "Gid:\t", before[1], sizeof(before[1]));
	line_of(getpid(), "Groups:\t", before[2], sizeof(before[2]));
	line_of(getpid(), "CapEff:\t", before[3], sizeof(before[3]));
	for (int sender = 0; sender < 2; sender++) {
		t.sender = sender;
		pthread_barrier_init(&t.barrier, NULL, 2);
		assert_int_equal(pthread_create(&thread, NULL, take_on, &t), 0);
		pthread_barrier_wait(&t.barrier);
		assert_int_equal(t.err, 0);
		assert_line(t.tid, "Uid:\t", "0\t0\t0\t54321");
		assert_line(t.tid, "Gid:\t", "0\t0\t0\t54322");
		assert_line(t.tid, "Groups:\t", "7 8 ");
		assert_line(t.tid, "CapInh:\t", "0000000000000000");
		assert_line(t.tid, "CapPrm:\t", sender ? "00000000000000c0" : "0000000000000000");
		assert_line(t.tid, "CapEff:\t", sender ? "00000000000000c0" : "0000000000000000");
		assert_line(t.tid, "CapAmb:\t", "0000000000000000");
		assert_line(getpid(), "Uid:\t", before[0]);
		assert_line(getpid(), "Gid:\t", before[1]);
		assert_line(getpid(), "Groups:\t", before[2]);
		assert_line(getpid(), "CapEff:\t", before[3]);
		pthread_barrier_wait(&t.barrier);
		pthread_join(thread, NULL);
		pthread_barrier_destroy(&t.barrier);
	}
	free(t.id);
}

/* A caller without the right is refused, with the call's name. */
static void test_refused(void **state)
{
	struct identity id = { .uid = ALICE, .gid = STAFF };
	const char *call = "";
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!geteuid() && (setgroups(0, NULL) || setgid(STAFF) || setuid(STAFF)))
			_exit(2);
		id.ngroups = 0;
		id.gid = getegid();
		_exit(identity_take_on(&id, false, &call) != -EPERM ||
		      (strcmp(call, "setfsuid") && strcmp(call, "setgroups")));
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_read), T(test_gone), T(test_groups), T(test_take_on), T(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
