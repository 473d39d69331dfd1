/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of the table: a reader's version stays, and is freed with its last reader. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/read/read.h"
#include "unit.h"

#define ID  0xfff30f00u
#define POS 1u

static struct read_shared shared = READ_SHARED_INITIALIZER(shared);

/* A page whose PMC has `base`, mapped into a new version; the descriptor is not kept. */
static void publish_page(uint64_t base)
{
	struct wire_page *page = calloc(1, sizeof(*page));
	struct read_table *t = read_share_change(&shared);
	int fd = memfd_create("page", MFD_CLOEXEC);

	assert_non_null(page);
	assert_non_null(t);
	page->magic = WIRE_MAGIC;
	page->version = WIRE_VERSION;
	page->pmc[POS] = (struct wire_page_pmc){ .pmcid = ID, .base = base };
	assert_int_equal(write(fd, page, sizeof(*page)), sizeof(*page));
	read_table_pages(t, fd, -1, 1);
	read_table_add(t, POS, ID);
	read_share_publish(&shared, t);
	close(fd);
	free(page);
}

static void publish_event(int fd, uint32_t generation)
{
	struct read_table *t = read_share_change(&shared);

	assert_non_null(t);
	assert_int_equal(read_table_events(t, ID, generation, &fd, fd >= 0, 0), 0);
	read_share_publish(&shared, t);
}

static int setup(void **state)
{
	publish_page(1);
	return 0;
}

static int teardown(void **state)
{
	read_share_reset(&shared);
	return 0;
}

static struct read_version *enter(void)
{
	bool moved;
	struct read_version *v = read_share_enter(&shared, &moved);

	assert_false(moved);
	return v;
}

static uint64_t base(const struct read_version *v)
{
	return v->table.slots[POS].entry->base;
}

static int event_of(const struct read_version *v)
{
	return v->table.slots[POS].events[0].own.fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_reader_keeps_its_page(void **state)
{
	struct read_version *v = enter(), *w;

	publish_page(2);
	publish_page(3);
	assert_true(base(v) == 1);
	w = enter();
	assert_true(base(w) == 3);
	assert_false(read_share_leave(&shared, w));
	/* The last reader of an old version finds that there is something to free. */
	assert_true(read_share_leave(&shared, v));
	assert_ptr_equal(shared.current->older, v);
	read_share_reclaim(&shared);
	assert_null(shared.current->older);
}

/* Two versions share an event; it is closed when the last that has it goes. */
static void test_shared_event(void **state)
{
	struct read_version *v, *w;
	int fd;

	publish_event(memfd_create("event", MFD_CLOEXEC), 1);
	v = enter();
	fd = event_of(v);
	assert_true(is_open(fd));
	publish_event(-1, 1);		/* nothing new: the same event in the next version */
	w = enter();
	assert_int_equal(event_of(w), fd);
	publish_event(-1, 2);		/* gone from here on */
	assert_int_equal(shared.current->table.slots[POS].nevents, 0);
	read_share_leave(&shared, v);
	read_share_reclaim(&shared);
	assert_true(is_open(fd));
	read_share_leave(&shared, w);
	read_share_reclaim(&shared);
	assert_false(is_open(fd));
}

/* A reader that never comes back (siglongjmp(3) out of a handler) keeps its own version only. */
static void test_lost_reader(void **state)
{
	int fd;

	enter();
	publish_event(memfd_create("event", MFD_CLOEXEC), 1);
	fd = event_of(shared.current);
	publish_event(-1, 2);
	assert_false(is_open(fd));
	assert_non_null(shared.current->older);
	assert_null(shared.current->older->older);
}

/* Memory is used again: a thousand changes take no more than two versions need. */
static void test_used_again(void **state)
{
	struct read_version *spare[2];
	unsigned int n = 0;

	publish_page(2);
	spare[0] = shared.current;
	spare[1] = shared.spare;
	assert_non_null(spare[1]);
	for (unsigned int i = 0; i < 1000; i++) {
		publish_page(i);
		assert_true(shared.current == spare[0] || shared.current == spare[1]);
	}
	for (struct read_version *v = shared.spare; v; v = v->older)
		n++;
	assert_in_range(n, 1, 4);
}

static bool stop;

static void *read_all_the_time(void *arg)
{
	uint64_t last = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		bool moved;
		struct read_version *v = read_share_enter(&shared, &moved);
		uint64_t now = base(v);

		/* The writer counts up: a value once read does not go back. */
		if (now < last)
			return (void *)1;
		last = now;
		read_share_leave(&shared, v);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[3];
	void *result;

	stop = false;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_all_the_time, NULL), 0);
	for (unsigned int i = 2; i < 3000; i++)
		publish_page(i);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	read_share_reclaim(&shared);
	assert_null(shared.current->older);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reader_keeps_its_page), TEST(test_shared_event), TEST(test_lost_reader),
		TEST(test_used_again), TEST(test_threads),
	};

	return cmocka_run_group_tests_name("lib_share", tests, NULL, NULL);
}
