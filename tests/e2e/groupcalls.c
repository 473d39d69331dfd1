/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes groups by FreeBSD's functions as its own clients do, with two events that this program
 * causes in known numbers, and checks each function's errors.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#include <pmc.h>

#define CALLS  "syscalls:sys_enter_sched_get_priority_max"
#define OTHERS "syscalls:sys_enter_sched_get_priority_min"

static void check(int line, long got, long wanted, int error)
{
	if (got == wanted && (!error || errno == error))
		return;
	fprintf(stderr, "line %d: %ld, %s: %s\n", line, got, strerror(errno), pmc_errstr());
	exit(1);
}
#define OK(call)	 check(__LINE__, call, 0, 0)
#define FAILS(err, call) check(__LINE__, (errno = 0, call), -1, err)
#define SAME(a, b)	 check(__LINE__, (long)(a), (long)(b), 0)

static pmc_id_t ids[2];

static pmc_id_t allocate(const char *spec, uint32_t flags)
{
	pmc_id_t id;

	OK(pmc_allocate_group(spec, PMC_MODE_TC, flags, PMC_CPU_ANY, &id, 0));
	return id;
}

/* The second PMC is the leader. */
static void make_group(void)
{
	uint32_t group;
	pmc_id_t third;

	FAILS(EINVAL, pmc_group_add(1, 0, 1));
	FAILS(EINVAL, pmc_group_add(0, 0, 1));
	FAILS(EINVAL, pmc_group_commit(0));
	FAILS(EOPNOTSUPP, pmc_allocate_group(CALLS, PMC_MODE_TS, 0, PMC_CPU_ANY, &third, 1));
	ids[0] = allocate(CALLS, 0);
	ids[1] = allocate(OTHERS, PMC_F_GROUP_MUX);
	third = allocate(CALLS, 0);
	OK(pmc_group_create(&group));
	OK(pmc_group_add(group, ids[0], 0));
	FAILS(EINVAL, pmc_group_commit(group));
	FAILS(EDOOFUS, pmc_start(ids[0]));
	OK(pmc_group_add(group, third, 1));
	FAILS(EINVAL, pmc_group_add(group, third, 1));
	FAILS(EINVAL, pmc_group_add(group, ids[1], 1));
	OK(pmc_release(third));
	OK(pmc_group_add(group, ids[1], 1));
	OK(pmc_group_commit(group));
	OK(pmc_group_commit(group));
	third = allocate(CALLS, 0);
	FAILS(EBUSY, pmc_group_add(group, third, 0));
	OK(pmc_release(third));
}

/* As many members as have rows. */
static void fill_rows(void)
{
	pmc_id_t more[64];
	unsigned int n = 0;

	while (n < 64 && !pmc_allocate_group(CALLS, PMC_MODE_TC, 0, PMC_CPU_ANY, &more[n], 0))
		n++;
	SAME(n > 0 && n < 64, 1);
	SAME(errno, ENOSPC);
	while (n)
		OK(pmc_release(more[--n]));
}

static void make_calls(int n)
{
	for (int i = 0; i < n; i++) {
		sched_get_priority_max(SCHED_OTHER);
		sched_get_priority_max(SCHED_OTHER);
		sched_get_priority_min(SCHED_OTHER);
	}
}

static void read_group(int calls)
{
	struct pmc_group_member m[PMC_GROUP_MAX_MEMBERS + 1];
	struct pmc_group_times t;
	pmc_value_t value = 1;
	uint64_t enabled = 2, running = 3;
	uint32_t n = 0;

	OK(pmc_group_read(ids[1], &n, NULL, NULL));
	SAME(n, 2);
	n = 1;
	FAILS(E2BIG, pmc_group_read(ids[1], &n, m, &t));
	SAME(n, 2);
	n = PMC_GROUP_MAX_MEMBERS + 1;
	FAILS(EINVAL, pmc_group_read(ids[1], &n, m, &t));
	n = 2;
	FAILS(ENOTTY, pmc_group_read(ids[0], &n, m, &t));
	FAILS(EOPNOTSUPP, pmc_read_pair(ids[0], &value, &enabled, &running));
	SAME(value * 100 + enabled * 10 + running, 123);
	OK(pmc_group_read(ids[1], &n, m, &t));
	SAME(m[0].pm_pmcid, ids[1]);
	SAME(m[0].pm_value, calls);
	SAME(m[1].pm_pmcid, ids[0]);
	SAME(m[1].pm_value, 2 * calls);
	SAME(t.pgt_enabled, t.pgt_running);
	SAME(t.pgt_running > 0, calls > 0);
	SAME(t.pgt_flags, PMC_GROUP_F_TIME_WALL_NS);
	OK(pmc_read_pair(ids[1], &value, &enabled, &running));
	SAME(value, calls);
	SAME(enabled, running);
	SAME(enabled >= t.pgt_enabled, 1);
}

int main(void)
{
	pmc_value_t value;

	OK(pmc_init());
	make_group();
	fill_rows();
	read_group(0);
	FAILS(ENOTTY, pmc_start(ids[0]));
	OK(pmc_start(ids[1]));
	make_calls(3);
	read_group(3);
	OK(pmc_stop(ids[1]));
	make_calls(1);
	read_group(3);
	FAILS(ENOTTY, pmc_release(ids[0]));
	OK(pmc_read(ids[0], &value));
	SAME(value, 6);
	OK(pmc_group_release(ids, 2));
	FAILS(ESRCH, pmc_read(ids[0], &value));
	return 0;
}
