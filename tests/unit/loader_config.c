/* SPDX-License-Identifier: BSD-2-Clause */
/* Tunables and their file (REQ-102 … REQ-113, REQ-127 … REQ-130). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "loader/config/config.h"
#include "unit.h"

static struct config config;
static struct reason why;
static char said[1024];

static int setup(void **state)
{
	config_init(&config);
	said[0] = why.text[0] = '\0';
	return 0;
}

static int text(const char *t)
{
	return config_text(&config, "f.conf", t, strlen(t), &why);
}

static int cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void hear(void *arg, const char *line)
{
	strcat(said, line);
	strcat(said, "|");
}

static void test_defaults(void **state)
{
	assert_int_equal(config.value[TUN_CALLCHAINDEPTH], 128);
	assert_int_equal(config.value[TUN_HASHSIZE], 16);
	assert_int_equal(config.value[TUN_LOGBUFFERSIZE], 256);
	assert_int_equal(config.value[TUN_MTXPOOLSIZE], 32);
	assert_int_equal(config.value[TUN_NBUFFERS_PCPU], 32);
	assert_int_equal(config.value[TUN_NSAMPLES], 512);
	assert_int_equal(config.value[TUN_SOFTEVENTS], 16);
	assert_int_equal(config.value[TUN_SYSPMCS], 0);
	assert_int_equal(config.value[TUN_PROC_DEBUG], 1);
	config_check(&config, hear, NULL);
	assert_string_equal(said, "");
	assert_int_equal(config.value[TUN_NBUFFERS], 32 * cpus());
}

/* A number for each CPU, unless the total is given: in either order. */
static void test_buffers(void **state)
{
	assert_int_equal(text("kern.hwpmc.nbuffers_pcpu=5"), 0);
	config_check(&config, hear, NULL);
	assert_int_equal(config.value[TUN_NBUFFERS], 5 * cpus());
	assert_int_equal(text("kern.hwpmc.nbuffers=64\nkern.hwpmc.nbuffers_pcpu=7"), 0);
	config_check(&config, hear, NULL);
	assert_int_equal(config.value[TUN_NBUFFERS], 64);
	config_init(&config);
	assert_int_equal(text("kern.hwpmc.nbuffers_pcpu=2147483647"), 0);
	config_check(&config, hear, NULL);
	assert_int_equal(config.value[TUN_NBUFFERS], INT_MAX);
	assert_string_equal(said, "");
}

/* A size of 0 in 32 bits of bytes cannot be allocated. */
static void test_buffer_size(void **state)
{
	assert_int_equal(text("kern.hwpmc.logbuffersize=65536"), 0);
	assert_int_equal(text("kern.hwpmc.logbuffersize=4194304"), -EINVAL);
	assert_non_null(strstr(why.text, "takes at most 65536 kilobytes, not \"4194304\""));
	assert_int_equal(config.value[TUN_LOGBUFFERSIZE], 65536);
}

static void test_grammar(void **state)
{
	assert_int_equal(text("# a comment\n"
			      "\n"
			      "kern.hwpmc.nbuffers=\"128\"\n"
			      "  kern.hwpmc.nsamples = \"0x100\"   # and why\r\n"
			      "kern.hwpmc.hashsize=32# bare\n"
			      "security.bsd.unprivileged_syspmcs=\"1\""), 0);
	assert_int_equal(config.value[TUN_NBUFFERS], 128);
	assert_int_equal(config.value[TUN_NSAMPLES], 256);
	assert_int_equal(config.value[TUN_HASHSIZE], 32);
	assert_int_equal(config.value[TUN_SYSPMCS], 1);
}

static void test_last_line_wins(void **state)
{
	assert_int_equal(text("kern.hwpmc.nbuffers=\"1\"\nkern.hwpmc.nbuffers=\"2\"\n"), 0);
	assert_int_equal(config.value[TUN_NBUFFERS], 2);
	assert_int_equal(config_option(&config, "kern.hwpmc.nbuffers=3", &why), 0);
	assert_int_equal(config.value[TUN_NBUFFERS], 3);
}

/* Every bad line: file, line, and a correction. */
static void test_bad_lines(void **state)
{
	static const struct {
		const char *line, *names;
	} bad[] = {
		{ "kern.hwpmc.nbuffers", "expected name=\"value\"" },
		{ "=\"1\"", "expected name=\"value\"" },
		{ "kern.hwpmc.nbuffers=", "write kern.hwpmc.nbuffers=\"value\"" },
		{ "kern.hwpmc.nbuffers=\"1", "lacks its closing quote" },
		{ "kern.hwpmc.nbuffers=\"1\" 2", "put a # before a comment" },
		{ "kern.hwpmc.nbuffers=1 2", "put a # before a comment" },
		{ "kern.hwpmc.nbuffers=1\"2\"", "put a # before a comment" },
		{ "kern.hwpmc.nbuffers=\"many\"", "takes a number, not \"many\"" },
		{ "kern.hwpmc.nbuffers=\"\"", "takes a number, not \"\"" },
		{ "kern.hwpmc.nbuffers=\"1k\"", "takes a number" },
		{ "kern.hwpmc.nbuffers=\"99999999999\"", "takes a number" },
		{ "kern.hwpmc.nbufers=\"1\"", "pmcbpf.conf(5) lists them" },
		{ "[hwpmc]", "expected name=\"value\"" },
	};

	assert_int_equal(text("kern.hwpmc.nbuffers=64"), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char both[256];

		snprintf(both, sizeof(both), "# first\n%s\n", bad[i].line);
		assert_int_equal(text(both), -EINVAL);
		assert_int_equal(strncmp(why.text, "f.conf:2: ", 10), 0);
		assert_non_null(strstr(why.text, bad[i].names));
		assert_int_equal(config.value[TUN_NBUFFERS], 64);
	}
}

static void test_hostile_text(void **state)
{
	char long_line[3000];

	memset(long_line, 'x', sizeof(long_line));
	assert_int_equal(config_text(&config, "f", long_line, sizeof(long_line), &why), -EINVAL);
	assert_int_equal(config_text(&config, "f", "a\0b\n", 4, &why), -EINVAL);
	assert_int_equal(config_text(&config, "f", "", 0, &why), 0);
	assert_int_equal(text("\001=1\n"), -EINVAL);
	for (const char *p = why.text; *p; p++)
		assert_true(*p >= ' ');
}

static void test_options(void **state)
{
	assert_int_equal(config_option(&config, "kern.hwpmc.nsamples=7", &why), 0);
	assert_int_equal(config.value[TUN_NSAMPLES], 7);
	assert_int_equal(config_option(&config, "kern.hwpmc.nsamples", &why), -EINVAL);
	assert_non_null(strstr(why.text, "-o takes NAME=VALUE"));
	assert_int_equal(config_option(&config, "x=1", &why), -EINVAL);
}

static void test_files(void **state)
{
	char path[] = "/tmp/pmcbpf-unit-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "kern.hwpmc.nbuffers=5\n", 22), 22);
	assert_int_equal(config_read(&config, path, true, &why), 0);
	assert_int_equal(config.value[TUN_NBUFFERS], 5);
	close(fd);
	unlink(path);
	assert_int_equal(config_read(&config, path, false, &why), 0);
	assert_int_equal(config_read(&config, path, true, &why), -ENOENT);
	assert_non_null(strstr(why.text, path));
}

static void check(const char *name, const char *value, enum tunable t, int kept, const char *words)
{
	config_init(&config);
	said[0] = '\0';
	assert_int_equal(config_set(&config, name, value, &why), 0);
	config_check(&config, hear, NULL);
	assert_string_equal(said, words);
	assert_int_equal(config.value[t], kept);
}

/* REQ-127, REQ-128, REQ-129, REQ-130: hwpmc's own message, and the default is used. */
static void test_literal_diagnostics(void **state)
{
	check("kern.hwpmc.hashsize", "-3", TUN_HASHSIZE, 16,
	      "tunable hashsize=-3 must be greater than zero.|");
	check("kern.hwpmc.hashsize", "0", TUN_HASHSIZE, 16,
	      "tunable hashsize=0 must be greater than zero.|");
	check("kern.hwpmc.logbuffersize", "0", TUN_LOGBUFFERSIZE, 256,
	      "tunable logbuffersize=0 must be greater than zero.|");
	check("kern.hwpmc.nbuffers", "-1", TUN_NBUFFERS, 32 * cpus(),
	      "tunable nlogbuffers=-1 must be greater than zero.|");
	check("kern.hwpmc.nbuffers", "0", TUN_NBUFFERS, 32 * cpus(),
	      "tunable nlogbuffers=0 must be greater than zero.|");
	check("kern.hwpmc.nbuffers_pcpu", "0", TUN_NBUFFERS_PCPU, 32,
	      "tunable nbuffers_pcpu=0 must be greater than zero.|");
	check("kern.hwpmc.nsamples", "65536", TUN_NSAMPLES, 512,
	      "tunable nsamples=65536 out of range.|");
	check("kern.hwpmc.nsamples", "0", TUN_NSAMPLES, 512, "tunable nsamples=0 out of range.|");
	check("kern.hwpmc.nsamples", "65535", TUN_NSAMPLES, 65535, "");
	check("kern.hwpmc.callchaindepth", "0", TUN_CALLCHAINDEPTH, PMC_CALLCHAIN_DEPTH_MAX,
	      "tunable \"callchaindepth\"=0 out of range - using 512.|");
	check("kern.hwpmc.softevents", "4097", TUN_SOFTEVENTS, PMC_EV_DYN_COUNT,
	      "tunable \"softevents\"=4097 out of range.|");
	check("kern.hwpmc.mtxpoolsize", "-5", TUN_MTXPOOLSIZE, -5, "");
}

/* There are two formats: any other number is invalid. */
static void test_logversion(void **state)
{
	assert_int_equal(text("kern.hwpmc.logversion=77"), -EINVAL);
	assert_non_null(strstr(why.text, "10 (today's format) or 3"));
	assert_int_equal(text("kern.hwpmc.logversion=9"), -EINVAL);
	assert_int_equal(config.value[TUN_LOGVERSION], 10);
	assert_int_equal(text("kern.hwpmc.logversion=3"), 0);
	assert_int_equal(config.value[TUN_LOGVERSION], 3);
}

static void test_debugflags(void **state)
{
	char line[400] = "kern.hwpmc.debugflags=", *end = line + strlen(line);

	assert_int_equal(text("kern.hwpmc.debugflags=\"cpu=* csw=swi,swo\"\n"), 0);
	assert_string_equal(config.debugflags, "cpu=* csw=swi,swo");
	assert_int_equal(config.debug[DEBUG_GROUP_CPU], UINT32_MAX);
	config_check(&config, hear, NULL);
	assert_string_equal(said, "");
	assert_int_equal(text("kern.hwpmc.debugflags=\"cpu=* csw=in\"\n"), -EINVAL);
	assert_non_null(strstr(why.text, "f.conf:1: \"in\" is no flag"));
	assert_string_equal(config.debugflags, "cpu=* csw=swi,swo");
	for (size_t i = 0; i < WIRE_TUNABLE_MAX; i++)
		*end++ = ' ';
	assert_int_equal(config_option(&config, line, &why), -EINVAL);
	assert_non_null(strstr(why.text, "at most 255 characters, not 256"));
	*--end = '\0';
	assert_int_equal(config_option(&config, line, &why), 0);
	assert_int_equal(config.debug[DEBUG_GROUP_CPU], 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_defaults), T(test_buffers), T(test_buffer_size), T(test_grammar),
		T(test_last_line_wins), T(test_bad_lines), T(test_hostile_text), T(test_options),
		T(test_files), T(test_literal_diagnostics), T(test_logversion), T(test_debugflags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
