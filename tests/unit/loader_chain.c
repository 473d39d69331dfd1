/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a sample's addresses that a log gets, and when callers are missing (REQ-047). */
#include "loader/pmc/chain.h"
#include "unit.h"

#define KERNEL 0xffffffff81000000ull

static const uint64_t code[] = { 0x1000, 0x2000, 0x3000, 0x4000 };

static void expect(unsigned int flags, const uint64_t *data, unsigned int n, unsigned int room,
		   bool hides, int length, bool cut)
{
	const struct abi_rec rec = { .n = (__u16)n, .cpu = 3, .flags = (__u16)flags };
	struct pmclog_ev_callchain c = { .pl_npc = -1 };

	assert_int_equal(chain_take(&c, &rec, data, room, hides), cut);
	assert_int_equal(c.pl_npc, length);
	assert_int_equal(c.pl_cpuflags, 3u << 16 | (cut ? 4 : 0) | (flags & ABI_REC_USER ? 1 : 0));
}

static void test_whole(void **state)
{
	expect(ABI_REC_USER, code, 4, 512, false, 4, false);
	expect(0, code, 1, 512, false, 1, false);
}

static void test_cut(void **state)
{
	expect(ABI_REC_USER | ABI_REC_CUT, code, 4, 512, false, 4, true);
	expect(ABI_REC_CUT, code, 1, 512, false, 1, true);
	/* For a cut kernel part, with all of the user code's after it. */
	expect(ABI_REC_CUT_INSIDE, code, 4, 512, false, 4, true);
}

/* If the outermost frame is among the addresses none is missing, whatever follows it. */
static void test_ended_before(void **state)
{
	static const uint64_t zero[] = { 0x1000, 0x2000, 0, 0x4000 };
	static const uint64_t kernel[] = { 0x1000, 0x2000, KERNEL, 0x4000 };

	expect(ABI_REC_USER | ABI_REC_CUT, zero, 4, 512, false, 2, false);
	expect(ABI_REC_CUT_INSIDE | ABI_REC_CUT, zero, 4, 512, false, 2, true);
	expect(ABI_REC_USER | ABI_REC_CUT, kernel, 4, 512, true, 2, false);
	expect(ABI_REC_USER, kernel, 4, 512, false, 2, false);
}

/* Readers of the log's format have no room for more. */
static void test_room(void **state)
{
	expect(ABI_REC_USER, code, 4, 4, false, 4, false);
	expect(ABI_REC_USER, code, 4, 3, false, 3, true);
}

/* A chain that was unwound says itself how it ended. */
static void test_end(void **state)
{
	static const uint64_t kernel[] = { 0x1000, KERNEL };
	struct abi_rec rec = { .n = 4, .flags = ABI_REC_USER, .end = PMC_CHAIN_WHOLE };
	struct pmclog_ev_callchain c;

	assert_false(chain_take(&c, &rec, code, 512, false));
	assert_int_equal(c.pl_cpuflags, PMC_CC_F_USERSPACE | PMC_CC_F_END(PMC_CHAIN_WHOLE));
	assert_true(chain_take(&c, &rec, code, 3, false));
	assert_int_equal(PMC_CC_F_TO_END(c.pl_cpuflags), PMC_CHAIN_DEPTH);
	rec.end = PMC_CHAIN_STACK;
	rec.pointers = 1;
	assert_true(chain_take(&c, &rec, code, 512, false));
	assert_int_equal(c.pl_cpuflags, PMC_CC_F_USERSPACE | PMC_CC_F_CUT | PMC_CC_F_POINTERS |
					PMC_CC_F_END(PMC_CHAIN_STACK));
	rec.n = 2;
	assert_true(chain_take(&c, &rec, kernel, 512, false));
	assert_int_equal(PMC_CC_F_TO_END(c.pl_cpuflags), PMC_CHAIN_KERNEL);
	rec.end = PMC_CHAIN_ENDS;
	assert_false(chain_take(&c, &rec, code, 512, false));
	assert_int_equal(PMC_CC_F_TO_END(c.pl_cpuflags), PMC_CHAIN_NOT_RECORDED);
}

static void test_counts(void **state)
{
	struct wire_losses n = { .chains = 0 };

	chain_count(&n, PMC_CC_F_USERSPACE);
	chain_count(&n, PMC_CC_F_CUT);
	chain_count(&n, PMC_CC_F_END(PMC_CHAIN_WHOLE) | PMC_CC_F_POINTERS);
	chain_count(&n, PMC_CC_F_END(PMC_CHAIN_WHOLE) | PMC_CC_F_CUT);
	chain_count(&n, PMC_CC_F_END(PMC_CHAIN_TABLE) | PMC_CC_F_CUT | 7u << 16);
	assert_int_equal(n.chains, 5);
	assert_int_equal(n.ended, 3);
	assert_int_equal(n.whole, 1);
	assert_int_equal(n.pointers, 1);
	assert_int_equal(n.cut, 3);
	assert_int_equal(n.cuts[PMC_CHAIN_NOT_RECORDED], 1);
	assert_int_equal(n.cuts[PMC_CHAIN_WHOLE], 1);
	assert_int_equal(n.cuts[PMC_CHAIN_TABLE], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_ended_before), cmocka_unit_test(test_room),
		cmocka_unit_test(test_end), cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
