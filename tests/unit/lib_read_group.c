/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that are read from events' pages and registers, while these change: read_group_quick(). */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include <pmc.h>

#include "lib/read/read.h"
#include "unit.h"

#define ID      0xfff30f05u
#define MEMBERS 3
#define PLACES  2		/* the last member counts what the first one does */
#define GROUPS  2		/* one for each CPU */

static struct wire_alive alive = { .magic = WIRE_MAGIC };
static struct wire_page page;
static struct perf_event_mmap_page event[GROUPS * PLACES];
static struct read_group *group;
static struct read_shared shared = READ_SHARED_INITIALIZER(shared);
static struct read_table *const table = &shared.first.table;
static uint64_t registers[8];
static void (*meanwhile)(void);		/* between the loads from two pages */

static bool counter(uint32_t index, uint64_t *value)
{
	void (*then)(void) = meanwhile;

	meanwhile = NULL;
	if (index >= sizeof(registers) / sizeof(registers[0]))
		return false;
	*value = registers[index];
	if (then)
		then();
	return true;
}

/* On the first CPU, where the thread is: 1,000 + 5 and 2,000 + 7; on the other one: 20 and 30. */
static int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	memset(event, 0, sizeof(event));
	group = calloc(1, sizeof(*group) + GROUPS * PLACES * sizeof(group->events[0]));
	assert_non_null(group);
	*group = (struct read_group){
		.generation = 4, .members = MEMBERS, .places = PLACES, .groups = GROUPS,
		.tid = read_thread(), .stay.until = UINT64_MAX, .place = { 0, 1, 0 },
		.owner = { 0, 1 },
	};
	for (unsigned int i = 0; i < MEMBERS; i++) {
		page.pmc[i] = (struct wire_page_pmc){
			.how = WIRE_HOW_EVENTS, .pmcid = ID + i, .generation = 4, .seq = 2,
			.base = 10000 * i,
		};
		group->entry[i] = &page.pmc[i];
		group->pmcid[i] = ID + i;
	}
	for (unsigned int i = 0; i < GROUPS * PLACES; i++) {
		event[i].cap_bit0_is_deprecated = 1;
		event[i].cap_user_rdpmc = 1;
		event[i].pmc_width = 48;
		event[i].lock = 2;
		group->events[i] = (struct read_event){ .own.fd = -1, .page = &event[i] };
	}
	event[0].index = 1;
	event[0].offset = 1000;
	event[1].index = 2;
	event[1].offset = 2000;
	event[2].offset = 20;
	event[3].offset = 30;
	registers[0] = 5;
	registers[1] = 7;
	meanwhile = NULL;
	*table = (struct read_table){ .alive = &alive, .page = &page, .top = MEMBERS,
				     .counter = counter };
	for (unsigned int i = 0; i < MEMBERS; i++)
		table->slots[i] = (struct read_slot){ .pmcid = ID + i,
						     .entry = &page.pmc[i] };
	table->slots[0].group = group;
	return 0;
}

static int teardown(void **state)
{
	free(group);
	return 0;
}

static int not_quick(uint32_t leader, uint32_t *n, struct pmc_group_member *members)
{
	return READ_ASK;
}

static bool read_it(struct pmc_group_member *members)
{
	uint32_t n = MEMBERS;

	group->stay.until = UINT64_MAX;
	return !read_group_quick(ID, &n, members, &shared, not_quick) && n == MEMBERS;
}

static void assert_members(const struct pmc_group_member *members, uint64_t first, uint64_t second)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(members[i].pm_pmcid, ID + i);
	assert_int_equal(members[0].pm_value, first);
	assert_int_equal(members[1].pm_value, 10000 + second);
	assert_int_equal(members[2].pm_value, 20000 + first);
}

/* With a look at all pages. */
static void read_slowly(struct pmc_group_member *members)
{
	const struct read_group *g;
	struct reason why;

	group->stay.until = UINT64_MAX;
	assert_int_equal(read_group(table, ID, members, &g, &why), READ_DONE);
	assert_ptr_equal(g, group);
}

static void test_values(void **state)
{
	struct pmc_group_member members[MEMBERS];

	read_slowly(members);
	assert_members(members, 1025, 2037);
	/* The events of another CPU do not matter as long as the thread stays on this one. */
	event[3].offset += 7;
	registers[1] += 3;
	assert_true(read_it(members));
	assert_members(members, 1025, 2040);
}

static void test_member(void **state)
{
	static const uint64_t counts[MEMBERS] = { 1025, 12037, 21025 };
	struct reason why;
	uint64_t value;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		page.pmc[i].how = WIRE_HOW_EVENTS;
		page.pmc[i].pmcid = ID + i;
		group->stay.until = UINT64_MAX;
		assert_int_equal(read_value(table, ID + i, &value, &why), READ_DONE);
		assert_int_equal(value, counts[i]);
	}
	/* Its events are a group's no longer. */
	table->slots[0].group = NULL;
	assert_int_equal(read_value(table, ID + 1, &value, &why), READ_ASK);
}

static void test_room(void **state)
{
	struct pmc_group_member members[MEMBERS];
	uint32_t n = MEMBERS - 1;

	assert_true(read_group_quick(ID, &n, members, &shared, not_quick));
	assert_int_equal(n, MEMBERS - 1);
	assert_true(read_group_quick(ID + 1, &n, members, &shared, not_quick));
}

/* The thread goes to the other CPU between two registers. */
static void move(void)
{
	event[0].lock += 2;
	event[0].index = 0;
	event[0].offset = 1006;
	event[1].lock += 2;
	event[1].index = 0;
	event[1].offset = 2008;
	event[2].lock += 2;
	event[2].index = 1;
	event[3].lock += 2;
	event[3].index = 2;
	registers[0] = registers[1] = 100;
}

/* A register overflows: the kernel moves its event's offset. */
static void overflow(void)
{
	event[0].lock += 2;
	event[0].offset += 50;
}

/* The count of one member is written. */
static void write_member(void)
{
	page.pmc[1].seq += 2;
	page.pmc[1].base += 5;
}

static void test_changes(void **state)
{
	static const struct {
		void (*change)(void);
		uint64_t first, second;
	} changes[] = {
		{ move, 1006 + 120, 2008 + 130 }, { overflow, 1075, 2037 },
		{ write_member, 1025, 2042 },
	};

	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct pmc_group_member members[MEMBERS];

		teardown(state);
		setup(state);
		read_slowly(members);
		meanwhile = changes[i].change;
		assert_false(read_it(members));
		assert_null(meanwhile);
		teardown(state);
		setup(state);
		meanwhile = changes[i].change;
		read_slowly(members);
		assert_null(meanwhile);
		assert_members(members, changes[i].first, changes[i].second);
		assert_true(read_it(members));
		assert_members(members, changes[i].first, changes[i].second);
	}
}

/* A signal handler that reads the group, on the other CPU, between two registers. */
static void move_and_read(void)
{
	struct pmc_group_member members[MEMBERS];

	move();
	read_slowly(members);
	assert_members(members, 1006 + 120, 2008 + 130);
}

static void test_signal(void **state)
{
	struct pmc_group_member members[MEMBERS];

	/* So that the locks of the one CPU become what those of the other one were. */
	event[2].lock = event[3].lock = 0;
	read_slowly(members);
	meanwhile = move_and_read;
	assert_false(read_it(members));
	assert_true(read_it(members));
	assert_members(members, 1006 + 120, 2008 + 130);
}

/* Then only the kernel or the daemon knows; there is no descriptor here, so it is the daemon. */
static void asks(void)
{
	struct pmc_group_member members[MEMBERS];
	const struct read_group *g;
	struct reason why;

	assert_false(read_it(members));
	assert_int_equal(read_group(table, ID, members, &g, &why), READ_ASK);
}

static void test_asks(void **state)
{
	event[1].cap_user_rdpmc = event[0].cap_user_rdpmc = 0;
	asks();
	teardown(state);
	setup(state);
	event[1].index = 9;			/* there is no such register */
	asks();
	teardown(state);
	setup(state);
	event[0].index = event[1].index = 0;	/* lost, or about to be known as lost */
	asks();
	teardown(state);
	setup(state);
	event[3].lock++;
	asks();
	teardown(state);
	setup(state);
	page.pmc[2].seq++;
	asks();
	teardown(state);
	setup(state);
	page.pmc[0].generation++;
	asks();
	teardown(state);
	setup(state);
	page.pmc[0].how = WIRE_HOW_VALUE;
	asks();
	teardown(state);
	setup(state);
	group->tid++;				/* another thread's registers */
	asks();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_member, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
