/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample_values.h. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/logvalues.h"
#include "pmc.h"
#include "sample_values.h"

_Static_assert(ABI_VALUES == PMCLOG_VALUES && 1 << ABI_VALUE_PERIOD == PMCLOG_VALUE_PERIOD &&
	       1 << ABI_VALUE_CGROUP == PMCLOG_VALUE_CGROUP &&
	       1 << ABI_VALUE_USER_REGS == PMCLOG_VALUE_USER_REGS &&
	       1 << ABI_VALUE_BRANCHES == PMCLOG_VALUE_BRANCHES &&
	       1 << ABI_VALUE_RAW == PMCLOG_VALUE_RAW && ABI_RAW == LOGVALUE_RAW_MAX &&
	       ABI_BRANCHES == LOGVALUE_BRANCH_MAX, "the log's values and the ring's");
_Static_assert(ABI_VALUES + 2 * (1 + LOGVALUE_REGS_MAX) + 3 * ABI_BRANCHES <= PMCLOG_VALUES_MAX &&
	       ABI_VALUES + ABI_RAW / 8 <= PMCLOG_VALUES_MAX,
	       "a record has room for all values of an overflow, and for those of a hit");
#define VALUES_OF_OVERFLOW (1u << ABI_VALUE_USER_REGS | 1u << ABI_VALUE_INTR_REGS | \
			    1u << ABI_VALUE_BRANCHES)

/* perf's mask of the registers, and the places of its bits in struct pt_regs. */
#ifdef __aarch64__
#define MACHINE	  EM_AARCH64
#define REGS_MASK 0x1ffffffffull

static unsigned int register_place(unsigned int bit)
{
	return bit;
}

static bool registers_are_32(const __u64 *regs)
{
	return regs[33] & 0x10;			/* of the processor's state */
}
#else
#define MACHINE	  EM_X86_64
#define REGS_MASK 0xff0fffull
#define PLACE_CS  17u
#define PLACE_SS  20u

static unsigned int register_place(unsigned int bit)
{
	static const uint8_t place[] = {
		10, 5, 11, 12, 13, 14, 4, 19, 16, 18, PLACE_CS, PLACE_SS, 0, 0, 0, 0,
		9, 8, 7, 6, 3, 2, 1, 0,
	};

	return place[bit];
}

static bool registers_are_32(const __u64 *regs)
{
	return (uint16_t)regs[PLACE_CS] == 0x23;	/* user code's segment of 32 bits */
}
#endif

static void words_add(struct pmclog_ev_values *v, const void *from, unsigned int n)
{
	memcpy(v->pl_word + v->pl_nwords, from, n * sizeof(v->pl_word[0]));
	v->pl_nwords += n;
}

static void registers_add(struct pmclog_ev_values *v, const __u64 *regs, bool there)
{
	uint64_t head[2] = { (uint64_t)MACHINE << 32, REGS_MASK };

	if (there)
		head[0] |= registers_are_32(regs) ? LOGVALUE_ABI_32 : LOGVALUE_ABI_64;
	words_add(v, head, there ? 2 : 1);
	for (unsigned int bit = 0; there && REGS_MASK >> bit; bit++) {
		uint64_t value = REGS_MASK >> bit & 1 ? regs[register_place(bit)] : 0;

#ifdef PLACE_CS		/* Linux has words of its own beside the selector. */
		if (register_place(bit) == PLACE_CS || register_place(bit) == PLACE_SS)
			value = (uint16_t)value;
#endif
		if (REGS_MASK >> bit & 1)
			words_add(v, &value, 1);
	}
}

static void value_add(struct pmclog_ev_values *v, unsigned int bit, const struct abi_values *from)
{
	uint64_t n = from->word[bit];

	switch (bit) {
	case ABI_VALUE_USER_REGS:
		registers_add(v, from->user_regs, n);
		break;
	case ABI_VALUE_INTR_REGS:
		registers_add(v, from->intr_regs, n);
		break;
	case ABI_VALUE_BRANCHES:
		n = n < ABI_BRANCHES ? n : ABI_BRANCHES;
		words_add(v, &n, 1);
		words_add(v, from->branch[0], 3 * (unsigned int)n);
		break;
	case ABI_VALUE_RAW:
		words_add(v, &n, 1);
		words_add(v, from->raw, ((uint32_t)n + 7) / 8);
		break;
	default:
		words_add(v, &n, 1);
	}
}

static bool values_valid(const struct abi_values *v)
{
	return !(v->values >> ABI_VALUE_RAW & 1) ||
	       (!(v->values & VALUES_OF_OVERFLOW) && (uint32_t)v->word[ABI_VALUE_RAW] <= ABI_RAW);
}

bool sample_values_take(struct kept_records *kept, const struct abi_rec *rec,
			struct pmclog_ev_values *v)
{
	struct abi_values from = { 0 };
	size_t words;
	const uint64_t *data = kept_record_take(kept, ABI_REC_VALUES, rec, &words);

	if (!data || words > sizeof(from) / sizeof(*data))
		return false;
	memcpy(&from, data, words * sizeof(*data));
	if (!values_valid(&from))
		return false;
	v->pl_values = (uint32_t)from.values & ((1u << PMCLOG_VALUES) - 1);
	v->pl_nwords = 0;
	for (unsigned int bit = 0; bit < PMCLOG_VALUES; bit++)
		if (v->pl_values >> bit & 1)
			value_add(v, bit, &from);
	return true;
}

int sample_values_put(struct kept_records *kept, const struct abi_rec *rec, const struct pmc *p,
		      struct value_clock *clock)
{
	struct pmclog_ev ev;	/* not worth clearing */
	struct pmclog_ev_values *v = &ev.pl_u.pl_v;

	if (!sample_values_take(kept, rec, v))
		return -ENOENT;
	ev.pl_type = PMCLOG_TYPE_VALUES;
	v->pl_pmcid = p->id;
	if (v->pl_values & PMCLOG_VALUE_PERIOD)
		v->pl_word[0] = value_record_ticks(clock, ABI_REC_VALUES, v->pl_word[0]);
	return logfile_put(p->owner->log, rec->time, &ev);
}
