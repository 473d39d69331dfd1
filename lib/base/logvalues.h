/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values that samples carry on request, written down once: bit i of enum pmclog_value is
 * logvalues[i].  Its name is the qualifier of an event specifier, the key in JSON and the word in
 * text.
 */
#ifndef PMCBPF_LOGVALUES_H
#define PMCBPF_LOGVALUES_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/pmclog.h>

enum logvalue_kind {
	LOGVALUE_COUNT,
	LOGVALUE_ADDRESS,
	LOGVALUE_BITS,			/* perf's word */
	LOGVALUE_REGISTERS,
	LOGVALUE_BRANCHES,
	LOGVALUE_RECORD,		/* a tracepoint's */
};
struct logvalue {
	const char *name;
	enum logvalue_kind kind;
};
extern const struct logvalue logvalues[PMCLOG_VALUES];

#define LOGVALUE_REGS_MAX   33u		/* registers of a machine */
#define LOGVALUE_BRANCH_MAX 64u		/* branches of a sample */
#define LOGVALUE_RAW_MAX    4096u	/* bytes of a tracepoint's record */

/* perf's ABI of registers. */
#define LOGVALUE_ABI_32 1u
#define LOGVALUE_ABI_64 2u

/* The words of a value that begins at `at`, of which `left` are there; 0: it is damaged. */
unsigned int logvalue_words(const struct logvalue *v, const uint64_t *at, unsigned int left);
/* True if exactly these values are in n words. */
bool logvalues_valid(uint32_t values, const uint64_t *word, unsigned int n);

/* The name of a register by its bit in perf's mask; NULL: it is not known. */
const char *logvalue_register(uint32_t machine, unsigned int bit);

#endif
