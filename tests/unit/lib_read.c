/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading without the daemon: the page's sequence lock and every way to get a value. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/read/counter.h"
#include "nexttable.h"
#include "lib/read/read.h"
#include "unit.h"

#define NCPU 3u
#define ID   0xfff30f05u
#define POS  2u

/* The daemon's side of the pages. */
struct pages {
	int fd[3];
	struct wire_alive *alive;
	struct wire_page *page;
	struct wire_counts *counts;
	struct read_shared shared;
	struct read_table *table;	/* its first version's */
	bool quick;			/* try that first, as pmc_read() does */
};

static void *memory(int *fd, size_t size)
{
	void *p;

	*fd = memfd_create("unit", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, size), 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	struct pages *p = calloc(1, sizeof(*p));

	p->shared.current = &p->shared.first;
	p->table = &p->shared.first.table;
	p->alive = memory(&p->fd[0], sizeof(*p->alive));
	p->page = memory(&p->fd[1], sizeof(*p->page));
	p->counts = memory(&p->fd[2], NCPU * sizeof(*p->counts));
	p->alive->magic = p->page->magic = WIRE_MAGIC;
	p->alive->futex = 1234;
	p->page->version = WIRE_VERSION;
	p->page->npmc = WIRE_PAGE_PMCS;
	assert_int_equal(read_table_alive(p->table, p->fd[0]), 0);
	assert_int_equal(read_table_pages(p->table, p->fd[1], p->fd[2], NCPU), 0);
	read_table_add(p->table, POS, ID);
	p->page->pmc[POS].pmcid = ID;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pages *p = *state;

	read_table_drop(p->table, NULL, NULL);
	munmap(p->alive, sizeof(*p->alive));
	munmap(p->page, sizeof(*p->page));
	munmap(p->counts, NCPU * sizeof(*p->counts));
	close(p->fd[0]);
	close(p->fd[1]);
	close(p->fd[2]);
	free(p);
	return 0;
}

static int not_quick(uint32_t pmcid, uint64_t *value)
{
	return READ_ASK;
}

static int get(struct pages *p, uint64_t *value)
{
	struct reason why = { "" };

	*value = 77;
	if (p->quick && __libc_single_threaded && !read_quick(ID, value, &p->shared, not_quick))
		return READ_DONE;
	return read_value(p->table, ID, value, &why);
}

static void expect(struct pages *p, uint64_t wanted)
{
	uint64_t value;

	assert_int_equal(get(p, &value), READ_DONE);
	assert_int_equal(value, wanted);
}

static void expect_ask(struct pages *p)
{
	uint64_t value;

	assert_int_equal(get(p, &value), READ_ASK);
	assert_int_equal(value, 77);
}

static void test_value(void **state)
{
	struct pages *p = *state;
	struct wire_page_pmc *e = &p->page->pmc[POS];

	expect_ask(p);
	e->how = WIRE_HOW_VALUE;
	e->base = UINT64_MAX;
	expect(p, UINT64_MAX);
	e->how = 6;
	expect_ask(p);
}

static void test_unknown(void **state)
{
	struct pages *p = *state;
	uint64_t value;
	struct reason why;

	p->page->pmc[POS].how = WIRE_HOW_VALUE;
	assert_int_equal(read_value(p->table, ID + 1, &value, &why), READ_ASK);
	p->page->pmc[POS].pmcid = ID + 1;	/* the place went to another PMC */
	expect_ask(p);
	p->page->pmc[POS].pmcid = ID;
	expect(p, 0);
	/* One whose handle ends alike, as of the same row on another CPU: both are found. */
	p->page->pmc[0] = (struct wire_page_pmc){ .pmcid = ID + READ_HINTS, .how = WIRE_HOW_VALUE };
	read_table_add(p->table, 0, ID + READ_HINTS);
	assert_int_equal(read_value(p->table, ID + READ_HINTS, &value, &why), READ_DONE);
	expect(p, 0);
	read_table_remove(p->table, ID + READ_HINTS);
	read_table_remove(p->table, ID);
	expect_ask(p);
	assert_int_equal(p->table->top, 0);
}

static void test_dead_daemon(void **state)
{
	struct pages *p = *state;

	p->page->pmc[POS].how = WIRE_HOW_VALUE;
	assert_true(read_alive(p->table));
	expect(p, 0);
	p->alive->futex |= FUTEX_OWNER_DIED;
	assert_false(read_alive(p->table));
	expect_ask(p);
}

static void test_odd_sequence(void **state)
{
	struct pages *p = *state;

	p->page->pmc[POS].how = WIRE_HOW_VALUE;
	p->page->pmc[POS].seq = 3;	/* a writer that never ends: dead, or being debugged */
	expect_ask(p);
	p->page->pmc[POS].seq = 4;
	expect(p, 0);
}

static struct rusage used(void)
{
	struct rusage ru;

	assert_int_equal(getrusage(RUSAGE_SELF, &ru), 0);
	return ru;
}

/* Writes pairs base == -raw; what a reader accepts must be a pair. */
static void *writer(void *arg)
{
	struct wire_page_pmc *e = arg;
	uint64_t i;

	for (i = 0; !__atomic_load_n(&e->reserved[0], __ATOMIC_RELAXED); i++) {
		__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		__atomic_store_n(&e->how, WIRE_HOW_RUSAGE, __ATOMIC_RELAXED);
		__atomic_store_n(&e->base, i, __ATOMIC_RELAXED);
		__atomic_store_n(&e->raw, -i, __ATOMIC_RELAXED);
		__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void test_concurrent_writer(void **state)
{
	struct pages *p = *state;
	struct wire_page_pmc *e = &p->page->pmc[POS];
	unsigned int done = 0, tries;
	uint64_t value, before;
	pthread_t thread;

	/* Major faults hardly happen here: of each pair the figure alone is left. */
	e->quantity = WIRE_Q_MAJFLT;
	assert_int_equal(pthread_create(&thread, NULL, writer, e), 0);
	for (tries = 0; done < 20000 && tries < 20000000; tries++) {
		before = (uint64_t)used().ru_majflt;
		if (get(p, &value) != READ_DONE)
			continue;
		done++;
		assert_in_range(value, before, used().ru_majflt);
	}
	__atomic_store_n(&e->reserved[0], 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(done, 20000);
}

static void test_counts(void **state)
{
	struct pages *p = *state;

	p->page->pmc[POS].how = WIRE_HOW_COUNTS;
	p->page->pmc[POS].base = 1000;
	p->counts[0].count[POS] = 1;
	p->counts[1].count[POS] = 20;
	p->counts[2].count[POS] = 300;
	p->counts[1].count[POS + 1] = 5;
	p->counts[1].open = 1u << (POS + 1);	/* another process's slice */
	expect(p, 1321);
	p->counts[2].open = 1u << POS;
	expect_ask(p);
	p->counts[2].open = 0;
	expect(p, 1321);
}

static void test_rusage(void **state)
{
	struct pages *p = *state;
	struct wire_page_pmc *e = &p->page->pmc[POS];
	uint64_t before, after, value;
	struct timespec ts;

	e->how = WIRE_HOW_RUSAGE;
	e->quantity = WIRE_Q_CPU_NS;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	before = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	assert_int_equal(get(p, &value), READ_DONE);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	after = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	assert_true(value >= before && value <= after);

	/* raw is mostly negative: minus the figure at START */
	e->base = 50;
	e->raw = -before;
	e->rate = 1000;
	assert_int_equal(get(p, &value), READ_DONE);
	assert_true(value >= 50 && value < 50 + 60 * 1000);
	e->quantity = WIRE_Q_COUNT;
	expect_ask(p);
	e->quantity = WIRE_Q_COUNT;
	expect_ask(p);
}

static void test_rusage_faults(void **state)
{
	struct pages *p = *state;
	struct wire_page_pmc *e = &p->page->pmc[POS];
	const size_t page = sysconf(_SC_PAGESIZE);
	uint64_t before, value;
	char *memory;

	e->how = WIRE_HOW_RUSAGE;
	e->quantity = WIRE_Q_MINFLT;
	memory = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t i = 0; i < 64; i++) {
		memory[i * page] = 1;
		before = (uint64_t)used().ru_minflt;
		assert_int_equal(get(p, &value), READ_DONE);
		assert_in_range(value, before, used().ru_minflt);
	}
	munmap(memory, 64 * page);
}

/* Descriptors that read(2) can read 8 bytes from stand in for perf events. */
static int event_fd(uint64_t value)
{
	int fd = memfd_create("event", MFD_CLOEXEC);

	assert_int_equal(write(fd, &value, sizeof(value)), sizeof(value));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void test_events(void **state)
{
	struct pages *p = *state;
	struct wire_page_pmc *e = &p->page->pmc[POS];
	int fds[2] = { event_fd(40), event_fd(2) };
	uint64_t value;
	struct reason why = { "" };

	e->how = WIRE_HOW_EVENTS;
	e->base = 100;
	e->generation = 9;
	expect_ask(p);
	next_events(p->table, ID, 9, fds, 2, 0);
	expect(p, 142);
	/* At its end the file reads 0 bytes, as a pinned event that lost its counter. */
	assert_int_equal(read_value(p->table, ID, &value, &why), -EBUSY);
	assert_contains(why.text, "lost");
	e->generation = 10;
	expect_ask(p);
	/* A START that changed nothing keeps what there is; a new generation does not. */
	next_events(p->table, ID, 9, NULL, 0, 0);
	assert_int_equal(p->table->slots[POS].nevents, 2);
	next_events(p->table, ID, 10, NULL, 0, 0);
	assert_int_equal(p->table->slots[POS].nevents, 0);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	expect_ask(p);
}

static void test_events_of_unknown_pmc(void **state)
{
	struct pages *p = *state;
	int fd = event_fd(1);

	assert_int_equal(read_table_events(p->table, ID + 1, 1, &fd, 1, 0), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_short_event(void **state)
{
	struct pages *p = *state;
	int fd = memfd_create("event", MFD_CLOEXEC);

	p->page->pmc[POS].how = WIRE_HOW_EVENTS;
	assert_int_equal(write(fd, "abc", 3), 3);
	lseek(fd, 0, SEEK_SET);
	next_events(p->table, ID, 0, &fd, 1, 0);
	expect_ask(p);
}

/* --- registers: pages in files, and a function in place of the instruction ------------------- */

static uint64_t registers[8];
static unsigned int registers_read;

static bool fake_counter(uint32_t index, uint64_t *value)
{
	registers_read++;
	if (index >= 8)
		return false;
	*value = registers[index];
	return true;
}

/* An event whose page says `offset` and `index`, and whose read(2) gives 7 and then nothing. */
static struct perf_event_mmap_page *event_page(int *fd, uint32_t index, int64_t offset)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	const uint64_t seven = 7;
	struct perf_event_mmap_page *page;

	*fd = memfd_create("event", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*fd, size), 0);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	page->cap_bit0_is_deprecated = 1;
	page->cap_user_rdpmc = 1;
	page->pmc_width = 48;
	page->index = index;
	page->offset = offset;
	assert_int_equal(pwrite(*fd, &seven, 8, size - 8), 8);
	lseek(*fd, size - 8, SEEK_SET);
	return page;
}

/* Two CPUs' events of the only thread, the first counting. */
static void start_pages(struct pages *p, struct perf_event_mmap_page *page[2])
{
	int fds[2];

	page[0] = event_page(&fds[0], 3, 1000);
	page[1] = event_page(&fds[1], 0, 20);
	registers[2] = 300;
	registers_read = 0;
	p->table->counter = fake_counter;
	p->quick = true;
	p->page->pmc[POS].how = WIRE_HOW_EVENTS;
	p->page->pmc[POS].generation++;
	next_events(p->table, ID, p->page->pmc[POS].generation, fds, 2, read_thread());
	assert_non_null(p->table->slots[POS].events[1].page);
}

/* However long the machine takes for the rest. */
static void just_checked(struct pages *p)
{
	p->table->slots[POS].stay->until = UINT64_MAX;
}

static void end_pages(struct perf_event_mmap_page *page[2])
{
	munmap(page[0], sysconf(_SC_PAGESIZE));
	munmap(page[1], sysconf(_SC_PAGESIZE));
}

/* REQ-011, REQ-124, REQ-126, PERF-208, PERF-209, PERF-210, PERF-216, PERF-217 */
static void test_registers(void **state)
{
	struct pages *p = *state;
	struct perf_event_mmap_page *page[2];
	uint64_t value;

	start_pages(p, page);
	expect(p, 14);			/* at first by read(2), which proves that nothing is lost */
	assert_int_equal(registers_read, 1);	/* the check that pages show as much */
	just_checked(p);
	expect(p, 1320);
	assert_int_equal(registers_read, 2);
	registers[2] = 1ull << 47;	/* a counter of 48 bits that began below 0 */
	just_checked(p);
	expect(p, 1020 - (1ull << 47));
	p->page->pmc[POS].seq += 2;
	p->page->pmc[POS].base = 5;
	registers[2] = 1;
	just_checked(p);
	expect(p, 1026);
	/* Later it is proved again; the files are at their end, as lost events are. */
	p->table->slots[POS].stay->until = counter_clock();
	assert_int_equal(get(p, &value), -EBUSY);
	end_pages(page);
}

/* No event counts on this CPU: one was lost, and only read(2) can show that. */
static void test_registers_none_counting(void **state)
{
	struct pages *p = *state;
	struct perf_event_mmap_page *page[2];

	start_pages(p, page);
	page[0]->index = 0;
	just_checked(p);
	expect(p, 14);
	assert_int_equal(registers_read, 0);
	end_pages(page);
}

/* PERF-213, PERF-214, PERF-215 */
static void test_registers_not_allowed(void **state)
{
	static const struct {
		uint32_t index;
		uint16_t width;
		bool cap, bit0;
	} cases[] = {
		{ 3, 48, false, true }, { 3, 48, true, false }, { 3, 0, true, true },
		{ 3, 65, true, true }, { 9, 48, true, true },
	};
	struct pages *p = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_event_mmap_page *page[2];

		start_pages(p, page);
		page[0]->index = cases[i].index;
		page[0]->pmc_width = cases[i].width;
		page[0]->cap_user_rdpmc = cases[i].cap;
		page[0]->cap_bit0_is_deprecated = cases[i].bit0;
		just_checked(p);
		expect(p, 14);
		end_pages(page);
	}
}

/* Another thread's register is another count. */
static void test_registers_other_thread(void **state)
{
	struct pages *p = *state;
	struct perf_event_mmap_page *page[2];

	start_pages(p, page);
	p->table->slots[POS].tid++;
	just_checked(p);
	expect(p, 14);
	assert_int_equal(registers_read, 0);
	end_pages(page);
}

static void *no_work(void *arg)
{
	return arg;
}

/* A thread born after START inherits the event, and no page has its count. */
static void test_registers_after_threads(void **state)
{
	struct pages *p = *state;
	struct perf_event_mmap_page *page[2];
	pthread_t thread;

	start_pages(p, page);
	assert_int_equal(pthread_create(&thread, NULL, no_work, NULL), 0);
	just_checked(p);
	expect(p, 14);
	assert_int_equal(registers_read, 0);
	pthread_join(thread, NULL);
	end_pages(page);
}

#if defined(__x86_64__)
static void test_tsc(void **state)
{
	struct pages *p = *state;
	uint64_t before, value;

	stay_on_this_cpu();
	p->page->pmc[POS].how = WIRE_HOW_TSC;
	before = rdtsc();
	assert_int_equal(get(p, &value), READ_DONE);
	assert_in_range(value, before, rdtsc());
}
#endif

static void test_bad_pages(void **state)
{
	struct pages *p = *state;
	struct read_table t = { .ncpu = 0 };
	int small = memfd_create("small", MFD_CLOEXEC);

	assert_int_equal(ftruncate(small, 4), 0);
	assert_int_equal(read_table_alive(&t, small), -EPROTO);
	assert_int_equal(read_table_alive(&t, -1), -EBADF);
	assert_int_equal(read_table_pages(&t, small, p->fd[2], 1), -EPROTO);
	p->page->version++;
	assert_int_equal(read_table_pages(&t, p->fd[1], p->fd[2], NCPU), -EPROTO);
	p->alive->magic++;
	assert_int_equal(read_table_alive(&t, p->fd[0]), -EPROTO);
	assert_false(read_alive(&t));
	assert_null(t.page);
	read_table_add(&t, 0, ID);
	assert_int_equal(t.top, 0);
	close(small);
}

/* Without the counts the page still serves every way of reading that does not need them. */
static void test_no_counts(void **state)
{
	static const uint32_t ncpu[] = { 0, 100, 65537 };
	struct pages *p = *state;

	for (size_t i = 0; i < sizeof(ncpu) / sizeof(ncpu[0]); i++) {
		assert_int_equal(read_table_pages(p->table, p->fd[1], p->fd[2], ncpu[i]), -EPROTO);
		read_table_add(p->table, POS, ID);
		p->page->pmc[POS].how = WIRE_HOW_COUNTS;
		expect_ask(p);
		p->page->pmc[POS].how = WIRE_HOW_VALUE;
		expect(p, 0);
	}
}

static void test_positions(void **state)
{
	struct pages *p = *state;

	read_table_add(p->table, WIRE_PAGE_PMCS, 1);
	read_table_add(p->table, ~0u, 2);
	assert_int_equal(p->table->top, POS + 1);
	read_table_add(p->table, WIRE_PAGE_PMCS - 1, 3);
	assert_int_equal(p->table->top, WIRE_PAGE_PMCS);
	/* A new page voids every place of the old one. */
	assert_int_equal(read_table_pages(p->table, p->fd[1], p->fd[2], NCPU), 0);
	assert_int_equal(p->table->top, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First those that need a program without threads. */
		TEST(test_registers), TEST(test_registers_none_counting),
		TEST(test_registers_not_allowed), TEST(test_registers_other_thread),
		TEST(test_registers_after_threads), TEST(test_value), TEST(test_unknown),
		TEST(test_dead_daemon), TEST(test_odd_sequence), TEST(test_concurrent_writer),
		TEST(test_counts), TEST(test_rusage), TEST(test_rusage_faults), TEST(test_events),
		TEST(test_events_of_unknown_pmc), TEST(test_short_event),
#if defined(__x86_64__)
		TEST(test_tsc),
#endif
		TEST(test_bad_pages), TEST(test_no_counts), TEST(test_positions),
	};

	return cmocka_run_group_tests_name("lib_read", tests, NULL, NULL);
}
