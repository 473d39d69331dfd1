/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of the walker, for both architectures, and walks over stacks and rules that lie.
 * (Walks of real programs: tests/e2e/unwind.bats.)
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#define STACK 0x7000u			/* address of the memory */
#define WORDS 128u

static uint64_t memory[WORDS];
static uint64_t registers[32];
static unsigned int reads;

static int memory_read(void *to, size_t n, uint64_t address)
{
	reads++;
	if (address < STACK || address - STACK > sizeof(memory) ||
	    n > sizeof(memory) - (address - STACK))
		return -1;
	memcpy(to, (char *)memory + (address - STACK), n);
	return 0;
}

static int register_read(int number, uint64_t *to)
{
	*to = registers[number];
	return 0;
}

#define UNWIND_READ(arg, to, size, address) memory_read(to, size, address)
#define UNWIND_READ_FRAME(arg, to, address) window_read(&window, to, address, arg)
#define UNWIND_REGISTER(arg, number, to)    register_read(number, (uint64_t *)(to))
#include <linux/types.h>
#include "bpf/unwind/window.bpf.h"
static struct window window;
#include "bpf/unwind/unwind.bpf.h"
#include "bpf/unwind/unwind_rows.h"

static struct unwind_regs first_regs(void)
{
	for (unsigned int i = 0; i < WORDS; i++)
		memory[i] = 0x1000 + i;
	for (unsigned int i = 0; i < 32; i++)
		registers[i] = STACK + 0x80 + i;
	reads = 0;
	window.room = 0;
	return (struct unwind_regs){
		.pc = 0x400, .sp = STACK, .fp = STACK + 0x40, .lr = 0x777, .mask = ~0ull,
		.exact = 1, .first = 1, .fp_known = 1, .lr_known = 1, .bx_known = 1,
	};
}

static struct unwind_regs later_regs(void)
{
	struct unwind_regs r = first_regs();

	r.exact = r.first = r.lr_known = 0;
	return r;
}

static struct unwind_rule frame_rule(void)
{
	return (struct unwind_rule){ .cfa = UNWIND_SP, .offset = 32, .ra = UNWIND_AT_CFA,
				     .ra_at = -1 };
}

/* The step succeeds, and the caller has these registers. */
static void expect_caller(struct unwind_regs r, struct unwind_rule rule, uint64_t pc, uint64_t sp,
			  uint64_t fp)
{
	assert_int_equal(unwind_step(&r, &rule, 1, NULL), UNWIND_CALLER);
	assert_int_equal(r.pc, pc);
	assert_int_equal(r.sp, sp);
	assert_int_equal(r.fp, fp);
	assert_false(r.first || r.exact || r.lr_known);
}

static void expect_end(struct unwind_regs r, struct unwind_rule rule, int end)
{
	assert_int_equal(unwind_step(&r, &rule, 1, NULL), end);
}

static void test_cfa(void **state)
{
	const struct unwind_regs r = first_regs();
	struct unwind_rule rule = frame_rule();

	expect_caller(r, rule, 0x1003, STACK + 32, r.fp);
	rule.cfa = UNWIND_FP;
	rule.offset = 16;
	expect_caller(r, rule, 0x1000 + 9, STACK + 0x50, r.fp);
	rule.cfa = UNWIND_REG;
	rule.reg = 8;
	rule.offset = 0;
	expect_caller(r, rule, 0x1000 + 0x80 / 8, STACK + 0x88, r.fp);
	rule.cfa = UNWIND_SP_LOAD;
	rule.offset = 24;
	rule.add = 8;
	memory[3] = STACK + 0x60;
	expect_caller(r, rule, 0x100c, STACK + 0x68, r.fp);
	rule.cfa = UNWIND_FP_LOAD;
	rule.offset = -40;
	expect_caller(r, rule, 0x100c, STACK + 0x68, r.fp);
}

/* The entries of a PLT push a word in the middle. */
static void test_plt(void **state)
{
	struct unwind_rule rule = { .cfa = UNWIND_PLT, .reg = 11, .offset = 8, .add = 8,
				    .ra = UNWIND_AT_CFA, .ra_at = -1 };
	struct unwind_regs r = first_regs();

	r.pc = 0x40a;
	expect_caller(r, rule, 0x1000, STACK + 8, r.fp);
	r.pc = 0x40b;
	expect_caller(r, rule, 0x1001, STACK + 16, r.fp);
}

static void expect_word(unsigned int at, unsigned int wanted_reads)
{
	__u64 word = 0;

	assert_int_equal(window_read(&window, &word, STACK + 8 * at, NULL), 0);
	assert_int_equal(word, 0x1000 + at);
	assert_int_equal(reads, wanted_reads);
}

/* The words above the first one are read with it, as far as the stack goes. */
static void test_window(void **state)
{
	__u64 word;

	first_regs();
	expect_word(4, 1);
	expect_word(5, 1);
	expect_word(4 + WINDOW_WORDS - 1, 1);
	expect_word(4 + WINDOW_WORDS, 2);
	expect_word(3, 3);
	/* An address between two words. */
	assert_int_equal(window_read(&window, &word, STACK + 25, NULL), 0);
	assert_int_equal(word, 0x04ull << 56 | 0x10);
	assert_int_equal(reads, 4);
	expect_word(WORDS - 1, 6);
	expect_word(WORDS - 1, 8);
	assert_int_equal(window_read(&window, &word, STACK - 8, NULL), -1);
	assert_int_equal(reads, 10);
	expect_word(4, 11);
}

static void test_frame_pointer(void **state)
{
	const struct unwind_regs r = first_regs();
	struct unwind_rule rule = frame_rule();
	struct unwind_regs lost = first_regs();

	rule.fp = UNWIND_AT_CFA;
	rule.fp_at = -2;
	expect_caller(r, rule, 0x1003, STACK + 32, 0x1002);
	assert_int_equal(reads, 1);
	rule.fp_at = -4;
	expect_caller(r, rule, 0x1003, STACK + 32, 0x1000);
	rule.fp = UNWIND_AT_FP;
	rule.fp_at = 1;
	expect_caller(r, rule, 0x1003, STACK + 32, 0x1009);
	rule.fp = UNWIND_AT_SP;
	expect_caller(r, rule, 0x1003, STACK + 32, 0x1001);
	/* Below the stack, where nothing can be read: the chain goes on without it. */
	rule.fp_at = -1;
	assert_int_equal(unwind_step(&lost, &rule, 0, NULL), UNWIND_CALLER);
	assert_false(lost.fp_known);
	rule.cfa = UNWIND_FP;
	expect_end(lost, rule, UNWIND_CUT_REGISTER);
	rule.cfa = UNWIND_FP_LOAD;
	expect_end(lost, rule, UNWIND_CUT_REGISTER);
	/* A frame that restores it makes it known again. */
	rule = frame_rule();
	rule.fp = UNWIND_AT_CFA;
	rule.fp_at = -2;
	assert_int_equal(unwind_step(&lost, &rule, 0, NULL), UNWIND_CALLER);
	assert_true(lost.fp_known);
}

/* Other registers are those of the first frame only. */
static void test_registers(void **state)
{
	struct unwind_rule rule = { .cfa = UNWIND_SP, .offset = 16, .ra = UNWIND_IN_REG,
				    .ra_at = 2 };

	expect_caller(first_regs(), rule, STACK + 0x82, STACK + 16, STACK + 0x40);
	expect_end(later_regs(), rule, UNWIND_CUT_REGISTER);
	rule = (struct unwind_rule){ .cfa = UNWIND_REG, .ra = UNWIND_AT_CFA, .ra_at = -1 };
	expect_end(later_regs(), rule, UNWIND_CUT_REGISTER);
}

/* RBX is known in later frames as well: unchanged, or where a frame has put it. */
static void test_bx(void **state)
{
	const struct unwind_rule by_bx = { .cfa = UNWIND_REG, .reg = UNWIND_BX, .offset = 16,
					   .ra = UNWIND_AT_CFA, .ra_at = -1 };
	struct unwind_rule rule = frame_rule();
	struct unwind_regs r = first_regs(), saved, lost;

	assert_int_equal(unwind_step(&r, &rule, 0, NULL), UNWIND_CALLER);
	registers[UNWIND_BX] = STACK + 0x90;
	expect_caller(r, by_bx, 0x1000 + 0x98 / 8, STACK + 0xa0, r.fp);
	rule.bx_at = -2;
	saved = first_regs();
	memory[2] = STACK + 0x70;
	assert_int_equal(unwind_step(&saved, &rule, 0, NULL), UNWIND_CALLER);
	rule.bx_at = 0;
	assert_int_equal(unwind_step(&saved, &rule, 0, NULL), UNWIND_CALLER);
	expect_caller(saved, by_bx, 0x1000 + 0x78 / 8, STACK + 0x80, r.fp);
	rule.bx_at = UNWIND_BX_LOST;
	lost = first_regs();
	assert_int_equal(unwind_step(&lost, &rule, 0, NULL), UNWIND_CALLER);
	expect_end(lost, by_bx, UNWIND_CUT_REGISTER);
	/* Code without rules has not said what it did with it. */
	lost = later_regs();
	assert_int_equal(unwind_step_pointer(&lost, NULL), UNWIND_CALLER);
	expect_end(lost, by_bx, UNWIND_CUT_REGISTER);
	lost = later_regs();
	lost.sp = STACK;
	memory[5 + 11] = STACK + 0x2f0;
	memory[5 + 15] = STACK + 0x200;
	assert_int_equal(unwind_step(&lost, &(struct unwind_rule){ .cfa = UNWIND_SIGNAL }, 0, NULL),
			 UNWIND_CALLER);
	expect_caller(lost, by_bx, 0x1000 + 0x2f8 / 8, STACK + 0x300, lost.fp);
}

/*
 * arm64: a leaf's return address is in LR, which later frames have lost; addresses may be signed.
 */
static void test_link_register(void **state)
{
	const struct unwind_rule leaf = { .cfa = UNWIND_SP, .ra = UNWIND_SAME };
	struct unwind_rule rule = frame_rule();
	struct unwind_regs r = first_regs();

	expect_caller(r, leaf, 0x777, STACK, r.fp);
	r.mask = (1ull << 48) - 1;
	r.lr |= 0x5aull << 48;
	expect_caller(r, leaf, 0x777, STACK, r.fp);
	memory[3] |= 0x7full << 48;
	expect_caller(r, rule, 0x1003, STACK + 32, r.fp);
	r.lr_known = 0;
	expect_end(r, leaf, UNWIND_CUT_REGISTER);
}

static void test_ends(void **state)
{
	static const struct {
		enum unwind_cfa cfa;
		int end;
	} ends[] = {
		{ UNWIND_NONE, UNWIND_CUT_RULE }, { UNWIND_BAD, UNWIND_CUT_FORM },
		{ UNWIND_END, UNWIND_WHOLE }, { UNWIND_CFA_KINDS, UNWIND_CUT_FORM },
	};
	struct unwind_regs in_call = first_regs();
	struct unwind_rule rule = frame_rule();

	for (unsigned int i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		rule.cfa = (uint8_t)ends[i].cfa;
		expect_end(first_regs(), rule, ends[i].end);
	}
	/*
	 * A caller's frame is above its callee's; only code that was interrupted or is in a system
	 * call may not have used the stack.
	 */
	rule = (struct unwind_rule){ .cfa = UNWIND_SP, .ra = UNWIND_SAME };
	expect_caller(first_regs(), rule, 0x777, STACK, STACK + 0x40);
	in_call.exact = 0;
	expect_caller(in_call, rule, 0x777, STACK, STACK + 0x40);
	expect_end(later_regs(), rule, UNWIND_CUT_STUCK);
	rule.offset = -8;
	expect_end(first_regs(), rule, UNWIND_CUT_STUCK);
	/* Memory that cannot be read. */
	rule = frame_rule();
	rule.offset = WORDS * 8 + 16;
	expect_end(first_regs(), rule, UNWIND_CUT_STACK);
	rule.cfa = UNWIND_SP_LOAD;
	expect_end(first_regs(), rule, UNWIND_CUT_STACK);
}

/* The kernel's layout of a signal frame; the interrupted PC is exact, and on arm64 LR is known. */
static void test_signal(void **state)
{
	const struct unwind_rule rule = { .cfa = UNWIND_SIGNAL };
	struct unwind_regs r = later_regs();

	assert_int_equal(unwind_step(&r, &rule, 0, NULL), UNWIND_CALLER);
	assert_int_equal(r.fp, 0x1000 + 5 + 10);
	assert_int_equal(r.sp, 0x1000 + 5 + 15);
	assert_int_equal(r.pc, 0x1000 + 5 + 16);
	assert_true(r.exact && r.fp_known && r.bx_known && !r.lr_known && !r.first);
	assert_int_equal(unwind_place_of(&r), r.pc);
	r = later_regs();
	assert_int_equal(unwind_step(&r, &rule, 1, NULL), UNWIND_CALLER);
	assert_int_equal(r.fp, 0x1000 + 39 + 29);
	assert_int_equal(r.lr, 0x1000 + 39 + 30);
	assert_int_equal(r.sp, 0x1000 + 39 + 31);
	assert_int_equal(r.pc, 0x1000 + 39 + 32);
	assert_true(r.exact && r.fp_known && r.lr_known);
	r = later_regs();
	r.sp = STACK + WORDS * 8 - 64;
	expect_end(r, rule, UNWIND_CUT_STACK);
	r = later_regs();
	assert_int_equal(unwind_place_of(&r), r.pc - 1);
}

static void test_pointer_step(void **state)
{
	struct unwind_regs r = later_regs();

	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CALLER);
	assert_int_equal(r.pc, 0x1009);
	assert_int_equal(r.fp, 0x1008);
	assert_int_equal(r.sp, STACK + 0x50);
	/* Not above the stack pointer, not aligned, too far away, not readable, not known. */
	r.fp = r.sp - 8;
	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CUT_RULE);
	r.fp = r.sp + 4;
	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CUT_RULE);
	r.fp = r.sp + UNWIND_FP_REACH + 8;
	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CUT_RULE);
	r.fp = r.sp + UNWIND_FP_REACH;
	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CUT_STACK);
	r.fp = r.sp;
	r.fp_known = 0;
	assert_int_equal(unwind_step_pointer(&r, NULL), UNWIND_CUT_RULE);
}

/* Code without rules, whose next instructions return. */
static void test_code_step(void **state)
{
	struct unwind_regs r = later_regs();

	r.pc = STACK + 0x100;
	memory[0x100 / 8] = 0x11c318c48348;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CALLER);
	assert_int_equal(r.pc, 0x1003);
	assert_int_equal(r.sp, STACK + 32);
	assert_true(r.fp_known && r.bx_known && !r.exact);
	/* Not the instructions, not a number of words, downwards, no stack, no code. */
	r = later_regs();
	r.pc = STACK + 0x100;
	memory[0x100 / 8] = 0xc218c48348;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CUT_RULE);
	memory[0x100 / 8] = 0xc31cc48348;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CUT_RULE);
	memory[0x100 / 8] = 0xc388c48348;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CUT_RULE);
	memory[0x100 / 8] = 0xc318c48348;
	r.sp = STACK + WORDS * 8 - 0x18;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CUT_RULE);
	r = later_regs();
	r.pc = 0x400;
	assert_int_equal(unwind_step_code(&r, NULL), UNWIND_CUT_RULE);
}

static struct unwind_rule random_rule(void)
{
	return (struct unwind_rule){
		.cfa = (uint8_t)(UNWIND_SP + random() % (UNWIND_CFA_KINDS - UNWIND_SP + 1)),
		.reg = (uint8_t)(random() % 32), .ra = (uint8_t)(random() % UNWIND_PLACES),
		.fp = (uint8_t)(random() % UNWIND_PLACES),
		.offset = (int32_t)(random() % 128 - 32), .add = (int32_t)(random() % 64 - 32),
		.ra_at = (int16_t)(random() % 16 - 8), .fp_at = (int16_t)(random() % 16 - 8),
		.bx_at = (int8_t)random(),
	};
}

/*
 * Any rule over any registers: without a signal the stack pointer only rises, so that a walk ends.
 */
static void test_random(void **state)
{
	for (unsigned int i = 0; i < 200000; i++) {
		struct unwind_regs r = later_regs();
		unsigned int steps = 0;
		int end;

		srandom(i);
		for (unsigned int w = 0; w < WORDS; w++)
			memory[w] = STACK + (uint64_t)random() % (WORDS * 16) - WORDS * 4;
		r.sp = STACK + (uint64_t)random() % (WORDS * 8);
		do {
			const uint64_t sp = r.sp;
			const struct unwind_rule rule = random_rule();

			end = unwind_step(&r, &rule, (int)(i & 1), NULL);
			assert_true(end == UNWIND_CALLER || (end > 0 && end < UNWIND_CUTS));
			assert_true(end != UNWIND_CALLER || r.sp > sp);
			assert_true(steps++ <= WORDS * 16);
		} while (end == UNWIND_CALLER);
	}
}

/* Every address finds the last row at or below it. */
static void test_search(void **state)
{
	static uint32_t rows[UNWIND_PAGE_SIZE];

	for (uint32_t n = 1; n <= UNWIND_PAGE_SIZE; n = n * 3 + 1) {
		uint32_t now = 0;

		if (n > UNWIND_PAGE_SIZE / 2)
			n = UNWIND_PAGE_SIZE;
		for (uint32_t i = 0; i < n; i++)
			rows[i] = UNWIND_ROW((uint64_t)i * UNWIND_PAGE_SIZE / n, i & 0xffff);
		for (uint32_t low = 0; low < UNWIND_PAGE_SIZE; low++) {
			while (now + 1 < n && UNWIND_ROW_LOW(rows[now + 1]) <= low)
				now++;
			assert_int_equal(unwind_row_find(rows, 0, n, low), now);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfa), cmocka_unit_test(test_plt),
		cmocka_unit_test(test_window), cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_bx), cmocka_unit_test(test_link_register),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_signal), cmocka_unit_test(test_pointer_step),
		cmocka_unit_test(test_code_step),
		cmocka_unit_test(test_random), cmocka_unit_test(test_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
