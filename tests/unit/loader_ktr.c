/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * KTR, and the tunables of trace rings: permissions, and requests that wait for the rings' thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/loader/fake_ktr.h"
#include "tests/unit/loader/fixture.h"

static int ktr(struct actor *a, uint32_t what, const char *text)
{
	struct wire_ktr_req r = { .what = what };
	int err;

	memcpy(r.text, text, strnlen(text, sizeof(r.text)));
	err = ask(a, WIRE_OP_KTR, &r, sizeof(r));
	return err;
}

static int set(struct actor *a, const char *name, const char *text)
{
	struct wire_tunable_req r = { .what = WIRE_TUNABLE_SET };

	strncpy(r.name, name, sizeof(r.name) - 1);
	strncpy(r.value, text, sizeof(r.value) - 1);
	return ask(a, WIRE_OP_TUNABLE, &r, sizeof(r));
}

static const struct wire_ktr *info(void)
{
	assert_int_equal(payload_len(), sizeof(struct wire_ktr));
	return payload();
}

static const char *value(const char *name)
{
	struct wire_tunable_req r = { .what = WIRE_TUNABLE_GET };

	strncpy(r.name, name, sizeof(r.name) - 1);
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &r, sizeof(r)), 0);
	return ((const struct wire_tunable *)
		((const struct wire_tunable_rep *)payload() + 1))->value;
}

/* The fake's thread has finished; waiting requests are answered. */
static bool resume(struct actor *a, struct reply *r, uint8_t *data)
{
	*r = (struct reply){ .data = data, .own_fd = -1 };
	return op_resume(&harness, &a->session, r);
}

static void test_privilege(void **state)
{
	assert_int_equal(set(&root, "ktr.compile", "SCHED"), 0);
	for (uint32_t what = WIRE_KTR_FREEZE; what <= WIRE_KTR_MARK; what++) {
		assert_int_equal(ktr(&user, what, ""), -EPERM);
		assert_contains(reason(), "CAP_PERFMON");
	}
	assert_int_equal(ktr(&user, WIRE_KTR_INFO, ""), 0);
	assert_int_equal(info()->compile, KTR_SCHED);
	assert_int_equal(info()->frozen, 0);
	assert_int_equal(ktr(&user, WIRE_KTR_OPEN, ""), -EPERM);
	assert_contains(reason(), "ktr.unprivileged=\"1\"");
	assert_int_equal(set(&user, "ktr.mask", "none"), -EPERM);
	assert_int_equal(fake_ktr.conf.mask, ~(uint32_t)(KTR_SPL | KTR_CLK));
}

/* KTR-80: the whole rings are for the privileged, a copy for others if the tunable lets them. */
static void test_open(void **state)
{
	assert_int_equal(ktr(&root, WIRE_KTR_OPEN, ""), -ENXIO);
	assert_int_equal(set(&root, "ktr.compile", "SCHED"), 0);
	assert_int_equal(set(&root, "ktr.unprivileged", "1"), 0);
	assert_int_equal(ktr(&user, WIRE_KTR_OPEN, ""), 0);
	assert_false(fake_ktr.whole);
	assert_int_equal(last_reply()->nfds, 1);
	assert_int_equal(last_reply()->fds[0], last_reply()->own_fd);
	assert_int_not_equal(fcntl(last_reply()->own_fd, F_GETFD), -1);
	close(last_reply()->own_fd);
	assert_int_equal(ktr(&root, WIRE_KTR_OPEN, ""), 0);
	assert_true(fake_ktr.whole);
	close(last_reply()->own_fd);
	/* Root of a container is not the host's. */
	root.cred.user_ns++;
	root.session.cred.user_ns++;
	assert_int_equal(ktr(&root, WIRE_KTR_OPEN, ""), -EPERM);
	assert_contains(reason(), "container");
	assert_int_equal(ktr(&root, WIRE_KTR_CLEAR, ""), -EPERM);
	root.cred.user_ns--;
	root.session.cred.user_ns--;
}

static void test_control(void **state)
{
	assert_int_equal(ktr(&root, WIRE_KTR_FREEZE, ""), -ENXIO);
	assert_int_equal(set(&root, "ktr.compile", "SCHED"), 0);
	assert_int_equal(ktr(&root, WIRE_KTR_THAW, ""), -EINVAL);
	assert_int_equal(ktr(&root, WIRE_KTR_FREEZE, ""), 0);
	assert_int_equal(info()->frozen, 1);
	assert_int_equal(fake_ktr.asker, ROOT_PID);
	assert_int_equal(ktr(&root, WIRE_KTR_FREEZE, ""), 0);
	assert_int_equal(info()->frozen, 2);
	assert_int_equal(ktr(&root, WIRE_KTR_THAW, ""), 0);
	assert_int_equal(info()->frozen, 1);
	assert_int_equal(ktr(&root, WIRE_KTR_CLEAR, ""), 0);
	assert_int_equal(ktr(&root, WIRE_KTR_MARK, "here 678901234567890123456789x1"), 0);
	assert_string_equal(fake_ktr.mark, "here 678901234567890123456789x1");
	assert_int_equal(ktr(&root, WIRE_KTR_MARK, "a text that does not end within it"), -EINVAL);
	assert_contains(reason(), "at most 31 characters");
	assert_int_equal(ktr(&root, WIRE_KTR_OPEN + 1, ""), -EINVAL);
}

/* Requests are performed in order, whoever sent them. */
static void test_waits(void **state)
{
	uint8_t data[WIRE_MAX_REPLY];
	struct wire_tunable_req r = { .what = WIRE_TUNABLE_SET, .name = "ktr.compile",
				      .value = "SYSC" };
	struct wire_ktr_req k = { .what = WIRE_KTR_INFO };
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = WIRE_OP_TUNABLE,
			      .seq = 7, .len = sizeof(r) };
	uint8_t bytes[sizeof(h) + sizeof(r)];
	struct packet m = { .data = bytes, .len = sizeof(bytes), .pid = ROOT_PID };
	struct reply reply = { .data = data, .own_fd = -1 };
	const struct wire_tunable *tunable;

	fake_ktr.busy = true;
	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &r, sizeof(r));
	op_handle(&harness, &root.session, &m, &reply);
	assert_true(reply.later);
	h.op = WIRE_OP_KTR;
	h.len = sizeof(k);
	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &k, sizeof(k));
	m.len = sizeof(h) + sizeof(k);
	m.pid = USER_PID;
	m.uid = USER_UID;
	op_handle(&harness, &user.session, &m, &reply);
	assert_true(reply.later);
	assert_false(resume(&user, &reply, data));
	fake_ktr.busy = false;
	daemon_ktr_done(&harness);
	assert_true(resume(&user, &reply, data));
	assert_int_equal(((struct wire_ktr *)(data + sizeof(h)))->compile, KTR_SYSC);
	assert_true(resume(&root, &reply, data));
	tunable = (void *)(data + sizeof(h) + sizeof(struct wire_tunable_rep));
	assert_string_equal(tunable->value, "SYSC");
}

/* The tunables show the state in effect: a failed one keeps its value. */
static void test_fails(void **state)
{
	assert_int_equal(set(&root, "ktr.size", "4096"), 0);
	daemon_ktr_done(&harness);
	fake_ktr.refuse = -ENOMEM;
	assert_int_equal(set(&root, "ktr.size", "1073741824"), -ENOMEM);
	assert_string_equal(reason(), "the kernel has no room");
	daemon_ktr_done(&harness);
	assert_string_equal(value("ktr.size"), "4096");
	assert_int_equal(harness.config.ktr.entries, 64);
	/* Other settings are not affected. */
	assert_int_equal(set(&root, "ktr.unprivileged", "1"), 0);
	assert_string_equal(value("ktr.unprivileged"), "1");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_privilege), T(test_open), T(test_control), T(test_waits), T(test_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
