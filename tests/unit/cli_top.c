/* SPDX-License-Identifier: BSD-2-Clause */
/* The live view without a terminal: pictures of a small profile, byte for byte, and its keys. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/top/keys.h"

/* --- the profile ------------------------------------------------------------------------------ */

static struct image libc = { .path = "/lib/libc.so.6", .name = "libc.so.6" };
static struct image demo = { .path = "/opt/demo", .name = "demo" };
static struct image kernel = { .path = "[kernel.kallsyms]", .name = "[kernel.kallsyms]",
			       .kernel = true };

enum { MAIN, COPY, MEMCPY, NAMELESS, SCHEDULE, RARE, NOWHERE, NSYMBOLS };

static struct symbol symbols[NSYMBOLS] = {
	[MAIN] = { &demo, "main", 0x100, 0x80, MAIN, false },
	[COPY] = { &demo, "copy_in", 0x200, 0x80, COPY, false },
	[MEMCPY] = { &libc, "memcpy", 0x1000, 0x400, MEMCPY, false },
	[NAMELESS] = { &demo, NULL, 0x5000, 0, NAMELESS, false },
	[SCHEDULE] = { &kernel, "schedule", 0x9000, 0x100, SCHEDULE, false },
	[RARE] = { &libc, "rare", 0x2000, 0x10, RARE, false },
	[NOWHERE] = { NULL, NULL, 0x7f0000001234, 0, NOWHERE, false },
};

/* A function has one place, memcpy() two. */
static struct place places[] = {
	{ &demo, 0x120, true, false }, { &demo, 0x230, true, false },
	{ &libc, 0x1010, false, false }, { &demo, 0x5000, false, false },
	{ &kernel, 0x9020, false, false }, { &libc, 0x2004, false, false },
	{ NULL, 0x7f0000001234, false, false }, { &libc, 0x1020, false, false },
};
static const int symbol_of[] = { MAIN, COPY, MEMCPY, NAMELESS, SCHEDULE, RARE, NOWHERE, MEMCPY };

enum { IN_MAIN = 1, IN_COPY, IN_MEMCPY, IN_NAMELESS, IN_SCHEDULE, IN_RARE, IN_NOWHERE, IN_MEMCPY_2,
       IN_COPY_AGAIN };

static struct stack stacks[] = {
	[IN_MAIN] = { STACK_NONE, 0 }, [IN_COPY] = { IN_MAIN, 1 }, [IN_MEMCPY] = { IN_COPY, 2 },
	[IN_NAMELESS] = { IN_MAIN, 3 }, [IN_SCHEDULE] = { STACK_NONE, 4 },
	[IN_RARE] = { IN_MAIN, 5 }, [IN_NOWHERE] = { STACK_NONE, 6 },
	[IN_MEMCPY_2] = { IN_MAIN, 7 }, [IN_COPY_AGAIN] = { IN_COPY, 1 },
};

/* cycles on two CPUs, and faults. */
static struct tally tallies[] = {
	{ 0, 0, 100, IN_MEMCPY, 500, 0 },	{ 1, 0, 101, IN_MEMCPY, 40, 0 },
	{ 1, 0, 101, IN_MEMCPY_2, 60, 0 }, { 0, 0, 100, IN_COPY, 200, 0 },
	{ 0, 0, 100, IN_COPY_AGAIN, 90, 0 }, { 0, 0, 100, IN_NAMELESS, 45, 0 },
	{ 1, 1, 200, IN_SCHEDULE, 36, 0 }, { 0, 1, 200, IN_NOWHERE, 25, 0 },
	{ 0, 1, 200, IN_RARE, 4, 0 },	{ 2, 1, 200, IN_SCHEDULE, 250, 0 },
};
static uint64_t event_samples[] = { 864, 136, 250 };
static struct profile profile = {
	.places = places, .nplaces = 8, .stacks = stacks, .nstacks = 10, .tallies = tallies,
	.ntallies = sizeof(tallies) / sizeof(tallies[0]), .samples = 1250,
	.event_samples = event_samples, .nevents = 3,
};

static const struct walk_event events[] = {
	{ .name = "cycles", .unique = "cycles", .first = 0 },
	{ .name = "cycles", .unique = "cycles.1", .first = 0 },
	{ .name = "faults", .unique = "faults", .first = 2 },
};
static struct walk_process processes[] = {
	{ .pid = 100, .name = "demo", .number = 0 }, { .pid = 200, .name = "idle", .number = 1 },
};
static struct walk_thread thread = { 101, "worker" };

/* --- answers of names and the log ------------------------------------------------------------- */

const struct walk_event *walk_event(const struct walk *w, uint32_t number)
{
	return number < 3 ? &events[number] : NULL;
}

const struct walk_process *walk_process(const struct walk *w, uint32_t number)
{
	return number < 2 ? &processes[number] : NULL;
}

const struct walk_thread *walk_thread(const struct walk *w, pid_t tid)
{
	return tid == thread.tid ? &thread : NULL;
}

const struct symbol *symbols_function(struct symbols *s, const struct place *place)
{
	return &symbols[symbol_of[place - places]];
}

const struct frame *symbols_frames(struct symbols *s, const struct place *place, size_t *n)
{
	fail_msg("no view shows inlined functions");
	return NULL;
}

const char *symbol_text(const struct symbol *symbol, char room[static 24])
{
	if (symbol->name)
		return symbol->name;
	snprintf(room, 24, "0x%llx", (unsigned long long)symbol->start);
	return room;
}

uint64_t image_address(struct symbols *s, struct image *image, uint64_t offset)
{
	return offset + 0x400000;
}

/* --- pictures --------------------------------------------------------------------------------- */

#define CYCLES	  "PMC: [cycles] Samples: 1000 (80.0%) , 70 unresolved\n\n"
#define FAULTS	  "PMC: [faults] Samples: 250 (20.0%) , 0 unresolved\n\n"
#define FUNCTIONS "%SAMP IMAGE      FUNCTION             CALLERS\n"
#define TREE	  "%SAMP CALLTREE\n"
#define ALL	  .only = "", .threshold = 0.5, .depth = 16
#define ABOVE(n)  .only = "", .threshold = n, .depth = 16

static const struct look plain = { ALL };

static void expect_in(const struct look *look, unsigned int rows, unsigned int cols,
		      const char *remark, const char *text)
{
	struct picture p = { 0 };
	struct buf out = { 0 };

	picture_begin(&p, rows, cols);
	assert_int_equal(view_draw(&profile, look, remark, &p), 0);
	picture_plain(&p, &out);
	buf_add(&out, "", 1);
	assert_false(out.failed);
	assert_string_equal(out.data, text);
	buf_free(&out);
	picture_free(&p);
}

static void expect(const struct look *look, const char *text)
{
	expect_in(look, 24, 80, "", text);
}

static void test_views(void **state)
{
	static const struct {
		struct look look;
		const char *text;
	} views[] = {
		{ { ALL }, CYCLES FUNCTIONS
		  " 60.0 libc.so.6  memcpy               copy_in:90.0 main:10.0\n"
		  " 29.0 demo       copy_in              main:69.0 copy_in:31.0\n"
		  "  4.5 demo       0x5000               main:100.0\n"
		  "  3.6 kernel     schedule\n"
		  "  2.5 [unknown]  0x7f0000001234\n" },
		{ { ABOVE(30), .event = 2 }, FAULTS FUNCTIONS "100.0 kernel     schedule\n" },
		{ { ABOVE(30) }, CYCLES FUNCTIONS
		  " 60.0 libc.so.6  memcpy               copy_in:90.0\n" },
		{ { ALL, .apart = true, .event = 1 },
		  "PMC: [cycles.1] Samples: 136 (10.9%) , 0 unresolved\n\n" FUNCTIONS
		  " 73.5 libc.so.6  memcpy               main:60.0 copy_in:40.0\n"
		  " 26.5 kernel     schedule\n" },
		{ { ABOVE(5), .total = true }, CYCLES
		  "%SAMP IMAGE      FUNCTION+CALLEES     CALLERS\n"
		  " 93.9 demo       main\n"
		  " 83.0 demo       copy_in              main:89.2 copy_in:10.8\n"
		  " 60.0 libc.so.6  memcpy               copy_in:90.0 main:10.0\n" },
		{ { ABOVE(4), .offsets = true }, CYCLES FUNCTIONS
		  " 54.0 libc.so.6  memcpy+0x10          copy_in+0x30:100.0\n"
		  " 29.0 demo       copy_in+0x30         main+0x20:69.0 copy_in+0x30:31.0\n"
		  "  6.0 libc.so.6  memcpy+0x20          main+0x20:100.0\n"
		  "  4.5 demo       0x405000             main+0x20:100.0\n" },
		{ { ABOVE(20), .offsets = true, .addresses = true }, CYCLES FUNCTIONS
		  " 54.0 libc.so.6  0x401010             0x400230:100.0\n"
		  " 29.0 demo       0x400230             0x400120:69.0 0x400230:31.0\n" },
		{ { ALL, .kind = VIEW_TREE }, CYCLES TREE
		  " 93.9 main\n 83.0  copy_in\n 54.0   memcpy\n  9.0   copy_in\n"
		  "  6.0  memcpy\n  4.5  0x5000\n  3.6 schedule\n  2.5 0x7f0000001234\n" },
		/* What main() does besides is no more than that: it is a link. */
		{ { ABOVE(12), .kind = VIEW_TREE }, CYCLES TREE
		  " 93.9 main copy_in\n 54.0  memcpy\n" },
		{ { ABOVE(12), .kind = VIEW_TREE, .skip_links = true }, CYCLES TREE
		  " 93.9 . copy_in\n 54.0  memcpy\n" },
		{ { .only = "", .threshold = 12, .depth = 2, .kind = VIEW_TREE }, CYCLES TREE
		  " 93.9 main copy_in\n" },
		{ { ALL, .kind = VIEW_PROCESSES }, CYCLES
		  "%SAMP     PID PROCESS         FUNCTIONS\n"
		  " 93.5     100 demo            memcpy:64.2 copy_in:31.0 0x5000:4.8\n"
		  "  6.5     200 idle            schedule:55.4 0x7f0000001234:38.5 rare:6.2\n" },
		{ { .only = "DEM", .threshold = 0.5, .depth = 16, .kind = VIEW_THREADS }, CYCLES
		  "%SAMP     TID THREAD          PROCESS         FUNCTIONS\n"
		  " 83.5     100                 demo            memcpy:59.9 copy_in:34.7\n"
		  " 10.0     101 worker          demo            memcpy:100.0\n" },
		{ { .only = "", .event = 3 }, "PMC: none has left a record yet\n\n" FUNCTIONS },
	};

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		expect(&views[i].look, views[i].text);
}

static void test_small(void **state)
{
	expect_in(&plain, 2, 20, "Key: n => call tree",
		  "PMC: [cycles] Sample\n"
		  "Key: n => call tree\n");
	expect_in(&plain, 5, 46, "",
		  "PMC: [cycles] Samples: 1000 (80.0%) , 70 unres\n"
		  "\n"
		  "%SAMP IMAGE      FUNCTION             CALLERS\n"
		  " 60.0 libc.so.6  memcpy\n"
		  " 29.0 demo       copy_in\n");
	expect_in(&plain, 1, 1, "", "P\n");
}

static void test_hostile_names(void **state)
{
	/* Characters of two columns are not cut in the middle. */
	static const char *const names[][2] = {
		{ "a\033[2J\nb\200\t\177 stars \342\230\205\342\230\205",
		  FAULTS FUNCTIONS
		  "100.0 kernel     a?[2J?b??? stars \342\230\205\342\230\205\n" },
		{ "1234567890123456789\346\274\242",
		  FAULTS FUNCTIONS "100.0 kernel     1234567890123456789\n" },
	};
	const struct look look = { ALL, .event = 2 };

	for (int i = 0; i < 2; i++) {
		symbols[SCHEDULE].name = names[i][0];
		expect(&look, names[i][1]);
	}
	symbols[SCHEDULE].name = "schedule";
}

static void test_heat(void **state)
{
	static const double shares[] = { 10.1, 10, 5.1, 5, 2.6, 2.5 };
	struct picture p = { 0 };

	picture_begin(&p, 2, 80);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		picture_share(&p, shares[i], " %.1f");
	picture_line(&p);
	buf_add(&p.text, "", 1);
	assert_string_equal(p.text.data, "\4 10.1\1\3 10.0\1\3 5.1\1\2 5.0\1\2 2.6\1 2.5\n");
	picture_free(&p);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The view, the event, a letter for each option in force, the filter and the key as shown. */
static void keys_state(const struct keys *k, char *text, size_t size)
{
	const struct look *l = &k->look;

	snprintf(text, size, "%d %u %s%s%s%s%s%s%s%s%s [%s] %s", l->kind, l->event,
		 l->apart ? "m" : "", l->skip_links ? "f" : "", l->addresses ? "A" : "",
		 l->offsets ? "I" : "", l->total ? "s" : "", k->sums ? "a" : "",
		 k->paused ? "p" : "", k->help ? "h" : "", k->quit ? "q" : "", l->only, k->echo);
}

static void test_keys(void **state)
{
	static const struct {
		const char *typed, *state;	/* no key: all begins anew */
	} steps[] = {
		{ NULL, "0 0  [] " },
		{ "n", "1 0  [] Key: n => call tree" },
		{ "nn", "3 0  [] Key: n => threads" },
		{ "n", "0 0  [] Key: n => callers" },
		/* Arrows and the like are no keys of ours, whatever they end with. */
		{ "\033[A\033OA\033[15~\033[1;5A", "0 0  [] Key: n => callers" },
		{ "fAIs", "0 0 fAIs [] Key: s => functions with all they call" },
		{ "fAIs", "0 0  [] Key: s => functions by themselves" },
		{ NULL, "0 0  [] " },
		{ "p", "0 2  [] Key: p => faults" },
		{ "p", "0 0  [] Key: p => cycles" },
		{ "mp", "0 1 m [] Key: p => cycles.1" },
		{ "m", "0 0  [] Key: m => PMCs of one event together" },
		{ NULL, "0 0  [] " },
		{ "c", "0 0  [] Key: c => a: add up, d: each period for itself" },
		{ "a", "0 0 a [] Key: c => samples add up" },
		{ "cq", "0 0 a [] Key: c => nothing: a or d must follow" },
		{ "cd", "0 0  [] Key: c => each period for itself" },
		{ " ", "0 0 p [] Key: space => paused" },
		{ "z", "0 0 p [] Key: z => nothing; ? shows the keys" },
		{ " ?", "0 0 h [] Key: space => goes on" },
		/* Any key leaves the help, and does nothing else. */
		{ "q", "0 0  [] Key: space => goes on" },
		{ "q", "0 0 q [] Key: space => goes on" },
		{ NULL, "0 0  [] " },
		{ "/memq\177", "0 0  [mem] Key: / => mem_" },
		{ "\r", "0 0  [mem] Key: / => mem" },
		{ "/\033", "0 0  [] Key: / => " },
		{ "/0123456789012345678901234567890123456789\r",
		  "0 0  [0123456789012345678901234567890] "
		  "Key: / => 0123456789012345678901234567890" },
	};
	struct keys k = { 0 };
	char text[200];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].typed)
			keys_type(&k, &profile, steps[i].typed, strlen(steps[i].typed));
		else
			keys_begin(memset(&k, 0, sizeof(k)));
		keys_state(&k, text, sizeof(text));
		assert_string_equal(text, steps[i].state);
	}
}

static void test_help(void **state)
{
	struct picture p = { 0 };

	picture_begin(&p, 3, 20);
	keys_help(&p);
	buf_add(&p.text, "", 1);
	assert_string_equal(p.text.data, "q      quit\n? h    this page\n"
					 "n      next view: ca\n");
	picture_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views), cmocka_unit_test(test_small),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_heat),
		cmocka_unit_test(test_keys), cmocka_unit_test(test_help),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
