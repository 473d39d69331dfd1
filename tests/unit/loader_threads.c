/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of threads, from the kernel's reports so far. */
#include <stdio.h>
#include <string.h>

#include "loader/process/threads.h"
#include "unit.h"

static struct threads t;
static unsigned int asked;

/* Threads below 100 are there, and have been since before. */
static bool answer(pid_t pid, pid_t tid, char comm[PROC_COMM])
{
	asked++;
	snprintf(comm, PROC_COMM, "old-%d", tid);
	return tid < 100;
}

static int setup(void **state)
{
	threads_init(&t);
	t.ask = answer;
	asked = 0;
	return 0;
}

static int teardown(void **state)
{
	threads_clear(&t);
	return 0;
}

static struct proc_event event(enum proc_what what, pid_t pid, pid_t tid, pid_t creator,
			       const char *comm)
{
	struct proc_event e = { .what = what, .pid = pid, .tid = tid, .creator = creator };

	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	threads_event(&t, &e);
	return e;
}

/* A thread that `creator` makes, with that name; `from_proc`: /proc was read. */
static void born(pid_t pid, pid_t tid, pid_t creator, const char *comm, bool from_proc)
{
	struct proc_event e = event(PROC_THREAD, pid, tid, creator, "");

	assert_string_equal(e.comm, comm);
	assert_int_equal(e.asked, from_proc);
}

static void a_process_has_its_parents_name(void **state)
{
	struct proc_event e;

	event(PROC_EXEC, 200, 200, 0, "program");
	e = event(PROC_FORK, 300, 300, 200, "");
	assert_false(e.asked);
	born(300, 301, 300, "program", false);
	/* For unknown processes /proc is not read until they have threads. */
	event(PROC_FORK, 70, 70, 60, "");
	assert_int_equal(asked, 0);
}

static void what_is_not_known_is_asked_once(void **state)
{
	born(7, 500, 7, "old-7", true);
	born(7, 501, 7, "old-7", true);
	born(7, 502, 501, "old-7", true);
	assert_int_equal(asked, 1);
	/* A name that the kernel reports needs no look. */
	event(PROC_NAME, 7, 501, 0, "new");
	born(7, 503, 501, "new", false);
	event(PROC_EXEC, 7, 7, 0, "exec");
	born(7, 504, 7, "exec", false);
	assert_int_equal(asked, 1);
	/* The creator has gone; then the thread has as well. */
	born(8, 88, 800, "old-88", true);
	born(8, 801, 800, "", true);
}

static void names_end_with_their_threads(void **state)
{
	event(PROC_NAME, 200, 200, 0, "one");
	event(PROC_NAME, 200, 201, 0, "two");
	event(PROC_THREAD_EXIT, 200, 201, 0, "");
	born(200, 202, 201, "", true);
	event(PROC_EXIT, 200, 200, 0, "");
	born(200, 203, 200, "", true);
	/* Some of the kernel's records are missing: all names are uncertain. */
	event(PROC_NAME, 9, 9, 0, "before");
	event(PROC_LOST, 9, 9, 0, "");		/* of one process only */
	born(9, 90, 9, "before", false);
	event(PROC_LOST, 0, 0, 0, "");
	born(9, 91, 9, "old-9", true);
}

static void names_of_an_attachment(void **state)
{
	threads_know(&t, 300, "there already", false);
	born(300, 301, 300, "there already", false);
	threads_know(&t, 400, "maybe another's", true);
	born(400, 401, 400, "maybe another's", true);
	event(PROC_NAME, 300, 300, 0, "newer");
	threads_know(&t, 300, "there already", false);
	born(300, 302, 300, "newer", false);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_process_has_its_parents_name), T(what_is_not_known_is_asked_once),
		T(names_end_with_their_threads), T(names_of_an_attachment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
