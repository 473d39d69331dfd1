/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for unwinding from files that are made here: each rule where it belongs, and damaged,
 * contradictory and very large ones.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"
#include "unwind_draft.h"

static void expect_refused(const struct draft *d, int error, const char *text)
{
	struct unwind_table t;
	struct reason why;

	assert_int_equal(build(d, &t, &why), error);
	assert_contains(why.text, text);
	assert_null(t.rows);
}

/* --- rows ------------------------------------------------------------------------------------- */

#define PUSH "\x41\x0e\x10"		/* advance 1, def_cfa_offset 16 */

/* Functions, padding, a gap, and the end. */
static void test_rows(void **state)
{
	struct draft d = draft_new(4096);
	struct unwind_table t;

	put_cie(&d);
	put_fde(&d, 0x100, 0x20, PUSH, 3);
	put_fde(&d, 0x128, 0x08, "", 0);	/* behind 8 bytes of padding */
	put_fde(&d, 0x140, 0x10, PUSH, 3);	/* behind a gap */
	build_well(&d, &t);
	expect_kind(&t, 0xff, UNWIND_NONE);
	expect_sp(&t, 0x100, 8);
	expect_sp(&t, 0x101, 16);
	expect_sp(&t, 0x11f, 16);
	expect_sp(&t, 0x120, 8);
	expect_sp(&t, 0x12f, 8);
	expect_kind(&t, 0x130, UNWIND_NONE);
	expect_kind(&t, 0x13f, UNWIND_NONE);
	expect_sp(&t, 0x14f, 16);
	expect_kind(&t, 0x150, UNWIND_NONE);
	assert_int_equal(t.nfdes, 3);
	/* Behind the code, and before it. */
	expect_kind(&t, SIZE + 5, UNWIND_NONE);
	assert_int_equal(unwind_table_rule(&t, CODE - 1), UNWIND_RULE_NONE);
	assert_int_equal(unwind_table_rule(&t, ~0ull), UNWIND_RULE_NONE);
	unwind_table_free(&t);
	free(d.f);
}

/* A function over all pages, one that starts with a page, and one that ends with the last. */
static void test_pages(void **state)
{
	struct draft d = draft_new(4096);
	struct unwind_table t;

	put_cie(&d);
	put_fde(&d, 0, 0x10000, "\x42\x0e\x20", 3);
	put_fde(&d, 0x10000, 0x1fff0, "\x0e\x20", 2);
	put_fde(&d, 0x2fff0, 0x10, PUSH, 3);
	build_well(&d, &t);
	assert_int_equal(t.npages, 3);
	assert_int_equal(t.nrows, 6);
	expect_sp(&t, 0, 8);
	expect_sp(&t, 0xffff, 32);
	expect_sp(&t, 0x10000, 32);
	expect_sp(&t, 0x20000, 32);
	expect_sp(&t, 0x2ffef, 32);
	expect_sp(&t, 0x2fff0, 8);
	expect_sp(&t, 0x2ffff, 16);
	unwind_table_free(&t);
	free(d.f);
}

/*
 * In any order; where two overlap neither counts; one for no code is dropped, one too long is cut.
 */
static void test_order(void **state)
{
	struct draft d = draft_new(4096);
	struct unwind_table t;

	put_cie(&d);
	put_fde(&d, 0x400, 0x100, PUSH, 3);
	put_fde(&d, 0x100, 0x100, PUSH, 3);
	put_fde(&d, 0x480, 0x20, "", 0);
	put_fde(&d, 0x600, 0x10, "", 0);
	put_fde(&d, 0x600, 0x20, "", 0);
	put_fde(&d, SIZE + 1, 0x20, PUSH, 3);
	put_fde(&d, SIZE - 0x10, ~0u, PUSH, 3);
	build_well(&d, &t);
	assert_int_equal(t.nfdes, 6);
	expect_sp(&t, 0x100, 8);
	expect_sp(&t, 0x1ff, 16);
	expect_kind(&t, 0x200, UNWIND_NONE);
	expect_sp(&t, 0x47f, 16);
	expect_kind(&t, 0x480, UNWIND_BAD);
	expect_kind(&t, 0x4ff, UNWIND_BAD);
	expect_kind(&t, 0x500, UNWIND_NONE);
	expect_kind(&t, 0x5ff, UNWIND_NONE);
	expect_kind(&t, 0x600, UNWIND_BAD);
	expect_kind(&t, 0x61f, UNWIND_BAD);
	expect_kind(&t, 0x620, UNWIND_NONE);
	expect_sp(&t, SIZE - 1, 16);
	unwind_table_free(&t);
	free(d.f);
}

/* The first code of a dynamic linker has no information. */
static void test_start(void **state)
{
	struct draft d = draft_new(4096);
	struct unwind_table t;

	d.f->head.e_entry = CODE + 0x200;
	put_cie(&d);
	put_fde(&d, 0x100, 0x20, PUSH, 3);
	put_fde(&d, 0x240, 0x20, PUSH, 3);
	build_well(&d, &t);
	expect_kind(&t, 0x1ff, UNWIND_NONE);
	expect_kind(&t, 0x200, UNWIND_END);
	expect_kind(&t, 0x23f, UNWIND_END);
	expect_sp(&t, 0x240, 8);
	unwind_table_free(&t);
	/* One that has information keeps it. */
	d.f->head.e_entry = CODE + 0x100;
	build_well(&d, &t);
	expect_sp(&t, 0x100, 8);
	unwind_table_free(&t);
	free(d.f);
}

/*
 * Programs with something that cannot be done: from there on there is no rule, before and after
 * there is.
 */
static void test_programs(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *what;
	} bad[] = {
		{ PUSH "\x41\x3f", 5, "an unknown instruction" },
		{ PUSH "\x41\x2d", 5, "arm64's" },
		{ PUSH "\x41\x0b", 5, "a state that was not remembered" },
		{ PUSH "\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 13, "nine levels" },
		{ PUSH "\x41\x0e", 5, "no operand" },
		{ PUSH "\x41\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 16,
		  "a long number" },
		{ PUSH "\x41\x0f\x7f\x77", 7, "a block that is too long" },
		{ PUSH "\x41\x0f\1\x96\x0e\x8", 9, "an offset to an expression" },
		{ PUSH "\x41\x0e\xf8\xff\xff\xff\xff\x3f", 11, "an offset of 2^40" },
		{ PUSH "\x41\x90\x81\x80\x80\x80\1", 10, "a return address far away" },
		{ PUSH "\x41\x05\7\1", 7, "a stack pointer in the frame" },
		{ PUSH "\x41\x0f\x03\x77\0\x96", 9, "an expression of another form" },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct draft d = draft_new(4096);
		struct unwind_table t;

		print_message("%s\n", bad[i].what);
		put_cie(&d);
		fde_begin(&d, 0x100, 0x20);
		put(&d, bad[i].text, bad[i].n);
		/* Without padding, which would be a part of it. */
		d.f->frame[d.open] = (uint8_t)(d.len - d.open - 4);
		put_fde(&d, 0x120, 0x20, PUSH, 3);
		build_well(&d, &t);
		expect_sp(&t, 0x101, 16);
		expect_kind(&t, 0x102, UNWIND_BAD);
		expect_kind(&t, 0x11f, UNWIND_BAD);
		expect_sp(&t, 0x120, 8);
		unwind_table_free(&t);
		free(d.f);
	}
}

/* --- whole files ------------------------------------------------------------------------------ */

/* Without section headers the C library's header leads to the same table. */
static void test_header(void **state)
{
	struct draft d = draft_new(4096);
	const int32_t distance = (int32_t)(sizeof(struct file) -
					   offsetof(struct file, frame_header) - 4);
	struct unwind_table t;
	struct reason why;

	put_cie(&d);
	put_fde(&d, 0x100, 0x20, PUSH, 3);
	put4(&d, 0);
	put_fde(&d, 0x200, 0x20, PUSH, 3);	/* behind the end */
	d.f->head.e_shoff = 0;
	assert_int_equal(build(&d, &t, &why), -ENODATA);
	assert_contains(why.text, ".eh_frame");
	memcpy(d.f->frame_header, "\1\x1b\x03\x3b", 4);
	memcpy(d.f->frame_header + 4, &distance, 4);
	d.f->data = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = FRAME,
				  .p_filesz = sizeof(struct file) + d.len };
	d.f->hdr = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_filesz = 12,
				 .p_offset = offsetof(struct file, frame_header),
				 .p_vaddr = FRAME + offsetof(struct file, frame_header) };
	build_well(&d, &t);
	assert_int_equal(t.nfdes, 1);
	expect_sp(&t, 0x101, 16);
	unwind_table_free(&t);
	d.f->frame_header[1] = 0xff;
	expect_refused(&d, -EBADMSG, ".eh_frame_hdr");
	free(d.f);
}

/* Any length but the whole is refused, and none makes a read behind the end. */
static void test_truncated(void **state)
{
	struct draft d = draft_new(4096);
	struct unwind_table t;
	struct reason why;

	put_cie(&d);
	put_fde(&d, 0x100, 0x20, PUSH, 3);
	build_well(&d, &t);
	unwind_table_free(&t);
	for (size_t size = 0; size < sizeof(struct file) + d.len; size++) {
		int err = build_bytes(&d, size, &t, &why);

		assert_true(err == -ENOEXEC || err == -EBADMSG || err == -ENODATA);
	}
	/* Its own size is wrong: an entry ends behind it. */
	for (size_t size = d.len - 1; size; size--) {
		d.len = size;
		if (build(&d, &t, &why) == 0) {
			assert_int_equal(t.nfdes, 0);
			unwind_table_free(&t);
		}
	}
	free(d.f);
}

/* Every word replaced: an error with a reason, or a table that can be searched. */
static void test_lies(void **state)
{
	static const uint32_t lies[] = { 0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff };
	struct draft d = draft_new(4096);
	struct unwind_table t;
	struct reason why;

	put_cie(&d);
	put_fde(&d, 0x100, 0x20, PUSH, 3);
	put_fde(&d, 0x200, 0x20, PUSH, 3);
	build_well(&d, &t);
	unwind_table_free(&t);
	for (size_t at = 0; at + 4 <= sizeof(struct file) + d.len; at++) {
		uint32_t kept;

		memcpy(&kept, (char *)d.f + at, 4);
		for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			memcpy((char *)d.f + at, &lies[i], 4);
			why.text[0] = 0;
			if (build_bytes(&d, sizeof(struct file) + d.len, &t, &why)) {
				assert_true(why.text[0]);
				continue;
			}
			for (uint32_t a = 0; a < SIZE; a += 0x80)
				assert_true(unwind_table_rule(&t, t.base + a) < t.nrules);
			unwind_table_free(&t);
		}
		memcpy((char *)d.f + at, &kept, 4);
	}
	free(d.f);
}

static void test_refused(void **state)
{
	struct draft d = draft_new(64);
	struct file *f = d.f;

	put_cie(&d);
	f->head.e_machine = EM_RISCV;
	expect_refused(&d, -ENOEXEC, "machine 243");
	f->head.e_machine = EM_X86_64;
	f->head.e_ident[EI_CLASS] = ELFCLASS32;
	expect_refused(&d, -ENOEXEC, "64-bit");
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->code.p_memsz = 1ull << 33;
	expect_refused(&d, -E2BIG, "4 GB");
	f->code.p_memsz = ~0ull;
	expect_refused(&d, -EBADMSG, "overlap");
	f->code.p_flags = PF_R;
	expect_refused(&d, -ENODATA, "executable");
	f->code = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = CODE,
				.p_memsz = SIZE };
	f->data = f->code;
	expect_refused(&d, -EBADMSG, "overlap");
	free(f);
}

/* A file descriptor that is no regular file's. */
static void test_descriptor(void **state)
{
	struct unwind_table t;
	struct reason why;
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	assert_int_equal(unwind_table_build(&t, &(struct unwind_input){ .fd = pair[0] }, &why),
			 -EIO);
	assert_contains(why.text, "cannot be read");
	close(pair[0]);
	close(pair[1]);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* A function with as many rows as a program may have. */
static void put_rows(struct draft *d, uint32_t start, uint32_t rows)
{
	fde_begin(d, start, rows + 1);
	for (uint32_t i = 0; i < rows; i++)
		put(d, i & 1 ? "\x41\x0e\x8" : PUSH, 3);
	entry_end(d);
}

/* A program of more instructions than there may be has rows up to there. */
static void test_long_program(void **state)
{
	struct draft d = draft_new(1u << 20);
	struct unwind_table t;

	put_cie(&d);
	put_rows(&d, 0, 40000);
	build_well(&d, &t);
	expect_sp(&t, 32001, 16);
	expect_kind(&t, 33000, UNWIND_BAD);
	expect_kind(&t, 40000, UNWIND_BAD);
	expect_kind(&t, 40001, UNWIND_NONE);
	unwind_table_free(&t);
	free(d.f);
}

/* Ten million rows. */
static void test_many_rows(void **state)
{
	struct draft d = draft_new(40u << 20);

	d.f->code.p_memsz = 1u << 28;
	put_cie(&d);
	for (uint32_t i = 0; i < 400; i++)
		put_rows(&d, i * 0x10000, 25000);
	expect_refused(&d, -E2BIG, "8388608 rows");
	free(d.f);
}

/* Few bytes that take long: each function runs the instructions of a large CIE again. */
static void test_much_work(void **state)
{
	struct draft d = draft_new(4u << 20);

	entry_begin(&d, 0);
	put(&d, "\1zR\0\1\x78\x10\1\3\x0c\7\x8\x90\1", 14);
	for (unsigned int i = 0; i < 60000; i++)
		put(&d, "\x0e\x8", 2);
	entry_end(&d);
	for (uint32_t i = 0; i < 40000; i++)
		put_fde(&d, i * 4, 4, "", 0);
	expect_refused(&d, -E2BIG, "too many instructions");
	free(d.f);
}

/* A size that only the section header claims is refused before memory is taken for it. */
static void test_large_section(void **state)
{
	struct draft d = draft_new(64);
	struct unwind_table t;
	struct reason why;

	put_cie(&d);
	d.f->sections[1].sh_size = UNWIND_FRAME_MAX + 1;
	assert_int_equal(build_bytes(&d, sizeof(struct file) + d.len, &t, &why), -E2BIG);
	assert_contains(why.text, "64 MB");
	d.f->sections[1].sh_size = UNWIND_FRAME_MAX;
	assert_int_equal(build_bytes(&d, sizeof(struct file) + d.len, &t, &why), -EBADMSG);
	assert_contains(why.text, "truncated");
	free(d.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_order), cmocka_unit_test(test_start),
		cmocka_unit_test(test_programs), cmocka_unit_test(test_header),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_lies),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_descriptor),
		cmocka_unit_test(test_long_program), cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_much_work), cmocka_unit_test(test_large_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
