/* SPDX-License-Identifier: BSD-2-Clause */
/* The effects of records on samples: mappings, processes, events, filters, the kernel. */
#include <stdio.h>

#include "walked.h"

struct seen {
	struct symbols *symbols;
	struct walk *w;
	struct log log;
	unsigned int n;
	uint32_t process, space;
	char name[32], unique[32];
	struct place place[4];
	double seconds;
};

static struct seen seen;
static const struct filter everything;

static int give_walk(void *to, const struct pmclog_ev *ev)
{
	struct seen *s = to;

	return walk_record(s->w, ev);
}

static int on_sample(void *arg, struct walk *w, const struct walk_sample *sample)
{
	struct seen *s = arg;

	s->n++;
	for (size_t i = 0; i < sample->npc && i < 4; i++)
		walk_place(w, sample, i, &s->place[i]);
	s->process = sample->process->number;
	s->space = sample->process->space;
	s->seconds = (double)sample->time / 1e9;
	snprintf(s->name, sizeof(s->name), "%s", sample->process->name);
	snprintf(s->unique, sizeof(s->unique), "%s", sample->event->unique);
	return 0;
}

static struct symbols_config config = { .no_names = true };

static void start(const struct filter *filter)
{
	const struct walk_user user = { .sample = on_sample, .arg = &seen };

	seen = (struct seen){ .symbols = symbols_new(&config) };
	seen.w = walk_new(seen.symbols, filter, &user);
	assert_non_null(seen.w);
	seen.log.give = give_walk;
	seen.log.to = &seen;
	begin(&seen.log);
	event(&seen.log, 1, "clock");
}

static int end(void **state)
{
	walk_free(seen.w);
	symbols_free(seen.symbols);
	return 0;
}

/* The object at one address of the process; "": none. */
static const char *path_at(pid_t pid, uint64_t pc)
{
	assert_int_equal(sampled(&seen.log, (struct from){ .id = 1, .pid = pid }, 1, &pc), 0);
	return seen.place[0].image ? seen.place[0].image->path : "";
}

static void nearest_mapping_explains(void **state)
{
	struct log *l = &seen.log;

	start(&everything);
	map(l, 7, 0x1000, "/none/a");
	map(l, 7, 0x9000, "/none/b");
	assert_string_equal(path_at(7, 0xfff), "");
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	assert_string_equal(path_at(7, 0x8fff), "/none/a");
	assert_true(seen.place[0].offset == 0x7fff);
	assert_string_equal(path_at(7, 0x9010), "/none/b");
	assert_true(seen.place[0].offset == 0x10);
	assert_string_equal(path_at(8, 0x9010), "");
	map(l, 7, 0x9000, "/none/c");
	assert_string_equal(path_at(7, 0x9010), "/none/c");
}

static void what_is_unmapped_is_nowhere(void **state)
{
	struct log *l = &seen.log;
	uint32_t space;

	start(&everything);
	map(l, 7, 0x1000, "/none/a");
	unmap(l, 7, 0x3000, 0x6000);
	unmap(l, 7, 0x4000, 0x5000);
	unmap(l, 7, 0x5000, 0x7000);
	assert_string_equal(path_at(7, 0x2fff), "/none/a");
	for (uint64_t at = 0x3000; at < 0x7000; at += 0x800)
		assert_string_equal(path_at(7, at), "");
	assert_string_equal(path_at(7, 0x7000), "/none/a");
	space = seen.space;
	map(l, 7, 0x4000, "/none/b");
	assert_string_equal(path_at(7, 0x3000), "");
	assert_string_equal(path_at(7, 0x4800), "/none/b");
	assert_true(seen.space != space);
}

static void children_have_their_parents_mappings(void **state)
{
	struct log *l = &seen.log;

	start(&everything);
	exec(l, 7, "/bin/work");
	map(l, 7, 0x1000, "/none/a");
	forked(l, 7, 8);
	assert_string_equal(path_at(8, 0x1000), "/none/a");
	assert_string_equal(seen.name, "work");
	map(l, 8, 0x1000, "/none/b");
	assert_string_equal(path_at(8, 0x1000), "/none/b");
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	exec(l, 8, "/bin/other");
	assert_string_equal(path_at(8, 0x1000), "");
	assert_string_equal(seen.name, "other");
}

static void an_exec_that_each_pmc_tells_is_one(void **state)
{
	struct log *l = &seen.log;
	uint32_t process;

	start(&everything);
	exec(l, 7, "/bin/work");
	exec(l, 7, "/bin/work");
	map(l, 7, 0x1000, "/none/a");
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	assert_int_equal(walk_stats(seen.w)->execs, 1);
	process = seen.process;
	exec(l, 7, "/bin/work");
	assert_string_equal(path_at(7, 0x1000), "");
	assert_int_equal(walk_stats(seen.w)->execs, 2);
	assert_true(seen.process != process);
}

static void a_number_used_again_is_another_process(void **state)
{
	struct log *l = &seen.log;
	uint32_t process;

	start(&everything);
	exec(l, 7, "/bin/work");
	map(l, 7, 0x1000, "/none/a");
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	process = seen.process;
	gone(l, 7);
	/* Old logs have samples behind the exit. */
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	assert_int_equal(seen.process, process);
	forked(l, 3, 7);
	assert_string_equal(path_at(7, 0x1000), "");
	assert_true(seen.process != process);
	assert_string_equal(seen.name, "pid 7");
}

static void events_of_one_name(void **state)
{
	struct log *l = &seen.log;

	start(&everything);
	event(l, 2, "clock");
	event(l, 3, "faults");
	assert_int_equal(sampled(l, (struct from){ .id = 2, .pid = 7 }, PCS(1)), 0);
	assert_string_equal(seen.unique, "clock.1");
	assert_int_equal(walk_event(seen.w, 1)->first, 0);
	assert_int_equal(walk_event(seen.w, 2)->first, 2);
	assert_int_equal(sampled(l, (struct from){ .id = 9, .pid = 7 }, PCS(1)), 0);
	assert_string_equal(seen.unique, "pmc-0x9");
	assert_int_equal(walk_stats(seen.w)->unknown_event, 1);
	assert_null(walk_event(seen.w, 4));
}

static unsigned int passed(const struct filter *filter)
{
	struct log *l = &seen.log;

	start(filter);
	event(l, 2, "faults");
	exec(l, 7, "/bin/work");
	exec(l, 8, "/bin/worker");
	l->time = 1000000000;
	sampled(l, (struct from){ 1, 7, 70, 0 }, PCS(1));
	l->time = 2000000000;
	sampled(l, (struct from){ 2, 7, 71, 1 }, PCS(1));
	l->time = 3000000000;
	sampled(l, (struct from){ 1, 8, 80, 1 }, PCS(1));
	assert_int_equal(walk_stats(seen.w)->samples, 3);
	assert_int_equal(walk_stats(seen.w)->passed, seen.n);
	end(NULL);
	return seen.n;
}

static void filters_choose(void **state)
{
	const char *clock = "clock", *eight = "8", *work = "^work$", *all = "work";
	pid_t threads[] = { 71, 80 };

	assert_int_equal(passed(&everything), 3);
	assert_int_equal(passed(&(struct filter){ .events = &clock, .nevents = 1 }), 2);
	assert_int_equal(passed(&(struct filter){ .processes = &eight, .nprocesses = 1 }), 1);
	assert_int_equal(passed(&(struct filter){ .processes = &work, .nprocesses = 1 }), 2);
	assert_int_equal(passed(&(struct filter){ .processes = &all, .nprocesses = 1 }), 3);
	assert_int_equal(passed(&(struct filter){ .threads = threads, .nthreads = 2 }), 2);
	assert_int_equal(passed(&(struct filter){ .by_cpu = true, .cpus = { { 1 } } }), 1);
	assert_int_equal(passed(&(struct filter){ .from = 1.5 }), 2);
	assert_int_equal(passed(&(struct filter){ .from = 1.5, .to = 2.5 }), 1);
	start(&everything);
}

/* The placeholder has no mapping and no name, whatever the log has of the kernel. */
static void the_kernel_is_hidden(void **state)
{
	struct log *l = &seen.log;
	struct place place;

	start(&everything);
	assert_string_equal(path_at(7, PMCLOG_PC_KERNEL), SYMBOLS_HIDDEN);
	map(l, -1, KERNEL, "[kernel.kallsyms]");
	map(l, -1, KERNEL + 0x100, "[kernel.kallsyms]schedule");
	map(l, -1, 0x7000000000000000, "[odd]");
	walk_kernel_place(seen.w, PMCLOG_PC_KERNEL, false, &place);
	assert_string_equal(place.image->path, SYMBOLS_HIDDEN);
	assert_true(place.image->kernel);
	assert_true(place.offset == PMCLOG_PC_KERNEL);
	assert_int_equal(place.image->state, IMAGE_UNOPENED);
	assert_true(image_covers(seen.symbols, place.image, place.offset));
	assert_int_equal(place.image->state, IMAGE_OPEN);
}

/* The functions of a BPF program come after the first sample in it. */
static void the_kernel_is_told_late(void **state)
{
	struct log *l = &seen.log;
	const uint64_t bpf = KERNEL + 0x40000000;
	struct place place;

	start(&everything);
	map(l, -1, KERNEL, "[kernel.kallsyms]");
	assert_string_equal(path_at(7, bpf + 4), "[kernel.kallsyms]");
	map(l, -1, KERNEL + 0x100, "[kernel.kallsyms]schedule");
	map(l, -1, bpf, "[bpf]bpf_prog_1_count");
	walk_kernel_place(seen.w, bpf + 4, false, &place);
	assert_string_equal(place.image->path, "[bpf]");
	assert_string_equal(path_at(7, KERNEL + 0x104), "[kernel.kallsyms]");
	assert_true(seen.place[0].offset == 0x104);
}

static void only_return_addresses_are_calls(void **state)
{
	start(&everything);
	sampled(&seen.log, (struct from){ .id = 1, .pid = 7 },
		PCS(KERNEL, KERNEL + 1, 0x1000, 0x2000));
	assert_false(seen.place[0].call);
	assert_true(seen.place[1].call);
	assert_false(seen.place[2].call);
	assert_true(seen.place[3].call);
}

static void another_log_begins(void **state)
{
	struct log *l = &seen.log;

	start(&everything);
	map(l, 7, 0x1000, "/none/a");
	assert_string_equal(path_at(7, 0x1000), "/none/a");
	begin(l);
	event(l, 1, "faults");
	assert_string_equal(path_at(7, 0x1000), "");
	assert_string_equal(seen.unique, "faults");
}

static void what_was_dropped_is_counted(void **state)
{
	start(&everything);
	assert_int_equal(walk_stats(seen.w)->drops, 0);
	for (uint64_t lost = 0; lost < 3; lost++) {
		seen.log.ev.pl_u.pl_dn.pl_lost = lost;
		assert_int_equal(put(&seen.log, PMCLOG_TYPE_DROPNOTIFY), 0);
	}
	assert_int_equal(walk_stats(seen.w)->drops, 3);
	assert_int_equal(walk_stats(seen.w)->lost, 3);
}

static void an_exec_names_the_first_thread(void **state)
{
	struct pmclog_ev_threadcreate *t = &seen.log.ev.pl_u.pl_tc;

	start(&everything);
	for (pid_t tid = 7; tid < 9; tid++) {
		*t = (struct pmclog_ev_threadcreate){ .pl_tid = tid, .pl_pid = 7 };
		strcpy(t->pl_tdname, "before");
		assert_int_equal(put(&seen.log, PMCLOG_TYPE_THR_CREATE), 0);
	}
	exec(&seen.log, 7, "/none/program");
	exec(&seen.log, 9, "/none/other");
	assert_string_equal(walk_thread(seen.w, 7)->name, "program");
	assert_string_equal(walk_thread(seen.w, 8)->name, "before");
	assert_null(walk_thread(seen.w, 9));
}

static void mappings_have_a_limit(void **state)
{
	int code = 0;

	start(&everything);
	for (uint64_t i = 1; i < 70000 && !code; i++)
		code = map(&seen.log, 7, i * 0x1000, "/none/a");
	assert_int_equal(code, 65);
}

#define CODE(number, line) (PMCLOG_PC_PYTHON | (uint64_t)(number) << PMCLOG_PC_CODE_SHIFT | (line))

static const struct frame *python_frame(uint64_t pc)
{
	const uint64_t chain[2] = { 0x1000, pc };
	size_t n = 0;
	const struct frame *f;

	assert_int_equal(sampled(&seen.log, (struct from){ .id = 1, .pid = 7 }, 2, chain), 0);
	f = symbols_frames(seen.symbols, &seen.place[1], &n);
	assert_int_equal(n, 1);
	return f;
}

static void function_is(uint64_t pc, const char *name, const char *file, unsigned int line)
{
	const struct frame *f = python_frame(pc);

	assert_string_equal(f->symbol->image->path, "[python]");
	assert_string_equal(f->symbol->name, name);
	assert_true(file ? f->file && !strcmp(f->file, file) : !f->file);
	assert_int_equal(f->line, line);
}

/* Names may come behind the first sample; equal functions are one, others are not. */
static void python_has_names_and_lines(void **state)
{
	struct log *l = &seen.log;
	const struct symbol *first;

	config.no_names = false;
	start(&everything);
	assert_null(python_frame(CODE(2, 7))->symbol->name);
	map(l, -1, CODE(2, 0), "[python]f\t/a/x.py");
	map(l, -1, CODE(3, 0), "[python]f\t/b/x.py");
	map(l, -1, CODE(4, 0), "[python]f\t/a/x.py");
	map(l, -1, CODE(5, 0), "[other]g\t/a/x.py");
	map(l, -1, CODE(6, 0), "[python]g");
	/* A file of that name is not the image. */
	map(l, 7, 0x1000, "[python]");
	function_is(CODE(2, 7), "f (x.py)", "/a/x.py", 7);
	function_is(CODE(3, 9), "f (x.py)", "/b/x.py", 9);
	function_is(CODE(4, 0), "f (x.py)", "/a/x.py", 0);
	function_is(CODE(PMCLOG_CODE_UNKNOWN, 0), "[unknown]", NULL, 0);
	function_is(PMCLOG_PC_PYTHON, "[cut: Python frames]", NULL, 0);
	first = python_frame(CODE(2, 1))->symbol;
	assert_ptr_equal(python_frame(CODE(4, 1))->symbol, first);
	assert_ptr_not_equal(python_frame(CODE(3, 1))->symbol, first);
	for (unsigned int number = 5; number < 8; number++)
		assert_null(python_frame(CODE(number, 1))->symbol->name);
	end(state);
	config.no_names = true;
	start(&everything);
	map(l, -1, CODE(2, 0), "[python]f\t/a/x.py");
	assert_null(python_frame(CODE(2, 7))->symbol->name);
	assert_null(python_frame(CODE(2, 7))->file);
}

static uint64_t time_after(time_t from, time_t to)
{
	struct pmclog_ev *ev = &seen.log.ev;
	struct timespec before = { .tv_sec = from, .tv_nsec = 999999999 };

	start(&everything);
	walk_count(seen.w)->began = before;
	ev->pl_type = PMCLOG_TYPE_DROPNOTIFY;
	ev->pl_ts = (struct timespec){ .tv_sec = to };
	assert_int_equal(walk_record(seen.w, ev), 0);
	from = (time_t)walk_stats(seen.w)->seconds;
	end(NULL);
	return (uint64_t)from;
}

/* A damaged log's times: centuries, and backwards. */
static void times_have_limits(void **state)
{
	static const uint64_t most = INT64_MAX / 1000000000;

	assert_int_equal(time_after(1000, 1003), 2);
	assert_int_equal(time_after(1000, 900), 0);
	assert_int_equal(time_after(0, (time_t)1 << 40), most);
	assert_int_equal(time_after(-2, INT64_MAX), most);
	assert_int_equal(time_after(INT64_MAX, -2), 0);
	assert_int_equal(time_after(0, most + 1), most);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, end)
	const struct CMUnitTest tests[] = {
		T(nearest_mapping_explains), T(what_is_unmapped_is_nowhere),
		T(python_has_names_and_lines),
		T(children_have_their_parents_mappings), T(an_exec_that_each_pmc_tells_is_one),
		T(a_number_used_again_is_another_process), T(events_of_one_name), T(filters_choose),
		T(the_kernel_is_told_late), T(the_kernel_is_hidden),
		T(only_return_addresses_are_calls), T(another_log_begins),
		T(what_was_dropped_is_counted), T(an_exec_names_the_first_thread),
		T(mappings_have_a_limit), cmocka_unit_test(times_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
