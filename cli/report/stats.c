/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a log could be resolved: FreeBSD's statistics, and notes on missing data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/log/log.h"
#include "cli/common/common.h"
#include "print.h"
#include "report.h"

#define DUBIOUS_PERCENT 5.0	/* of frames: with more, chains are unreliable */
#define IMAGES_TOLD	8u

/* Executed programs; one counts as ELF if its file could be opened. */
static void execs_count(const struct profile *p, struct walk_stats *s)
{
	const struct walk_process *process;
	const struct image *image;

	s->exec_elf = s->exec_unknown = s->exec_errors = 0;
	for (uint32_t i = 0; (process = walk_process(p->walk, i)); i++) {
		bool elf = false;

		if (!process->execed)
			continue;
		for (size_t k = 0; process->path && !elf; k++) {
			image = symbols_each(p->symbols, k);
			if (!image)
				break;
			elf = strcmp(image->path, process->path) == 0 &&
			      (image->state == IMAGE_OPEN || image->state == IMAGE_STRIPPED ||
			       image->state == IMAGE_REPLACED);
		}
		s->exec_elf += elf;
		s->exec_unknown += !elf && process->path;
		s->exec_errors += !process->path;
	}
}

/* Frames outside all mappings, counted for each stack: of programs and of the kernel. */
struct dubious {
	uint32_t *user, *kernel;
};

/* A caller has a smaller number than the functions that it calls. */
static int dubious_count(const struct profile *p, struct dubious *d)
{
	d->user = calloc(p->nstacks, sizeof(*d->user));
	d->kernel = calloc(p->nstacks, sizeof(*d->kernel));
	if (!d->user || !d->kernel)
		return -ENOMEM;
	for (size_t i = 1; i < p->nstacks; i++) {
		const struct place *place = &p->places[p->stacks[i].place];
		bool kernel = place->offset & WALK_KERNEL;

		d->user[i] = d->user[p->stacks[i].caller] +
			     (!place->image && !kernel && !place->cut);
		d->kernel[i] = d->kernel[p->stacks[i].caller] + (!place->image && kernel);
	}
	return 0;
}

/* Addresses of samples that could not be resolved. */
struct gaps {
	uint64_t *missed;	/* the samples of each image that have no name */
	uint64_t kernel;	/* samples of the kernel outside all mappings */
	uint64_t user_frames;	/* frames of programs outside all mappings */
};

static int samples_count(const struct profile *p, struct walk_stats *s, struct gaps *g)
{
	struct dubious dubious = { 0 };
	size_t images = 0;
	int err = dubious_count(p, &dubious);

	while (symbols_each(p->symbols, images))
		images++;
	g->missed = calloc(images + 1, sizeof(*g->missed));
	if (err || !g->missed) {
		err = -ENOMEM;
		goto out;
	}
	s->unknown_object = s->unknown_function = s->dubious_frames = 0;
	for (size_t i = 0; i < p->ntallies; i++) {
		const struct tally *t = &p->tallies[i];
		const struct place *place = &p->places[p->stacks[t->stack].place];
		const struct symbol *symbol = symbols_function(p->symbols, place);

		g->user_frames += t->taken * dubious.user[t->stack];
		s->dubious_frames += t->taken * dubious.kernel[t->stack];
		if (!place->image)
			s->unknown_object += t->taken;
		else if (!symbol || !symbol->name)
			g->missed[place->image->number] += t->taken;
		if (!place->image && place->offset & WALK_KERNEL)
			g->kernel += t->taken;
	}
	s->dubious_frames += g->user_frames;
	for (size_t i = 0; i < images; i++)
		s->unknown_function += g->missed[i];
out:
	free(dubious.user);
	free(dubious.kernel);
	return err;
}

static int stats_count(const struct report *r, struct gaps *g)
{
	struct walk_stats *s = walk_count(r->profile->walk);

	execs_count(r->profile, s);
	return samples_count(r->profile, s, g);
}

int report_count(const struct report *r)
{
	struct gaps gaps = { 0 };
	int err = stats_count(r, &gaps);

	free(gaps.missed);
	return err;
}

static void stats_line(struct buf *out, const char *name, uint64_t n, bool zeros)
{
	if (n || zeros)
		buf_printf(out, " %-40s %llu\n", name, (unsigned long long)n);
}

/* Images that have samples but no names, most samples first. */
static void stats_images(const struct report *r, uint64_t *missed)
{
	const uint64_t passed = walk_stats(r->profile->walk)->passed;
	const struct image *image, *worst;

	for (unsigned int n = 0; n < IMAGES_TOLD; n++) {
		worst = NULL;
		for (size_t i = 0; (image = symbols_each(r->profile->symbols, i)); i++)
			if (image->why && missed[i] &&
			    (!worst || missed[i] > missed[worst->number]))
				worst = image;
		if (!worst)
			return;
		note("WARNING: no names for %llu samples (%.1f%%): %s",
		     (unsigned long long)missed[worst->number],
		     percent(missed[worst->number], passed), worst->why);
		missed[worst->number] = 0;
	}
}

static uint64_t dubious_frames(const struct profile *p)
{
	uint32_t *depth = calloc(p->nstacks, sizeof(*depth));
	uint64_t frames = 0;

	for (size_t i = 1; depth && i < p->nstacks; i++)
		depth[i] = depth[p->stacks[i].caller] + !p->places[p->stacks[i].place].cut;
	for (size_t i = 0; depth && i < p->ntallies; i++)
		frames += p->tallies[i].taken * depth[p->tallies[i].stack];
	free(depth);
	return frames;
}

/* The log has the kernel's address, so its daemon could read the kernel's symbols. */
static bool log_maps_kernel(const struct report *r)
{
	const struct image *image;

	for (size_t i = 0; (image = symbols_each(r->profile->symbols, i)); i++)
		if (image->kernel && strcmp(image->path, SYMBOLS_HIDDEN) != 0)
			return true;
	return false;
}

static void stats_gaps(const struct report *r, const struct walk_stats *s, const struct gaps *g)
{
	uint64_t unknown = s->unknown_object;

	if (s->cut)
		log_note_cut(r->log, "report");
	log_note_gaps(r->log, s->drops, s->lost);
	chains_note_cut(r->log, &s->ends);
	if (s->waits.dropped)
		note("WARNING: \"%s\" lacks %llu waits (%.3f s): more than "
		     "kern.hwpmc.offcpurate of a CPU in a second, or no room; a higher threshold "
		     "(-c, -n) has fewer", r->log, (unsigned long long)s->waits.dropped,
		     (double)s->waits.dropped_ns / 1e9);
	if (s->waits.unknown)
		note("WARNING: \"%s\" lacks %llu waits of unknown length: the kernel has not "
		     "reported a context switch", r->log, (unsigned long long)s->waits.unknown);
	if (s->samples && !s->passed)
		note("WARNING: none of the %llu samples in \"%s\" passes the filters",
		     (unsigned long long)s->samples, r->log);
	if (g->kernel && !log_maps_kernel(r)) {
		unknown -= g->kernel;
		note("WARNING: no names for %llu samples (%.1f%%) of the kernel: when \"%s\" was "
		     "recorded, the kernel hid its symbols from pmcbpfd or from the recording user "
		     "(kernel.kptr_restrict, no CAP_SYSLOG, or a sandbox without /proc/kallsyms); "
		     "\"pmccontrol --doctor\" on that machine names which",
		     (unsigned long long)g->kernel, percent(g->kernel, s->passed),
		     r->log);
	}
	if (s->passed && unknown == s->passed)
		note("WARNING: no mapping in \"%s\" explains its samples: only addresses can "
		     "be shown", r->log);
	else if (percent(g->user_frames, dubious_frames(r->profile)) > DUBIOUS_PERCENT)
		note("WARNING: %.1f%% of the frames in call chains lie in no file: compile with "
		     "-fno-omit-frame-pointer to have their callers",
		     percent(g->user_frames, dubious_frames(r->profile)));
}

void report_statistics(const struct report *r, bool zeros, struct buf *out)
{
	struct walk_stats *s = walk_count(r->profile->walk);
	struct gaps gaps = { 0 };

	if (stats_count(r, &gaps) != 0) {
		free(gaps.missed);
		out->failed = true;
		return;
	}
	buf_printf(out, "CONVERSION STATISTICS:\n");
	stats_line(out, "#exec/a.out", 0, zeros);
	stats_line(out, "#exec/elf", s->exec_elf, zeros);
	stats_line(out, "#exec/unknown", s->exec_unknown, zeros);
	stats_line(out, "#exec handling errors", s->exec_errors, zeros);
	stats_line(out, "#samples/total", s->samples, zeros);
	stats_line(out, "#samples/unclaimed", s->unknown_event, zeros);
	stats_line(out, "#samples/unknown-object", s->unknown_object, zeros);
	stats_line(out, "#samples/unknown-function", s->unknown_function, zeros);
	stats_line(out, "#callchain/dubious-frames", s->dubious_frames, zeros);
	stats_line(out, "#callchain/cut", s->ends.cut, false);
	stats_line(out, "#callchain/whole", s->ends.whole, false);
	stats_line(out, "#callchain/frame-pointers", s->ends.pointers, false);
	stats_line(out, "#waits/short", s->waits.below, false);
	stats_line(out, "#waits/short-ns", s->waits.below_ns, false);
	stats_line(out, "#waits/dropped", s->waits.dropped, false);
	stats_line(out, "#waits/dropped-ns", s->waits.dropped_ns, false);
	stats_line(out, "#waits/unknown", s->waits.unknown, false);
	stats_gaps(r, s, &gaps);
	stats_images(r, gaps.missed);
	free(gaps.missed);
}
