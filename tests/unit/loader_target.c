/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets and targets over a fake of the kernel's side: that sets are found whatever their number,
 * that one PMC's end leaves the others' sets alone, and what happens when all sets are in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../loader/count_impl.h"
#include "unit.h"

#define PROCESSES 6000u
#define COUNTS	  5000u

/* --- the kernel's side ----------------------------------------------------------------------- */

struct engine {
	struct abi_set sets[ABI_MAX_SETS];
	struct abi_target target[PROCESSES];	/* by tgid; state 0: none */
	unsigned int flushes;
};

static struct engine kernel;
static struct targets *ts;
static struct count_owner owner = { .counts = { .slot = 3 } };
static const struct soft_event event;
static struct count counts[COUNTS];

volatile struct abi_set *engine_set(struct engine *e, unsigned int id)
{
	return &e->sets[id];
}

void engine_breathe(const struct engine *e)
{
}

void engine_flush_all(struct engine *e)
{
	e->flushes++;
}

int engine_target_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set,
		      uint64_t keep)
{
	struct abi_target *t = &e->target[tgid];
	uint32_t from = ABI_STATE_SET(t->state);

	if ((op == ABI_CTL_ADD) == (t->state != 0))
		return op == ABI_CTL_ADD ? -EEXIST : -ESRCH;
	if (op != ABI_CTL_ADD)
		e->sets[from].ntargets--;
	t->state = 0;
	if (op == ABI_CTL_DELETE)
		return 0;
	e->sets[set].ntargets++;
	t->state = (uint64_t)set << 32;
	return 0;
}

int engine_target_get(const struct engine *e, uint32_t tgid, struct abi_target *t)
{
	*t = e->target[tgid];
	return t->state ? 0 : -ENOENT;
}

unsigned int engine_targets_next(const struct engine *e, struct engine_walk *w, uint32_t *tgid,
				 struct abi_target *t, unsigned int max)
{
	unsigned int n = 0;

	for (; w->at < PROCESSES && n < max; w->at++)
		if (e->target[w->at].state) {
			tgid[n] = w->at;
			t[n++] = e->target[w->at];
		}
	w->more = w->at < PROCESSES;
	return n;
}

/* --- PMCs ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(counts, 0, sizeof(counts));
	for (unsigned int i = 0; i < COUNTS; i++) {
		counts[i].backend = BACKEND_FIGURES;
		counts[i].owner = &owner;
		counts[i].spec = (struct count_spec){ .kind = COUNT_SOFT, .soft = &event };
	}
	ts = targets_new(&kernel);
	assert_non_null(ts);
	return 0;
}

static int teardown(void **state)
{
	targets_free(ts);
	return 0;
}

static struct count *count_on(unsigned int i, unsigned int row, bool descendants)
{
	counts[i].spec.row = row;
	counts[i].spec.descendants = descendants;
	return &counts[i];
}

static int join(struct count *c, pid_t tgid, struct why *why)
{
	return target_join(ts, c, -1, tgid, why);
}

static void joins(struct count *c, pid_t tgid)
{
	struct why why = { "" };

	assert_int_equal(join(c, tgid, &why), 0);
}

static uint32_t set_of_process(pid_t tgid)
{
	return ABI_STATE_SET(kernel.target[tgid].state);
}

/* --- tests ----------------------------------------------------------------------------------- */

/* More sets than buckets: some share one, and each process still has its own. */
static void test_many_sets(void **state)
{
	for (pid_t p = 1; p <= 3000; p++)
		joins(count_on((unsigned int)p, 2, false), p);
	for (pid_t p = 1; p <= 3000; p++) {
		assert_ptr_equal(target_row(ts, p, 2), &counts[p]);
		assert_int_equal(target_number(ts, &counts[p]), 1);
		assert_int_equal(target_rows(ts, p), 1u << 2);
	}
	/* The same PMC for another process is the same set, in the middle as at the ends. */
	for (pid_t p = 1; p <= 3000; p += 1499) {
		joins(&counts[p], 3000 + p);
		assert_int_equal(set_of_process(3000 + p), set_of_process(p));
		assert_int_equal(target_number(ts, &counts[p]), 2);
	}
}

/* The order in which PMCs come does not make a set another one. */
static void test_set_is_its_pmcs(void **state)
{
	struct count *a = count_on(0, 0, false), *b = count_on(1, 5, true);

	joins(a, 10);
	joins(b, 10);
	joins(b, 11);
	joins(a, 11);
	assert_int_equal(set_of_process(10), set_of_process(11));
	assert_int_equal(target_rows(ts, 10), 1u << 5 | 1);
	assert_int_equal(target_number(ts, a), 2);
	assert_int_equal(target_number(ts, b), 2);
}

struct seen {
	unsigned int n;
	unsigned long sum;
};

static void see(void *arg, pid_t tgid)
{
	struct seen *s = arg;

	s->n++;
	s->sum += (unsigned long)tgid;
}

/* Its own targets, each once, among those of others. */
static void test_each(void **state)
{
	struct count *a = count_on(0, 0, false), *b = count_on(1, 1, false);
	struct seen of_a = { 0 }, of_b = { 0 };
	unsigned long sum = 0;

	for (pid_t p = 1; p <= 5000; p++) {
		joins(p % 2 ? a : b, p);
		if (p % 10 == 0)
			joins(a, p);
		sum += p % 2 || p % 10 == 0 ? (unsigned long)p : 0;
	}
	target_each(ts, a, see, &of_a);
	target_each(ts, b, see, &of_b);
	assert_int_equal(of_a.n, 3000);
	assert_int_equal(of_a.sum, sum);
	assert_int_equal(of_b.n, 2500);
	assert_int_equal(target_number(ts, a), 3000);
}

/* One PMC's end, in any order, leaves what others measure as it is. */
static void test_leave_in_any_order(void **state)
{
	static const unsigned int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 } };

	for (unsigned int o = 0; o < 3; o++) {
		for (unsigned int i = 0; i < 3; i++)
			(void)count_on(i, i, i == 1);
		for (pid_t p = 1; p <= 100; p++)
			for (unsigned int i = 0; i < 3; i++)
				if (p % (i + 1) == 0)
					joins(&counts[i], p);
		for (unsigned int gone = 0; gone < 3; gone++) {
			target_leave_all(ts, &counts[orders[o][gone]]);
			for (pid_t p = 1; p <= 100; p++)
				for (unsigned int i = 0; i < 3; i++) {
					bool left = false;

					for (unsigned int g = 0; g <= gone; g++)
						left |= orders[o][g] == i;
					assert_ptr_equal(target_row(ts, p, i),
							 p % (i + 1) == 0 && !left ? &counts[i] :
							 NULL);
				}
		}
		for (pid_t p = 1; p <= 100; p++)
			assert_int_equal(kernel.target[p].state, 0);
	}
}

/* A set that hands down a PMC hands it down no more once that has gone. */
static void test_no_child_of_the_gone(void **state)
{
	struct count *a = count_on(0, 0, true), *b = count_on(1, 1, true);
	uint32_t child;

	joins(a, 1);
	joins(b, 1);
	assert_int_equal(kernel.sets[set_of_process(1)].child, set_of_process(1));
	target_leave_all(ts, a);
	child = kernel.sets[set_of_process(1)].child;
	assert_int_equal(child, set_of_process(1));
	assert_int_equal(kernel.sets[child].soft[0].used, 0);
	assert_int_equal(kernel.sets[child].soft[1].used, 1);
}

/* The rows of the PMCs in a set, as the programs see it. */
static uint32_t rows_of(uint32_t set)
{
	uint32_t rows = 0;

	for (unsigned int r = 0; r < ABI_SOFT_ROWS; r++)
		rows |= kernel.sets[set].soft[r].used << r;
	return rows;
}

/* §3.3 step 4: which PMCs stay after a set-id exec, of the process and of its children. */
static void test_set_id(void **state)
{
	struct count *plain = count_on(0, 0, false), *root = count_on(1, 1, false);
	struct count *tree = count_on(2, 2, true), *root_tree = count_on(3, 3, true);
	struct count *found[TARGET_ROWS];
	uint32_t set, secure;

	root->spec.follows_setid = root_tree->spec.follows_setid = true;
	joins(plain, 1);
	assert_int_equal(kernel.sets[set_of_process(1)].secure, 0);
	joins(root, 1);
	joins(tree, 1);
	joins(root_tree, 1);
	set = set_of_process(1);
	secure = kernel.sets[set].secure;
	assert_int_equal(rows_of(set), 0xf);
	assert_int_equal(rows_of(secure), 0xa);
	assert_int_equal(kernel.sets[secure].secure, secure);
	assert_int_equal(rows_of(kernel.sets[set].child), 0xc);
	assert_int_equal(rows_of(kernel.sets[secure].child), 0x8);
	assert_int_equal(kernel.sets[kernel.sets[set].child].secure, kernel.sets[secure].child);
	/* A PMC that is gone is nowhere to be led to. */
	target_leave_all(ts, root);
	set = set_of_process(1);
	assert_int_equal(rows_of(kernel.sets[set].secure), 0x8);
	target_leave_all(ts, root_tree);
	set = set_of_process(1);
	assert_int_equal(kernel.sets[set].secure, 0);
	assert_int_equal(rows_of(kernel.sets[set].child), 0x4);
	/* Notes name sets by number. */
	assert_true(target_set(ts, set, found));
	assert_ptr_equal(found[0], plain);
	assert_ptr_equal(found[1], NULL);
	assert_false(target_set(ts, ABI_MAX_SETS - 1, found));
}

/* Sets that nobody has any more make room; what is in use stays, and its limit has a name. */
static void test_all_sets(void **state)
{
	struct why why = { "" };
	struct count *a = count_on(0, 0, false);
	unsigned int n = 0;

	/* Each of these attaches leaves a set behind that nobody has. */
	joins(a, 1);
	for (unsigned int i = 1; i < COUNTS; i++) {
		joins(count_on(i, 1, false), 1);
		assert_int_equal(target_leave(ts, &counts[i], 1, &why), 0);
	}
	assert_ptr_equal(target_row(ts, 1, 0), a);
	while (n + 1 < COUNTS && !join(count_on(n + 1, 1, false), (pid_t)n + 2, &why))
		n++;
	assert_in_range(n, ABI_MAX_SETS - 4, ABI_MAX_SETS - 1);
	assert_non_null(strstr(why.text, "4095"));
	assert_non_null(strstr(why.text, "release"));
	for (unsigned int i = 1; i <= n; i++)
		assert_ptr_equal(target_row(ts, (pid_t)i + 1, 1), &counts[i]);
	/* One ends: there is room for one. */
	target_leave_all(ts, &counts[n / 2]);
	joins(count_on(n + 1, 1, false), (pid_t)n + 2);
	assert_ptr_equal(target_row(ts, (pid_t)n + 2, 1), &counts[n + 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_sets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_is_its_pmcs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leave_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_child_of_the_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_sets, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
