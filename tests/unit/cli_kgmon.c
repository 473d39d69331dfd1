/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of kgmon -p: gprof shows every sample, by the name of its own function. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/kgmon/kgmon.h"
#include "unit.h"

#define BASE 0xffffffff81000000

static char dir[] = "/tmp/cli_kgmon.XXXXXX";

static int begin(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int end(void **state)
{
	unlink("gmon.out");
	unlink("gmon.kernel");
	unlink("list");
	return chdir("/") || rmdir(dir);
}

/* What comes of these samples, of which the profile has `n`, in functions of these names. */
static int dump(struct kernel_name *list, size_t names_n, const char *text, size_t size,
		const struct pmc_kgmon_hit *hits, size_t hits_n, struct pmc_kgmon *profile)
{
	struct kernel_names names = { .list = list, .n = names_n };
	int fd = memfd_create("hits", MFD_CLOEXEC), code;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, hits, hits_n * sizeof(*hits)), hits_n * sizeof(*hits));
	buf_add(&names.text, text, size);
	code = dump_write(profile, fd, &names);
	close(fd);
	buf_free(&names.text);
	return code;
}

/* gprof's lines: the header, and "name samples" for each function. */
static void flat(char *out, size_t size)
{
	FILE *f = popen("gprof -b -p gmon.kernel gmon.out 2>&1 | awk '/^Each/ { print }"
			" /^ *[0-9.]+ +[0-9.]+ +[0-9.]+ / {"
			"	n = $3; sub(/^[ 0-9.]+/, \"\"); print $0, n }' | sort", "r");
	size_t n = fread(out, 1, size - 1, f);

	out[n] = '\0';
	assert_int_equal(pclose(f), 0);
}

/*
 * Functions that begin or end within a bucket of gprof's, names that it omits among local symbols,
 * addresses in no function, after one and below all.
 */
static void names_and_samples(void **state)
{
	struct kernel_name list[] = {
		{ .start = BASE, .size = 0x12, .name = 0 },
		{ .start = BASE + 0x12, .size = 0x0e, .name = 6 },
		{ .start = BASE + 0x20, .size = 4, .name = 17 },
		{ .start = BASE + 0x1000, .size = 0x10, .name = 23 },
		{ .start = BASE + 0x1010, .size = 0x1000, .name = 29 },
	};
	static const char text[] = "first\0first.cold\0third\0four$\0fifth";
	const struct pmc_kgmon_hit hits[] = {
		{ BASE - 0x1000, 4 }, { BASE + 0x10, 5 }, { BASE + 0x12, 7 }, { BASE + 0x20, 2 },
		{ BASE + 0x30, 3 }, { BASE + 0x1004, 70000 },
	};
	struct pmc_kgmon profile = { .pk_hits = 6, .pk_rate = 0 };
	char out[4096];

	assert_int_equal(dump(list, 5, text, sizeof(text), hits, 6, &profile), 0);
	flat(out, sizeof(out));
	assert_string_equal(out, "(no symbol) 3.00\n(no symbol) 4.00\n"
				 "Each sample counts as 1 samples.\n"
				 "first 5.00\nfirst.cold 7.00\nfour$ 70000.00\nthird 2.00\n");
}

static void seconds_of_a_clock(void **state)
{
	struct kernel_name list[] = { { .start = BASE, .size = 0x100, .name = 0 } };
	const struct pmc_kgmon_hit hits[] = { { BASE + 0x10, 250 } };
	struct pmc_kgmon profile = { .pk_hits = 1, .pk_rate = 1000 };
	char out[4096];

	assert_int_equal(dump(list, 1, "first", 6, hits, 1, &profile), 0);
	flat(out, sizeof(out));
	assert_string_equal(out, "Each sample counts as 0.001 seconds.\nfirst 0.25\n");
}

/* A truncated dump leaves no file, and an old one unchanged. */
static void cut_short(void **state)
{
	struct kernel_name list[] = { { .start = BASE, .size = 0x100, .name = 0 } };
	const struct pmc_kgmon_hit hits[] = { { BASE + 0x10, 250 } };
	struct pmc_kgmon profile = { .pk_hits = 2 };
	char text[4] = "";
	int old;

	old = open("gmon.out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(old, "old", 3), 3);
	close(old);
	assert_int_equal(dump(list, 1, "first", 6, hits, 1, &profile), EX_OSERR);
	assert_int_equal(access("gmon.kernel", F_OK), -1);
	old = open("gmon.out", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(old, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	close(old);
}

static void list_is(const char *text)
{
	FILE *f = fopen("list", "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Lists of another boot and of none; this one's is that of the kernel, where it can be read. */
static void lists(void **state)
{
	struct kernel_names names = { 0 };
	int code;

	assert_int_equal(kernel_names_read(&names, "missing"), EX_NOINPUT);
	list_is("");
	assert_int_equal(kernel_names_read(&names, "list"), EX_DATAERR);
	list_is("0000000000000000 T _stext\n0000000000000000 T main\n"
		"ffffffff81000000 D data\nx y z\n");
	assert_int_equal(kernel_names_read(&names, "list"), EX_DATAERR);
	list_is("0000000000001000 T _stext\n0000000000001000 T alias\n"
		"0000000000001800 t f.cold\n0000000000001900 t $x\n"
		"0000000000009000 t prog_a\t[bpf]\n000000000000b000 t prog_b\t[bpf]\n"
		"0000000000005000 t g\t[mod]\n0000000000005100 W h\t[mod]\n");
	/* It has been read before its boot is found to be another one. */
	code = kernel_names_read(&names, "list");
	assert_true(code == EX_DATAERR || code == EX_NOPERM);
	assert_int_equal(names.n, 6);
	assert_string_equal(names.text.data + names.list[0].name, "_stext");
	assert_int_equal(names.list[0].size, 0x800);
	assert_int_equal(names.list[1].size, 0x800);	/* to the page's end */
	assert_string_equal(names.text.data + names.list[2].name, "g");
	assert_int_equal(names.list[2].size, 0x100);
	assert_int_equal(names.list[3].size, 0xf00);
	assert_int_equal(names.list[4].size, 0x2000);	/* a program of several pages */
	assert_null(kernel_names_find(&names, 0xfff));
	assert_ptr_equal(kernel_names_find(&names, 0x17ff), &names.list[0]);
	assert_ptr_equal(kernel_names_find(&names, 0x1800), &names.list[1]);
	assert_ptr_equal(kernel_names_find(&names, UINT64_MAX), &names.list[5]);
	kernel_names_free(&names);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(names_and_samples), T(seconds_of_a_clock), T(cut_short), T(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
