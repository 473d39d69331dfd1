/* SPDX-License-Identifier: BSD-2-Clause */
/* The tunables of the kernel's trace rings. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "loader/config/config.h"
#include "unit.h"

static struct config config;
static struct reason why;

static int setup(void **state)
{
	config_init(&config);
	why.text[0] = '\0';
	return 0;
}

static int set(const char *name, const char *value)
{
	return config_set(&config, name, value, &why);
}

static void holds(enum tunable t, const char *value)
{
	char buf[WIRE_TUNABLE_MAX];

	config_value(&config, t, buf, sizeof(buf));
	assert_string_equal(buf, value);
}

/* KTR-15, KTR-28, KTR-30: the defaults; the kernel's rings are off. */
static void test_presets(void **state)
{
	assert_int_equal(config.ktr.compile, 0);
	assert_int_equal(config.ktr.mask, ~(uint32_t)(KTR_SPL | KTR_CLK));
	assert_int_equal(config.ktr.entries, 1024);
	for (unsigned int i = 0; i < KTR_REGION_CPUS / 64; i++)
		assert_true(config.ktr.cpumask[i] == ~0ull);
	assert_true(config.ktr.panic);
	assert_false(config.ktr.oom);
	assert_true(config.ktr.signals == 0);
	assert_int_equal(config.ktr.ntp, 0);
	assert_int_equal(config.value[TUN_KTR_UNPRIVILEGED], 0);
	holds(TUN_KTR_COMPILE, "none");
	holds(TUN_KTR_CPUMASK, "all");
	holds(TUN_KTR_MASK, "~SPL,~CLK");
	holds(TUN_KTR_SIZE, "65536");
	holds(TUN_KTR_STOP, "panic");
}

/*
 * KTR-20, KTR-21, KTR-22: up to 32 classes, each to be loaded and to be traced by name or number.
 */
static void test_classes(void **state)
{
	assert_int_equal(set("ktr.compile", "SCHED,KTR_SYSC 0x8"), 0);
	assert_int_equal(config.ktr.compile, KTR_SCHED | KTR_SYSC | KTR_LOCK);
	holds(TUN_KTR_COMPILE, "SCHED,KTR_SYSC 0x8");
	assert_int_equal(set("ktr.compile", "all"), 0);
	assert_int_equal(config.ktr.compile, ~0u);
	assert_int_equal(set("ktr.mask", "all,~MALLOC"), 0);
	assert_int_equal(config.ktr.mask, ~(uint32_t)KTR_MALLOC);
	assert_int_equal(set("ktr.mask", "SCHED,NOSUCH"), -EINVAL);
	assert_contains(why.text, "ktr.mask takes classes");
	assert_contains(why.text, "not \"NOSUCH\"");
	assert_int_equal(set("ktr.compile", ""), -EINVAL);
	assert_contains(why.text, "ktr.compile takes classes");
	assert_int_equal(config.ktr.mask, ~(uint32_t)KTR_MALLOC);
	holds(TUN_KTR_MASK, "all,~MALLOC");
}

/* KTR-11, KTR-12, KTR-13, KTR-14, KTR-17: bytes of each CPU's ring, from one entry to 1 GB. */
static void test_size(void **state)
{
	static const struct {
		const char *text;
		uint32_t entries;
	} good[] = {
		{ "0", 0 }, { "64", 1 }, { "128", 2 }, { "0x10000", 1024 },
		{ "1073741824", 1u << 24 },
	};
	static const char *const bad[] = {
		"32", "63", "65", "100", "65537", "2147483648", "-64", "64k", "", " 64", "many",
		"99999999999999999999", "18446744073709551616",
	};

	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(set("ktr.size", good[i].text), 0);
		assert_int_equal(config.ktr.entries, good[i].entries);
		holds(TUN_KTR_SIZE, good[i].text);
	}
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set("ktr.size", bad[i]), -EINVAL);
		assert_contains(why.text, "a power of two from 64 to 1073741824, or 0 for no "
				"rings");
		assert_contains(why.text, bad[i]);
	}
	assert_int_equal(config.ktr.entries, 1u << 24);
}

/* KTR-F04 */
static void test_cpumask(void **state)
{
	static const char *const bad[] = { "", "x", "3-1", "1024", "-1", "1-", "0-3x",
					   "1 2 three" };

	assert_int_equal(set("ktr.cpumask", "0-2,5 64-65"), 0);
	assert_true(config.ktr.cpumask[0] == 0x27);
	assert_true(config.ktr.cpumask[1] == 3);
	assert_true(config.ktr.cpumask[2] == 0);
	assert_int_equal(set("ktr.cpumask", "1023"), 0);
	assert_true(config.ktr.cpumask[0] == 0);
	assert_true(config.ktr.cpumask[KTR_REGION_CPUS / 64 - 1] == 1ull << 63);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set("ktr.cpumask", bad[i]), -EINVAL);
		assert_contains(why.text, "ktr.cpumask takes CPUs");
	}
	assert_true(config.ktr.cpumask[0] == 0);
	assert_int_equal(set("ktr.cpumask", "all"), 0);
	assert_true(config.ktr.cpumask[0] == ~0ull);
}

/* KTR-37: signals by name and number, OOM kills, the panic, tracepoints. */
static void test_stop(void **state)
{
	assert_int_equal(set("ktr.stop", "signal:SEGV,signal:SIGABRT, signal:9 oom,tp:sched_switch,"
			     "tp:net:net_dev_xmit"), 0);
	assert_true(config.ktr.signals == (1ull << (SIGSEGV - 1) | 1ull << (SIGABRT - 1) | 1 << 8));
	assert_true(config.ktr.oom);
	assert_false(config.ktr.panic);
	assert_int_equal(config.ktr.ntp, 2);
	assert_string_equal(config.ktr.tp[0], "sched_switch");
	assert_string_equal(config.ktr.tp[1], "net_dev_xmit");
	assert_int_equal(set("ktr.stop", "none"), 0);
	assert_true(!config.ktr.signals && !config.ktr.oom && !config.ktr.panic && !config.ktr.ntp);
}

static void test_bad_stop(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "signal:NOSUCH", "no signal \"NOSUCH\"" },
		{ "signal:0", "no signal \"0\"" },
		{ "signal:65", "no signal \"65\"" },
		{ "signal:", "no signal \"\"" },
		{ "segv", "ktr.stop takes signal:NAME, oom, panic and tp:TRACEPOINT" },
		{ "tp:", "has 1 to 31 characters" },
		{ "tp:a_name_that_is_longer_than_any_name", "has 1 to 31 characters" },
		{ "tp:../x", "is no tracepoint's name" },
		{ "tp:a,tp:b,tp:c,tp:d,tp:e", "at most 4 tracepoints; \"tp:e\"" },
		{ "oom,panics", "not \"panics\"" },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set("ktr.stop", bad[i].text), -EINVAL);
		assert_contains(why.text, bad[i].says);
	}
	assert_true(config.ktr.panic && !config.ktr.oom);
	holds(TUN_KTR_STOP, "panic");
}

/* They are reassembled, texts and meanings, without the others. */
static void test_restore(void **state)
{
	struct config was;

	config_init(&was);
	assert_int_equal(set("ktr.size", "64"), 0);
	assert_int_equal(set("ktr.compile", "GEN"), 0);
	assert_int_equal(set("kern.hwpmc.debugflags", "cpu=*"), 0);
	assert_int_equal(set("ktr.unprivileged", "1"), 0);
	config.ktr = was.ktr;
	assert_int_equal(config.ktr.entries, 1024);
	holds(TUN_KTR_SIZE, "65536");
	holds(TUN_KTR_COMPILE, "none");
	holds(TUN_DEBUGFLAGS, "cpu=*");
	assert_int_equal(config.value[TUN_KTR_UNPRIVILEGED], 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_presets), T(test_classes), T(test_size), T(test_cpumask), T(test_stop),
		T(test_bad_stop), T(test_restore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
