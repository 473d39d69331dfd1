/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * truth PROGRAM ARGUMENT...: "samples N, whole N, equal N, shorter N, longer N, wrong N, signal N,
 * frames N" and how ours were cut.  Fails if a frame of ours is not libdwfl's, or one is missing
 * without a reason.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "bpf/unwind/unwind_abi.h"
#include "truth.h"

static struct {
	unsigned long samples, whole, equal, shorter, longer, wrong, signal, frames;
	unsigned long ends[UNWIND_CUTS];
} tally;

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

/* For what our walker stops and libdwfl goes on, by frame pointers or other registers. */
static bool has_reason(int end)
{
	return end == UNWIND_CUT_RULE || end == UNWIND_CUT_FORM || end == UNWIND_CUT_REGISTER ||
	       end == UNWIND_CUT_TABLE || end == UNWIND_CUT_UNMAPPED;
}

static void sample(const struct truth_sample *s)
{
	static struct truth_chain ours, theirs;
	unsigned int both;

	ours_walk(s, &ours);
	dwfl_walk(s, &theirs);
	tally.samples++;
	tally.whole += ours.end == UNWIND_WHOLE;
	tally.ends[ours.end]++;
	tally.signal += ours.signal;
	tally.frames += ours.n;
	both = ours.n < theirs.n ? ours.n : theirs.n;
	if (memcmp(ours.pc, theirs.pc, both * sizeof(ours.pc[0])) != 0 ||
	    (ours.n < theirs.n && !has_reason(ours.end))) {
		tally.wrong++;
		fprintf(stderr, "ours ends: %s\n", ours_end(ours.end));
		show("ours", &ours);
		show("libdwfl", &theirs);
	} else if (ours.n == theirs.n) {
		tally.equal++;
	} else {
		*(ours.n < theirs.n ? &tally.shorter : &tally.longer) += 1;
	}
}

int main(int argc, char **argv)
{
	const struct truth_sink sink = { .mapping = mapping, .sample = sample };
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: truth program [argument ...]\n");
		return 2;
	}
	status = truth_run(argv + 1, &sink);
	printf("samples %lu, whole %lu, equal %lu, shorter %lu, longer %lu, wrong %lu, signal %lu, "
	       "frames %lu\n", tally.samples, tally.whole, tally.equal, tally.shorter,
	       tally.longer, tally.wrong, tally.signal, tally.frames);
	for (int i = 1; i < UNWIND_CUTS; i++)
		if (tally.ends[i])
			printf("cut: %s %lu\n", ours_end(i), tally.ends[i]);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "truth: %s: status 0x%x\n", argv[1], (unsigned int)status);
		return 2;
	}
	return tally.wrong != 0;
}
