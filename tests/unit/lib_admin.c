/* SPDX-License-Identifier: BSD-2-Clause */
/* Gates, tunables, trace rings and the kernel profile against a server that may answer anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "fake_daemon.h"
#include "unit.h"

static void test_gates(void **state)
{
	struct fake *f = *state;
	struct pmc_gate *g;
	int n;

	expect_errno(pmc_gates(&g, &n), ENOSYS);
	assert_int_equal(pmc_init(), 0);
	expect_errno(pmc_gates(NULL, &n), EFAULT);
	expect_errno(pmc_gates(&g, NULL), EFAULT);
	assert_int_equal(pmc_gates(&g, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(g[0].pg_name, "rows");
	assert_string_equal(g[0].pg_finding, "7 of?every CPU");
	assert_string_equal(g[0].pg_remedy, "wait");
	assert_int_equal(g[0].pg_state, PMC_GATE_LIMITS);
	assert_int_equal(strlen(g[1].pg_name), sizeof(g[1].pg_name) - 1);
	assert_int_equal(strlen(g[1].pg_finding), sizeof(g[1].pg_finding) - 1);
	assert_int_equal(strlen(g[1].pg_remedy), sizeof(g[1].pg_remedy) - 1);
	assert_int_equal(g[1].pg_state, PMC_GATE_LIMITS);	/* of a later daemon */
	free(g);
	for (unsigned int i = 0; i < 4; i++) {
		f->gates = (const uint32_t[]){ 1, 3, 0xffffffff, 0x01000002 }[i];
		expect_errno(pmc_gates(&g, &n), EPROTO);
	}
}

/* --- policy ----------------------------------------------------------------------------------- */

static void test_policy(void **state)
{
	struct fake *f = *state;
	struct pmc_policy *list;
	unsigned int n;

	expect_errno(pmc_policy(0, NULL, &n), EFAULT);
	expect_errno(pmc_policy(0, &list, NULL), EFAULT);
	assert_int_equal(pmc_policy(1, &list, &n), 0);
	assert_int_equal(f->policy.what, WIRE_POLICY_RULES);
	assert_int_equal(n, 0);
	free(list);
	/* Several replies. */
	f->policies = 5;
	assert_int_equal(pmc_policy(0, &list, &n), 0);
	assert_int_equal(f->policy.what, WIRE_POLICY_OWN);
	assert_int_equal(f->policy.first, 4);
	assert_int_equal(n, 5);
	assert_string_equal(list[2].pp_text, "rule 2");
	assert_int_equal(list[2].pp_line, 7);
	assert_int_equal(strlen(list[3].pp_text), sizeof(list[3].pp_text) - 1);
	assert_int_equal(strlen(list[3].pp_origin), sizeof(list[3].pp_origin) - 1);
	free(list);
	/* The rules are read again between two replies. */
	f->policy_again = true;
	assert_int_equal(pmc_policy(1, &list, &n), 0);
	assert_int_equal(n, 5);
	assert_string_equal(list[0].pp_text, "rule 0");
	free(list);
	for (unsigned int i = 0; i < 2; i++) {
		f->policy_lies = (const uint32_t[]){ 3, 0xffffffff }[i];
		expect_errno(pmc_policy(1, &list, &n), EPROTO);
	}
	f->policy_lies = 0;
}

/* --- tunables --------------------------------------------------------------------------------- */

static void test_tunable_list(void **state)
{
	struct fake *f = *state;
	struct pmc_tunable *list;
	unsigned int count;

	f->tunables = 2;
	assert_int_equal(pmc_tunable_list(&list, &count), 0);
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_LIST);
	assert_int_equal(count, 2);
	assert_string_equal(list[0].pm_name, "kern.hwpmc.nsamples");
	assert_string_equal(list[0].pm_value, "512");
	assert_int_equal(list[0].pm_writable, 0);
	assert_int_equal(strlen(list[1].pm_name), sizeof(list[1].pm_name) - 1);
	assert_int_equal(strlen(list[1].pm_value), sizeof(list[1].pm_value) - 1);
	assert_int_equal(list[1].pm_writable, 1);
	free(list);
	expect_errno(pmc_tunable_list(NULL, &count), EFAULT);
	expect_errno(pmc_tunable_list(&list, NULL), EFAULT);
}

static void test_tunable(void **state)
{
	struct fake *f = *state;
	struct pmc_tunable t;
	char longest[257];

	f->tunables = 1;
	assert_int_equal(pmc_tunable_get("a.b", &t), 0);
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_GET);
	assert_string_equal(f->tunable.name, "a.b");
	assert_string_equal(t.pm_value, "512");
	assert_int_equal(pmc_tunable_set("a.b", "c=d"), 0);
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_SET);
	assert_string_equal(f->tunable.value, "c=d");
	memset(longest, 'x', sizeof(longest));
	longest[256] = '\0';
	expect_errno(pmc_tunable_set("a.b", longest), EINVAL);
	assert_contains(pmc_errstr(), "value has more than 255 characters");
	assert_int_equal(pmc_tunable_set("a.b", longest + 1), 0);
	expect_errno(pmc_tunable_get(longest + 256 - 64, &t), EINVAL);
	assert_contains(pmc_errstr(), "name has more than 63 characters");
	assert_int_equal(pmc_tunable_get(longest + 256 - 63, &t), 0);
	expect_errno(pmc_tunable_get(NULL, &t), EFAULT);
	expect_errno(pmc_tunable_get("a.b", NULL), EFAULT);
	expect_errno(pmc_tunable_set("a.b", NULL), EFAULT);
}

/* The fake's tunable has the value 512, whatever it is called. */
static void test_sysctl(void **state)
{
	struct fake *f = *state;
	size_t len = sizeof(int);
	char text[8], longest[256];
	int n = 0, to = 7;

	f->tunables = 1;
	assert_int_equal(pmc_sysctlbyname("a.b", &n, &len, NULL, 0), 0);
	assert_int_equal(n, 512);
	assert_int_equal(len, sizeof(n));
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_GET);
	len = 0;
	assert_int_equal(pmc_sysctlbyname("a.b", NULL, &len, NULL, 0), 0);
	assert_int_equal(len, sizeof(n));
	len = 2;
	expect_errno(pmc_sysctlbyname("a.b", &n, &len, &to, sizeof(to)), ENOMEM);
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_GET);
	/* The old value and a new one. */
	n = 0;
	len = sizeof(n);
	f->tunables = 1;
	assert_int_equal(pmc_sysctlbyname("a.b", &n, &len, &to, sizeof(to)), 0);
	assert_int_equal(n, 512);
	assert_int_equal(f->tunable.what, WIRE_TUNABLE_SET);
	assert_string_equal(f->tunable.value, "7");
	expect_errno(pmc_sysctlbyname("a.b", NULL, NULL, &to, 3), EINVAL);
	/* Text. */
	len = sizeof(text);
	assert_int_equal(pmc_sysctlbyname("kern.hwpmc.cpuid", text, &len, NULL, 0), 0);
	assert_int_equal(len, 4);
	assert_string_equal(text, "512");
	len = 2;
	expect_errno(pmc_sysctlbyname("kern.hwpmc.cpuid", text, &len, NULL, 0), ENOMEM);
	assert_int_equal(len, 2);
	assert_int_equal(pmc_sysctlbyname("ktr.mask", NULL, NULL, "DEV,GEN", 7), 0);
	assert_string_equal(f->tunable.value, "DEV,GEN");
	memset(longest, 'x', sizeof(longest));
	expect_errno(pmc_sysctlbyname("ktr.mask", NULL, NULL, longest, sizeof(longest)), EINVAL);
	/* Nothing to do but to look whether it is there. */
	assert_int_equal(pmc_sysctlbyname("a.b", NULL, NULL, NULL, 0), 0);
	expect_errno(pmc_sysctlbyname(NULL, &n, &len, NULL, 0), EFAULT);
	expect_errno(pmc_sysctlbyname("a.b", &n, NULL, NULL, 0), EFAULT);
	expect_errno(pmc_sysctlbyname("a.b", NULL, NULL, NULL, 4), EFAULT);
	f->fault = FAKE_REFUSE;
	f->fault_op = WIRE_OP_TUNABLE;
	f->error = EINVAL;
	f->reason = "no tunable is called a.b";
	expect_errno(pmc_sysctlbyname("a.b", NULL, NULL, NULL, 0), ENOENT);
	assert_string_equal(pmc_errstr(), "no tunable is called a.b");
	f->error = EPERM;
	expect_errno(pmc_sysctlbyname("a.b", NULL, NULL, NULL, 0), EPERM);
}

/* More or less than the list says, or than was asked for. */
static void test_tunable_malformed(void **state)
{
	static const uint32_t counts[] = { 3, 1000, UINT32_MAX, UINT32_MAX / 328 + 2 };
	struct fake *f = *state;
	struct pmc_tunable *list, t;
	unsigned int count;

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		f->tunables = counts[i];
		expect_errno(pmc_tunable_list(&list, &count), EPROTO);
	}
	f->tunables = 2;
	expect_errno(pmc_tunable_get("a.b", &t), EPROTO);
	f->tunables = 0;
	expect_errno(pmc_tunable_get("a.b", &t), EPROTO);
	expect_errno(pmc_tunable_set("a.b", "1"), EPROTO);
	assert_int_equal(pmc_tunable_list(&list, &count), 0);
	assert_int_equal(count, 0);
	free(list);
}

/* --- trace rings, the kernel profile ---------------------------------------------------------- */

static void test_ktr_info(void **state)
{
	struct fake *f = *state;
	struct pmc_ktr k;

	assert_int_equal(pmc_ktr_info(&k), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_INFO);
	assert_int_equal(k.pk_compile, 1);
	assert_int_equal(k.pk_missing, 2);
	assert_int_equal(k.pk_mask, 3);
	assert_int_equal(k.pk_saved, 4);
	assert_int_equal(k.pk_frozen, 5);
	assert_int_equal(k.pk_entries, 6);
	assert_int_equal(k.pk_ncpu, 7);
	assert_true(k.pk_written == 1ull << 40);
	assert_int_equal(strlen(k.pk_stopped), sizeof(k.pk_stopped) - 1);
	expect_errno(pmc_ktr_info(NULL), EFAULT);
}

static void test_ktr_mark(void **state)
{
	struct fake *f = *state;

	assert_int_equal(pmc_ktr_control(PMC_KTR_MARK, "0123456789abcdef0123456789abcdef"), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_MARK);
	assert_string_equal(f->ktr.text, "0123456789abcdef0123456789abcde");
	expect_errno(pmc_ktr_control(PMC_KTR_MARK, NULL), EFAULT);
	expect_errno(pmc_ktr_control(PMC_KTR_CLEAR, "x"), EINVAL);
	assert_contains(pmc_errstr(), "only a mark has a text");
	expect_errno(pmc_ktr_control((enum pmc_ktr_op)4, NULL), EINVAL);
	expect_errno(pmc_ktr_control((enum pmc_ktr_op)-1, NULL), EINVAL);
}

static void test_kgmon_info(void **state)
{
	struct fake *f = *state;
	struct pmc_kgmon info;

	assert_int_equal(pmc_kgmon(PMC_KGMON_INFO, &info), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_INFO);
	assert_int_equal(info.pk_on, 1);
	assert_int_equal(info.pk_source, PMC_KGMON_PMCS);
	assert_int_equal(info.pk_rate, 3);
	assert_int_equal(info.pk_hits, 4);
	assert_true(info.pk_period == 1ull << 41);
	assert_int_equal(info.pk_samples, 6);
	assert_int_equal(info.pk_user, 7);
	assert_int_equal(info.pk_lost, 8);
	assert_int_equal(strlen(info.pk_event), sizeof(info.pk_event) - 1);
}

static void test_operations(void **state)
{
	static const uint32_t ktr[] = { WIRE_KTR_FREEZE, WIRE_KTR_THAW, WIRE_KTR_CLEAR };
	static const enum pmc_ktr_op ktr_op[] = { PMC_KTR_FREEZE, PMC_KTR_THAW, PMC_KTR_CLEAR };
	static const uint32_t kgmon[] = { WIRE_KGMON_STATE, WIRE_KGMON_START, WIRE_KGMON_STOP,
					  WIRE_KGMON_RESET };
	static const enum pmc_kgmon_op kgmon_op[] = { PMC_KGMON_STATE, PMC_KGMON_START,
						      PMC_KGMON_STOP, PMC_KGMON_RESET };
	struct fake *f = *state;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(pmc_ktr_control(ktr_op[i], NULL), 0);
		assert_int_equal(f->ktr.what, ktr[i]);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pmc_kgmon(kgmon_op[i], NULL), 0);
		assert_int_equal(f->kgmon.what, kgmon[i]);
	}
	expect_errno(pmc_kgmon((enum pmc_kgmon_op)6, NULL), EINVAL);
	expect_errno(pmc_kgmon((enum pmc_kgmon_op)-1, NULL), EINVAL);
	assert_contains(pmc_errstr(), "no operation -1");
}

static int call_set(void) { return pmc_tunable_set("a.b", "1"); }
static int call_ktr_info(void) { return pmc_ktr_info(&(struct pmc_ktr){ .pk_ncpu = 0 }); }
static int call_ktr_open(void) { return pmc_ktr_open(); }
static int call_freeze(void) { return pmc_ktr_control(PMC_KTR_FREEZE, NULL); }
static int call_dump(void) { return pmc_kgmon(PMC_KGMON_DUMP, NULL); }
static int call_stop(void) { return pmc_kgmon(PMC_KGMON_STOP, NULL); }
static int call_start(void) { return pmc_kgmon(PMC_KGMON_START, NULL); }

static int call_get(void)
{
	struct pmc_tunable t;

	return pmc_tunable_get("a.b", &t);
}

static int call_list(void)
{
	struct pmc_tunable *list;
	unsigned int count;

	return pmc_tunable_list(&list, &count);
}

static int call_kgmon_info(void)
{
	struct pmc_kgmon info;

	return pmc_kgmon(PMC_KGMON_INFO, &info);
}

/* The descriptor is the caller's; more or less than one is none of this daemon's. */
static void one_descriptor(uint32_t *fds, int (*open)(void), int (*other)(void))
{
	int fd, next;

	*fds = 1;
	fd = open();
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	expect_errno(other(), EPROTO);
	*fds = 2;
	expect_errno(open(), EPROTO);
	*fds = 0;
	expect_errno(open(), EPROTO);
	assert_contains(pmc_errstr(), "one release");
	/* None of them stays behind. */
	next = dup(0);
	assert_int_equal(next, fd);
	close(next);
}

static void test_descriptors(void **state)
{
	struct fake *f = *state;

	one_descriptor(&f->ktr_fds, call_ktr_open, call_freeze);
	assert_int_equal(f->ktr.what, WIRE_KTR_OPEN);
	one_descriptor(&f->kgmon_fds, call_dump, call_stop);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_DUMP);
}

static void test_refused(void **state)
{
	static const struct {
		uint16_t op;
		int error, (*call)(void);
	} calls[] = {
		{ WIRE_OP_TUNABLE, EPERM, call_set }, { WIRE_OP_TUNABLE, EPERM, call_get },
		{ WIRE_OP_TUNABLE, EPERM, call_list }, { WIRE_OP_KTR, ENXIO, call_ktr_open },
		{ WIRE_OP_KTR, ENXIO, call_freeze }, { WIRE_OP_KGMON, EBUSY, call_start },
	};
	struct fake *f = *state;

	f->reason = "the daemon's own words";
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		f->fault = FAKE_REFUSE;
		f->fault_op = calls[i].op;
		f->error = calls[i].error;
		expect_errno(calls[i].call(), calls[i].error);
		assert_string_equal(pmc_errstr(), f->reason);
	}
	f->fault = FAKE_SHORT_PAYLOAD;
	expect_errno(call_kgmon_info(), EPROTO);
	f->fault_op = WIRE_OP_KTR;
	assert_int_equal(pmc_init(), 0);	/* that was the end of the connection */
	expect_errno(call_ktr_info(), EPROTO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gates, fake_setup_unconnected, fake_teardown),
		T(test_policy), T(test_tunable_list), T(test_tunable), T(test_sysctl),
		T(test_tunable_malformed),
		T(test_ktr_info), T(test_ktr_mark), T(test_kgmon_info), T(test_operations),
		T(test_descriptors), T(test_refused),
	};

	alarm(600);	/* a server that does not answer must not hang the build */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
