/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks that go on over a copy of the stack, through two files whose tables come one by one. */
#include "loader/kernel/stack_walk.h"
#include "loader/kernel/unwinder.h"
#include "unit.h"

#define CODE  0x10000u			/* of the i-th file: a page at CODE * (i + 1) */
#define STACK 0x7000u
#define FILES 2u

static struct unwind_file files[UNWIND_FILE_FIRST + FILES];
static uint32_t chunk[UNWIND_CHUNK_WORDS];

/* The daemon's tables. */
struct unwind_file *unwinder_file(const struct unwinder *u, uint32_t file)
{
	return file < UNWIND_FILE_FIRST + FILES ? &files[file] : NULL;
}

const uint32_t *unwinder_words(const struct unwinder *u, uint32_t number)
{
	return number ? NULL : chunk;
}

bool unwinder_builds(const struct unwinder *u, uint32_t file)
{
	return files[file].state <= UNWIND_FILE_ASKED;
}

static struct {
	struct abi_stack s;
	struct unwind_mapping map[FILES];
	uint64_t stack[64];
} copy;
static uint64_t pc[STACK_WALK_CHAIN];

/* Frames of 16 bytes, but for code from 0x800 on, which has no caller. */
static void file_make(uint32_t i, enum unwind_file_state state)
{
	const struct unwind_rule rules[] = {
		{ .cfa = UNWIND_SP, .offset = 16, .ra = UNWIND_AT_CFA, .ra_at = -1 },
		{ .cfa = UNWIND_END },
	};

	files[UNWIND_FILE_FIRST + i] = (struct unwind_file){
		.state = state, .npages = 1, .pages = 16, .segment = { { .size = 0x1000 } },
	};
	memcpy(chunk, rules, sizeof(rules));
	chunk[16] = UNWIND_PAGE_ROWS(32, 2);
	chunk[17] = 1;
	chunk[32] = UNWIND_ROW(0, 0);
	chunk[33] = UNWIND_ROW(0x800, 1);
}

static struct stack_walk begin(enum unwind_file_state first, enum unwind_file_state second)
{
	file_make(0, first);
	file_make(1, second);
	memset(&copy, 0, sizeof(copy));
	copy.s.regs = (struct unwind_regs){ .pc = CODE + 0x10, .sp = STACK, .mask = ~0ull,
					    .exact = 1, .first = 1 };
	copy.s.begin = STACK;
	copy.s.file = UNWIND_FILE_FIRST;
	copy.s.room = 100;
	copy.s.mappings = FILES;
	copy.s.bytes = sizeof(copy.stack);
	for (uint32_t i = 0; i < FILES; i++)
		copy.map[i] = (struct unwind_mapping){
			.start = CODE * (i + 1), .origin = CODE * (i + 1), .pages = 1,
			.file = UNWIND_FILE_FIRST + i,
		};
	copy.stack[1] = CODE + 0x20;
	copy.stack[3] = 2 * CODE + 0x30;
	copy.stack[5] = CODE + 0x900;
	pc[0] = CODE + 0x12;			/* the hardware's */
	return (struct stack_walk){ .s = &copy.s, .to = pc, .n = 1 };
}

static void expect_chain(const struct stack_walk *w, unsigned int n, enum unwind_cut end)
{
	const uint64_t all[] = { CODE + 0x12, CODE + 0x20, 2 * CODE + 0x30, CODE + 0x900 };

	assert_int_equal(w->n, n);
	assert_int_equal(w->end, end);
	assert_memory_equal(pc, all, n * sizeof(pc[0]));
}

static void test_tables(void **state)
{
	struct stack_walk w = begin(UNWIND_FILE_ASKED, UNWIND_FILE_NEW);

	assert_false(stack_walk_go(NULL, &w));
	expect_chain(&w, 1, UNWIND_CUT_TABLE);
	file_make(0, UNWIND_FILE_READY);
	assert_false(stack_walk_go(NULL, &w));
	expect_chain(&w, 3, UNWIND_CUT_TABLE);
	assert_int_equal(copy.s.file, UNWIND_FILE_FIRST + 1);
	file_make(1, UNWIND_FILE_READY);
	assert_true(stack_walk_go(NULL, &w));
	expect_chain(&w, 4, UNWIND_WHOLE);
}

static void test_ends(void **state)
{
	struct stack_walk w = begin(UNWIND_FILE_READY, UNWIND_FILE_NO_ROOM);

	assert_true(stack_walk_go(NULL, &w));
	expect_chain(&w, 3, UNWIND_CUT_TABLE);
	w = begin(UNWIND_FILE_READY, UNWIND_FILE_REFUSED);
	assert_true(stack_walk_go(NULL, &w));
	expect_chain(&w, 3, UNWIND_CUT_FORM);
	/* The copy is too short. */
	w = begin(UNWIND_FILE_READY, UNWIND_FILE_READY);
	copy.s.bytes = 16;
	assert_true(stack_walk_go(NULL, &w));
	expect_chain(&w, 2, UNWIND_CUT_TABLE);
	w = begin(UNWIND_FILE_READY, UNWIND_FILE_READY);
	copy.s.room = 2;
	assert_true(stack_walk_go(NULL, &w));
	expect_chain(&w, 3, UNWIND_CUT_DEPTH);
}

/* Records that no program writes. */
static void test_check(void **state)
{
	const size_t head = sizeof(struct abi_stack) / 8;

	(void)begin(UNWIND_FILE_READY, UNWIND_FILE_READY);
	assert_true(stack_walk_check(&copy.s, sizeof(copy) / 8));
	assert_false(stack_walk_check(&copy.s, sizeof(copy) / 8 - 1));
	assert_false(stack_walk_check(&copy.s, head - 1));
	copy.s.bytes++;
	assert_false(stack_walk_check(&copy.s, sizeof(copy) / 8));
	copy.s.bytes = ~7u;
	assert_false(stack_walk_check(&copy.s, sizeof(copy) / 8));
	copy.s.bytes = 0;
	copy.s.mappings = UNWIND_MAPPINGS + 1;
	assert_false(stack_walk_check(&copy.s, head + 3 * (UNWIND_MAPPINGS + 1)));
	copy.s.mappings = 0;
	assert_true(stack_walk_check(&copy.s, head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
