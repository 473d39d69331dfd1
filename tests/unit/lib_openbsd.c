/* SPDX-License-Identifier: BSD-2-Clause */
/* libpctr's functions of OpenBSD's C library. */
#include <limits.h>
#include <openbsd/machine/cpu.h>
#include <openbsd/machine/specialreg.h>
#include <openbsd/stdlib.h>
#include <openbsd/sys/sysctl.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "unit.h"

static void test_strtonum(void **state)
{
	static const struct {
		const char *text;
		long long min, max, value;
		const char *wrong;
		int error;
	} cases[] = {
		{ "0", 0, 3, 0, NULL, 0 },
		{ "3", 0, 3, 3, NULL, 0 },
		{ " -7", -10, 3, -7, NULL, 0 },
		{ "4", 0, 3, 0, "too large", ERANGE },
		{ "-1", 0, 3, 0, "too small", ERANGE },
		{ "99999999999999999999", 0, LLONG_MAX, 0, "too large", ERANGE },
		{ "-99999999999999999999", LLONG_MIN, 0, 0, "too small", ERANGE },
		{ "9223372036854775807", 0, LLONG_MAX, LLONG_MAX, NULL, 0 },
		{ "", 0, 3, 0, "invalid", EINVAL },
		{ "2x", 0, 3, 0, "invalid", EINVAL },
		{ "0x2", 0, 3, 0, "invalid", EINVAL },
		{ "2", 3, 0, 0, "invalid", EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *wrong = "untouched";

		errno = 0;
		assert_int_equal(strtonum(cases[i].text, cases[i].min, cases[i].max, &wrong),
				 cases[i].value);
		if (cases[i].wrong)
			assert_string_equal(wrong, cases[i].wrong);
		else
			assert_null(wrong);
		assert_int_equal(errno, cases[i].error);
		strtonum(cases[i].text, cases[i].min, cases[i].max, NULL);
	}
	errno = EPIPE;
	strtonum("1", 0, 3, NULL);
	assert_int_equal(errno, EPIPE);
}

/* The value of a name in /proc/cpuinfo, or "". */
static void cpuinfo(const char *name, char text[256])
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[4096];

	text[0] = '\0';
	assert_non_null(file);
	while (!text[0] && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && strchr(line, ':'))
			sscanf(strchr(line, ':'), ": %255[^\n]", text);
	fclose(file);
}

/* PCTR-13: the CPU's identity equals the kernel's. */
static void test_sysctl(void **state)
{
	int machine[] = { CTL_HW, HW_MACHINE }, vendor[] = { CTL_MACHDEP, CPU_CPUVENDOR };
	int id[] = { CTL_MACHDEP, CPU_CPUID }, features[] = { CTL_MACHDEP, CPU_CPUFEATURE };
	char text[64], expected[256];
	size_t len = sizeof(text);
	struct utsname name;
	unsigned int value, family;

	uname(&name);
	assert_int_equal(sysctl(machine, 2, text, &len, NULL, 0), 0);
	assert_string_equal(text, strcmp(name.machine, "x86_64") ? "arm64" : "amd64");
	assert_int_equal(len, 6);
	len = sizeof(text);
	assert_int_equal(sysctl(vendor, 2, text, &len, NULL, 0), 0);
	assert_int_equal(len, strlen(text) + 1);
	cpuinfo("vendor_id", expected);
	assert_string_equal(text, expected[0] ? expected : "ARM");
	len = sizeof(value);
	assert_int_equal(sysctl(features, 2, &value, &len, NULL, 0), 0);
	assert_true(value & CPUID_TSC);
	assert_int_equal(sysctl(id, 2, &value, &len, NULL, 0), 0);
	family = (value >> 8 & 0xf) == 0xf ? 0xf + (value >> 20 & 0xff) : value >> 8 & 0xf;
	cpuinfo("cpu family", expected);
	snprintf(text, sizeof(text), "%u", family);
	assert_string_equal(text, expected[0] ? expected : "0");
}

static void test_sysctl_errors(void **state)
{
	int vendor[] = { CTL_MACHDEP, CPU_CPUVENDOR }, other[] = { CTL_HW, 99 }, far[] = { 99, 1 };
	char text[64] = "untouched";
	size_t len = sizeof(text), all = 0;

	expect_errno(sysctl(vendor, 2, NULL, NULL, text, 1), EPERM);
	expect_errno(sysctl(other, 2, text, &len, NULL, 0), EOPNOTSUPP);
	expect_errno(sysctl(far, 2, text, &len, NULL, 0), EOPNOTSUPP);
	expect_errno(sysctl(vendor, 1, text, &len, NULL, 0), EOPNOTSUPP);
	assert_string_equal(text, "untouched");
	assert_int_equal(sysctl(vendor, 2, NULL, &all, NULL, 0), 0);
	assert_true(all > 3);
	len = all - 1;
	expect_errno(sysctl(vendor, 2, text, &len, NULL, 0), ENOMEM);
	assert_int_equal(len, all - 1);
	len = all;
	assert_int_equal(sysctl(vendor, 2, text, &len, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strtonum), cmocka_unit_test(test_sysctl),
		cmocka_unit_test(test_sysctl_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
