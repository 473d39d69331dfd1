/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * truth: runs a program, samples its registers with a copy of its stack, and walks each sample
 * by the product's tables and walker, by libdwfl, and, beside a daemon, by the product's program in
 * the kernel.
 */
#ifndef PMCBPF_TESTS_TRUTH_H
#define PMCBPF_TESTS_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "truth_abi.h"

#define TRUTH_STACK  40960u		/* bytes of the stack in a sample */

#ifdef __aarch64__
#define TRUTH_REGS 33u			/* by DWARF's numbers; the last one is the PC */
#define TRUTH_FP   29
#define TRUTH_LR   30
#else
#define TRUTH_REGS 17u
#define TRUTH_FP   6
#define TRUTH_LR   16			/* there is none */
#endif
#define TRUTH_PC   (TRUTH_REGS - 1)

struct truth_mapping {
	uint64_t start, size, offset;
	const char *path;
	int fd;				/* -1: the file cannot be opened */
};

struct truth_sample {
	pid_t pid, tid;
	uint64_t regs[TRUTH_REGS];
	const uint8_t *stack;		/* from the stack pointer on */
	uint64_t nstack;
};

struct truth_chain {
	uint64_t pc[TRUTH_FRAMES];
	unsigned int n;
	unsigned int proven;		/* libdwfl's: so many do not follow from a guess */
	bool guess;			/* libdwfl's: the last of them has no information */
	int end;			/* ours: enum unwind_cut */
	bool signal;			/* ours: it goes through a signal handler's frame */
};

/* Returns whether the bytes are in the sample's copy. */
static inline bool truth_read(const struct truth_sample *s, uint64_t address, void *to, size_t n)
{
	const uint64_t at = address - s->regs[TRUTH_SP];

	if (address < s->regs[TRUTH_SP] || at > s->nstack || n > s->nstack - at)
		return false;
	__builtin_memcpy(to, s->stack + at, n);
	return true;
}

/* truth_sample.c: calls back in the order in which things happened. */
struct truth_sink {
	void (*mapping)(const struct truth_mapping *m);
	void (*sample)(const struct truth_sample *s);
};
/* `daemon`: see kernel_attach(); 0: none.  Returns the program's status, as wait(2) has it. */
int truth_run(char **argv, pid_t daemon, const struct truth_sink *sink);

/* truth_ours.c */
void ours_mapping(const struct truth_mapping *m);
void ours_walk(const struct truth_sample *s, struct truth_chain *out);
const char *ours_end(int end);

/* truth_kernel.c: the program in the kernel runs at the event, with that daemon's tables. */
void kernel_attach(pid_t daemon, int event);
/* False: it has not run, or the thread was in an exec. */
bool kernel_walk(const struct truth_sample *s, struct truth_chain *out);

/* truth_dwfl.c; end 0: at the outermost frame */
void dwfl_mapping(const struct truth_mapping *m);
void dwfl_walk(const struct truth_sample *s, struct truth_chain *out);

#endif
