/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that no client of the e2e tests can send, queries of hardware that few machines have,
 * and owners; the other requests are in tests/ops.tsv and tests/e2e/protocol.bats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

/* --- requests ------------------------------------------------------------------------------- */

/* A forked child has the descriptor, but is not the owner. */
static void test_sender(void **state)
{
	struct wire_hdr h = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = WIRE_OP_GETCPUINFO,
	};
	struct packet m = { .data = (uint8_t *)&h, .len = sizeof(h), .pid = ROOT_PID + 9 };

	assert_int_equal(ask_message(&root, &m), -EPERM);
	assert_contains(reason(), "belongs to process 1000001");
	m.pid = 0;			/* sent before the socket was asked for credentials */
	assert_int_equal(ask_message(&root, &m), -EPERM);
	assert_contains(reason(), "SO_PASSCRED");
	m.pid = ROOT_PID;
	assert_int_equal(ask_message(&root, &m), 0);
}

/* Texts without their NUL, and operations of an operation that do not exist. */
static void test_malformed(void **state)
{
	struct wire_hello_req hello;
	struct wire_tunable_req t;
	struct wire_ktr_req mark = { .what = WIRE_KTR_MARK }, ktr = { .what = WIRE_KTR_OPEN + 1 };
	struct wire_kgmon_req kgmon = { .what = WIRE_KGMON_DUMP + 1 };

	memset(&hello, 0, sizeof(hello));
	memset(hello.program, 'x', sizeof(hello.program));
	user.session.hello = false;
	assert_int_equal(ask(&user, WIRE_OP_HELLO, &hello, sizeof(hello)), 0);
	assert_string_equal(user.session.owner->program, "xxxxxxxxxxxxxxxx");
	memset(&t, 'a', sizeof(t));
	for (t.what = 0; t.what < 3; t.what++)
		assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &t, sizeof(t)), -EINVAL);
	strcpy(t.name, "security.bsd.unprivileged_proc_debug");
	t.what = WIRE_TUNABLE_SET;
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &t, sizeof(t)), -EINVAL);
	assert_int_equal(harness.config.value[TUN_PROC_DEBUG], 1);
	strcpy(t.value, "0");
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &t, sizeof(t) - 1), -EFAULT);
	t.what = 3;
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &t, sizeof(t)), -EINVAL);
	t.what = WIRE_TUNABLE_GET;
	t.name[0] = '\0';
	assert_int_equal(ask(&user, WIRE_OP_TUNABLE, &t, sizeof(t)), -EINVAL);
	memset(mark.text, 'x', sizeof(mark.text));
	assert_int_equal(ask(&root, WIRE_OP_KTR, &mark, sizeof(mark)), -EINVAL);
	assert_contains(reason(), "at most 31 characters");
	assert_int_equal(ask(&root, WIRE_OP_KTR, &ktr, sizeof(ktr)), -EINVAL);
	assert_int_equal(ask(&root, WIRE_OP_KGMON, &kgmon, sizeof(kgmon)), -EINVAL);
	assert_contains(reason(), "no operation 6");
}

/* Trap 4: the number of an exited owner, reused. */
static void test_reused_pid(void **state)
{
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ,
		.class = PMC_CLASS_SOFT,
		.event = 0x20004,
		.mode = PMC_MODE_SC,
	};

	root.cred.start++;
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EPERM);
	root.cred.start--;
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
}

/* --- queries --------------------------------------------------------------------------------- */

static void test_dynevents(void **state)
{
	struct wire_class_req r = { .class = PMC_CLASS_SOFT };
	const struct wire_dynevent_rep *rep;
	const struct wire_dynevent *e;

	fake.lacks_hooks = 1u << ABI_HOOK_LOCK;
	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
	rep = payload();
	e = (const struct wire_dynevent *)(rep + 1);
	/* The fake kernel has no place to take waits' stacks, either. */
	assert_int_equal(rep->count, soft_nevents - 2);
	assert_int_equal(payload_len(), sizeof(*rep) + rep->count * sizeof(*e));
	for (unsigned int i = 0; i < rep->count; i++)
		assert_true(e[i].code != 0x20003 && e[i].name[0]);
	r.class = PMC_CLASS_TSC;
	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), -EINVAL);
	assert_contains(reason(), "those of this machine's PMUs have a list of events");
}

/* PERF-060: of perf's own events a PMU's list has those that its driver knows. */
static void test_generic_events(void **state)
{
	static const struct wire_dynevent known[] = {
		{ .name = "instructions", .code = PMC_EV_PERF_FIRST + 1 },
		{ .name = "cache-misses", .code = PMC_EV_PERF_FIRST + 3 },
		{ .name = "LLC-loads", .code = PMC_EV_PERF_FIRST + 22 },
	};
	struct wire_class_req r = { .class = PMC_CLASS_IAP };
	const struct wire_dynevent_rep *rep;

	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
	rep = payload();
	assert_int_equal(rep->total, 3);
	assert_int_equal(payload_len(), sizeof(*rep) + sizeof(known));
	assert_memory_equal(rep + 1, known, sizeof(known));
}

/* A list that is longer than a reply comes in parts. */
static void test_dynevents_in_parts(void **state)
{
	struct wire_class_req r = { .class = PMC_CLASS_TRACEPOINT };
	const struct wire_dynevent_rep *rep;
	const struct wire_dynevent *e;
	unsigned int parts = 0;
	char name[32];

	for (; r.first < FAKE_TRACEPOINTS; parts++) {
		assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
		rep = payload();
		e = (const struct wire_dynevent *)(rep + 1);
		assert_int_equal(rep->total, FAKE_TRACEPOINTS);
		assert_true(rep->count > 0);
		assert_int_equal(payload_len(), sizeof(*rep) + rep->count * sizeof(*e));
		for (unsigned int i = 0; i < rep->count; i++) {
			unsigned int n = r.first + i;

			snprintf(name, sizeof(name), "%s:event_%u", n % 2 ? "syscalls" : "kmem", n);
			assert_string_equal(e[i].name, name);
			assert_int_equal(e[i].flags, n % 2 ? 0 : WIRE_TRACEPOINT_ADMIN);
		}
		r.first += rep->count;
	}
	assert_true(parts > 1);
	r.first = UINT32_MAX;
	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
	assert_int_equal(((const struct wire_dynevent_rep *)payload())->count, 0);
}

/* --- owners -------------------------------------------------------------------------------- */

/* Rights gained after the greeting do not count, wherever credentials are checked. */
static void test_grown_credentials(void **state)
{
	struct wire_tunable_req set = {
		.what = WIRE_TUNABLE_SET, .name = "security.bsd.unprivileged_syspmcs", .value = "1",
	};
	struct wire_admin_req admin = { .state = PMC_STATE_DISABLED };
	struct wire_allocate_req a = {
		.caps = PMC_CAP_READ, .class = PMC_CLASS_SOFT, .mode = PMC_MODE_SC,
		.event = PMC_EV_SOFT_FIRST,
	};

	user.cred.uid[ID_EFFECTIVE] = user.cred.uid[ID_SAVED] = 0;
	user.cred.permitted = user.cred.effective = ~0ull;
	assert_int_equal(ask(&user, WIRE_OP_TUNABLE, &set, sizeof(set)), -EPERM);
	assert_contains(reason(), "connect again");
	assert_int_equal(ask(&user, WIRE_OP_PMCADMIN, &admin, sizeof(admin)), -EPERM);
	assert_int_equal(ask(&user, WIRE_OP_PMCALLOCATE, &a, sizeof(a)), -EPERM);
	assert_contains(reason(), "connect again");
	/* Those of a new connection count. */
	user.session.cred = user.cred;
	assert_int_equal(ask(&user, WIRE_OP_TUNABLE, &set, sizeof(set)), 0);
}

static void test_release_of_a_recorder(void **state)
{
	assert_int_equal(release(&root, allocate(&root, PMC_MODE_TS, 0)), 0);
	assert_int_equal(release(&root, allocate(&root, PMC_MODE_TC, PMC_F_LOG_PROCEXIT)), 0);
	assert_int_equal(fake.counts, 0);
	assert_int_equal(fake.stale, 0);
}

static void test_rediscovery(void **state)
{
	struct reason why;
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ,
		.class = PMC_CLASS_IAP,
		.mode = PMC_MODE_TC,
		.cpu = (uint32_t)PMC_CPU_ANY,
	};
	uint32_t rows = harness.rows.nrow, soft = allocate(&root, PMC_MODE_TC, 0), id;

	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
	id = ((const struct wire_allocate_rep *)payload())->pmcid;
	fake.pmus = 2;
	assert_int_equal(daemon_rediscover(&harness, &why), -EBUSY);
	assert_int_equal(harness.rows.nrow, rows);
	assert_int_equal(release(&root, id), 0);
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	assert_int_equal(harness.rows.nrow, rows + 4);
	assert_int_equal(start(&root, soft), 0);
}

/* REQ-119: each PMU is a class of its own, whose rows count that PMU's events only. */
static void test_two_pmus(void **state)
{
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ, .mode = PMC_MODE_TC, .cpu = (uint32_t)PMC_CPU_ANY,
	};
	const struct wire_cpuinfo *c;
	struct reason why;
	uint32_t first;

	fake.pmus = 2;
	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	assert_int_equal(ask(&root, WIRE_OP_GETCPUINFO, NULL, 0), 0);
	c = payload();
	assert_int_equal(c->nclass, 4);
	assert_int_equal(c->classes[2].perf_type, 4);
	assert_int_equal(c->classes[3].perf_type, 5);
	assert_int_not_equal(c->classes[2].class, c->classes[3].class);
	assert_int_equal(c->classes[3].first_row, c->classes[2].first_row + c->classes[2].num);
	first = c->classes[3].first_row;
	r.class = c->classes[3].class;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
		assert_int_equal(fake.last.event.type, 5);
		assert_int_equal(fake.last.row, first + i);
	}
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EINVAL);
}

/* The list of a caller's settings, and of all rules in replies that have room for some of them. */
static void test_policy(void **state)
{
	struct wire_policy_req r = { .what = WIRE_POLICY_OWN };
	const struct wire_policy_rep *rep;
	const struct wire_policy *p;
	char text[64 * 100] = "";

	for (unsigned int i = 0; i < 100; i++)
		sprintf(text + strlen(text), "user=%u pmcs=%u # comment\n", 2000 + i, i);
	strcat(text, "pmcs=7");
	actor_rules(&user, text);
	assert_int_equal(ask(&user, WIRE_OP_POLICY, &r, sizeof(r)), 0);
	rep = payload();
	p = (const void *)(rep + 1);
	assert_int_equal(rep->count, SETTINGS);
	assert_int_equal(rep->total, SETTINGS);
	assert_string_equal(p[SET_MODES].text, "modes=\"TC,TS\"");
	assert_string_equal(p[SET_MODES].origin, "security.bsd.unprivileged_syspmcs");
	assert_int_equal(p[SET_MODES].line, 0);
	assert_string_equal(p[SET_PMCS].text, "pmcs=\"7\"");
	assert_string_equal(p[SET_PMCS].origin, "test.conf");
	assert_int_equal(p[SET_PMCS].line, 101);
	/* Nothing limits root. */
	assert_int_equal(ask(&root, WIRE_OP_POLICY, &r, sizeof(r)), 0);
	assert_int_equal(((const struct wire_policy_rep *)payload())->total, 0);
	r.what = WIRE_POLICY_RULES;
	assert_int_equal(ask(&user, WIRE_OP_POLICY, &r, sizeof(r)), -EPERM);
	assert_int_equal(ask(&root, WIRE_OP_POLICY, &r, sizeof(r)), 0);
	rep = payload();
	assert_int_equal(rep->total, 101);
	assert_in_range(rep->count, 30, 60);
	r.first = 100;
	assert_int_equal(ask(&root, WIRE_OP_POLICY, &r, sizeof(r)), 0);
	rep = payload();
	p = (const void *)(rep + 1);
	assert_int_equal(rep->count, 1);
	assert_string_equal(p->text, "pmcs=7");
	r.first = 0xffffffff;
	assert_int_equal(ask(&root, WIRE_OP_POLICY, &r, sizeof(r)), 0);
	assert_int_equal(((const struct wire_policy_rep *)payload())->count, 0);
	r.what = 2;
	assert_int_equal(ask(&root, WIRE_OP_POLICY, &r, sizeof(r)), -EINVAL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_sender), T(test_malformed), T(test_reused_pid), T(test_dynevents),
		T(test_generic_events), T(test_dynevents_in_parts),
		T(test_grown_credentials), T(test_release_of_a_recorder), T(test_rediscovery),
		T(test_two_pmus), T(test_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
