/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups until they are committed, and a handle that another thread gets while it is released. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "lib/pmc/pmc.h"
#include "unit.h"

struct lib;
struct read_table *__real_client_table_change(struct lib *l);

/* A second thread, which allocates once the daemon has released the first one's PMC. */
static pthread_t other;
static bool waiting;
static pmc_id_t given;

static pmc_id_t allocated(struct fake *f, uint32_t number, enum pmc_mode mode, uint32_t flags,
			  int cpu)
{
	pmc_id_t id;

	f->other = number;
	assert_int_equal(pmc_allocate_group("PAGE_FAULT.ALL", mode, flags, cpu, &id, 0), 0);
	assert_int_equal(id, FAKE_ID + number);
	return id;
}

static void refused(int err, const char *part)
{
	assert_int_equal(err, -1);
	assert_int_equal(errno, EINVAL);
	assert_contains(pmc_errstr(), part);
}

static void what_cannot_be_committed_is_not_added(void **state)
{
	struct fake *f = *state;
	pmc_id_t first, plain, system, other_cpu, tree;
	uint32_t group, cpu;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_group_create(&group), 0);
	refused(pmc_group_add(group, 0x1234, 0), "0x00001234 is no PMC that pmc_allocate_group()");
	f->other = 1;
	assert_int_equal(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &plain, 0), 0);
	refused(pmc_group_add(group, plain, 0), "is no PMC that pmc_allocate_group()");
	first = allocated(f, 2, PMC_MODE_TC, 0, PMC_CPU_ANY);
	system = allocated(f, 3, PMC_MODE_SC, 0, 0);
	other_cpu = allocated(f, 4, PMC_MODE_SC, 0, 1);
	tree = allocated(f, 5, PMC_MODE_TC, PMC_F_DESCENDANTS, PMC_CPU_ANY);
	assert_int_equal(pmc_group_add(group, first, 1), 0);
	refused(pmc_group_add(group, system, 0), "all members of a group have one mode");
	refused(pmc_group_add(group, tree, 0), "PMC_F_DESCENDANTS of a group is a flag of its");
	assert_int_equal(pmc_group_create(&cpu), 0);
	assert_int_equal(pmc_group_add(cpu, system, 0), 0);
	refused(pmc_group_add(cpu, other_cpu, 1), "all members of a group count one CPU: 0, not 1");
	/* The refused ones have not spoilt the group; a released one is none any more. */
	assert_int_equal(pmc_group_commit(group), 0);
	assert_int_equal(pmc_release(other_cpu), 0);
	refused(pmc_group_add(cpu, other_cpu, 0), "is no PMC that pmc_allocate_group()");
}

static void *allocate_meanwhile(void *arg)
{
	if (!pmc_allocate_group("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &given, 0))
		waiting = false;
	return NULL;
}

/* The library is about to change its table, after the daemon's reply. */
struct read_table *__wrap_client_table_change(struct lib *l);
struct read_table *__wrap_client_table_change(struct lib *l)
{
	static const struct timespec moment = { .tv_nsec = 200000000 };

	if (waiting && !other) {
		pthread_create(&other, NULL, allocate_meanwhile, NULL);
		nanosleep(&moment, NULL);
	}
	return __real_client_table_change(l);
}

static void a_released_handle_is_another_threads_at_once(void **state)
{
	struct fake *f = *state;
	pmc_id_t id;
	uint32_t group;

	assert_int_equal(pmc_init(), 0);
	id = allocated(f, 0, PMC_MODE_TC, 0, PMC_CPU_ANY);
	waiting = true;
	assert_int_equal(pmc_release(id), 0);
	pthread_join(other, NULL);
	assert_false(waiting);
	assert_int_equal(given, id);
	assert_int_equal(pmc_group_create(&group), 0);
	assert_int_equal(pmc_group_add(group, given, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup_unconnected, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_cannot_be_committed_is_not_added),
		TEST(a_released_handle_is_another_threads_at_once),
	};

	alarm(600);	/* a server that does not answer must not hang the build */
	return cmocka_run_group_tests_name("lib_group", tests, NULL, NULL);
}
