/* SPDX-License-Identifier: BSD-2-Clause */
/* TUNABLE (REQ-102 … REQ-112, REQ-114): who may read and change what, and what stays. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

static int tunable(struct actor *a, uint32_t what, const char *name, const char *text)
{
	struct wire_tunable_req r = { .what = what };

	strncpy(r.name, name, sizeof(r.name) - 1);
	strncpy(r.value, text, sizeof(r.value) - 1);
	return ask(a, WIRE_OP_TUNABLE, &r, sizeof(r));
}

static int set(struct actor *a, const char *name, const char *text)
{
	return tunable(a, WIRE_TUNABLE_SET, name, text);
}

static const struct wire_tunable *answers(void)
{
	return (const void *)((const struct wire_tunable_rep *)payload() + 1);
}

static void holds(const char *name, const char *text)
{
	assert_int_equal(tunable(&user, WIRE_TUNABLE_GET, name, ""), 0);
	assert_int_equal(((const struct wire_tunable_rep *)payload())->count, 1);
	assert_int_equal(payload_len(), sizeof(struct wire_tunable_rep) +
			 sizeof(struct wire_tunable));
	assert_string_equal(answers()->name, name);
	assert_string_equal(answers()->value, text);
}

/* REQ-109, REQ-111: booleans take any number, as hwpmc's do. */
static void test_booleans(void **state)
{
	static const char name[] = "security.bsd.unprivileged_syspmcs";

	assert_int_equal(set(&root, name, "1"), 0);
	assert_string_equal(answers()->value, "1");
	holds(name, "1");
	assert_int_equal(allocate(&user, PMC_MODE_SC, 0) != 0, 1);
	assert_int_equal(set(&root, name, "-7"), 0);
	holds(name, "-7");
	assert_int_equal(set(&root, name, "0x10"), 0);
	holds(name, "16");
	assert_int_equal(set(&root, name, "0"), 0);
	assert_int_equal(harness.config.value[TUN_SYSPMCS], 0);
	assert_int_equal(set(&root, "security.bsd.unprivileged_proc_debug", "0"), 0);
	assert_int_equal(harness.config.value[TUN_PROC_DEBUG], 0);
}

/* REQ-114: the refusal names the file and the line; nothing is lost. */
static void test_read_only(void **state)
{
	harness.config_file = "/etc/elsewhere.conf";
	assert_int_equal(set(&root, "kern.hwpmc.nsamples", "1024"), -EPERM);
	assert_contains(reason(), "kern.hwpmc.nsamples=\"1024\" to /etc/elsewhere.conf");
	holds("kern.hwpmc.nsamples", "512");
	assert_int_equal(set(&root, "kern.hwpmc.softevents", "16"), -EPERM);
}

static void test_malformed(void **state)
{
	static const char name[] = "security.bsd.unprivileged_proc_debug";
	static const char *const bad[] = { "", "yes", "1 ", "1x", "99999999999", "0x" };
	struct wire_tunable_req r;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set(&root, name, bad[i]), -EINVAL);
		assert_contains(reason(), name);
		holds(name, "1");
	}
	assert_int_equal(set(&root, "kern.hwpmc.nosuch", "1"), -EINVAL);
	assert_contains(reason(), "\"kern.hwpmc.nosuch\"; pmcbpf.conf(5) lists them");
	assert_int_equal(tunable(&user, WIRE_TUNABLE_GET, "kern.hwpmc.nosuc\x1b", ""), -EINVAL);
	assert_contains(reason(), "\"kern.hwpmc.nosuc?\"");
	assert_int_equal(tunable(&user, WIRE_TUNABLE_GET, "", ""), -EINVAL);
	assert_int_equal(tunable(&user, 3, name, "0"), -EINVAL);
	memset(&r, 'a', sizeof(r));
	for (uint32_t what = 0; what < 3; what++) {
		r.what = what;
		assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &r, sizeof(r)), -EINVAL);
	}
	memset(&r, 0, sizeof(r));
	memset(r.value, 'a', sizeof(r.value));
	r.what = WIRE_TUNABLE_SET;
	strcpy(r.name, name);
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &r, sizeof(r)), -EINVAL);
	assert_int_equal(ask(&root, WIRE_OP_TUNABLE, &r, sizeof(r) - 1), -EFAULT);
	holds(name, "1");
}

/* REQ-103 */
static void test_debugflags(void **state)
{
	static const char name[] = "kern.hwpmc.debugflags";
	const uint32_t *on = harness.debug.on;

	assert_int_equal(set(&root, name, "pmc=*\n  owner=find"), 0);
	holds(name, "pmc=*   owner=find");
	assert_int_equal(on[DEBUG_GROUP_PMC], UINT32_MAX);
	assert_int_equal(on[DEBUG_GROUP_OWNER], 1u << DEBUG_FLAG_FIND);
	assert_int_equal(set(&root, name, "pmc=find nonsense"), -EINVAL);
	assert_contains(reason(), "\"nonsense\"");
	holds(name, "pmc=*   owner=find");
	assert_int_equal(on[DEBUG_GROUP_PMC], UINT32_MAX);
	assert_int_equal(set(&root, name, ""), 0);
	holds(name, "");
	assert_int_equal(on[DEBUG_GROUP_PMC], 0);
}

static int from_file(void *arg, struct config *config, struct reason *why)
{
	config_init(config);
	return config_text(config, "f", arg, strlen(arg), why);
}

/* SIGHUP: the file wins over what was set at run time, and loses no good value to a bad file. */
static void test_reread(void **state)
{
	static const char name[] = "security.bsd.unprivileged_syspmcs";
	struct reason why;

	harness.reread = from_file;
	harness.reread_arg = (void *)"kern.hwpmc.debugflags=\"cpu=*\"\n"
		"kern.hwpmc.nsamples=\"7\"\n";
	assert_int_equal(set(&root, name, "1"), 0);
	assert_int_equal(daemon_reread(&harness, &why), 0);
	holds(name, "0");
	holds("kern.hwpmc.debugflags", "cpu=*");
	holds("kern.hwpmc.nsamples", "512");
	assert_int_equal(harness.debug.on[DEBUG_GROUP_CPU], UINT32_MAX);
	assert_int_equal(set(&root, name, "1"), 0);
	harness.reread_arg = (void *)"kern.hwpmc.debugflags=\"cpu\"\n";
	assert_int_equal(daemon_reread(&harness, &why), -EINVAL);
	assert_contains(why.text, "f:1: \"cpu\" is without flags");
	holds(name, "1");
	holds("kern.hwpmc.debugflags", "cpu=*");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_booleans), T(test_read_only), T(test_malformed), T(test_debugflags),
		T(test_reread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
