/* SPDX-License-Identifier: BSD-2-Clause */
/* Permissions (REQ-031, REQ-042, REQ-043, REQ-110 … REQ-117, REQ-178, REQ-179, C-20); /proc. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/policy/policy.h"
#include "unit.h"

#define INITIAL 4026531837ull
#define PIDNS	1000ull
#define CAP(c)	(1ull << (c))

static struct config config;
static const struct grant none;
static const struct ruling by = { .config = &config, .grant = &none };
static struct reason why;

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
	return policy_system(&by, &c, PIDNS, sampling, &why);
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

static void test_follows_setid(void **state)
{
	struct cred perfmon = with(user(5), CAP(CAP_PERFMON)), jailed = jailed_root();
	struct cred ptrace = with(user(5), CAP(CAP_SYS_PTRACE));
	struct cred net = with(user(5), CAP(CAP_NET_ADMIN));

	assert_true(policy_follows_setid(&perfmon));
	assert_true(policy_follows_setid(&ptrace));
	assert_false(policy_follows_setid(&net));
	assert_false(policy_follows_setid(&jailed));
}

static void test_grown(void **state)
{
	struct cred then = user(5), root = with(user(0), ~0ull), now;
	const unsigned int ids[] = { ID_REAL, ID_EFFECTIVE, ID_SAVED };

	assert_false(policy_grown(&then, &then));
	for (unsigned int i = 0; i < IDS; i++) {
		/* The credentials of a set-id program. */
		now = then;
		now.uid[ids[i]] = 6;
		assert_true(policy_grown(&then, &now));
		now = then;
		now.gid[ids[i]] = 6;
		assert_true(policy_grown(&then, &now));
		/* Ids that it may drop and regain. */
		assert_false(policy_grown(&now, &then));
	}
	now = then;
	now.user_ns++;
	assert_true(policy_grown(&then, &now));
	now = with(then, CAP(CAP_NET_RAW));
	assert_true(policy_grown(&then, &now));
	assert_false(policy_grown(&now, &then));
	/* Root may become any user, and is judged by its remaining rights. */
	assert_false(policy_grown(&root, &then));
	assert_true(policy_grown(&then, &root));
	now = with(user(0), CAP(CAP_SETGID));
	assert_true(policy_grown(&now, &then));
	now = with(user(0), CAP(CAP_SETUID));
	assert_true(policy_grown(&now, &then));
	now = with(user(0), CAP(CAP_SETUID) | CAP(CAP_SETGID));
	assert_false(policy_grown(&now, &then));
}

/* A capability that becomes effective later counts only if no rule checks it. */
static void test_grown_effective(void **state)
{
	struct cred then = with(user(5), ~0ull), now = with(user(5), ~0ull);

	then.effective = 0;
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		now.effective = CAP(cap);
		assert_int_equal(policy_grown(&then, &now), cap == CAP_PERFMON ||
				 cap == CAP_SYS_ADMIN || cap == CAP_SYS_PTRACE);
	}
}

static enum kernel_view view(uint64_t caps, int paranoid, int kptr_restrict)
{
	struct cred c = with(user(5), caps);

	return policy_kernel_view(&c, &(struct kernel_settings){ paranoid, kptr_restrict });
}

/* The table in policy.h, from the strictest setting of each kind to the laxest. */
static void test_kernel_view(void **state)
{
	const uint64_t perfmon = CAP(CAP_PERFMON), admin = CAP(CAP_SYS_ADMIN);
	const uint64_t syslog = 1ull << 34 /* CAP_SYSLOG */;
	const struct kernel_settings lax = { 1, 0 }, strict = { 2, 1 };
	struct cred jailed = jailed_root();

	for (int paranoid = -1; paranoid <= 4; paranoid++)
		for (int kptr = 0; kptr <= 2; kptr++) {
			bool all = paranoid <= 1 && kptr == 0;
			enum kernel_view least = all ? KERNEL_NAMES : KERNEL_ADDRESSES;

			assert_int_equal(view(0, paranoid, kptr),
					 all ? KERNEL_NAMES : KERNEL_HIDDEN);
			assert_int_equal(view(CAP(CAP_SYS_PTRACE), paranoid, kptr),
					 all ? KERNEL_NAMES : KERNEL_HIDDEN);
			assert_int_equal(view(syslog, paranoid, kptr),
					 paranoid <= 1 && kptr <= 1 ? KERNEL_NAMES : KERNEL_HIDDEN);
			assert_int_equal(view(perfmon, paranoid, kptr), least);
			assert_int_equal(view(admin, paranoid, kptr), least);
			assert_int_equal(view(perfmon | syslog, paranoid, kptr),
					 kptr <= 1 ? KERNEL_NAMES : KERNEL_ADDRESSES);
			assert_int_equal(view(~0ull, paranoid, kptr),
					 kptr <= 1 ? KERNEL_NAMES : KERNEL_ADDRESSES);
		}
	/* Root of a container is an ordinary user, here as in the kernel. */
	assert_int_equal(policy_kernel_view(&jailed, &strict), KERNEL_HIDDEN);
	assert_int_equal(policy_kernel_view(&jailed, &lax), KERNEL_NAMES);
}

static void test_kernel_settings(void **state)
{
	struct kernel_settings s = policy_kernel_settings();
	FILE *f = fopen("/proc/sys/kernel/kptr_restrict", "re");
	int kptr = 2;

	if (f) {
		assert_int_equal(fscanf(f, "%d", &kptr), 1);
		fclose(f);
	}
	assert_int_equal(s.kptr_restrict, kptr);
	assert_in_range(s.paranoid + 1, 0, 5);
}

/* A running process, one whose first thread has ended, one that is gone: none is in an exec. */
static void test_in_exec(void **state)
{
	pid_t child;

	assert_false(policy_in_exec(getpid()));
	assert_false(policy_in_exec(0x3fffffff));
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_false(policy_in_exec(child));
	waitpid(child, NULL, 0);
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
	return policy_attach(&by, &c, &t, true, 999, &why);
}

/* REQ-042, REQ-043: for other users than the super-user the kernel decides. */
static void test_attach(void **state)
{
	struct cred me = user(5), root = with(user(0), ~0ull), t = user(5);

	assert_int_equal(attach(user(5), user(5)), POLICY_ASK);
	assert_int_equal(attach(user(5), user(6)), POLICY_ASK);
	assert_int_equal(attach(with(user(5), CAP(CAP_SYS_PTRACE)), user(6)), POLICY_ASK);
	assert_int_equal(attach(jailed_root(), user(6)), POLICY_ASK);
	assert_int_equal(attach(with(user(5), CAP(CAP_PERFMON)), user(0)), 0);
	assert_int_equal(attach(root, user(6)), 0);
	assert_int_equal(policy_attach(&by, &me, &me, false, 105, &why), 0);
	/* D13: a process that the client cannot see does not exist for it. */
	t.pid = 999;
	assert_int_equal(policy_attach(&by, &root, &t, false, 999, &why), -ESRCH);
	assert_string_equal(why.text, "there is no process 999");
}

static const char *explained(struct cred c, struct cred t)
{
	assert_int_equal(policy_explain(&c, &t, 999, &why), -EPERM);
	assert_non_null(strstr(why.text, "process 999 "));
	assert_non_null(strstr(why.text, "CAP_SYS_PTRACE"));
	return why.text;
}

/* REQ-179: the reason that is given for the kernel's refusal. */
static void test_explanation(void **state)
{
	struct cred t;

	for (unsigned int i = 0; i < IDS; i++) {
		t = user(5);
		t.uid[i] = 0;
		assert_non_null(strstr(explained(user(5), t), "another user or group"));
		t = user(5);
		t.gid[i] = 0;
		assert_non_null(strstr(explained(user(5), t), "another user or group"));
	}
	t = user(5);
	t.dumpable = false;
	assert_non_null(strstr(explained(user(5), t), "PR_SET_DUMPABLE"));
	t = user(5);
	t.user_ns++;
	assert_non_null(strstr(explained(user(5), t), "another user namespace"));
	t = with(user(5), CAP(CAP_NET_ADMIN));
	assert_non_null(strstr(explained(user(5), t), "capabilities that you lack"));
	assert_non_null(strstr(explained(user(5), user(5)), "closed to you"));
	assert_non_null(strstr(explained(jailed_root(), user(5)), "outside of the container"));
}

/* REQ-111, REQ-112, REQ-117: the tunable forbids other processes, never one's own. */
static void test_proc_debug_tunable(void **state)
{
	struct cred me = user(5);

	config.value[TUN_PROC_DEBUG] = 0;
	assert_int_equal(attach(me, user(5)), -EPERM);
	assert_int_equal(attach(with(user(5), CAP(CAP_SYS_PTRACE)), user(5)), -EPERM);
	assert_int_equal(attach(jailed_root(), user(5)), -EPERM);
	assert_int_equal(attach(with(user(5), CAP(CAP_PERFMON)), user(5)), 0);
	assert_int_equal(policy_attach(&by, &me, &me, false, 105, &why), 0);
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

/* The bytes that this process has read so far; -1: the kernel does not report them. */
static long long bytes_read(void)
{
	long long n = -1;
	FILE *f = fopen("/proc/self/io", "r");

	if (f && fscanf(f, "rchar: %lld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/*
 * Nothing is read through a descriptor other than a pidfd: an epoll descriptor's fdinfo has a line
 * for each member.
 */
static void test_pidfd_by_kind(void **state)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0), at[2];
	long long before, between, after;

	assert_int_equal(pipe(at), 0);
	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, at[0], &e), 0);
	before = bytes_read();
	between = bytes_read();
	assert_int_equal(policy_pidfd_pid(fd), -EBADF);
	after = bytes_read();
	close(fd);
	close(at[0]);
	close(at[1]);
	if (before < 0)
		skip();
	/* The text about itself grows by a digit now and then; a member is 60 bytes. */
	assert_true(after - between < between - before + 30);
}

/* The label, if there are security modules, else none. */
static void test_read_label(void **state)
{
	char label[1024], expected[1024] = "";
	FILE *f = fopen("/proc/self/attr/current", "r");

	if (f) {
		if (!fgets(expected, sizeof(expected), f))
			expected[0] = '\0';
		expected[strcspn(expected, "\n")] = '\0';
		fclose(f);
	}
	assert_int_equal(policy_read_label(getpid(), label, sizeof(label)), 0);
	assert_string_equal(label, expected);
	assert_int_equal(policy_read_label(0x3fffffff, label, sizeof(label)), -ESRCH);
}

static void test_plain(void **state)
{
	struct cred me = user(5), other = user(5);

	assert_true(policy_plain(&me, &other));
	other.dumpable = false;
	assert_false(policy_plain(&me, &other));
	other = user(6);
	assert_false(policy_plain(&me, &other));
	me = with(me, CAP(CAP_SYS_PTRACE));
	assert_true(policy_plain(&me, &other));
	other.dumpable = false;
	assert_true(policy_plain(&me, &other));
	/* The kernel's answer about another namespace stands. */
	other.user_ns += 2;
	me.effective = 0;
	assert_true(policy_plain(&me, &other));
	assert_false(policy_ptracer(&me, &other));
	me = jailed_root();
	assert_false(policy_ptracer(&me, &other));
	other.user_ns = me.user_ns;
	assert_true(policy_ptracer(&me, &other));
}

/* Yama's relation: descendants, by process and not by pid. */
static void test_descends(void **state)
{
	struct cred me, child_cred;
	int told[2];
	pid_t child, grandchild;

	assert_int_equal(pipe(told), 0);
	child = fork();
	if (child == 0) {
		grandchild = fork();
		if (grandchild == 0) {
			pause();
			_exit(0);
		}
		if (write(told[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(policy_read_cred(getpid(), &me), 0);
	assert_int_equal(policy_read_cred(child, &child_cred), 0);
	assert_true(policy_descends(child, &me));
	assert_true(policy_descends(grandchild, &me));
	assert_true(policy_descends(grandchild, &child_cred));
	assert_false(policy_descends(child, &child_cred));
	assert_false(policy_descends(getpid(), &child_cred));
	me.start++;			/* another process that had the pid */
	assert_false(policy_descends(child, &me));
	me.start--;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(policy_descends(grandchild, &me));	/* init adopts an orphan */
	assert_false(policy_descends(child, &me));
	kill(grandchild, SIGKILL);
	close(told[0]);
	close(told[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_privilege), T(test_follows_setid), T(test_grown), T(test_grown_effective),
		T(test_kernel_view), T(test_kernel_settings), T(test_in_exec), T(test_system_scope),
		T(test_jail), T(test_attach), T(test_explanation), T(test_proc_debug_tunable),
		T(test_may_know), T(test_read_self), T(test_read_odd_name), T(test_pidfd),
		T(test_pidfd_by_kind), T(test_read_label), T(test_plain), T(test_descends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
