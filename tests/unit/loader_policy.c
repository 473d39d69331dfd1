/* SPDX-License-Identifier: BSD-2-Clause */
/* Permissions (REQ-031, REQ-042, REQ-043, REQ-110 … REQ-117, REQ-178, C-20); reading /proc. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../loader/policy.h"
#include "unit.h"

#define INITIAL 4026531837ull
#define PIDNS	1000ull
#define CAP(c)	(1ull << (c))

static struct config config;
static struct why why;

static int setup(void **state)
{
	config_init(&config);
	return 0;
}

static struct cred user(uid_t uid)
{
	return (struct cred){
		.pid = 100 + (pid_t)uid,
		.inner_pid = 100 + (pid_t)uid,
		.leader = true,
		.dumpable = true,
		.uid = { uid, uid, uid },
		.gid = { uid, uid, uid },
		.user_ns = INITIAL,
		.pid_ns = PIDNS,
	};
}

static struct cred with(struct cred c, uint64_t caps)
{
	c.effective = c.permitted = caps;
	return c;
}

static struct cred jailed_root(void)
{
	struct cred c = with(user(0), ~0ull);

	c.user_ns = INITIAL + 1;
	return c;
}

static int system_scope(struct cred c, bool sampling)
{
	return policy_system(&config, &c, PIDNS, sampling, &why);
}

static void test_privilege(void **state)
{
	struct cred root_without = user(0), jailed = jailed_root();
	struct cred perfmon = with(user(5), CAP(CAP_PERFMON)),
		    admin = with(user(5), CAP(CAP_SYS_ADMIN));
	struct cred other = with(user(5), ~(CAP(CAP_PERFMON) | CAP(CAP_SYS_ADMIN)));

	assert_true(policy_privileged(&perfmon));
	assert_true(policy_privileged(&admin));
	assert_false(policy_privileged(&other));
	assert_false(policy_privileged(&root_without));
	assert_false(policy_privileged(&jailed));
}

static void test_system_scope(void **state)
{
	assert_int_equal(system_scope(user(5), false), -EPERM);
	assert_non_null(strstr(why.text, "unprivileged_syspmcs"));
	assert_int_equal(system_scope(with(user(5), CAP(CAP_PERFMON)), false), 0);
	assert_int_equal(system_scope(with(user(5), CAP(CAP_PERFMON)), true), 0);
	config.value[TUN_SYSPMCS] = 1;
	assert_int_equal(system_scope(user(5), false), 0);
	assert_int_equal(system_scope(user(5), true), -EPERM); /* sampling stays the super-user's */
}

static void test_jail(void **state)
{
	struct cred container = user(5), privileged_container = with(user(0), ~0ull);

	config.value[TUN_SYSPMCS] = 1;
	assert_int_equal(system_scope(jailed_root(), false), -EPERM);
	container.pid_ns = PIDNS + 1;
	assert_int_equal(system_scope(container, false), -EPERM);
	privileged_container.pid_ns = PIDNS + 1;
	assert_int_equal(system_scope(privileged_container, false), 0);
}

static int attach(struct cred c, struct cred t)
{
	t.pid = t.inner_pid = 999;
	return policy_attach(&config, &c, &t, true, &why);
}

static void test_attach(void **state)
{
	struct cred t;

	assert_int_equal(attach(user(5), user(5)), 0);
	assert_int_equal(attach(user(5), user(6)), -EPERM);
	assert_non_null(strstr(why.text, "process 999 belongs to uid 6, you are uid 5"));
	assert_int_equal(attach(user(5), user(0)), -EPERM);
	assert_int_equal(attach(with(user(5), CAP(CAP_SYS_PTRACE)), user(6)), 0);
	assert_int_equal(attach(with(user(5), CAP(CAP_PERFMON)), user(0)), 0);
	for (unsigned int i = 0; i < IDS; i++) {
		t = user(5);
		t.uid[i] = 0;
		assert_int_equal(attach(user(5), t), -EPERM);
		t = user(5);
		t.gid[i] = 0;
		assert_int_equal(attach(user(5), t), -EPERM);
	}
	t = user(5);
	t.dumpable = false;
	assert_int_equal(attach(user(5), t), -EPERM);
	assert_int_equal(attach(user(5), with(user(5), CAP(CAP_NET_ADMIN))), -EPERM);
	assert_int_equal(
		attach(with(user(5), CAP(CAP_NET_ADMIN)), with(user(5), CAP(CAP_NET_ADMIN))), 0);
}

static void test_attach_across_namespaces(void **state)
{
	struct cred t = user(5), c = jailed_root(), inside = user(5);

	inside.user_ns = INITIAL + 1;
	t.user_ns = INITIAL + 2;
	assert_int_equal(attach(user(5), t), -EPERM);
	assert_int_equal(attach(c, user(5)), -EPERM);	/* its capabilities end at its namespace */
	assert_int_equal(attach(c, inside), 0);
	assert_int_equal(attach(with(user(5), CAP(CAP_SYS_PTRACE)), t), 0);
	/* D13: what the client cannot see does not exist. */
	c = with(user(0), ~0ull);
	t = user(5);
	assert_int_equal(policy_attach(&config, &c, &t, false, &why), -ESRCH);
}

/* REQ-112, REQ-117: the tunable bars others, never oneself. */
static void test_proc_debug_tunable(void **state)
{
	struct cred me = user(5);

	config.value[TUN_PROC_DEBUG] = 0;
	assert_int_equal(attach(me, user(5)), -EPERM);
	assert_int_equal(attach(with(user(5), CAP(CAP_SYS_PTRACE)), user(5)), -EPERM);
	assert_int_equal(attach(with(user(5), CAP(CAP_PERFMON)), user(5)), 0);
	assert_int_equal(policy_attach(&config, &me, &me, false, &why), 0);
}

static void test_may_know(void **state)
{
	struct cred me = user(5), root = with(user(0), ~0ull);

	assert_true(policy_may_know(&me, 5));
	assert_false(policy_may_know(&me, 6));
	assert_true(policy_may_know(&root, 6));
}

static void test_read_self(void **state)
{
	struct cred c, again;

	assert_int_equal(policy_read_cred(getpid(), &c), 0);
	assert_int_equal(c.pid, getpid());
	assert_int_equal(c.uid[ID_REAL], getuid());
	assert_int_equal(c.uid[ID_EFFECTIVE], geteuid());
	assert_int_equal(c.gid[ID_EFFECTIVE], getegid());
	assert_true(c.leader);
	assert_true(c.start > 0 && c.user_ns && c.pid_ns);
	assert_true(policy_visible(&c, c.pid_ns));
	assert_int_equal(policy_read_cred(getpid(), &again), 0);
	assert_int_equal(again.start, c.start);
	assert_int_equal(policy_read_cred(0x3fffffff, &c), -ESRCH);
}

/* A name with blanks and parentheses must not shift the fields of /proc/PID/stat. */
static void test_read_odd_name(void **state)
{
	struct cred before, after;

	assert_int_equal(policy_read_cred(getpid(), &before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "a) R 1 (b\nc"), 0);
	assert_int_equal(policy_read_cred(getpid(), &after), 0);
	prctl(PR_SET_NAME, "loader_policy");
	assert_int_equal(after.start, before.start);
	assert_int_equal(after.uid[ID_REAL], getuid());
	assert_int_equal(after.inner_pid, before.inner_pid);
}

static void test_pidfd(void **state)
{
	int devnull = open("/dev/null", O_RDONLY), pidfd;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_int_equal(policy_pidfd_pid(pidfd), child);
	assert_int_equal(policy_pidfd_pid(devnull), -EBADF);
	assert_int_equal(policy_pidfd_pid(4000), -EBADF);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(policy_pidfd_pid(pidfd), -ESRCH);
	close(pidfd);
	close(devnull);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_privilege), T(test_system_scope), T(test_jail), T(test_attach),
		T(test_attach_across_namespaces), T(test_proc_debug_tunable), T(test_may_know),
		T(test_read_self), T(test_read_odd_name), T(test_pidfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
