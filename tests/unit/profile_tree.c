/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of samples: tables, functions with recursion, call trees, and the texts made of them. */
#include <stdio.h>
#include <unistd.h>

#include "cli/report/report.h"
#include "walked.h"

/* Functions of a kernel that the log itself names, 16 bytes each. */
enum { MAIN, WORK, LEAF, OTHER };
#define PROGRAM 0x550000000000ull
#define IN(f)	(KERNEL + 16 * (f) + 4)
#define BACK(f) (KERNEL + 16 * (f) + 8)

static struct symbols *symbols;
static struct profile *p;
static struct log l;
static const struct filter everything;

static int give_profile(void *to, const struct pmclog_ev *ev)
{
	return profile_record(to, ev);
}

static int setup(void **state)
{
	static const char *const names[] = { "main", "work", "leaf", "other" };
	const struct symbols_config config = { 0 };
	char path[64];

	symbols = symbols_new(&config);
	p = profile_new(symbols, &everything);
	assert_non_null(p);
	l = (struct log){ .give = give_profile, .to = p };
	begin(&l);
	event(&l, 1, "clock");
	map(&l, -1, KERNEL, "[kernel.kallsyms]");
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "[kernel.kallsyms]%s", names[i]);
		map(&l, -1, KERNEL + 16 * i, path);
	}
	return 0;
}

static int teardown(void **state)
{
	profile_free(p);
	symbols_free(symbols);
	return 0;
}

static void times(unsigned int n, pmc_id_t id, size_t npc, const uint64_t *pc)
{
	while (n--)
		assert_int_equal(sampled(&l, (struct from){ .id = id, .pid = 7 }, npc, pc), 0);
	profile_settle(p);
}

static void known_samples(void)
{
	times(5, 1, PCS(IN(LEAF), BACK(WORK), BACK(WORK), BACK(MAIN)));
	times(3, 1, PCS(IN(WORK), BACK(MAIN)));
	times(2, 1, PCS(IN(MAIN)));
}

static const struct tree_function *of(const struct tree_function *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].symbol->name, name) == 0)
			return &list[i];
	fail_msg("no %s", name);
	return NULL;
}

static void same_stacks_are_one(void **state)
{
	known_samples();
	assert_int_equal(p->samples, 10);
	assert_int_equal(p->event_samples[0], 10);
	assert_int_equal(p->ntallies, 3);
	/* Six different places in chains that share their callers, and no stack. */
	assert_int_equal(p->nstacks, 1 + 4 + 1 + 1);
	profile_clear(p);
	assert_int_equal(p->samples, 0);
	times(1, 1, PCS(IN(MAIN)));
	assert_int_equal(p->ntallies, 1);
	assert_int_equal(p->nstacks, 7);
}

static void recursion_counts_once(void **state)
{
	const struct tree_select all = { .event = TREE_ANY, .process = TREE_ANY };
	struct tree_function *list;
	size_t n;

	known_samples();
	assert_int_equal(tree_functions(p, &all, &list, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(list[0].symbol->name, "leaf");
	assert_int_equal(of(list, n, "leaf")->self, 5);
	assert_int_equal(of(list, n, "leaf")->total, 5);
	assert_int_equal(of(list, n, "work")->self, 3);
	assert_int_equal(of(list, n, "work")->total, 8);
	assert_int_equal(of(list, n, "main")->self, 2);
	assert_int_equal(of(list, n, "main")->total, 10);
	free(list);
}

static void trees_from_both_ends(void **state)
{
	struct tree_select all = { .event = TREE_ANY, .process = TREE_ANY };
	struct tree_node *root;

	known_samples();
	root = tree_build(p, &all, TREE_CALLEES);
	assert_int_equal(root->total, 10);
	assert_int_equal(root->nchild, 1);
	assert_string_equal(root->child[0]->symbol->name, "main");
	assert_int_equal(root->child[0]->self, 2);
	assert_int_equal(root->child[0]->child[0]->total, 8);
	assert_int_equal(root->child[0]->child[0]->self, 3);
	tree_free(root);
	all.depth = 2;
	root = tree_build(p, &all, TREE_CALLERS);
	assert_int_equal(root->nchild, 3);
	assert_string_equal(root->child[0]->symbol->name, "leaf");
	assert_int_equal(root->child[0]->self, 0);
	assert_int_equal(root->child[0]->nchild, 1);
	assert_int_equal(root->child[0]->child[0]->nchild, 0);
	tree_free(root);
}

static void events_of_one_name_are_one(void **state)
{
	struct tree_select one = { .event = 0, .process = TREE_ANY };
	struct tree_node *root;

	event(&l, 2, "clock");
	event(&l, 3, "faults");
	times(1, 1, PCS(IN(MAIN)));
	times(2, 2, PCS(IN(MAIN)));
	times(4, 3, PCS(IN(MAIN)));
	root = tree_build(p, &one, TREE_CALLERS);
	assert_int_equal(root->total, 3);
	tree_free(root);
	one.apart = true;
	one.event = 1;
	root = tree_build(p, &one, TREE_CALLERS);
	assert_int_equal(root->total, 2);
	tree_free(root);
}

/* --- texts ----------------------------------------------------------------------------------- */

static void expect(void (*writer)(const struct report *r, struct buf *out), struct report r,
		   const char *text)
{
	struct buf out = { 0 };

	r.profile = p;
	r.log = "log";
	writer(&r, &out);
	buf_add(&out, "", 1);
	assert_false(out.failed);
	assert_string_equal(out.data, text);
	buf_free(&out);
}

static void graph_as_freebsd_has_it(void **state)
{
	event(&l, 2, "faults");
	known_samples();
	times(1, 2, PCS(IN(OTHER), 0x1000));
	profile_settle(p);
	expect(report_graph, (struct report){ .depth = 3 },
	       "@ clock [10 samples]\n\n"
	       "50.00%  [5]        leaf @ [kernel.kallsyms]\n"
	       " 100.0%  [5]         work\n"
	       "  100.0%  [5]          work\n"
	       "\n"
	       "30.00%  [3]        work @ [kernel.kallsyms]\n"
	       " 100.0%  [3]         main\n"
	       "\n"
	       "20.00%  [2]        main @ [kernel.kallsyms]\n"
	       "\n"
	       "@ faults [1 samples]\n\n"
	       "100.0%  [1]        other @ [kernel.kallsyms]\n"
	       " 100.0%  [1]         0x1000\n"
	       "\n");
	expect(report_graph, (struct report){ .depth = 1, .threshold = 25 },
	       "@ clock [10 samples]\n\n"
	       "50.00%  [5]        leaf @ [kernel.kallsyms]\n\n"
	       "30.00%  [3]        work @ [kernel.kallsyms]\n\n"
	       "@ faults [1 samples]\n\n"
	       "100.0%  [1]        other @ [kernel.kallsyms]\n\n");
}

/* The lines behind the header. */
static void expect_list(struct report r, const char *text)
{
	struct buf out = { 0 };
	const char *list;

	r.profile = p;
	r.log = "a log with a name that no narrow terminal has a line for";
	report_functions(&r, &out);
	buf_add(&out, "", 1);
	list = strstr(out.data, "\n\n");
	assert_non_null(list);
	assert_string_equal(list + 2, text);
	for (char *line = strtok(out.data, "\n"); r.width && line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= r.width);
	buf_free(&out);
}

static void list_of_functions(void **state)
{
	known_samples();
	expect_list((struct report){ .threshold = 25 },
		    "clock: 10 samples\n"
		    "   SELF   TOTAL    SAMPLES FUNCTION IMAGE\n"
		    " 50.00%  50.00%          5 leaf     [kernel.kallsyms]\n"
		    " 30.00%  80.00%          3 work     [kernel.kallsyms]\n"
		    " 20.00% 100.00%          2 main     [kernel.kallsyms]\n");
	/* Rows that are not shown are in a sum. */
	expect_list((struct report){ .threshold = 60, .width = 20 },
		    "clock: 10 samples\n"
		    "   SELF FUNCTION\n"
		    " 30.00% work\n"
		    " 20.00% main\n"
		    " 50.00% (1 more bel.\n");
	expect_list((struct report){ .threshold = 45, .offsets = true, .width = 40 },
		    "clock: 10 samples\n"
		    "   SELF   TOTAL FUNCTION\n"
		    " 50.00%  50.00% leaf+0x4\n"
		    " 50.00%       - (2 addresses below 45%)\n"
		    "  0.00%  80.00% main+0x8\n"
		    "  0.00%  50.00% work+0x8\n");
}

static void paced(pmc_id_t id, const char *name, uint64_t rate)
{
	l.ev.pl_u.pl_ad.pl_rate = rate;
	event(&l, id, name);
	l.ev.pl_u.pl_ad.pl_rate = 0;
}

static void steered_at(pmc_id_t id, uint64_t period, uint64_t pc)
{
	struct pmclog_ev_values *v = &l.ev.pl_u.pl_v;

	v->pl_pmcid = id;
	v->pl_values = PMCLOG_VALUE_PERIOD;
	v->pl_nwords = 1;
	v->pl_word[0] = period;
	assert_int_equal(put(&l, PMCLOG_TYPE_VALUES), 0);
	times(1, id, PCS(pc));
}

static void steered(pmc_id_t id, uint64_t period)
{
	steered_at(id, period, IN(MAIN));
}

/* Samples of different periods are no sum. */
static void periods_of_one_name_are_weighed(void **state)
{
	paced(2, "faults", 10);
	paced(3, "faults", 10);
	times(2, 2, PCS(IN(MAIN)));
	times(1, 3, PCS(IN(LEAF)));
	expect_list((struct report){ .threshold = 25 },
		    "faults: 3 samples, one every 10\n"
		    "   SELF   TOTAL    SAMPLES FUNCTION IMAGE\n"
		    " 66.67%  66.67%          2 main     [kernel.kallsyms]\n"
		    " 33.33%  33.33%          1 leaf     [kernel.kallsyms]\n");
	paced(4, "faults", 1);
	times(5, 4, PCS(IN(LEAF)));
	times(1, 2, PCS(IN(MAIN)));
	assert_int_equal(p->samples, 45);
	expect_list((struct report){ .threshold = 25 },
		    "faults: 45 events, in samples of several periods\n"
		    "   SELF   TOTAL     EVENTS FUNCTION IMAGE\n"
		    " 66.67%  66.67%         30 main     [kernel.kallsyms]\n"
		    " 33.33%  33.33%         15 leaf     [kernel.kallsyms]\n");
	expect(report_graph, (struct report){ .depth = 1 },
	       "@ faults [45 events]\n\n"
	       "66.67%  [30]       main @ [kernel.kallsyms]\n\n"
	       "33.33%  [15]       leaf @ [kernel.kallsyms]\n\n");
	expect(report_folded, (struct report){ .depth = 1 },
	       "pid 7;leaf_[k] 15\npid 7;main_[k] 30\n");
	expect(report_csv, (struct report){ .depth = 1 },
	       "event,process,pid,function,object,self,total,self_percent,total_percent\n"
	       "faults,pid 7,7,main,[kernel.kallsyms],30,30,66.67,66.67\n"
	       "faults,pid 7,7,leaf,[kernel.kallsyms],15,15,33.33,33.33\n");
	/* An unknown period gives no weight, and then there is no one period to show. */
	paced(5, "old", 10);
	event(&l, 6, "old");
	profile_clear(p);
	times(2, 5, PCS(IN(MAIN)));
	times(3, 6, PCS(IN(MAIN)));
	expect_list((struct report){ .threshold = 25 },
		    "old: 5 samples, of several periods\n"
		    "   SELF   TOTAL    SAMPLES FUNCTION IMAGE\n"
		    "100.00% 100.00%          5 main     [kernel.kallsyms]\n");
}

static void clocks_of_one_name_are_weighed(void **state)
{
	paced(2, "CPU_CLOCK", 1000);
	event(&l, 3, "CPU_CLOCK");
	times(2, 2, PCS(IN(MAIN)));
	steered(3, 500);
	steered(3, 700);
	expect_list((struct report){ .threshold = 25 },
		    "CPU_CLOCK: 3200 ns, in samples of several periods\n"
		    "   SELF   TOTAL         NS FUNCTION IMAGE\n"
		    "100.00% 100.00%       3200 main     [kernel.kallsyms]\n");
}

static void clock_ticks_are_no_ns(void **state)
{
	event(&l, 2, "CLOCK.HARD");
	steered(2, 8);
	steered(2, 12);
	expect_list((struct report){ .threshold = 25 },
		    "CLOCK.HARD: 20 ticks, 1000 a second\n"
		    "   SELF   TOTAL      TICKS FUNCTION IMAGE\n"
		    "100.00% 100.00%         20 main     [kernel.kallsyms]\n");
	expect(report_graph, (struct report){ .depth = 1 },
	       "@ CLOCK.HARD [20 ticks]\n\n"
	       "100.0%  [20]       main @ [kernel.kallsyms]\n\n");
}

static void clocks_have_many_spellings(void **state)
{
	static const char *const stat[] = { "CLOCK.STAT", "clock-stat", "Soft_Clock Stat,usr",
					    "CLOCK_STAT:u" };
	static const char *const none[] = { "CLOCK", "CLOCK.STATS", "CLOCK.STAT2", "", "SOFT-",
					    "OFFCPU_TIME", "WALL_TIME", "cpu-cycles" };

	for (size_t i = 0; i < sizeof(stat) / sizeof(stat[0]); i++)
		assert_int_equal(clock_hz_spec(stat[i]), 127);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(clock_hz_spec(none[i]), 0);
	assert_int_equal(clock_hz_spec("soft-task.clock"), 1000000000);
}

static void what_is_below_is_summed_up(void **state)
{
	known_samples();
	/* Frames of chains that went wrong, and stripped code. */
	times(1, 1, PCS(0x1000, 0x5000, 0x6000));
	times(1, 1, PCS(0x2000, 0x5000, 0x6000));
	times(2, 1, PCS(0x3000));
	map(&l, 7, PROGRAM, "/none/stripped");
	for (uintfptr_t i = 0; i < 6; i++)
		times(1, 1, PCS(PROGRAM + 16 * i));
	expect_list((struct report){ .threshold = 10 },
		    "clock: 20 samples\n"
		    "   SELF   TOTAL    SAMPLES FUNCTION                    IMAGE\n"
		    " 30.00%       -          6 (6 addresses without names) stripped\n"
		    " 25.00%  25.00%          5 leaf                        [kernel.kallsyms]\n"
		    " 15.00%  40.00%          3 work                        [kernel.kallsyms]\n"
		    " 10.00%  50.00%          2 main                        [kernel.kallsyms]\n"
		    " 10.00%  10.00%          2 0x3000                      (no mapping)\n"
		    " 10.00%       -          2 (4 addresses in no file)    (no mapping)\n");
}

/* The profile's report of missing parts. */
static const char *missing(void)
{
	const struct report r = { .profile = p, .log = "log" };
	static char text[4096];
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	struct buf out = { 0 };

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	report_statistics(&r, false, &out);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	buf_free(&out);
	return text;
}

/* A recording whose daemon or user could not see the kernel's addresses. */
static void a_kernel_without_names(void **state)
{
	const struct symbols_config config = { 0 };

	teardown(state);
	symbols = symbols_new(&config);
	p = profile_new(symbols, &everything);
	l = (struct log){ .give = give_profile, .to = p };
	begin(&l);
	event(&l, 1, "clock");
	times(2, 1, PCS(KERNEL + 4, KERNEL + 40, KERNEL + 80));
	for (uintptr_t i = 1; i <= 4; i++)
		times(1, 1, PCS(KERNEL + 4 + 16 * i, KERNEL + 40));
	assert_non_null(strstr(missing(), "no names for 6 samples (100.0%) of the kernel: "));
	assert_non_null(strstr(missing(), "kernel.kptr_restrict, no CAP_SYSLOG, or a sandbox"));
	assert_non_null(strstr(missing(), "\"pmccontrol --doctor\""));
	assert_null(strstr(missing(), "frame-pointer"));
	assert_null(strstr(missing(), "only addresses can be shown"));
	times(2, 1, PCS(PROGRAM));
	expect_list((struct report){ .threshold = 25 },
		    "clock: 8 samples\n"
		    "   SELF   TOTAL    SAMPLES FUNCTION                    IMAGE\n"
		    " 50.00%       -          4 (6 addresses without names) [kernel]\n"
		    " 25.00%  25.00%          2 0x550000000000              (no mapping)\n"
		    " 25.00%  25.00%          2 0xffffffff81000004          [kernel]\n");
	/* Broken chains of programs: frame pointers are the remedy. */
	times(4, 1, PCS(PROGRAM, 0x10, 0x20));
	assert_non_null(strstr(missing(), "of the frames in call chains lie in no file: compile"));
	/* The daemon saw the kernel's addresses: unknown ones are not hidden. */
	map(&l, -1, KERNEL + 0x100000, "[kernel.kallsyms]");
	assert_null(strstr(missing(), "of the kernel"));
}

static void statistics_as_freebsd_has_them(void **state)
{
	const struct report r = { .profile = p, .log = "log" };
	struct buf out = { 0 };

	known_samples();
	times(3, 1, PCS(0x1000));
	times(2, 9, PCS(IN(MAIN), 0x2000, 0x3000));
	exec(&l, 7, "/none/work");
	profile_settle(p);
	report_statistics(&r, false, &out);
	buf_add(&out, "", 1);
	assert_string_equal(out.data,
			    "CONVERSION STATISTICS:\n"
			    " #exec/unknown                            1\n"
			    " #samples/total                           15\n"
			    " #samples/unclaimed                       2\n"
			    " #samples/unknown-object                  3\n"
			    " #callchain/dubious-frames                7\n");
	buf_free(&out);
	report_statistics(&r, true, &out);
	buf_add(&out, "", 1);
	assert_non_null(strstr(out.data, " #exec/a.out                              0\n"
					 " #exec/elf                                0\n"));
	assert_non_null(strstr(out.data, " #exec handling errors                    0\n"));
	buf_free(&out);
}

/* … in samples, whatever their weight. */
static void statistics_count_samples(void **state)
{
	const struct report r = { .profile = p, .log = "log" };
	struct buf out = { 0 };

	event(&l, 2, "CPU_CLOCK");
	steered(2, 500);
	steered(2, 700);
	steered_at(2, 900, 0x1000);
	report_statistics(&r, false, &out);
	buf_add(&out, "", 1);
	assert_string_equal(out.data,
			    "CONVERSION STATISTICS:\n"
			    " #samples/total                           3\n"
			    " #samples/unknown-object                  1\n"
			    " #callchain/dubious-frames                1\n");
	buf_free(&out);
}

static void woken(enum pmclog_waker kind, pid_t pid, const char *name, size_t n,
		  const uint64_t *pc)
{
	struct pmclog_ev_waker *w = &l.ev.pl_u.pl_wk;

	w->pl_chain.pl_pid = w->pl_chain.pl_tid = (uint32_t)pid;
	w->pl_chain.pl_pmcid = 1;
	w->pl_chain.pl_cpuflags = 0;
	w->pl_chain.pl_npc = (int)n;
	for (size_t i = 0; i < n; i++)
		w->pl_chain.pl_pc[i] = (uintptr_t)pc[i];
	w->pl_kind = kind;
	snprintf(w->pl_tdname, sizeof(w->pl_tdname), "%s", name);
	assert_int_equal(put(&l, PMCLOG_TYPE_WAKER), 0);
}

/* The waker's frames are those of its own process, from the inside out; then its name. */
static void wakers_are_between_the_thread_and_the_reason(void **state)
{
	exec(&l, 7, "/bin/cat");
	exec(&l, 8, "/no/tr");
	map(&l, 8, PROGRAM, "/no/tr");
	map(&l, -1, PMCLOG_PC_WAIT + PMCLOG_WAIT_SLEEP, "[off-CPU][sleep]");
	woken(PMCLOG_WAKER_THREAD, 8, "tr", PCS(IN(OTHER), BACK(WORK), PROGRAM + 8));
	times(1, 1, PCS(PMCLOG_PC_WAIT + PMCLOG_WAIT_SLEEP, IN(LEAF), BACK(MAIN)));
	woken(PMCLOG_WAKER_INTERRUPT, 0, "", 0, NULL);
	times(1, 1, PCS(PMCLOG_PC_WAIT + PMCLOG_WAIT_SLEEP, IN(LEAF), BACK(MAIN)));
	/* Of another PMC, and of no sample: neither is this one's. */
	woken(PMCLOG_WAKER_THREAD, 8, "tr", PCS(IN(OTHER)));
	l.ev.pl_u.pl_wk.pl_chain.pl_pmcid = 2;
	assert_int_equal(put(&l, PMCLOG_TYPE_WAKER), 0);
	times(1, 1, PCS(PMCLOG_PC_WAIT + PMCLOG_WAIT_SLEEP, IN(LEAF), BACK(MAIN)));
	woken(99, 0, "", 0, NULL);
	times(1, 1, PCS(PMCLOG_PC_WAIT + PMCLOG_WAIT_SLEEP, IN(LEAF), BACK(MAIN)));
	expect(report_folded, (struct report){ .depth = 1 },
	       "cat;main_[k];leaf_[k];[sleep]_[k] 1\n"
	       "cat;main_[k];leaf_[k];[waker unknown]_[k];[sleep]_[k] 1\n"
	       "cat;main_[k];leaf_[k];[woken by an interrupt]_[k];[sleep]_[k] 1\n"
	       "cat;main_[k];leaf_[k];other_[k];work_[k];[tr] 0x8;[woken by tr]_[k];[sleep]_[k]"
	       " 1\n");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(same_stacks_are_one), T(recursion_counts_once), T(trees_from_both_ends),
		T(events_of_one_name_are_one), T(graph_as_freebsd_has_it), T(list_of_functions),
		T(periods_of_one_name_are_weighed), T(clocks_of_one_name_are_weighed),
		T(clock_ticks_are_no_ns), T(clocks_have_many_spellings),
		T(what_is_below_is_summed_up), T(a_kernel_without_names),
		T(statistics_as_freebsd_has_them), T(statistics_count_samples),
		T(wakers_are_between_the_thread_and_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
