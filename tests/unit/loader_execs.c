/* SPDX-License-Identifier: BSD-2-Clause */
/* Execs of targets from their beginning to the kernel's verdict. */
#include "loader/process/execs.h"
#include "unit.h"

static struct execs x;

static int setup(void **state)
{
	execs_init(&x);
	return 0;
}

static int teardown(void **state)
{
	execs_clear(&x);
	return 0;
}

static void note(enum abi_exec_kind kind, pid_t pid, uint64_t time)
{
	execs_note(&x, &(struct abi_exec){ .kind = kind, .tgid = (uint32_t)pid, .time = time });
}

/* The only one there is. */
static struct exec *one(void)
{
	struct exec *e = LIST_FIRST(&x.all);

	assert_non_null(e);
	assert_null(LIST_NEXT(e, in_all));
	return e;
}

static void a_plain_exec_leaves_nothing(void **state)
{
	note(ABI_EXEC_BEGIN, 7, 100);
	assert_int_equal(execs_pending(&x, 7)->time, 100);
	assert_null(execs_pending(&x, 8));
	assert_true(execs_knows(&x, 7));
	note(ABI_EXEC_PLAIN, 7, 200);
	assert_null(execs_pending(&x, 7));
	assert_false(execs_knows(&x, 7));
	assert_true(LIST_EMPTY(&x.all));
	/* Each program that sees it sends a note. */
	note(ABI_EXEC_PLAIN, 7, 201);
	assert_true(LIST_EMPTY(&x.all));
}

static void a_secure_exec_is_so_from_its_beginning(void **state)
{
	note(ABI_EXEC_BEGIN, 7, 100);
	note(ABI_EXEC_SECURE, 7, 200);
	assert_null(execs_pending(&x, 7));
	assert_true(execs_knows(&x, 7));
	assert_true(one()->secure);
	assert_int_equal(one()->time, 100);
	/* Its next exec, before the daemon has read the first. */
	note(ABI_EXEC_BEGIN, 7, 300);
	assert_int_equal(execs_pending(&x, 7)->time, 300);
	note(ABI_EXEC_PLAIN, 7, 400);
	assert_true(one()->secure);
	execs_drop(one());
	assert_false(execs_knows(&x, 7));
}

/* A verdict without a beginning applies to everything still pending. */
static void a_beginning_that_nobody_saw(void **state)
{
	note(ABI_EXEC_SECURE, 7, 200);
	assert_true(one()->secure);
	assert_int_equal(one()->time, 1);
	execs_drop(one());
	execs_suspect(&x, 7);
	assert_int_equal(execs_pending(&x, 7)->time, 1);
	/* The note that comes then is of the same exec. */
	note(ABI_EXEC_BEGIN, 7, 100);
	assert_int_equal(one()->time, 100);
	note(ABI_EXEC_PLAIN, 7, 200);
	assert_true(LIST_EMPTY(&x.all));
}

/* The process died in the exec, or its pid was reused: in doubt until a verdict. */
static void a_verdict_that_never_came(void **state)
{
	note(ABI_EXEC_BEGIN, 7, 100);
	note(ABI_EXEC_BEGIN, 7, 300);
	assert_int_equal(one()->time, 100);
	note(ABI_EXEC_SECURE, 7, 400);
	assert_int_equal(one()->time, 100);
}

/* A process detached before the verdict: its new program is unknown. */
static void a_process_that_is_no_target_any_more(void **state)
{
	note(ABI_EXEC_BEGIN, 7, 100);
	note(ABI_EXEC_OTHER, 7, 200);
	assert_true(one()->secure);
	assert_int_equal(one()->time, 100);
	note(ABI_EXEC_OTHER, 8, 300);
	assert_false(execs_knows(&x, 8));
}

static void processes_do_not_mix(void **state)
{
	for (pid_t pid = 1; pid <= 1000; pid++)
		note(ABI_EXEC_BEGIN, pid, 100 + (uint64_t)pid);
	for (pid_t pid = 2; pid <= 1000; pid += 2)
		note(ABI_EXEC_PLAIN, pid, 5000);
	for (pid_t pid = 1; pid <= 1000; pid++) {
		const struct exec *e = execs_pending(&x, pid);

		assert_int_equal(e ? e->time : 0, pid % 2 ? 100 + (uint64_t)pid : 0);
	}
}

static void entry(pid_t pid, uint64_t time, uint64_t address)
{
	execs_note(&x, &(struct abi_exec){ .kind = ABI_EXEC_OTHER, .tgid = (uint32_t)pid,
					   .time = time, .entry = address });
}

/* The first verdict after the new name is of the same exec. */
static void the_entry_of_an_image(void **state)
{
	uint64_t at = 0;

	note(ABI_EXEC_BEGIN, 7, 100);
	assert_false(execs_entry(&x, 7, 100, &at));
	entry(7, 150, 0x1000);
	entry(7, 350, 0x2000);
	entry(8, 120, 0x3000);
	assert_true(execs_entry(&x, 7, 100, &at));
	assert_int_equal(at, 0x1000);
	assert_true(execs_entry(&x, 7, 300, &at));
	assert_int_equal(at, 0x2000);
	assert_false(execs_entry(&x, 7, 351, &at));
	assert_false(execs_entry(&x, 9, 100, &at));
	for (pid_t pid = 1000; pid < 1000 + (pid_t)EXECS_ENTRIES - 1; pid++)
		entry(pid, 400, (uint64_t)pid);
	assert_true(execs_entry(&x, 8, 100, &at));
	assert_int_equal(at, 0x3000);
	entry(9, 500, 0x4000);
	assert_false(execs_entry(&x, 8, 100, &at));
	assert_true(execs_entry(&x, 9, 100, &at));
	assert_int_equal(at, 0x4000);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_plain_exec_leaves_nothing), T(a_secure_exec_is_so_from_its_beginning),
		T(a_beginning_that_nobody_saw), T(a_verdict_that_never_came),
		T(a_process_that_is_no_target_any_more), T(processes_do_not_mix),
		T(the_entry_of_an_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
