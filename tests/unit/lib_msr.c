/* SPDX-License-Identifier: BSD-2-Clause */
/* read_register(): which register counts, from the pages of events (REQ-099, REQ-170). */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/read/read.h"
#include "unit.h"

#define ID 0xfff30f05u

static struct wire_alive alive = { .magic = WIRE_MAGIC };
static struct wire_page page;
static struct perf_event_mmap_page event[2];
static struct read_event events[2];
static struct read_table table;
static struct reason why;

static bool registers(uint32_t index, uint64_t *value)
{
	*value = 100 + index;
	return index < 8;
}

static int setup(void **state)
{
	const uint64_t count = 1;

	memset(&table, 0, sizeof(table));
	memset(&page, 0, sizeof(page));
	memset(event, 0, sizeof(event));
	for (unsigned int i = 0; i < 2; i++) {
		event[i].cap_bit0_is_deprecated = 1;
		event[i].cap_user_rdpmc = 1;
		event[i].pmc_width = 48;
		events[i].page = &event[i];
		events[i].own = ownfd_identify(memfd_create("event", MFD_CLOEXEC));
		assert_int_equal(pwrite(events[i].own.fd, &count, sizeof(count), 0), sizeof(count));
	}
	event[1].index = 4;
	page.pmc[0] = (struct wire_page_pmc){ .how = WIRE_HOW_EVENTS, .pmcid = ID,
					      .generation = 3 };
	table = (struct read_table){ .alive = &alive, .page = &page, .top = 1,
				     .counter = registers };
	table.slots[0] = (struct read_slot){ .used = true, .pmcid = ID, .generation = 3,
					     .nevents = 2, .events = events,
					     .tid = read_thread(), .entry = page.pmc };
	return 0;
}

static int teardown(void **state)
{
	close(events[0].own.fd);
	close(events[1].own.fd);
	return 0;
}

static int get(uint32_t *index)
{
	*index = 77;
	why.text[0] = '\0';
	return read_register(&table, ID, index, &why);
}

static void test_found(void **state)
{
	uint32_t index;

	assert_int_equal(get(&index), 0);
	assert_int_equal(index, 3);
	event[1].index = 0;
	event[0].index = 8;
	assert_int_equal(get(&index), 0);
	assert_int_equal(index, 7);
}

static void expect(int err, const char *words)
{
	uint32_t index;

	assert_int_equal(get(&index), err);
	assert_int_equal(index, 77);
	assert_contains(why.text, words);
}

static void test_not_running(void **state)
{
	page.pmc[0].how = WIRE_HOW_VALUE;
	expect(-EAGAIN, "pmc_start()");
}

/* The event of this CPU has no register: lost if read(2) is at the end, else not there yet. */
static void test_no_register_now(void **state)
{
	event[1].index = 0;
	expect(-EAGAIN, "try again");
	/* Both files are at their end now, as pinned events are that lost their counter. */
	expect(-EBUSY, "lost");
}

static void test_none(void **state)
{
	static const enum wire_how hows[] = { WIRE_HOW_ASK, WIRE_HOW_COUNTS, WIRE_HOW_RUSAGE,
					      WIRE_HOW_TSC };

	for (unsigned int i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		page.pmc[0].how = hows[i];
		expect(-ENOSYS, "not read from a register");
	}
	page.pmc[0].how = WIRE_HOW_EVENTS;
	page.pmc[0].generation++;
	expect(-ENOSYS, "not read from a register");
	page.pmc[0].generation--;
	table.slots[0].tid++;
	expect(-ENOSYS, "one thread");
	table.slots[0].tid = 0;
	expect(-ENOSYS, "one thread");
	table.slots[0].tid = read_thread();
	table.alive = NULL;
	expect(-ENOSYS, "not read from a register");
}

static void test_no_access(void **state)
{
	event[0].cap_user_rdpmc = 0;
	event[1].cap_user_rdpmc = 0;
	expect(-ENOSYS, "perf_user_access");
	events[0].page = NULL;
	expect(-ENOSYS, "perf_user_access");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_found), T(test_not_running), T(test_no_register_now), T(test_none),
		T(test_no_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
