/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * truth [-d PID] PROGRAM ARGUMENT...: "samples N, whole N, equal N, shorter N, longer N, wrong N,
 * signal N, frames N" and how ours were cut; beside the daemon PID the same of the walk in the
 * kernel, "kernel: ...".  Fails if a frame of ours is not libdwfl's, or one is missing without a
 * reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bpf/unwind/unwind_abi.h"
#include "truth.h"

struct tally {
	unsigned long samples, whole, equal, shorter, longer, wrong, signal, frames;
	unsigned long ends[UNWIND_CUTS];
};
static struct tally user_tally, kernel_tally;

static void mapping(const struct truth_mapping *m)
{
	ours_mapping(m);
	dwfl_mapping(m);
}

static void show(const char *name, const struct truth_chain *c)
{
	fprintf(stderr, "%s:", name);
	for (unsigned int i = 0; i < c->n; i++)
		fprintf(stderr, " %llx", (unsigned long long)c->pc[i]);
	fprintf(stderr, "\n");
}

/* For what our walker stops and libdwfl goes on, by frame pointers or other registers … */
static bool has_reason(int end)
{
	return end == UNWIND_CUT_RULE || end == UNWIND_CUT_FORM || end == UNWIND_CUT_REGISTER ||
	       end == UNWIND_CUT_TABLE || end == UNWIND_CUT_UNMAPPED;
}

/* … and in the kernel, where memory may be away and tables may change. */
static bool has_kernel_reason(int end)
{
	return has_reason(end) || end == UNWIND_CUT_PROCESS || end == UNWIND_CUT_CHANGING ||
	       end == UNWIND_CUT_STACK;
}

/* Whether a chain of ours contradicts libdwfl's. */
static bool is_wrong(const struct truth_chain *ours, const struct truth_chain *theirs, bool reason)
{
	const unsigned int both = ours->n < theirs->proven ? ours->n : theirs->proven;

	return memcmp(ours->pc, theirs->pc, both * sizeof(ours->pc[0])) != 0 ||
	       (ours->n < theirs->proven && !reason) ||
	       (ours->n > theirs->n && theirs->proven == theirs->n && !theirs->end);
}

static void compare(struct tally *t, const char *name, const struct truth_chain *ours,
		    const struct truth_chain *theirs, bool reason)
{
	t->samples++;
	t->whole += ours->end == UNWIND_WHOLE;
	t->ends[ours->end]++;
	t->signal += ours->signal;
	t->frames += ours->n;
	if (is_wrong(ours, theirs, reason)) {
		t->wrong++;
		fprintf(stderr, "%s ends: %s\n", name, ours_end(ours->end));
		show(name, ours);
		show("libdwfl", theirs);
	} else if (ours->n == theirs->n && !memcmp(ours->pc, theirs->pc,
						   ours->n * sizeof(ours->pc[0]))) {
		t->equal++;
	} else if (ours->n < theirs->n) {
		t->shorter++;
	} else {
		/* Beyond a frame without information there is nothing of libdwfl's to compare. */
		t->longer += !theirs->guess;
	}
}

static void sample(const struct truth_sample *s)
{
	static struct truth_chain ours, theirs, kernels;

	ours_walk(s, &ours);
	dwfl_walk(s, &theirs);
	compare(&user_tally, "ours", &ours, &theirs, has_reason(ours.end));
	/* For a register that it lacks libdwfl has no error: ours, from the same copy, has. */
	theirs.end |= ours.end == UNWIND_CUT_REGISTER && ours.n == theirs.n;
	if (kernel_walk(s, &kernels))
		compare(&kernel_tally, "kernel", &kernels, &theirs,
			has_kernel_reason(kernels.end));
}

static void print(const char *name, const struct tally *t)
{
	printf("%ssamples %lu, whole %lu, equal %lu, shorter %lu, longer %lu, wrong %lu, "
	       "signal %lu, frames %lu\n", name, t->samples, t->whole, t->equal, t->shorter,
	       t->longer, t->wrong, t->signal, t->frames);
	for (int i = 1; i < UNWIND_CUTS; i++)
		if (t->ends[i])
			printf("%scut: %s %lu\n", name, ours_end(i), t->ends[i]);
}

int main(int argc, char **argv)
{
	const struct truth_sink sink = { .mapping = mapping, .sample = sample };
	const bool beside = argc > 2 && !strcmp(argv[1], "-d");
	int status;

	argv += beside ? 3 : 1;
	if (argc < (beside ? 4 : 2)) {
		fprintf(stderr, "usage: truth [-d pid] program [argument ...]\n");
		return 2;
	}
	status = truth_run(argv, beside ? atoi(argv[-1]) : 0, &sink);
	print("", &user_tally);
	if (beside)
		print("kernel: ", &kernel_tally);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "truth: %s: status 0x%x\n", argv[0], (unsigned int)status);
		return 2;
	}
	return user_tally.wrong || kernel_tally.wrong;
}
