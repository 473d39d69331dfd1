/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's functions by address, from a file like /proc/kallsyms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/log/ksyms.h"
#include "unit.h"

static int read_text(struct ksyms **k, const char *text, size_t len)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), err;
	char path[32];

	assert_true(write(fd, text, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = ksyms_read(k, path);
	close(fd);
	return err;
}

static struct ksyms *table(const char *text)
{
	struct ksyms *k = NULL;

	assert_int_equal(read_text(&k, text, strlen(text)), 0);
	return k;
}

static void expect(const struct ksyms *k, uint64_t address, const char *name, uint64_t start)
{
	struct ksym sym = { 0 };
	char found[256];

	if (!name) {
		assert_false(ksyms_find(k, address, &sym));
		return;
	}
	assert_true(ksyms_find(k, address, &sym));
	snprintf(found, sizeof(found), "%s%s", sym.image, sym.name);
	assert_string_equal(found, name);
	assert_true(sym.start == start);
}

/* In any order; only code; aliases have one name. */
static void test_find(void **state)
{
	struct ksyms *k = table("ffffffff81002000 t second\n"
				"ffffffff81001000 T first\n"
				"ffffffff81001000 t alias\n"
				"ffffffff81002800 D data\n"
				"ffffffff81003000 W weak\n"
				"ffffffff81003010 w weaker\n"
				"ffffffff81003020 t $x\n"
				"0000000000000100 A fixed\n");

	expect(k, 0xffffffff81000fff, NULL, 0);
	expect(k, 0xffffffff81001000, "[kernel.kallsyms]first", 0xffffffff81001000);
	expect(k, 0xffffffff81001fff, "[kernel.kallsyms]first", 0xffffffff81001000);
	expect(k, 0xffffffff81002900, "[kernel.kallsyms]second", 0xffffffff81002000);
	expect(k, 0xffffffff8100300f, "[kernel.kallsyms]weak", 0xffffffff81003000);
	expect(k, 0xffffffff81003020, "[kernel.kallsyms]weaker", 0xffffffff81003010);
	expect(k, 0x100, NULL, 0);
	expect(k, UINT64_MAX, NULL, 0);
	ksyms_free(k);
}

/* If nothing marks a function's end: the end of its page, if it is the last of an image. */
static void test_ends(void **state)
{
	struct ksyms *k = table("ffffffff81000000 T _stext\n"
				"ffffffff81900000 T late\n"
				"ffffffffa0000010 t nft_init\t[nf_tables]\n"
				"ffffffffa0000f00 t nft_last\t[nf_tables]\n"
				"ffffffffa0004000 t ext4_first\t[ext4]\n"
				"ffffffffc0000f40 t bpf_prog_1_a\t[bpf]\n"
				"ffffffffd0000000 t other\t[other]\n");

	expect(k, 0xffffffff8103ffff, "[kernel.kallsyms]_stext", 0xffffffff81000000);
	expect(k, 0xffffffff81040000, NULL, 0);
	expect(k, 0xffffffff81900fff, "[kernel.kallsyms]late", 0xffffffff81900000);
	expect(k, 0xffffffff81901000, NULL, 0);
	expect(k, 0xffffffffa0000eff, "[nf_tables]nft_init", 0xffffffffa0000010);
	expect(k, 0xffffffffa0000fff, "[nf_tables]nft_last", 0xffffffffa0000f00);
	expect(k, 0xffffffffa0001000, NULL, 0);
	expect(k, 0xffffffffa0004000, "[ext4]ext4_first", 0xffffffffa0004000);
	expect(k, 0xffffffffc0001234, "[bpf]bpf_prog_1_a", 0xffffffffc0000f40);
	expect(k, 0xffffffffd0000fff, "[other]other", 0xffffffffd0000000);
	expect(k, 0xffffffffd0001000, NULL, 0);
	ksyms_free(k);
}

/* Hidden addresses are no symbols; a missing or different file has none. */
static void test_nothing(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t schedule\n";
	static const char nonsense[] = "nonsense\n\n \nffff\nffff T\n12x4 T a\nff TT a\n";
	struct ksyms *k = NULL;

	assert_int_equal(read_text(&k, hidden, strlen(hidden)), -EPERM);
	assert_int_equal(read_text(&k, "", 0), -EPERM);
	assert_int_equal(read_text(&k, nonsense, strlen(nonsense)), -EPERM);
	assert_int_equal(read_text(&k, "\0\0\0ff T a\n", 11), -EPERM);
	assert_int_equal(ksyms_read(&k, "/nowhere/kallsyms"), -ENOENT);
	assert_null(k);
}

/* Functions found one by one, in any order; a new one replaces the one that began there. */
static void test_add(void **state)
{
	struct ksyms *k = ksyms_new();

	assert_non_null(k);
	expect(k, 0xffffffff81001000, NULL, 0);
	for (unsigned int twice = 0; twice < 2; twice++) {
		assert_int_equal(ksyms_add(k, 0xffffffff81002000, 0x10, "second"), 0);
		assert_int_equal(ksyms_add(k, 0xffffffff81001000, 0x20, "first"), 0);
		assert_int_equal(ksyms_add(k, 0xffffffffc0001000, 0x30, "[module]third"), 0);
	}
	expect(k, 0xffffffff81000fff, NULL, 0);
	expect(k, 0xffffffff8100101f, "[kernel.kallsyms]first", 0xffffffff81001000);
	expect(k, 0xffffffff81001020, NULL, 0);
	expect(k, 0xffffffff81002000, "[kernel.kallsyms]second", 0xffffffff81002000);
	expect(k, 0xffffffffc000102f, "[module]third", 0xffffffffc0001000);
	assert_int_equal(ksyms_add(k, 0xffffffffc0001000, 0x40, "[bpf]other"), 0);
	expect(k, 0xffffffffc000103f, "[bpf]other", 0xffffffffc0001000);
	ksyms_free(k);
}

static int start_of(const char *text, uint64_t *start)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), err;
	char path[32];

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = ksyms_start(path, start);
	close(fd);
	return err;
}

/* Hidden, replaced by an empty file, and absent are three cases. */
static void test_start(void **state)
{
	uint64_t start;

	assert_int_equal(start_of("ffffffff80ffff00 T before\nffffffff81000000 T _stext\n"
				  "ffffffff81001000 t next\n", &start), 0);
	assert_true(start == 0xffffffff81000000);
	assert_int_equal(start_of("ffff800080000000 T _text\n", &start), 0);
	assert_true(start == 0xffff800080000000);
	assert_int_equal(start_of("0000000000000000 T _stext\n0000000000000000 t next\n", &start),
			 -EPERM);
	assert_int_equal(start_of("", &start), -ENODATA);
	assert_int_equal(ksyms_start("/nowhere/kallsyms", &start), -ENOENT);
	assert_true(start == 0);
}

/* More than any first guess has room for, and a name of a line's length. */
static void test_many(void **state)
{
	enum { N = 200000, LONG = 3 << 20 };
	char *text = NULL, *name = malloc(LONG + 1), expected[64];
	struct ksyms *k = NULL;
	struct ksym sym;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(name);
	memset(name, 'x', LONG);
	name[LONG] = '\0';
	for (unsigned int i = 0; i < N; i++)
		fprintf(f, "%016llx t function_%u\n", 0xffffffff81000000ull + 16ull * i, i);
	fprintf(f, "ffffffffff000000 t %s\n", name);
	fclose(f);
	assert_int_equal(read_text(&k, text, len), 0);
	for (unsigned int i = 0; i < N; i += 97) {
		snprintf(expected, sizeof(expected), "[kernel.kallsyms]function_%u", i);
		expect(k, 0xffffffff81000000ull + 16ull * i + 15, expected,
		       0xffffffff81000000ull + 16ull * i);
	}
	assert_true(ksyms_find(k, 0xffffffffff000001, &sym));
	assert_int_equal(strlen(sym.name), LONG);
	ksyms_free(k);
	free(text);
	free(name);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_find), T(test_ends), T(test_nothing), T(test_add), T(test_start),
		T(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
