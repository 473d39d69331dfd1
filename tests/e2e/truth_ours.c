/* SPDX-License-Identifier: BSD-2-Clause */
/* The product's tables and walker over a sample. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "loader/unwind/unwind.h"
#include "truth.h"

static int ours_read(const struct truth_sample *s, void *to, size_t n, uint64_t address)
{
	return truth_read(s, address, to, n) ? 0 : -1;
}

static int ours_register(const struct truth_sample *s, int number, void *to)
{
	if (number < 0 || number >= (int)TRUTH_REGS)
		return -1;
	memcpy(to, &s->regs[number], sizeof(s->regs[0]));
	return 0;
}

#define UNWIND_READ(arg, to, size, address) ours_read(arg, to, size, address)
#define UNWIND_REGISTER(arg, number, to)    ours_register(arg, number, to)
#include "bpf/unwind/unwind.bpf.h"

#ifdef __aarch64__
#define ARM64	  1
#define CODE_MASK ((1ull << 48) - 1)
#else
#define ARM64	  0
#define CODE_MASK (~0ull)
#endif

/* The newest mapping of an address is the one that counts. */
static struct mapping {
	struct truth_mapping at;
	bool good;
	struct unwind_table table;
} *mappings;
static unsigned int nmappings;

void ours_mapping(const struct truth_mapping *m)
{
	struct mapping *new;
	struct reason why;
	int err;

	if (array_extend(mappings, nmappings) != 0)
		errx(2, "no memory");
	new = &mappings[nmappings++];
	*new = (struct mapping){ .at = *m };
	if (m->fd < 0)
		return;
	err = unwind_table_build(&new->table, &(struct unwind_input){
		.fd = m->fd, .vdso = !strcmp(m->path, "[vdso]"),
	}, &why);
	new->good = !err;
	if (err)
		warnx("%s: %s", m->path, why.text);
}

static const struct mapping *ours_find(uint64_t address)
{
	for (unsigned int i = nmappings; i-- > 0;)
		if (address - mappings[i].at.start < mappings[i].at.size)
			return &mappings[i];
	return NULL;
}

/* One frame further; or how the chain ends. */
static int ours_step(struct unwind_regs *r, const struct truth_sample *s, bool *signal)
{
	const uint64_t place = unwind_place_of(r);
	const struct mapping *m = ours_find(place);
	const struct unwind_rule *rule;
	uint64_t address;

	if (!m)
		return UNWIND_CUT_UNMAPPED;
	if (!m->good)
		return UNWIND_CUT_TABLE;
	address = unwind_table_address(&m->table, place - m->at.start + m->at.offset);
	rule = &m->table.rules[unwind_table_rule(&m->table, address)];
	*signal |= rule->cfa == UNWIND_SIGNAL;
	return unwind_step(r, rule, ARM64, (void *)s);
}

void ours_walk(const struct truth_sample *s, struct truth_chain *out)
{
	struct unwind_regs r = {
		.pc = s->regs[TRUTH_PC], .sp = s->regs[TRUTH_SP], .fp = s->regs[TRUTH_FP],
		.lr = s->regs[TRUTH_LR], .mask = CODE_MASK, .exact = 1, .first = 1, .fp_known = 1,
		.lr_known = ARM64,
	};

	out->n = 0;
	out->signal = false;
	do {
		if (out->n == TRUTH_FRAMES) {
			out->end = UNWIND_CUT_DEPTH;
			return;
		}
		out->pc[out->n++] = r.pc;
		out->end = ours_step(&r, s, &out->signal);
	} while (out->end == UNWIND_CALLER);
	if (out->end == UNWIND_CUT_UNMAPPED && out->n > 1)
		out->n--;
}

const char *ours_end(int end)
{
	static const char *const names[UNWIND_CUTS] = {
		[UNWIND_WHOLE] = "whole", [UNWIND_CUT_DEPTH] = "depth",
		[UNWIND_CUT_UNMAPPED] = "unmapped", [UNWIND_CUT_TABLE] = "table",
		[UNWIND_CUT_RULE] = "rule", [UNWIND_CUT_FORM] = "form",
		[UNWIND_CUT_STACK] = "stack", [UNWIND_CUT_STUCK] = "stuck",
		[UNWIND_CUT_REGISTER] = "register", [UNWIND_CUT_PROCESS] = "process",
		[UNWIND_CUT_CHANGING] = "changing", [UNWIND_CUT_BITS32] = "bits32",
		[UNWIND_CUT_KERNEL] = "kernel",
	};

	return names[end];
}
