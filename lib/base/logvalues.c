/* SPDX-License-Identifier: BSD-2-Clause */
/* See logvalues.h. */
#include <elf.h>
#include <stddef.h>

#include "logvalues.h"

const struct logvalue logvalues[PMCLOG_VALUES] = {
	{ "period", LOGVALUE_COUNT }, { "addr", LOGVALUE_ADDRESS },
	{ "phys-addr", LOGVALUE_ADDRESS }, { "data-page-size", LOGVALUE_COUNT },
	{ "code-page-size", LOGVALUE_COUNT }, { "cgroup", LOGVALUE_COUNT },
	{ "weight", LOGVALUE_COUNT }, { "data-src", LOGVALUE_BITS }, { "txn", LOGVALUE_BITS },
	{ "user-regs", LOGVALUE_REGISTERS }, { "intr-regs", LOGVALUE_REGISTERS },
	{ "branch", LOGVALUE_BRANCHES }, { "raw", LOGVALUE_RECORD },
};

unsigned int logvalue_words(const struct logvalue *v, const uint64_t *at, unsigned int left)
{
	unsigned int n = 1;

	if (!left)
		return 0;
	if (v->kind == LOGVALUE_REGISTERS && (uint32_t)at[0])
		n = left < 2 ? 2 : 2 + (unsigned int)__builtin_popcountll(at[1]);
	else if (v->kind == LOGVALUE_BRANCHES)
		n = at[0] > LOGVALUE_BRANCH_MAX ? ~0u : 1 + 3 * (unsigned int)at[0];
	else if (v->kind == LOGVALUE_RECORD)
		n = (uint32_t)at[0] > LOGVALUE_RAW_MAX ? ~0u : 1 + ((uint32_t)at[0] + 7) / 8;
	return n <= left ? n : 0;
}

bool logvalues_valid(uint32_t values, const uint64_t *word, unsigned int n)
{
	unsigned int at = 0;

	if (values >> PMCLOG_VALUES)
		return false;
	for (unsigned int i = 0; i < PMCLOG_VALUES; i++) {
		unsigned int words = values >> i & 1 ? logvalue_words(&logvalues[i], word + at,
								      n - at) : 0;

		if (values >> i & 1 && !words)
			return false;
		at += words;
	}
	return at == n;
}

const char *logvalue_register(uint32_t machine, unsigned int bit)
{
	static const char *const x86[] = {
		"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds",
		"es", "fs", "gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	};
	static const char *const arm64[] = {
		"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
		"x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24",
		"x25", "x26", "x27", "x28", "x29", "lr", "sp", "pc",
	};

	if (machine == EM_X86_64 && bit < sizeof(x86) / sizeof(x86[0]))
		return x86[bit];
	return machine == EM_AARCH64 && bit < sizeof(arm64) / sizeof(arm64[0]) ? arm64[bit] : NULL;
}
