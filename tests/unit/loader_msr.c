/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCGETMSR: hwpmc's conditions in hwpmc's order (reference §1.13), and the consequences for
 * ATTACH.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

static int getmsr(struct actor *a, uint32_t id, uint32_t missing)
{
	struct wire_getmsr_req r = { .pmcid = id, .missing = missing };

	return ask(a, WIRE_OP_PMCGETMSR, &r, sizeof(r));
}

static uint32_t hardware(uint32_t mode, uint32_t flags)
{
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ, .class = PMC_CLASS_IAP, .mode = mode, .flags = flags,
		.cpu = PMC_IS_SYSTEM_MODE(mode) ? 1 : (uint32_t)PMC_CPU_ANY,
	};

	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
	return ((const struct wire_allocate_rep *)payload())->pmcid;
}

/* REQ-181, REQ-145 */
static void test_handle(void **state)
{
	uint32_t id;

	assert_int_equal(getmsr(&user, 1, 0), -ESRCH);
	id = hardware(PMC_MODE_TC, 0);
	assert_int_equal(getmsr(&root, id + 1, 0), -EINVAL);
	assert_int_equal(getmsr(&user, id, 0), -ESRCH);
	assert_int_equal(ask(&root, WIRE_OP_PMCGETMSR, &id, sizeof(id)), -EFAULT);
}

/* REQ-165, REQ-167, REQ-100 */
static void test_scope(void **state)
{
	uint32_t id = hardware(PMC_MODE_SC, 0);

	assert_int_equal(start(&root, id), 0);
	assert_int_equal(getmsr(&root, id, 0), -EINVAL);
	id = hardware(PMC_MODE_TC, PMC_F_DESCENDANTS);
	assert_int_equal(start(&root, id), 0);
	assert_int_equal(getmsr(&root, id, 0), -EINVAL);
	assert_contains(reason(), "PMC_F_DESCENDANTS");
}

/* REQ-166, REQ-100: the targets are the owner, neither more nor fewer nor others. */
static void test_targets(void **state)
{
	uint32_t id = hardware(PMC_MODE_TC, 0);
	pid_t child = fork();
	int fd;

	if (!child)
		for (;;)
			pause();
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_int_equal(getmsr(&root, id, 0), -EINVAL);
	assert_int_equal(attach(&root, id, child, fd), 0);
	assert_int_equal(getmsr(&root, id, 0), -EINVAL);
	assert_contains(reason(), "owner alone");
	assert_int_equal(attach(&root, id, 0, -1), 0);
	assert_int_equal(getmsr(&root, id, 0), -EINVAL);
	assert_int_equal(detach(&root, id, child, fd), 0);
	assert_int_equal(getmsr(&root, id, 0), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
}

/* REQ-170: after EINVAL's conditions, before the client's report. */
static void test_class(void **state)
{
	uint32_t id = allocate(&root, PMC_MODE_TC, 0);

	assert_int_equal(getmsr(&root, id, EAGAIN), -EINVAL);
	assert_int_equal(attach(&root, id, 0, -1), 0);
	assert_int_equal(getmsr(&root, id, EAGAIN), -ENOSYS);
	assert_contains(reason(), "class SOFT");
	assert_int_equal(getmsr(&root, id, 0), -ENOSYS);
}

static void test_missing(void **state)
{
	uint32_t id = hardware(PMC_MODE_TC, 0);

	assert_int_equal(start(&root, id), 0);
	assert_int_equal(getmsr(&root, id, EAGAIN), -EAGAIN);
	assert_int_equal(getmsr(&root, id, EBUSY), -EBUSY);
	assert_int_equal(getmsr(&root, id, ENOSYS), -ENOSYS);
	assert_int_equal(getmsr(&root, id, UINT32_MAX), -ENOSYS);
	assert_int_equal(stop(&root, id), 0);
	/* None of these has reported a register: EEXIST, not EPERM. */
	assert_int_equal(attach(&root, id, 0, -1), -EEXIST);
}

/* REQ-180: of this PMC only, and until its release; bad handles and pids still come first. */
static void test_attach_after(void **state)
{
	uint32_t id = hardware(PMC_MODE_TC, 0), other = hardware(PMC_MODE_TC, 0);

	assert_int_equal(start(&root, id), 0);
	assert_int_equal(getmsr(&root, id, 0), 0);
	assert_int_equal(payload_len(), 0);
	assert_int_equal(attach(&root, id, 0, -1), -EBUSY);
	assert_int_equal(stop(&root, id), 0);
	assert_int_equal(attach(&root, id, -1, -1), -EINVAL);
	assert_int_equal(attach(&root, id + 99, 0, -1), -EINVAL);
	assert_int_equal(attach(&root, id, 0, -1), -EPERM);
	assert_contains(reason(), "pmc_get_msr()");
	assert_int_equal(attach(&root, other, 0, -1), 0);
	assert_int_equal(start(&root, id), 0);
	assert_int_equal(release(&root, id), 0);
	id = hardware(PMC_MODE_TC, 0);
	assert_int_equal(attach(&root, id, 0, -1), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_handle), T(test_scope), T(test_targets), T(test_class), T(test_missing),
		T(test_attach_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
