/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile made by hand, with answers for the calls of symbol.h and walk.h that writers make: two
 * images, one of them the kernel, a function inlined in another, names with special characters.
 */
#ifndef TESTS_UNIT_REPORT_FIXTURE_H
#define TESTS_UNIT_REPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/report/report.h"

#define HOSTILE "a;b\n<&\"]]>\x01\xff"
#define BASE	0x1000u		/* an image's addresses, less its offsets */

static struct image images[] = {
	{ .path = "/bin/work", .name = "work", .state = IMAGE_OPEN, .debug = true,
	  .id = { 0xab, 0xcd }, .idlen = 2, .number = 0 },
	{ .path = "[kernel.kallsyms]", .name = "[kernel.kallsyms]", .state = IMAGE_OPEN,
	  .kernel = true, .number = 1 },
	{ .path = "/lib/odd, \"so\"", .name = "work", .state = IMAGE_STRIPPED,
	  .why = "no symbols", .number = 2 },
	{ .path = "/tmp/perf-9.map", .name = "perf-9.map", .state = IMAGE_OPEN, .number = 3 },
};

enum { MAIN, HOT, MIX, ODD, BARE, TICK, JIT, LOST };
static struct symbol code[] = {
	[MAIN] = { &images[0], "main", 0x100, 0x100, MAIN, false },
	[HOT] = { &images[0], "hot", 0x200, 0x100, HOT, false },
	[MIX] = { &images[0], "mix", 0, 0, MIX, true },
	[ODD] = { &images[2], HOSTILE, 0x400, 0x10, ODD, false },
	[BARE] = { &images[2], NULL, 0x500, 0, BARE, false },
	[TICK] = { &images[1], "tick", 0x600, 0x10, TICK, false },
	[JIT] = { &images[3], "(1) jitted", 0x700, 0x10, JIT, false },
	[LOST] = { NULL, NULL, 0x7fff0000, 0, LOST, false },
};

/* At each place: one frame, or two if something is inlined there. */
enum { AT_MAIN, AT_HOT, AT_MIX, AT_ODD, AT_BARE, AT_TICK, AT_JIT, AT_LOST, AT_HOT2, NPLACES };
static struct place places[] = {
	[AT_MAIN] = { &images[0], 0x111, true, false },
	[AT_HOT] = { &images[0], 0x222, false, false },
	[AT_MIX] = { &images[0], 0x230, false, false },
	[AT_ODD] = { &images[2], 0x404, false, false },
	[AT_BARE] = { &images[2], 0x500, false, false },
	[AT_TICK] = { &images[1], 0x604, false, false },
	[AT_JIT] = { &images[3], 0x704, false, false },
	[AT_LOST] = { NULL, 0x7fff0000, false, false },
	[AT_HOT2] = { &images[0], 0x241, true, false },
};
static const struct frame frames[NPLACES][2] = {
	[AT_MAIN] = { { &code[MAIN], "work.c", 30 } }, [AT_HOT] = { { &code[HOT], "work.c", 20 } },
	[AT_MIX] = { { &code[MIX], "mix.h", 5 }, { &code[HOT], "work.c", 21 } },
	[AT_ODD] = { { &code[ODD], NULL, 0 } }, [AT_BARE] = { { &code[BARE], NULL, 0 } },
	[AT_TICK] = { { &code[TICK], NULL, 0 } }, [AT_JIT] = { { &code[JIT], NULL, 0 } },
	[AT_LOST] = { { &code[LOST], NULL, 0 } }, [AT_HOT2] = { { &code[HOT], "work.c", 22 } },
};

enum { NO_STACK, MAIN_, MAIN_HOT, MAIN_MIX, MAIN_HOT_HOT, ODD_, BARE_, MAIN_TICK, JIT_, LOST_ };
static struct stack stacks[] = {
	[MAIN_] = { STACK_NONE, AT_MAIN }, [MAIN_HOT] = { MAIN_, AT_HOT },
	[MAIN_MIX] = { MAIN_, AT_MIX }, [MAIN_HOT_HOT] = { 0, AT_HOT },
	[ODD_] = { STACK_NONE, AT_ODD }, [BARE_] = { STACK_NONE, AT_BARE },
	[MAIN_TICK] = { MAIN_, AT_TICK }, [JIT_] = { STACK_NONE, AT_JIT },
	[LOST_] = { STACK_NONE, AT_LOST },
};

struct symbols {
	int unused;
};
struct walk {
	struct walk_event events[3];
	struct walk_process processes[2];
	struct walk_thread thread;
	struct walk_stats stats;
	size_t nevents, nprocesses;
};

static struct symbols symbols;
static struct walk walk;
static struct tally tallies[16];
static uint64_t event_samples[3];
static struct profile profile;
static struct report report;

const struct walk_event *walk_event(const struct walk *w, uint32_t number)
{
	return number < w->nevents ? &w->events[number] : NULL;
}

const struct walk_process *walk_process(const struct walk *w, uint32_t number)
{
	return number < w->nprocesses ? &w->processes[number] : NULL;
}

const struct walk_thread *walk_thread(const struct walk *w, pid_t tid)
{
	return tid == w->thread.tid ? &w->thread : NULL;
}

const struct walk_stats *walk_stats(const struct walk *w)
{
	return &w->stats;
}

struct walk_stats *walk_count(struct walk *w)
{
	return &w->stats;
}

const struct frame *symbols_frames(struct symbols *s, const struct place *place, size_t *n)
{
	const struct frame *at = frames[place - places];

	assert_ptr_equal(s, &symbols);
	*n = at[1].symbol ? 2 : 1;
	return at;
}

const struct symbol *symbols_function(struct symbols *s, const struct place *place)
{
	size_t n;
	const struct frame *at = symbols_frames(s, place, &n);

	return at[n - 1].symbol;
}

uint64_t image_address(struct symbols *s, struct image *image, uint64_t offset)
{
	assert_non_null(image);
	return BASE + offset;
}

const char *symbol_text(const struct symbol *symbol, char room[static 24])
{
	if (symbol->name)
		return symbol->name;
	snprintf(room, 24, "0x%llx", (unsigned long long)symbol->start);
	return room;
}

bool symbols_is_jitdump(const char *path)
{
	return false;
}

const struct image *symbols_each(const struct symbols *s, size_t i)
{
	return i < sizeof(images) / sizeof(images[0]) ? &images[i] : NULL;
}

/* One process and two PMCs of one event, without a sample. */
static int make_profile(void **state)
{
	walk = (struct walk){
		.events = { { "CPU/X.1", "CPU/X.1.1", 1, .rate = 100 },
			    { "CPU/X.1", "CPU/X.1.2", 2, .rate = 100 },
			    { "FAULT", "FAULT", 3, .first = 2 } },
		.processes = { { .pid = 10, .name = "work", .path = "/bin/work", .number = 0 },
			       { .pid = 11, .name = "work", .number = 1 } },
		.thread = { 12, "helper" }, .nevents = 3, .nprocesses = 2,
		.stats = { .seconds = 2, .began = { 1700000000, 5 }, .cpu = "cpu" },
	};
	stacks[MAIN_HOT_HOT].caller = MAIN_HOT;
	memset(event_samples, 0, sizeof(event_samples));
	profile = (struct profile){
		.symbols = &symbols, .walk = &walk, .places = places, .stacks = stacks,
		.tallies = tallies, .nplaces = NPLACES,
		.nstacks = sizeof(stacks) / sizeof(stacks[0]),
		.event_samples = event_samples, .nevents = 3,
	};
	report = (struct report){ .profile = &profile, .log = "log" };
	return 0;
}

static void add(uint32_t event, uint32_t process, pid_t tid, uint32_t stack, uint64_t samples)
{
	assert_in_range(profile.ntallies, 0, sizeof(tallies) / sizeof(tallies[0]) - 1);
	tallies[profile.ntallies++] = (struct tally){ event, process, tid, stack, samples,
						      samples };
	profile.samples += samples;
	event_samples[event] += samples;
}

#endif
