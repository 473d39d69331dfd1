/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of code that has no call frame information, and is always the same. */
#include "unit.h"
#include "unwind_draft.h"

/* Of arm64: no information, and a push in the first entry, with a landing pad before it or not. */
static void test_plt(void **state)
{
	const uint32_t push = 0xa9bf7bf0;

	for (uint32_t pad = 0; pad < 3; pad++) {
		struct draft d = draft_new(4096);
		struct unwind_table t;

		d.f->head.e_machine = EM_AARCH64;
		d.f->sections[3] = (Elf64_Shdr){
			.sh_name = 11, .sh_type = SHT_PROGBITS, .sh_size = sizeof(d.f->plt),
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE + 0x200,
			.sh_offset = offsetof(struct file, plt),
		};
		/* 2: of a static program, without a first entry. */
		if (pad < 2)
			d.f->plt[pad] = push;
		put_cie(&d);
		put_fde(&d, 0x100, 0x20, "", 0);
		build_well(&d, &t);
		expect_kind(&t, 0x1ff, UNWIND_NONE);
		expect_sp(&t, 0x200 + 4 * (pad % 2), 0);
		assert_int_equal(rule_at(&t, 0x200)->ra, UNWIND_SAME);
		expect_sp(&t, 0x21c, pad < 2 ? 16 : 0);
		assert_int_equal(rule_at(&t, 0x21c)->ra, pad < 2 ? UNWIND_AT_CFA : UNWIND_SAME);
		expect_sp(&t, 0x204 + 4 * pad, pad < 2 ? 16 : 0);
		expect_sp(&t, 0x220, 0);
		expect_sp(&t, 0x23f, 0);
		expect_kind(&t, 0x240, UNWIND_NONE);
		unwind_table_free(&t);
		/* One that has information keeps it. */
		put_fde(&d, 0x230, 0x10, "", 0);
		build_well(&d, &t);
		expect_kind(&t, 0x204, UNWIND_NONE);
		unwind_table_free(&t);
		free(d.f);
	}
}

enum { ENTRY = 16, ENTRIES = 64 };

static struct draft draft_of_plt(const uint8_t *code)
{
	struct draft d = draft_new(4096);

	d.f->sections[3] = (Elf64_Shdr){
		.sh_name = 11, .sh_type = SHT_PROGBITS, .sh_size = ENTRIES,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE + 0x200,
		.sh_offset = offsetof(struct file, plt),
	};
	memcpy(d.f->init, code, ENTRIES);
	put_cie(&d);
	put_fde(&d, 0x100, 0x20, "", 0);
	return d;
}

static void expect_plt(const struct unwind_table *t, uint64_t offset, uint8_t pushed)
{
	const struct unwind_rule *rule = rule_at(t, offset);

	expect_kind(t, offset, UNWIND_PLT);
	assert_int_equal(rule->reg, pushed);
	assert_int_equal(rule->offset, 8);
	assert_int_equal(rule->add, 8);
	assert_int_equal(rule->ra, UNWIND_AT_CFA);
	assert_int_equal(rule->ra_at, -1);
}

/* Of x86-64, as lld writes it: with the entries that call the linker, or those behind them. */
static void test_plt_x86(void **state)
{
	static const uint8_t first[ENTRY] = {
		0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 5, 6, 7, 8, 0x0f, 0x1f, 0x40, 0,
	};
	static const struct {
		uint8_t pushed;			/* 0: nothing is */
		uint8_t code[ENTRY];
	} kinds[] = {
		{ 11, { 0xff, 0x25, 1, 2, 3, 4, 0x68, 5, 6, 7, 8, 0xe9, 9, 9, 9, 9 } },
		{ 9, { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 2, 3, 4, 0xe9, 5, 6, 7, 8, 0x66, 0x90 } },
		{ 0, { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x0f, 0x1f, 0x44 } },
	};

	for (size_t k = 0; k < 3; k++) {
		uint8_t code[ENTRIES];
		struct unwind_table t;
		struct draft d;

		for (unsigned int at = 0; at < ENTRIES; at += ENTRY)
			memcpy(code + at, kinds[k].code, ENTRY);
		if (kinds[k].pushed)
			memcpy(code, first, ENTRY);
		d = draft_of_plt(code);
		build_well(&d, &t);
		expect_kind(&t, 0x1ff, UNWIND_NONE);
		expect_sp(&t, 0x200, kinds[k].pushed ? 16 : 8);
		expect_sp(&t, 0x206, kinds[k].pushed ? 24 : 8);
		if (kinds[k].pushed) {
			expect_sp(&t, 0x20f, 24);
			expect_plt(&t, 0x210, kinds[k].pushed);
			expect_plt(&t, 0x23f, kinds[k].pushed);
		} else {
			expect_sp(&t, 0x23f, 8);
		}
		expect_kind(&t, 0x240, UNWIND_NONE);
		unwind_table_free(&t);
		/* Any other code may do anything; operands differ. */
		for (unsigned int at = ENTRIES - ENTRY; at < ENTRIES; at++) {
			const bool operand = code[at] && code[at] < 10;

			d.f->init[at] ^= 0x10;
			build_well(&d, &t);
			assert_true((rule_at(&t, 0x200)->cfa == UNWIND_SP) == operand);
			unwind_table_free(&t);
			d.f->init[at] ^= 0x10;
		}
		/* One that has information keeps it. */
		put_fde(&d, 0x230, 0x10, "", 0);
		build_well(&d, &t);
		expect_kind(&t, 0x210, UNWIND_NONE);
		unwind_table_free(&t);
		free(d.f);
	}
}

/* Of x86-64: no information, and the beginning and the end of the C library. */
static void test_init(void **state)
{
	static const uint8_t code[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8,		/* endbr64; sub */
		0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x48, 0x85, 0xc0,		/* mov; test */
		0x74, 2, 0xff, 0xd0, 0xe8, 1, 2, 3, 4,			/* je; call; call */
		0x48, 0x83, 0xc4, 8, 0xc3,				/* add; ret */
	};
	struct draft d = draft_new(4096);
	Elf64_Shdr *sh = &d.f->sections[3];
	struct unwind_table t;

	*sh = (Elf64_Shdr){
		.sh_name = 16, .sh_type = SHT_PROGBITS, .sh_size = sizeof(code),
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE + 0x200,
		.sh_offset = offsetof(struct file, init),
	};
	memcpy(d.f->init, code, sizeof(code));
	put_cie(&d);
	put_fde(&d, 0x100, 0x20, "", 0);
	build_well(&d, &t);
	expect_kind(&t, 0x1ff, UNWIND_NONE);
	expect_sp(&t, 0x200, 8);
	expect_sp(&t, 0x207, 8);
	expect_sp(&t, 0x208, 16);
	expect_sp(&t, 0x200 + sizeof(code) - 2, 16);
	expect_sp(&t, 0x200 + sizeof(code) - 1, 8);
	expect_kind(&t, 0x200 + sizeof(code), UNWIND_NONE);
	unwind_table_free(&t);
	/* A linker may make a lea of the mov. */
	d.f->init[9] = 0x8d;
	build_well(&d, &t);
	expect_sp(&t, 0x208, 16);
	expect_sp(&t, 0x200 + sizeof(code) - 2, 16);
	unwind_table_free(&t);
	/* Without the landing pad, and with nothing in between. */
	sh->sh_offset += 4;
	sh->sh_size = 9;
	memcpy(d.f->init + 8, code + sizeof(code) - 5, 5);
	build_well(&d, &t);
	expect_sp(&t, 0x203, 8);
	expect_sp(&t, 0x204, 16);
	expect_sp(&t, 0x208, 8);
	unwind_table_free(&t);
	/* Any other code may do anything. */
	memcpy(d.f->init, code, sizeof(code));
	sh->sh_offset -= 4;
	sh->sh_size = sizeof(code);
	for (size_t i = 4; i < sizeof(code); i++) {
		const bool operand = (i > 10 && i < 15) || i == 19 || (i > 22 && i < 27);

		d.f->init[i] ^= 0x10;
		build_well(&d, &t);
		expect_kind(&t, 0x208, operand ? UNWIND_SP : UNWIND_NONE);
		unwind_table_free(&t);
		d.f->init[i] ^= 0x10;
	}
	free(d.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plt), cmocka_unit_test(test_plt_x86),
		cmocka_unit_test(test_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
