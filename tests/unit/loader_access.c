/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's answer for other credentials (REQ-043, REQ-179); as root, on this kernel. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/policy/policy.h"
#include "unit.h"

#define ALICE	  1000u
#define BOB	  1001u
#define ATTACKER  64777u		/* a uid of its own: it stops all of its processes */
#define QUESTIONS 2000
#define NO_YAMA	  (-1)
#define YAMA_NOBODY 3

/* A process that waits, after it has changed its credentials by `as`. */
struct process {
	pid_t pid;
	int pidfd;
	struct cred cred;
};
enum {
	DUMPABLE = 1,			/* as an exec leaves it; a change of ids takes it away */
	PTRACER = 2,			/* CAP_SYS_PTRACE and no other */
	NETADMIN = 4,			/* CAP_NET_ADMIN and no other */
	CONTAINER = 8,			/* root of a user namespace of its own */
};

static struct reason why;

static void limit_caps(uint64_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .permitted = (uint32_t)caps, .effective = (uint32_t)caps },
	};

	if (syscall(SYS_capset, &h, d))
		_exit(2);
}

static void become(uid_t uid, gid_t gid, int as)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_KEEPCAPS, 1);
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		_exit(2);
	if (uid || as & (PTRACER | NETADMIN))
		limit_caps((as & PTRACER ? 1u << CAP_SYS_PTRACE : 0) |
			   (as & NETADMIN ? 1u << CAP_NET_ADMIN : 0));
	if (as & CONTAINER && unshare(CLONE_NEWUSER))
		_exit(3);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, !!(as & DUMPABLE));
}

static struct process start(uid_t uid, gid_t gid, int as)
{
	struct process p;
	int ready[2];
	char byte;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	p.pid = fork();
	if (p.pid == 0) {
		become(uid, gid, as);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	assert_int_equal(policy_read_cred(p.pid, &p.cred), 0);
	return p;
}

static void end(const struct process *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->pidfd);
}

static int access_asked(const struct process *client, const struct process *target)
{
	struct access a = {
		.client = &client->cred, .target = &target->cred, .client_pidfd = client->pidfd,
		.target_pidfd = target->pidfd, .named = 77,
	};

	why.text[0] = '\0';
	return access_debug(&a, &why);
}

/* Without a CPU for the child that checks, the check may be repeated. */
static int asked(const struct process *client, const struct process *target)
{
	int err;

	do
		err = access_asked(client, target);
	while (err == -EAGAIN && strstr(why.text, "it got no CPU"));
	return err;
}

/* One client and one target, made for it. */
static int between(uid_t cuid, gid_t cgid, int cas, uid_t tuid, gid_t tgid, int tas)
{
	struct process c = start(cuid, cgid, cas), t = start(tuid, tgid, tas);
	int err = asked(&c, &t);

	end(&c);
	end(&t);
	return err;
}

static int yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
	int scope = NO_YAMA;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = NO_YAMA;
	if (f)
		fclose(f);
	return scope;
}

static void test_ids(void **state)
{
	if (yama() <= 0)
		assert_int_equal(between(ALICE, ALICE, 1, ALICE, ALICE, DUMPABLE), 0);
	assert_int_equal(between(ALICE, ALICE, 1, BOB, BOB, DUMPABLE), -EPERM);
	assert_non_null(strstr(why.text, "process 77 belongs to another user or group"));
	assert_int_equal(between(ALICE, ALICE, 1, ALICE, BOB, DUMPABLE), -EPERM);
	assert_int_equal(between(ALICE, BOB, 1, ALICE, ALICE, DUMPABLE), -EPERM);
	assert_int_equal(between(ALICE, ALICE, 1, 0, 0, DUMPABLE), -EPERM);
}

static void test_what_targets_forbid(void **state)
{
	assert_int_equal(between(ALICE, ALICE, 1, ALICE, ALICE, 0), -EPERM);
	assert_non_null(strstr(why.text, "PR_SET_DUMPABLE 0"));
	assert_int_equal(between(ALICE, ALICE, 1, ALICE, ALICE, DUMPABLE | NETADMIN), -EPERM);
	assert_non_null(strstr(why.text, "capabilities that you lack"));
	if (yama() <= 0)
		assert_int_equal(between(ALICE, ALICE, NETADMIN, ALICE, ALICE, DUMPABLE | NETADMIN),
				 0);
}

/* CAP_SYS_PTRACE replaces all other conditions; without it root is an ordinary user. */
static void test_capability(void **state)
{
	if (geteuid() == 0 && yama() == YAMA_NOBODY)
		skip();
	assert_int_equal(between(ALICE, ALICE, PTRACER, BOB, BOB, 0), 0);
	assert_int_equal(between(ALICE, ALICE, PTRACER, 0, 0, DUMPABLE), 0);
	assert_int_equal(between(0, 0, PTRACER, BOB, BOB, 0), 0);
	assert_int_equal(between(0, 0, NETADMIN, BOB, BOB, DUMPABLE), -EPERM);
}

/* Root of a container has all rights inside; so has the container's creator. */
static void test_user_namespaces(void **state)
{
	struct process root = start(ALICE, ALICE, CONTAINER | DUMPABLE);
	struct process outside = start(ALICE, ALICE, DUMPABLE);
	struct process other = start(ALICE, ALICE, CONTAINER | DUMPABLE);
	struct process bob = start(BOB, BOB, DUMPABLE);

	assert_false(policy_on_host(&root.cred));
	assert_int_equal(asked(&root, &outside), -EPERM);
	assert_non_null(strstr(why.text, "outside of the container"));
	assert_int_equal(asked(&root, &other), -EPERM);
	assert_non_null(strstr(why.text, "another user namespace"));
	assert_int_equal(asked(&root, &bob), -EPERM);
	assert_int_equal(asked(&bob, &root), -EPERM);
	if (yama() < YAMA_NOBODY)
		assert_int_equal(asked(&outside, &root), 0);
	end(&root);
	end(&outside);
	end(&other);
	end(&bob);
}

/* Checking leaves the caller unchanged: ids, capabilities, dumpability, descriptors. */
static void test_no_traces(void **state)
{
	struct process c = start(ALICE, ALICE, CONTAINER | DUMPABLE), t = start(BOB, BOB, DUMPABLE);
	struct cred before, after;
	sigset_t none, mask;
	int lowest = dup(0);

	close(lowest);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
	assert_int_equal(policy_read_cred(getpid(), &before), 0);
	assert_int_equal(asked(&c, &t), -EPERM);
	assert_int_equal(policy_read_cred(getpid(), &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(after.dumpable);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	assert_memory_equal(&mask, &none, 8);
	assert_int_equal(dup(0), lowest);
	close(lowest);
	end(&c);
	end(&t);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

static void test_gone(void **state)
{
	struct process c = start(ALICE, ALICE, DUMPABLE), t = start(BOB, BOB, DUMPABLE);

	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	assert_int_equal(asked(&c, &t), -ESRCH);
	assert_non_null(strstr(why.text, "process 77 is exiting"));
	end(&c);
	close(t.pidfd);
}

/* Stops every process that it may, repeatedly, except its own. */
static void stop_others(const struct process *p)
{
	/* It waits in pause(): the first signal it gets makes it go on in its handler. */
	assert_int_equal(kill(p->pid, SIGUSR1), 0);
}

static void on_usr1(int signo)
{
	for (;;)
		kill(-1, SIGSTOP);
}

static bool is_stopped(const struct process *p)
{
	char path[32], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state == 'T';
}

/* A client cannot delay the check about it: it may not send signals to the child. */
static void test_stopped_by_client(void **state)
{
	struct process client, target;
	int expected;

	signal(SIGUSR1, on_usr1);
	client = start(ATTACKER, ATTACKER, DUMPABLE);
	target = start(ATTACKER, ATTACKER, DUMPABLE);
	expected = asked(&client, &target);
	assert_true(expected == 0 || (yama() > 0 && expected == -EPERM));
	stop_others(&client);
	while (!is_stopped(&target))
		usleep(1000);
	for (int i = 0; i < QUESTIONS; i++)
		assert_int_equal(asked(&client, &target), expected);
	end(&client);
	end(&target);
	signal(SIGUSR1, SIG_DFL);
}

/* In its own user namespace it can, and is refused; no child is left behind. */
static void test_stopped_in_container(void **state)
{
	struct process client, target;
	int expected;

	signal(SIGUSR1, on_usr1);
	client = start(ATTACKER, ATTACKER, CONTAINER | DUMPABLE);
	target = start(ATTACKER, ATTACKER, DUMPABLE);
	expected = asked(&client, &target);
	assert_int_equal(expected, -EPERM);
	stop_others(&client);
	while (!is_stopped(&target))
		usleep(1000);
	for (int i = 0; i < QUESTIONS / 4; i++) {
		int err = asked(&client, &target);

		assert_true(err == expected ||
			    (err == -EAGAIN && strstr(why.text, "held up: it was stopped")));
	}
	end(&client);
	end(&target);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	signal(SIGUSR1, SIG_DFL);
}

/* A process that cannot become the client does not guess. */
static void test_without_privilege(void **state)
{
	struct process c = start(ALICE, ALICE, DUMPABLE), t = start(ALICE, ALICE, DUMPABLE);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		limit_caps(0);
		if (asked(&c, &t) != -EPERM)
			_exit(1);
		_exit(strstr(why.text, "pmcbpfd cannot ask the kernel") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(&c);
	end(&t);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_ids), T(test_what_targets_forbid), T(test_capability),
		T(test_user_namespaces), T(test_no_traces), T(test_gone), T(test_without_privilege),
		T(test_stopped_by_client), T(test_stopped_in_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
