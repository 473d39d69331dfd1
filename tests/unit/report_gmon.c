/* SPDX-License-Identifier: BSD-2-Clause */
/* gprof files of a profile made by hand: both layouts, their names, and what cannot be written. */
#include "report_fixture.h"

#include <fcntl.h>
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

static char dir[] = "/tmp/report_gmon.XXXXXX";

static int make_dir(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) ? make_profile(state) : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int remove_dir(void **state)
{
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static unsigned char file[65536];

/* The file's contents; its length. */
static size_t read_file(const char *name)
{
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	n = read(fd, file, sizeof(file));
	close(fd);
	assert_true(n >= 0);
	return (size_t)n;
}

static uint64_t number_at(size_t at, size_t width)
{
	uint64_t number = 0;

	memcpy(&number, file + at, width);
	return number;
}

static void bsd_files_have_hits_and_arcs(void **state)
{
	struct buf map = { 0 };

	add(0, 0, 10, MAIN_HOT, 5);
	add(1, 0, 10, MAIN_HOT, 6);
	add(0, 0, 10, ODD_, 7);
	assert_int_equal(report_gmon(&report, dir, false, false, &map), 0);
	assert_int_equal(read_file("CPU_X.1/work.gmon"), 40 + 2 * 64 + 24);
	assert_int_equal(number_at(0, 8), 0x1200);
	assert_int_equal(number_at(8, 8), 0x1300);
	assert_int_equal(number_at(16, 4), 40 + 2 * 64);
	assert_int_equal(number_at(20, 4), 0x51879);
	assert_int_equal(number_at(24, 8), 0);	/* rate, 16 bits */
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(number_at(40 + 2 * i, 2), i == 0x22 / 4 ? 11 : 0);
	assert_int_equal(number_at(168, 8), 0x1110);	/* the call in main, not behind it */
	assert_int_equal(number_at(176, 8), 0x1200);
	assert_int_equal(number_at(184, 8), 11);
	buf_add(&map, "", 1);
	assert_string_equal(map.data, "MAP:\n \"/bin/work\" => \"work.gmon\" CPU/X.1/11\n"
				      " \"/lib/odd, \"so\"\" => \"work~001.gmon\" CPU/X.1/7\n");
	buf_free(&map);
	assert_int_equal(read_file("CPU_X.1/work~001.gmon"), 40 + 2 * 4);
}

static void counters_of_16_bits_stop_those_of_64_do_not(void **state)
{
	add(0, 0, 10, MAIN_HOT, 70000);
	assert_int_equal(report_gmon(&report, dir, false, false, NULL), 0);
	read_file("CPU_X.1/work.gmon");
	assert_int_equal(number_at(40 + 2 * (0x22 / 4), 2), 65535);
	assert_int_equal(report_gmon(&report, dir, true, false, NULL), 0);
	assert_int_equal(read_file("CPU_X.1/work.gmon"), 40 + 8 * 64 + 24);
	assert_int_equal(number_at(28, 4), 64);
	assert_int_equal(number_at(40 + 8 * (0x22 / 4), 8), 70000);
}

/* Length of a record of GNU's with a histogram of one bucket, and of one with an arc. */
#define HISTOGRAM (1 + 8 + 8 + 4 + 4 + 16 + 2)
#define ARC	  (1 + 8 + 8 + 4)

static void gnu_files_count_with_several_histograms(void **state)
{
	add(0, 0, 10, MAIN_HOT, 70000);
	assert_int_equal(report_gmon(&report, dir, false, true, NULL), 0);
	assert_int_equal(read_file("CPU_X.1/work.gmon"), 20 + 2 * HISTOGRAM + ARC);
	assert_memory_equal(file, "gmon\1\0\0\0", 8);
	for (size_t i = 0; i < 2; i++) {
		size_t at = 20 + i * HISTOGRAM;

		assert_int_equal(number_at(at, 1), 0);
		assert_int_equal(number_at(at + 1, 8), 0x1220);
		assert_int_equal(number_at(at + 9, 8), 0x1224);
		assert_int_equal(number_at(at + 17, 4), 1);
		assert_memory_equal(file + at + 25, "samples\0\0\0\0\0\0\0\0s", 16);
		assert_int_equal(number_at(at + 41, 2), i == 0 ? 65535 : 70000 - 65535);
	}
	assert_int_equal(number_at(20 + 2 * HISTOGRAM, 1), 1);
	assert_int_equal(number_at(20 + 2 * HISTOGRAM + 17, 4), 70000);
}

static void a_recursion_s_arc_counts_once(void **state)
{
	stacks[LOST_] = (struct stack){ MAIN_HOT_HOT, AT_HOT };	/* main, hot, hot, hot */
	add(0, 0, 10, LOST_, 8);
	assert_int_equal(report_gmon(&report, dir, false, true, NULL), 0);
	stacks[LOST_] = (struct stack){ STACK_NONE, AT_LOST };
	assert_int_equal(read_file("CPU_X.1/work.gmon"), 20 + HISTOGRAM + 2 * ARC);
	assert_int_equal(number_at(20 + HISTOGRAM + 17, 4), 8);
	assert_int_equal(number_at(20 + HISTOGRAM + ARC + 17, 4), 8);
}

static void what_no_image_explains_has_no_file(void **state)
{
	struct buf map = { 0 };

	add(0, 0, 10, LOST_, 8);
	assert_int_equal(report_gmon(&report, dir, false, false, &map), 0);
	buf_add(&map, "", 1);
	assert_string_equal(map.data, "MAP:\n");
	buf_free(&map);
}

static void names_lead_nowhere_else(void **state)
{
	struct stat st;
	char path[256];

	walk.events[0].name = "../../x";
	add(0, 0, 10, MAIN_, 1);
	assert_int_equal(report_gmon(&report, dir, false, false, NULL), 0);
	snprintf(path, sizeof(path), "%s/_.._.._x/work.gmon", dir);
	assert_int_equal(stat(path, &st), 0);
}

static void code_too_far_apart_is_left_out(void **state)
{
	struct stat st;
	char path[256];

	places[AT_HOT2].offset = (uint64_t)1 << 62;
	stacks[LOST_] = (struct stack){ STACK_NONE, AT_HOT2 };
	add(0, 0, 10, LOST_, 1);
	add(0, 0, 10, MAIN_, 1);
	assert_int_equal(report_gmon(&report, dir, false, false, NULL), 0);
	snprintf(path, sizeof(path), "%s/CPU_X.1/work.gmon", dir);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(report_gmon(&report, dir, false, true, NULL), 0);
	assert_int_equal(read_file("CPU_X.1/work.gmon"), 20 + 2 * HISTOGRAM);
	stacks[LOST_] = (struct stack){ STACK_NONE, AT_LOST };
	places[AT_HOT2].offset = 0x241;
}

static void what_cannot_be_made_is_told(void **state)
{
	char path[256];

	add(0, 0, 10, MAIN_, 1);
	assert_int_equal(report_gmon(&report, "/proc/none", false, false, NULL), EX_OSERR);
	snprintf(path, sizeof(path), "%s/CPU_X.1", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/CPU_X.1/work.gmon", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(report_gmon(&report, dir, false, false, NULL), EX_CANTCREAT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bsd_files_have_hits_and_arcs),
		TEST(counters_of_16_bits_stop_those_of_64_do_not),
		TEST(gnu_files_count_with_several_histograms), TEST(a_recursion_s_arc_counts_once),
		TEST(what_no_image_explains_has_no_file), TEST(names_lead_nowhere_else),
		TEST(code_too_far_apart_is_left_out), TEST(what_cannot_be_made_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
