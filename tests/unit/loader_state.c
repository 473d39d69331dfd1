/* SPDX-License-Identifier: BSD-2-Clause */
/* START's and ATTACH's refusals that no client can cause; the others are in tests/ops.tsv. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

static pid_t child;
static int child_fd;
static struct actor target;		/* the child, when it is to have other credentials */

static int setup_child(void **state)
{
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	return setup(state);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static int teardown_child(void **state)
{
	end_child();
	close(child_fd);
	return teardown(state);
}

/* --- states (§2.1) -------------------------------------------------------------------------- */

static void test_errors_from_counting(void **state)
{
	uint32_t id = allocate(&root, PMC_MODE_TC, 0);

	fake.refuse_attach = -ENOMEM;
	assert_int_equal(start(&root, id), -ENOMEM);
	assert_contains(reason(), "PMCSTART");
	fake.refuse_attach = 0;
	fake.refuse_start = -EBUSY;
	assert_int_equal(start(&root, id), -EBUSY);
	assert_int_equal(stop(&root, id), -EINVAL);	/* it did not start */
	fake.refuse_start = 0;
	assert_int_equal(start(&root, id), 0);
	fake.refuse_stop = -EBUSY;
	assert_int_equal(stop(&root, id), -EBUSY);
	assert_int_equal(stop(&root, id), 0);
	assert_int_equal(start(&root, id), 0);
}

static void test_start_passes_descriptors(void **state)
{
	uint32_t id = allocate(&root, PMC_MODE_TC, 0);
	const struct wire_start_rep *rep;

	fake.self_fds = 3;
	assert_int_equal(start(&root, id), 0);
	rep = payload();
	assert_int_equal(rep->nfds, 3);
	assert_int_equal(rep->generation, 7);
	assert_int_equal(last_reply()->nfds, 3);
}

/* The descriptors of a group come with the place of each member among them. */
static void test_start_passes_groups(void **state)
{
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ, .class = PMC_CLASS_SOFT, .event = 0x20004,
		.mode = PMC_MODE_TC, .cpu = (uint32_t)PMC_CPU_ANY, .group = 1,
	};
	struct wire_commitgroup_req group = { .n = 2 };
	const struct wire_start_rep *rep;

	for (unsigned int i = 0; i < group.n; i++) {
		assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
		group.pmcid[i] = ((const struct wire_allocate_rep *)payload())->pmcid;
	}
	assert_int_equal(ask(&root, WIRE_OP_COMMITGROUP, &group, sizeof(group)), 0);
	fake.self_fds = 4;
	assert_int_equal(start(&root, group.pmcid[0]), 0);
	rep = payload();
	assert_int_equal(rep->nfds, 4);
	assert_int_equal(rep->members, 2);
	assert_int_equal(rep->places, 2);
	assert_int_equal(rep->place[0], 1);
	assert_int_equal(rep->place[1], 0);
	assert_true(rep->since != 0);
	assert_int_equal(rep->ran, 0);
	assert_int_equal(last_reply()->nfds, 4);
}

/* --- attach and detach (§1.11, §1.12) ------------------------------------------------------- */

static void test_attach_refused(void **state)
{
	uint32_t id = allocate(&root, PMC_MODE_TC, 0);
	int null = open("/dev/null", O_RDONLY);

	assert_int_equal(attach(&root, id, 4711, null), -EFAULT);
	assert_contains(reason(), "no pidfd");
	close(null);
	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_int_equal(attach(&root, id, child, child_fd), -ESRCH);	/* a zombie */
	end_child();
	assert_int_equal(attach(&root, id, child, child_fd), -ESRCH);
	assert_int_equal(detach(&root, id, child, child_fd), -ESRCH);
}

/* REQ-043, REQ-179: permission before EEXIST. */
static void test_attach_permission(void **state)
{
	uint32_t id = allocate(&user, PMC_MODE_TC, 0);

	actor_join(&target, child, USER_UID);
	/*
	 * Judged by its current credentials, not by those at connect(2) or when it opened the proof
	 * …
	 */
	user.cred.uid[ID_REAL] = 78;
	user.session.cred.permitted = ~0ull;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "belongs to another user");
	/* … if it could get these by itself. */
	user.session.cred.permitted = 0;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "connect again");
	user.cred.uid[ID_REAL] = 77;
	assert_int_equal(attach_proven(&user, id, child, child_fd), 0);
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EEXIST);
	actor_leave(&target);
}

/* Kinds of the second descriptor. */
static void test_attach_proof(void **state)
{
	static const struct {
		enum abi_proof proof;
		int err;
		const char *why;
	} answers[] = {
		{ ABI_PROOF_NONE, -EPERM, "second descriptor is not /proc/" },
		{ ABI_PROOF_OTHER, -EPERM, "is another process's /proc/PID/mem" },
		{ ABI_PROOF_STALE, -EBUSY, "has just executed another program; try again" },
		{ ABI_PROOF_GONE, -EPERM, "its main thread has exited" },
		{ ABI_PROOF_UNKNOWN, -EPERM, "cannot distinguish /proc/PID/mem from other files" },
		{ ABI_PROOF_MAPS, -EPERM, "nothing has proven" },
		{ ABI_PROOF_MEM, 0, "" },
	};
	uint32_t id = allocate(&user, PMC_MODE_TC, 0);

	actor_join(&target, child, USER_UID);
	harness_may_debug = true;	/* which is not checked any more */
	for (unsigned int i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		fake.proof = answers[i].proof;
		assert_int_equal(attach_proven(&user, id, child, child_fd), answers[i].err);
		assert_contains(reason(), answers[i].why);
	}
	assert_int_equal(detach(&user, id, child, child_fd), 0);
	/* A descriptor that was opened with more rights. */
	target.cred.dumpable = false;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "PR_SET_DUMPABLE 0");
	target.cred.dumpable = true;
	target.cred.permitted = 1;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "capabilities that you lack");
	actor_leave(&target);
	/* The privileged and oneself: not checked. */
	fake.proofs = 0;
	fake.proof = ABI_PROOF_NONE;
	id = allocate(&root, PMC_MODE_TC, 0);
	assert_int_equal(attach_proven(&root, id, child, child_fd), 0);
	assert_int_equal(attach_proven(&root, id, 0, child_fd), 0);
	assert_int_equal(fake.proofs, 0);
}

/* The right to look and CAP_SYS_PTRACE: the kernel checks the rest, except labels. */
static void test_attach_ptracer(void **state)
{
	uint32_t id = allocate(&user, PMC_MODE_TC, 0);

	fake.proof = ABI_PROOF_MAPS;
	user.cred.effective = user.cred.permitted = 1ull << CAP_SYS_PTRACE;
	user.session.cred = user.cred;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "refuses uid 77 process");
	harness_may_debug = true;
	assert_int_equal(attach_proven(&user, id, child, child_fd), 0);
	assert_int_equal(detach(&user, id, child, child_fd), 0);
	harness_labelled = user.cred.pid;
	harness_label = "unconfined";
	assert_int_equal(attach_proven(&user, id, child, child_fd), 0);
	assert_int_equal(detach(&user, id, child, child_fd), 0);
	harness_label = "docker-default (enforce)";
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EPERM);
	assert_contains(reason(), "get CAP_DAC_READ_SEARCH");
	fake.proof = ABI_PROOF_MEM;
	assert_int_equal(attach_proven(&user, id, child, child_fd), 0);
}

/* A tree is attached as far as the client may: descendants of other users are left out. */
static void test_attach_tree(void **state)
{
	uint32_t id = allocate(&user, PMC_MODE_TC, PMC_F_DESCENDANTS);

	fake.descendant = child;
	assert_int_equal(attach(&user, id, 0, -1), 0);
	assert_int_equal(detach(&user, id, child, child_fd), -ESRCH);
	assert_int_equal(release(&user, id), 0);
	harness_may_debug = true;
	id = allocate(&user, PMC_MODE_TC, PMC_F_DESCENDANTS);
	assert_int_equal(start(&user, id), 0);		/* attaches to its owner */
	assert_int_equal(detach(&user, id, child, child_fd), 0);
}

/* A label adds to ids and capabilities; without an answer there is no permission. */
static void test_attach_tree_labels(void **state)
{
	uint32_t id = allocate(&user, PMC_MODE_TC, PMC_F_DESCENDANTS);

	fake.descendant = child;
	harness_may_debug = true;
	harness_labelled = child;
	harness_labels = harness_label = "u:r:daemon_t";
	assert_int_equal(attach(&user, id, 0, -1), 0);
	assert_int_equal(detach(&user, id, child, child_fd), 0);
	assert_int_equal(release(&user, id), 0);
	harness_label = "u:r:secret_t";
	id = allocate(&user, PMC_MODE_TC, PMC_F_DESCENDANTS);
	assert_int_equal(attach(&user, id, 0, -1), 0);
	assert_int_equal(detach(&user, id, child, child_fd), -ESRCH);
	assert_int_equal(release(&user, id), 0);
	harness_label = harness_labels;
	harness_no_answer = -EAGAIN;
	id = allocate(&user, PMC_MODE_TC, PMC_F_DESCENDANTS);
	assert_int_equal(attach(&user, id, 0, -1), -EAGAIN);
	assert_contains(reason(), "nobody has asked");
	assert_int_equal(detach(&user, id, 0, -1), -ESRCH);
	harness_no_answer = 0;
	assert_int_equal(attach(&user, id, 0, -1), 0);
}

static void becomes_root(void)
{
	target.cred.uid[ID_EFFECTIVE] = 0;
}

static void executes(void)
{
	fake.proof = ABI_PROOF_STALE;
}

/* A set-id or relabelled program that starts between the permission and the attachment. */
static void test_attach_race(void **state)
{
	uint32_t id = allocate(&user, PMC_MODE_TC, 0);

	actor_join(&target, child, USER_UID);
	fake.on_attach = becomes_root;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EBUSY);
	assert_contains(reason(), "changed its credentials");
	assert_int_equal(detach(&user, id, child, child_fd), -ESRCH);
	target.cred.uid[ID_EFFECTIVE] = USER_UID;
	fake.on_attach = executes;
	assert_int_equal(attach_proven(&user, id, child, child_fd), -EBUSY);
	assert_contains(reason(), "executed another program");
	assert_int_equal(detach(&user, id, child, child_fd), -ESRCH);
	fake.proof = ABI_PROOF_MEM;
	fake.on_attach = NULL;
	assert_int_equal(attach_proven(&user, id, child, child_fd), 0);
	actor_leave(&target);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define C(f) cmocka_unit_test_setup_teardown(f, setup_child, teardown_child)
	const struct CMUnitTest tests[] = {
		T(test_errors_from_counting), T(test_start_passes_descriptors),
		T(test_start_passes_groups),
		C(test_attach_refused), C(test_attach_permission), C(test_attach_proof),
		C(test_attach_ptracer), C(test_attach_tree), C(test_attach_tree_labels),
		C(test_attach_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
