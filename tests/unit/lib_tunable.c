/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_tunable_list(), _get() and _set() against a server that may answer anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "fake_daemon.h"
#include "unit.h"

static void test_list(void **state)
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

static void test_one(void **state)
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

static void test_refused(void **state)
{
	struct fake *f = *state;
	struct pmc_tunable *list, t;
	unsigned int count;

	f->fault = FAKE_REFUSE;
	f->fault_op = WIRE_OP_TUNABLE;
	f->error = EPERM;
	f->reason = "write it to a file";
	expect_errno(pmc_tunable_set("a.b", "1"), EPERM);
	assert_string_equal(pmc_errstr(), "write it to a file");
	expect_errno(pmc_tunable_get("a.b", &t), EPERM);
	expect_errno(pmc_tunable_list(&list, &count), EPERM);
}

/* More or less than the list says, or than was asked for. */
static void test_malformed(void **state)
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_list), T(test_one), T(test_sysctl), T(test_refused), T(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
