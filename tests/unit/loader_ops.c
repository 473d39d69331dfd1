/* SPDX-License-Identifier: BSD-2-Clause */
/* Framing, statistics, queries, owners (reference §1.0 … §1.8). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

/* --- framing -------------------------------------------------------------------------------- */

static struct wire_hdr header(uint16_t op, uint32_t len)
{
	return (struct wire_hdr){
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op, .len = len
	};
}

static int raw(struct actor *a, const void *data, size_t len, bool *closes)
{
	struct packet m = { .data = data, .len = len, .pid = a->cred.pid };
	int err = ask_message(a, &m);

	*closes = last_reply()->close;
	return err;
}

static void test_frames(void **state)
{
	struct wire_hdr h = header(WIRE_OP_GETCPUINFO, 0);
	uint32_t errors = harness.stats.syscall_errors, calls = harness.stats.syscalls;
	uint8_t both[sizeof(h) + 4] = { 0 };
	bool closes;

	assert_int_equal(raw(&root, &h, sizeof(h), &closes), 0);
	assert_false(closes);
	for (size_t len = 0; len < sizeof(h); len++) {
		assert_int_equal(raw(&root, &h, len, &closes), -EPROTO);
		assert_true(closes);
	}
	h.magic++;
	assert_int_equal(raw(&root, &h, sizeof(h), &closes), -EPROTO);
	assert_true(closes);
	h = header(WIRE_OP_GETCPUINFO, 0);
	h.version++;
	assert_int_equal(raw(&root, &h, sizeof(h), &closes), -EPROTO);
	assert_true(closes);
	assert_contains(reason(), "wire version 2");
	h = header(WIRE_OP_GETCPUINFO, 5);
	memcpy(both, &h, sizeof(h));
	assert_int_equal(raw(&root, both, sizeof(both), &closes), -EPROTO);
	assert_true(closes);
	h = header(WIRE_OP_GETCPUINFO, 0xffffffff);
	assert_int_equal(raw(&root, &h, sizeof(h), &closes), -EPROTO);
	h = header(WIRE_OP_GETCPUINFO, 0);
	h.error = 1;
	assert_int_equal(raw(&root, &h, sizeof(h), &closes), -EPROTO);
	/* None of these was an operation. */
	assert_int_equal(harness.stats.syscalls, calls + 1);
	assert_int_equal(harness.stats.syscall_errors, errors);
}

static void test_unexpected_descriptors(void **state)
{
	struct wire_hdr h = header(WIRE_OP_PMCATTACH, sizeof(struct wire_attach_req));
	uint8_t data[sizeof(h) + sizeof(struct wire_attach_req)] = { 0 };
	int fds[3] = { 0, 1, 2 };
	struct packet m = {
		.data = data, .len = sizeof(data), .fds = fds, .nfds = 3, .pid = ROOT_PID
	};

	assert_int_equal(ask_fd(&root, WIRE_OP_GETCPUINFO, NULL, 0, 0), -EPROTO);
	assert_contains(reason(), "no descriptor");
	memcpy(data, &h, sizeof(h));
	assert_int_equal(ask_message(&root, &m), -EPROTO);
	assert_contains(reason(), "at most two descriptors, not 3");
	h.op = WIRE_OP_PMCDETACH;
	memcpy(data, &h, sizeof(h));
	m.nfds = 2;
	assert_int_equal(ask_message(&root, &m), -EPROTO);
	assert_contains(reason(), "at most one descriptor, not 2");
	m.truncated = true;
	assert_int_equal(ask_message(&root, &m), -EPROTO);
	assert_true(last_reply()->close);
}

/* A forked child has the descriptor, but is not the owner. */
static void test_sender(void **state)
{
	struct wire_hdr h = header(WIRE_OP_GETCPUINFO, 0);
	struct packet m = { .data = (uint8_t *)&h, .len = sizeof(h), .pid = ROOT_PID + 9 };

	assert_int_equal(ask_message(&root, &m), -EPERM);
	assert_contains(reason(), "belongs to process 1000001");
	m.pid = 0;			/* sent before the socket was asked for credentials */
	assert_int_equal(ask_message(&root, &m), -EPERM);
	assert_contains(reason(), "SO_PASSCRED");
	m.pid = ROOT_PID;
	assert_int_equal(ask_message(&root, &m), 0);
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

/* REQ-084, REQ-085 */
static void test_cpuinfo(void **state)
{
	const struct wire_cpuinfo *c;

	assert_int_equal(ask(&user, WIRE_OP_GETCPUINFO, NULL, 0), 0);
	c = payload();
	assert_int_equal(c->ncpu, FAKE_CPUS);
	assert_int_equal(c->npmc, harness.rows.nrow);
	assert_int_equal(c->classes[0].class, PMC_CLASS_SOFT);
	assert_int_equal(c->classes[0].num, 16);
	assert_int_equal(c->classes[c->nclass - 1].class, PMC_CLASS_IAP);
	assert_int_equal(c->classes[c->nclass - 1].first_row, c->npmc - 4);
	assert_string_equal(c->classes[c->nclass - 1].pmu, "cpu0");
	for (unsigned int i = 0; i < c->nclass; i++)
		assert_int_equal(c->classes[i].caps & PMC_CAP_INTERRUPT,
				 c->classes[i].class != PMC_CLASS_TSC);
}

/* REQ-131 */
static void test_announcement(void **state)
{
	char line[512];

	daemon_announcement(&harness, line, sizeof(line));
	assert_int_equal(strncmp(line, "SOFT/16/64/0x67<INT,USR,SYS,REA,WRI> ", 37), 0);
	assert_contains(line, "IAP/4/48/0x1ff<INT,USR,SYS,EDG,THR,REA,WRI,INV,QUA>");
}

static void test_dynevents(void **state)
{
	struct wire_class_req r = { .class = PMC_CLASS_SOFT };
	const struct wire_dynevent_rep *rep;
	const struct wire_dynevent *e;

	fake.lacks_hooks = 1u << ABI_HOOK_LOCK;
	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
	rep = payload();
	e = (const struct wire_dynevent *)(rep + 1);
	assert_int_equal(rep->count, soft_nevents - 1);
	assert_int_equal(payload_len(), sizeof(*rep) + rep->count * sizeof(*e));
	for (unsigned int i = 0; i < rep->count; i++)
		assert_true(e[i].code != 0x20003 && e[i].name[0]);
	r.class = PMC_CLASS_IAP;
	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), -EINVAL);
}

/* A client in a container sees its own numbers, and no others. */
static void test_pmcinfo_in_a_container(void **state)
{
	user.session.owner->cred.pid_ns = 1;
	user.session.owner->cred.inner_pid = 5;
	allocate(&root, PMC_MODE_TC, 0);
	assert_int_equal(info(&user, 0, 0).ownerpid, -1);
	root.session.owner->cred.pid_ns = 1;
	root.session.owner->cred.inner_pid = 6;
	assert_int_equal(info(&user, 0, 0).ownerpid, 6);
}

/* --- owners -------------------------------------------------------------------------------- */

/* Rights that came after the greeting are none, wherever credentials are asked for. */
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

static void test_program_name(void **state)
{
	struct wire_hello_req hello = { .program = "a\033[1m\n\r\t\x9b~ )\x7f\xc3z" };

	user.session.hello = false;
	assert_int_equal(ask(&user, WIRE_OP_HELLO, &hello, sizeof(hello)), 0);
	assert_string_equal(user.session.owner->program, "a?[1m????~ )??z");
	user.session.hello = false;
	memset(hello.program, 'x', sizeof(hello.program));
	assert_int_equal(ask(&user, WIRE_OP_HELLO, &hello, sizeof(hello)), 0);
	assert_string_equal(user.session.owner->program, "xxxxxxxxxxxxxxxx");
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_frames), T(test_unexpected_descriptors), T(test_sender),
		T(test_reused_pid), T(test_cpuinfo), T(test_announcement),
		T(test_dynevents), T(test_pmcinfo_in_a_container),
		T(test_grown_credentials), T(test_program_name), T(test_rediscovery),
		T(test_two_pmus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
