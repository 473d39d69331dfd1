/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets and targets over a fake of the kernel's side: sets are found whatever their number, one
 * PMC's end leaves the others' sets alone, and all sets may be in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/count/account.h"
#include "loader/count/count_state.h"
#include "unit.h"

#define PROCESSES 6000u
#define COUNTS	  5000u
#define INITIAL	  4026531837ull

/* --- the kernel's side ----------------------------------------------------------------------- */

static struct kernel {
	struct abi_set sets[ABI_MAX_SETS];
	struct abi_target target[PROCESSES];	/* by tgid; state 0: none */
	struct abi_account account[ABI_MAX_ACCOUNTS];
	struct abi_owner owner[ABI_MAX_OWNERS];
	unsigned int flushes;
	unsigned int walk_fails, flush_fails;	/* so many times, from now on */
	uint32_t execs;				/* the process that does when it is about to move */
} kernel;

static struct engine engine = { .sets = kernel.sets };
static struct targets *ts;
static struct config config;
static struct user_table users;
/* root's, and an ordinary user's */
static struct count_owner owner = { .counts = { .slot = 3 } };
static struct count_owner ordinary = { .counts = { .slot = 4 } };
static const struct backend figures = { .figures = true }, no_figures;
static struct count counts[COUNTS];

void engine_breathe(const struct engine *e) {}
struct abi_account *owner_maps_accounts(const struct engine *e) { return kernel.account; }

struct abi_owner *owner_maps_owner(const struct engine *e, unsigned int slot)
{
	return &kernel.owner[slot];
}

/* As the programs do for every process that comes or goes. */
static void ntargets_add(uint32_t set, uint32_t n)
{
	struct kernel *e = &kernel;

	e->sets[set].ntargets += n;
	e->account[e->sets[set].account].used[ABI_CHARGE_TARGETS] += n;
	e->account[0].used[ABI_CHARGE_TARGETS] += n;
}

int flush_all(const struct flush *f)
{
	kernel.flushes++;
	if (!kernel.flush_fails)
		return 0;
	kernel.flush_fails--;
	return -ENOMEM;
}

/* As the programs do: the process has another set, without a note to the daemon. */
static void executes(pid_t tgid)
{
	struct abi_target *t = &kernel.target[tgid];
	uint32_t from = ABI_STATE_SET(t->state), to = kernel.sets[from].exec;

	if (!to)
		return;
	ntargets_add(from, ~0u);
	ntargets_add(to, 1);
	t->state = (uint64_t)to << 32;
}

int target_map_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set,
		      uint64_t keep)
{
	struct abi_target *t = &kernel.target[tgid];
	uint32_t from = ABI_STATE_SET(t->state);

	if (kernel.execs == tgid) {
		kernel.execs = 0;
		executes((pid_t)tgid);
		from = ABI_STATE_SET(t->state);
	}
	if (op == ABI_CTL_MOVE && ABI_STATE_SET(keep) != from)
		return -EAGAIN;
	if ((op == ABI_CTL_ADD) == (t->state != 0))
		return op == ABI_CTL_ADD ? -EEXIST : -ESRCH;
	if (op != ABI_CTL_ADD)
		ntargets_add(from, ~0u);
	t->state = 0;
	if (op == ABI_CTL_DELETE)
		return 0;
	ntargets_add(set, 1);
	t->state = (uint64_t)set << 32;
	return 0;
}

void target_map_mark_plain(struct engine *e, unsigned int id, bool hits)
{
	(void)e;
	(void)id;
	(void)hits;
}

int target_map_get(const struct engine *e, uint32_t tgid, struct abi_target *t)
{
	*t = kernel.target[tgid];
	return t->state ? 0 : -ENOENT;
}

int target_map_next(const struct engine *e, struct target_walk *w, uint32_t *tgid,
		    struct abi_target *t, unsigned int max)
{
	unsigned int n = 0;

	if (kernel.walk_fails) {
		kernel.walk_fails--;
		w->more = false;
		return -ENOMEM;
	}

	for (; w->at < PROCESSES && n < max; w->at++)
		if (kernel.target[w->at].state) {
			tgid[n] = w->at;
			t[n++] = kernel.target[w->at];
		}
	w->more = w->at < PROCESSES;
	return (int)n;
}

/* --- PMCs ------------------------------------------------------------------------------------ */

static void begin_owner(struct count_owner *o, uid_t uid)
{
	const struct cred c = { .pid = -1, .uid = { uid, uid, uid }, .user_ns = INITIAL,
				.permitted = uid ? 0 : ~0ull, .effective = uid ? 0 : ~0ull };
	struct reason why;

	o->user = user_get(&users, &c);
	assert_non_null(o->user);
	assert_int_equal(account_open(&engine, o->user, o->counts.slot, &why), 0);
}

static void end_owner(struct count_owner *o)
{
	account_close(&engine, o->user, o->counts.slot);
	user_put(o->user);
}

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	config_init(&config);
	memset(&users, 0, sizeof(users));
	user_table_init(&users, &config);
	user_pool(&users, POOL_SETS, TARGET_SETS);
	user_pool(&users, POOL_TARGETS, PROCESSES);
	begin_owner(&owner, 0);
	begin_owner(&ordinary, 1000);
	memset(counts, 0, sizeof(counts));
	for (unsigned int i = 0; i < COUNTS; i++) {
		counts[i].backend = &figures;
		counts[i].owner = &owner;
		counts[i].spec = (struct count_spec){ .quantity = WIRE_Q_CPU_NS };
	}
	ts = targets_new(&engine);
	assert_non_null(ts);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < COUNTS; i++)
		target_leave_all(ts, &counts[i]);
	assert_int_equal(users.used[POOL_SETS], 0);
	assert_int_equal(kernel.account[0].used[ABI_CHARGE_TARGETS], 0);
	end_owner(&owner);
	end_owner(&ordinary);
	assert_true(LIST_EMPTY(&users.users));
	targets_free(ts);
	return 0;
}

static struct count *count_on(unsigned int i, unsigned int row, bool descendants)
{
	counts[i].spec.row = row;
	counts[i].spec.descendants = descendants;
	return &counts[i];
}

static int join(struct count *c, pid_t tgid, struct reason *why)
{
	return target_join(ts, c, -1, tgid, false, why);
}

static void joins(struct count *c, pid_t tgid)
{
	struct reason why = { "" };

	assert_int_equal(join(c, tgid, &why), 0);
}

static void waits(struct count *c, pid_t tgid)
{
	struct reason why = { "" };

	assert_int_equal(target_join(ts, c, -1, tgid, true, &why), 0);
	assert_true(target_waits(ts, c, tgid));
}

static uint32_t set_of_process(pid_t tgid) { return ABI_STATE_SET(kernel.target[tgid].state); }

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

/* The order in which PMCs are attached does not change the set. */
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

/* Rows behind the 64th, of PMCs that wait for an exec as of others. */
static void test_last_rows(void **state)
{
	unsigned int low = TARGET_ROWS - 1 - 64, high = TARGET_ROWS - 1;
	struct count *waiting = count_on(0, high, false), *joined = count_on(1, low, false);
	struct reason why = { "" };

	/* The kernel keeps figures for the first rows only. */
	waiting->backend = joined->backend = &no_figures;
	waits(waiting, 10);
	joins(joined, 10);
	assert_true(target_rows(ts, 10) == ((row_mask)1 << high | (row_mask)1 << low));
	assert_true(target_waits(ts, waiting, 10));
	assert_false(target_waits(ts, joined, 10));
	executes(10);
	assert_false(target_waits(ts, waiting, 10));
	assert_int_equal(target_number(ts, waiting), 1);
	assert_int_equal(target_leave(ts, waiting, 10, &why), 0);
	assert_true(target_rows(ts, 10) == (row_mask)1 << low);
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
	struct reason why;
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
	/* All or none; and a PMC that leaves asks again. */
	kernel.walk_fails = 1;
	assert_int_equal(target_each(ts, a, see, &of_a), -ENOMEM);
	assert_int_equal(of_a.n, 3000);
	kernel.walk_fails = 2;
	target_leave_all(ts, a);
	for (pid_t p = 1; p <= 5000; p++)
		assert_int_equal(target_rows(ts, p), p % 2 ? 0 : 1u << 1);
	/* No set gets a number while a slice of one that is gone may be open. */
	kernel.flush_fails = 2;
	target_leave_all(ts, b);
	assert_int_equal(join(b, 11, &why), -EAGAIN);
	joins(b, 11);
}

/* One PMC's end, in any order, leaves other PMCs' measurements as they are. */
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

/* A set that children inherit a PMC from stops that once the PMC has gone. */
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

/* PMCs that wait count nothing before the exec, and are the process's nevertheless. */
static void test_waits(void **state)
{
	struct count *now = count_on(0, 0, true), *later = count_on(1, 1, true);
	struct count *alone = count_on(2, 2, false);
	uint32_t set, after;

	joins(now, 1);
	waits(later, 1);
	waits(alone, 1);
	set = set_of_process(1);
	assert_int_equal(rows_of(set), 0x1);
	assert_int_equal(target_rows(ts, 1), 0x7);
	assert_int_equal(target_number(ts, later), 1);
	/* A child that is born before the exec waits for its own. */
	assert_int_equal(rows_of(kernel.sets[set].child), 0x1);
	after = kernel.sets[kernel.sets[set].child].exec;
	assert_int_equal(rows_of(after), 0x3);
	/* A start does not reach the programs for PMCs that wait. */
	target_activate(ts, later, true);
	assert_int_equal(kernel.sets[set].soft_active, 0);
	assert_int_equal(kernel.sets[kernel.sets[set].exec].soft_active, 0x2);
	executes(1);
	assert_false(target_waits(ts, later, 1));
	assert_int_equal(rows_of(set_of_process(1)), 0x7);
	assert_int_equal(kernel.sets[set_of_process(1)].exec, 0);
	assert_int_equal(rows_of(kernel.sets[set_of_process(1)].child), 0x3);
	/* The same PMCs on a process that waits are another set, and end as one. */
	waits(later, 2);
	assert_int_equal(target_number(ts, later), 2);
	target_leave_all(ts, later);
	assert_int_equal(target_rows(ts, 2), 0);
	assert_int_equal(rows_of(set_of_process(1)), 0x5);
}

/* The exec happens between the daemon's look at the process and its change of the set. */
static void test_exec_meanwhile(void **state)
{
	struct count *later = count_on(0, 0, true), *other = count_on(1, 1, true);
	struct reason why = { "" };

	waits(later, 1);
	kernel.execs = 1;
	joins(other, 1);
	assert_int_equal(rows_of(set_of_process(1)), 0x3);
	assert_false(target_waits(ts, later, 1));
	waits(later, 2);
	waits(other, 2);
	kernel.execs = 2;
	assert_int_equal(target_leave(ts, other, 2, &why), 0);
	assert_int_equal(rows_of(set_of_process(2)), 0x1);
}

/* §3.3 step 4: the PMCs that stay after a set-id exec, on the process and on its children. */
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
	/* A released PMC is not found any more. */
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

/* Unused sets make room; used ones stay, and the limit has a name. */
static void test_all_sets(void **state)
{
	struct reason why = { "" };
	struct count *a = count_on(0, 0, false);
	unsigned int n = 0;

	/* Each of these attaches leaves an unused set behind. */
	joins(a, 1);
	for (unsigned int i = 1; i < COUNTS; i++) {
		joins(count_on(i, 1, false), 1);
		assert_int_equal(target_leave(ts, &counts[i], 1, &why), 0);
	}
	assert_ptr_equal(target_row(ts, 1, 0), a);
	while (n + 1 < COUNTS && !join(count_on(n + 1, 1, false), (pid_t)n + 2, &why))
		n++;
	assert_in_range(n, TARGET_SETS - 3, TARGET_SETS);
	assert_non_null(strstr(why.text, "4095"));
	assert_non_null(strstr(why.text, "release"));
	for (unsigned int i = 1; i <= n; i++)
		assert_ptr_equal(target_row(ts, (pid_t)i + 1, 1), &counts[i]);
	/* One ends: there is room for one. */
	target_leave_all(ts, &counts[n / 2]);
	joins(count_on(n + 1, 1, false), (pid_t)n + 2);
	assert_ptr_equal(target_row(ts, (pid_t)n + 2, 1), &counts[n + 1]);
}

/* The PMC of an ordinary user, on the row. */
static struct count *ordinary_on(unsigned int i, unsigned int row, bool descendants)
{
	counts[i].owner = &ordinary;
	return count_on(i, row, descendants);
}

/* Detaching never fails, so a detach that would need too many sets is refused at its start. */
static void test_quota_and_detach(void **state)
{
	struct count *tree = ordinary_on(4000, 3, true);
	struct reason why = { "" };
	unsigned int n = 500;

	for (unsigned int i = 0; i < n; i++) {
		joins(tree, (pid_t)i + 1);
		joins(ordinary_on(i, 1, false), (pid_t)i + 1);
	}
	config.value[TUN_USER_SHARE] = 20;		/* 819 */
	assert_int_equal(target_may_leave(ts, tree, &why), -EAGAIN);
	assert_non_null(strstr(why.text, "user.share"));
	assert_int_equal(target_may_leave(ts, &counts[0], &why), 0);
	/* The PMC's end cannot be refused. */
	target_leave_all(ts, tree);
	for (unsigned int i = 0; i < n; i++)
		assert_ptr_equal(target_row(ts, (pid_t)i + 1, 1), &counts[i]);
	assert_int_equal(ordinary.user->used[POOL_SETS], n);
}

/* The programs know the user charged for a target; another attach charges its own user. */
static void test_quota_of_targets(void **state)
{
	struct count *mine = ordinary_on(0, 1, false), *roots = count_on(1, 2, false);
	struct reason why = { "" };
	pid_t p = 1;

	while (p < 5000 && !join(mine, p, &why))
		p++;
	assert_int_equal(p - 1, PROCESSES / 4);
	assert_non_null(strstr(why.text, "has 1500 of pmcbpfd's 6000 target processes"));
	/* Root is charged for its attaches as well, and only while they last. */
	joins(roots, 1);
	joins(roots, 2);
	assert_int_equal(kernel.account[ordinary.user->account].used[ABI_CHARGE_TARGETS], 1498);
	joins(mine, p);
	target_leave_all(ts, roots);
	assert_int_equal(kernel.account[ordinary.user->account].used[ABI_CHARGE_TARGETS], 1501);
	assert_int_equal(join(mine, 5000, &why), -EAGAIN);
	joins(count_on(2, 2, false), 5000);
	/* The current limits apply. */
	config.value[TUN_USER_SHARE] = 50;
	joins(mine, 5001);
	assert_int_equal(kernel.account[ordinary.user->account].own[ABI_CHARGE_TARGETS], 3000);
	assert_int_equal(kernel.account[ordinary.user->account].all[ABI_CHARGE_TARGETS], 5400);
}

/*
 * Children without room make the counts of the PMCs that would have measured them wrong, for good.
 */
static void test_lost_children(void **state)
{
	struct count *a = ordinary_on(0, 1, true), *b = count_on(1, 2, true);

	joins(a, 1);
	joins(b, 1);
	joins(b, 2);
	kernel.sets[set_of_process(1)].lost = 3;
	assert_int_equal(target_lost(ts, a), 3);
	assert_int_equal(target_lost(ts, b), 3);
	target_leave_all(ts, a);
	assert_int_equal(target_lost(ts, b), 3);
	kernel.sets[set_of_process(2)].lost = 1;
	assert_int_equal(target_lost(ts, b), 4);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_many_sets), T(test_set_is_its_pmcs), T(test_last_rows), T(test_each),
		T(test_leave_in_any_order), T(test_no_child_of_the_gone), T(test_waits),
		T(test_exec_meanwhile), T(test_set_id), T(test_all_sets), T(test_quota_and_detach),
		T(test_quota_of_targets), T(test_lost_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
