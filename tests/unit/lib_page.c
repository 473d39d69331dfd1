/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts computed from events' pages and a register, while both change: read_quick(), which reads
 * takes no look at anything else; and which register it is: read_register().
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "lib/read/read.h"
#include "unit.h"

#define ID 0xfff30f05u

static struct wire_alive alive = { .magic = WIRE_MAGIC };
static struct wire_page page;
static struct perf_event_mmap_page event[2];
static struct read_event events[2];
static struct read_shared shared = READ_SHARED_INITIALIZER(shared);
static struct read_table *const table = &shared.first.table;
static struct read_stay stay;
static uint64_t registers[8];
static unsigned int looks;
static void (*meanwhile)(void);		/* between the loads from a page */

static bool counter(uint32_t index, uint64_t *value)
{
	void (*then)(void) = meanwhile;

	looks++;
	meanwhile = NULL;
	if (index >= sizeof(registers) / sizeof(registers[0]))
		return false;
	*value = registers[index];
	if (then)
		then();
	return true;
}

static int not_quick(uint32_t pmcid, uint64_t *value)
{
	assert_int_equal(pmcid, ID);
	return READ_ASK;
}

static int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	memset(event, 0, sizeof(event));
	for (unsigned int i = 0; i < 2; i++) {
		event[i].cap_bit0_is_deprecated = 1;
		event[i].cap_user_rdpmc = 1;
		event[i].pmc_width = 48;
		event[i].lock = 2;
		/* Of no concern: versions, and times of an event that had no counter for long */
		event[i].version = 7;
		event[i].compat_version = 8;
		event[i].time_enabled = 1000;
		event[i].time_running = 10;
		event[i].cap_user_time = event[i].cap_user_time_zero = 1;
		event[i].time_mult = 12345;
		event[i].time_zero = event[i].time_offset = 12345;
		events[i] = (struct read_event){ .own.fd = -1, .page = &event[i] };
	}
	event[0].index = 1;
	event[0].offset = 1000;
	event[1].offset = 20;
	registers[0] = 5;
	registers[1] = 77;
	stay = (struct read_stay){ .until = UINT64_MAX };	/* a test does not ask the kernel */
	looks = 0;
	meanwhile = NULL;
	page.pmc[0] = (struct wire_page_pmc){ .how = WIRE_HOW_EVENTS, .pmcid = ID };
	*table = (struct read_table){ .alive = &alive, .page = &page, .top = 1,
				     .counter = counter };
	table->slots[0] = (struct read_slot){ .pmcid = ID, .nevents = 2,
					     .events = events, .tid = read_thread(),
					     .stay = &stay, .entry = page.pmc };
	return 0;
}

static void expect(uint64_t wanted)
{
	uint64_t value = 7;

	stay.until = UINT64_MAX;
	assert_false(read_quick(ID, &value, &shared, not_quick));
	assert_int_equal(value, wanted);
}

static void expect_nothing(void)
{
	uint64_t value = 7;

	stay.until = UINT64_MAX;
	assert_true(read_quick(ID, &value, &shared, not_quick));
	assert_int_equal(value, 7);
}

/*
 * PERF-206, PERF-207, PERF-211, PERF-212, PERF-218, PERF-219, PERF-220, PERF-221, PERF-222,
 * PERF-223: versions and times of the page change no value.
 *
 * As the kernel does it: a counter starts below 0, so that it overflows soon, and the page's offset
 * is the count without the counter's value.
 */
static void test_width(void **state)
{
	static const uint16_t widths[] = { 32, 40, 48, 63, 64 };

	event[1].offset = 0;
	for (unsigned int i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		const uint16_t width = widths[i];
		const uint64_t half = 1ull << (width - 1), mask = half | (half - 1);
		const uint64_t steps[] = { 0, 1, half - 2, half - 1, half, half + 1, mask - 3 };
		uint64_t count = 3 * half + 12345;	/* more than the register ever shows */

		event[0].pmc_width = width;
		for (unsigned int round = 0; round < 5; round++) {
			uint64_t start = -half + 3;	/* the last is just below the next wrap */

			event[0].offset = (int64_t)(count - start);
			event[0].lock += 2;
			for (unsigned int s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
				registers[0] = (start + steps[s]) & mask;
				registers[0] |= ~mask & 0xa5ull << 56;	/* arbitrary values */
				expect(count + steps[s]);
			}
			count += mask - 3;
		}
	}
}

static void test_presets(void **state)
{
	page.pmc[0].base = UINT64_MAX;
	expect(1024);
	event[0].offset = -30;
	event[0].lock += 2;
	page.pmc[0].base = 0;
	expect(UINT64_MAX - 4);
}

/* The thread runs, but no page has a register: only the kernel has the count. */
static void test_no_index(void **state)
{
	event[0].index = 0;
	expect_nothing();
	assert_int_equal(looks, 0);
}

static void test_odd(void **state)
{
	event[0].lock = 3;
	expect_nothing();
	assert_int_equal(looks, 0);
}

static void deny_access(void)
{
	event[0].lock += 2;
	event[0].cap_user_rdpmc = 0;
}

/* PERF-325 */
static void test_access_ends(void **state)
{
	meanwhile = deny_access;
	expect_nothing();
	assert_int_equal(looks, 1);
}

static void leave_counter(void)
{
	event[0].lock += 2;
	event[0].index = 0;
	event[0].offset = 1008;
}

/* Access was revoked, as arm64's kernels show it: the page has the count at the last switch. */
static void test_index_ends(void **state)
{
	meanwhile = leave_counter;
	expect_nothing();
	assert_int_equal(looks, 1);
}

static void change_counter(void)
{
	event[0].lock += 2;
	event[0].index = 2;
	event[0].offset = 1100;
	registers[0] = 999999;		/* another PMC's now */
}

static void test_counter_changes(void **state)
{
	meanwhile = change_counter;
	expect_nothing();
	expect(1100 + 77 + 20);
	assert_int_equal(looks, 3);	/* the second in vain: of the register that it was */
}

static void migrate(void)
{
	leave_counter();
	event[1].lock += 2;
	event[1].index = 2;
	event[1].offset = -50;
}

/* To the second event's CPU, while the first page is looked at. */
static void test_migration(void **state)
{
	meanwhile = migrate;
	expect_nothing();
	expect(1008 - 50 + 77);
	assert_int_equal(looks, 3);
}

/*
 * As long as the thread stays on its CPU, one page is read: the other one's content does not
 * matter.  The kernel changes the lock of a page when the thread comes or goes.
 */
static void test_stay(void **state)
{
	expect(1025);
	event[1].offset += 5;
	registers[0] += 10;
	expect(1035);
	event[0].lock += 2;		/* it has been away */
	expect(1040);
	migrate();
	expect(1008 - 50 + 77);
	event[0].offset += 7;
	registers[1]++;
	expect(1008 - 50 + 78);
	event[1].lock++;		/* the kernel is writing */
	expect_nothing();
}

static void stop(void)
{
	page.pmc[0].seq += 2;
	page.pmc[0].how = WIRE_HOW_VALUE;
	page.pmc[0].base = 5000;
}

static void test_pmc_stops(void **state)
{
	meanwhile = stop;
	expect_nothing();
	expect(5000);
}

static void restart(void)
{
	page.pmc[0].seq += 2;
	page.pmc[0].generation++;
}

static void test_generation(void **state)
{
	expect(1025);
	restart();
	expect_nothing();
}

static void test_scale(void **state)
{
	assert_int_equal(read_scale(123, 0), 123);
	assert_int_equal(read_scale(999999999, 1000), 999);
	assert_int_equal(read_scale(1000000000, 1000), 1000);
	assert_int_equal(read_scale(1000000000ull * 86400 * 365, 8128), 8128ull * 86400 * 365);
}

/* --- read_register(): which register counts (REQ-099, REQ-170) ------------------------------- */

static struct reason why;

/* The second event has register 3; read(2) gives one count of each. */
static int setup_register(void **state)
{
	const uint64_t count = 1;

	setup(state);
	for (unsigned int i = 0; i < 2; i++) {
		event[i].index = 4 * i;
		events[i].own = ownfd_identify(memfd_create("event", MFD_CLOEXEC));
		assert_int_equal(pwrite(events[i].own.fd, &count, sizeof(count), 0), sizeof(count));
	}
	page.pmc[0].generation = table->slots[0].generation = 3;
	return 0;
}

static int teardown_register(void **state)
{
	close(events[0].own.fd);
	close(events[1].own.fd);
	return 0;
}

/* --- what pages do not show ------------------------------------------------------------------- */

/* read(2) of both events.  Sets stay.until if the next readings may use pages. */
static void ask(uint64_t each)
{
	uint64_t value;

	stay.until = 0;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pwrite(events[i].own.fd, &each, sizeof(each), 0), sizeof(each));
		lseek(events[i].own.fd, 0, SEEK_SET);
	}
	assert_int_equal(read_value(table, ID, &value, &why), READ_DONE);
	assert_int_equal(value, 2 * each);
}

static void test_shows_all(void **state)
{
	ask(510);			/* the pages and the register have 1,020 */
	assert_true(stay.until);
	ask(511);			/* another thread has counted as well */
	assert_false(stay.until);
}

static unsigned int ends;		/* a futex */

static int other_thread(void *arg)
{
	while (!__atomic_load_n(&ends, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &ends, FUTEX_WAIT_PRIVATE, 0, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

/* The C library does not know it, as it knows nothing of io_uring's. */
static void test_unknown_thread(void **state)
{
	static _Alignas(16) char stack[65536];
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM;

	assert_true(clone(other_thread, stack + sizeof(stack), flags, NULL) > 0);
	ask(1);
	assert_false(stay.until);
	__atomic_store_n(&ends, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &ends, FUTEX_WAKE_PRIVATE, 1);
	while (!thread_alone())
		sched_yield();
	ask(1);
	assert_true(stay.until);
}

static int get_register(uint32_t *index)
{
	*index = 77;
	why.text[0] = '\0';
	return read_register(table, ID, index, &why);
}

static void test_found(void **state)
{
	uint32_t index;

	assert_int_equal(get_register(&index), 0);
	assert_int_equal(index, 3);
	event[1].index = 0;
	event[0].index = 8;
	assert_int_equal(get_register(&index), 0);
	assert_int_equal(index, 7);
}

static void refused(int err, const char *words)
{
	uint32_t index;

	assert_int_equal(get_register(&index), err);
	assert_int_equal(index, 77);
	assert_contains(why.text, words);
}

static void test_not_running(void **state)
{
	page.pmc[0].how = WIRE_HOW_VALUE;
	refused(-EAGAIN, "pmc_start()");
}

/* The event of this CPU is on none: lost if read(2) says so, else not there yet. */
static void test_no_register_now(void **state)
{
	event[1].index = 0;
	refused(-EAGAIN, "try again");
	/* Both files are at their end now, as pinned events are that lost their counter. */
	refused(-EBUSY, "lost");
}

static void test_none(void **state)
{
	static const enum wire_how hows[] = { WIRE_HOW_ASK, WIRE_HOW_COUNTS, WIRE_HOW_RUSAGE,
					      WIRE_HOW_TSC };

	for (unsigned int i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		page.pmc[0].how = hows[i];
		refused(-ENOSYS, "not read from a register");
	}
	page.pmc[0].how = WIRE_HOW_EVENTS;
	page.pmc[0].generation++;
	refused(-ENOSYS, "not read from a register");
	page.pmc[0].generation--;
	table->slots[0].tid++;
	refused(-ENOSYS, "one thread");
	table->slots[0].tid = 0;
	refused(-ENOSYS, "one thread");
	table->slots[0].tid = read_thread();
	table->alive = NULL;
	refused(-ENOSYS, "not read from a register");
}

static void test_no_access(void **state)
{
	event[0].cap_user_rdpmc = 0;
	event[1].cap_user_rdpmc = 0;
	refused(-ENOSYS, "perf_user_access");
	events[0].page = NULL;
	refused(-ENOSYS, "perf_user_access");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
#define R(f) cmocka_unit_test_setup_teardown(f, setup_register, teardown_register)
	const struct CMUnitTest tests[] = {
		T(test_width), T(test_presets), T(test_no_index), T(test_odd), T(test_access_ends),
		T(test_index_ends), T(test_counter_changes), T(test_migration), T(test_stay),
		T(test_pmc_stops), T(test_generation), cmocka_unit_test(test_scale), R(test_found),
		R(test_not_running), R(test_no_register_now), R(test_none), R(test_no_access),
		R(test_shows_all), R(test_unknown_thread),
	};

	return cmocka_run_group_tests_name("lib_page", tests, NULL, NULL);
}
