/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of processes in the ring of a CPU, as the kernel writes them. */
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/kernel/kernel.h"
#include "loader/process/process_events.h"
#include "unit.h"

static struct perf_event_mmap_page *page;
static uint8_t *data;
static struct engine engine;
static struct process_events *events;

/* The ring is a file; nothing waits for it, and there are no notes of the programs. */
int __wrap_perf_open_life(unsigned int cpu);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *e);
int __wrap_notes_execs_fd(const struct notes *n);
int __wrap_notes_execs(struct notes *n, void (*fn)(void *arg, const struct abi_exec *exec),
		       void *arg);

int __wrap_perf_open_life(unsigned int cpu)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("ring", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)(size + PERF_LIFE_BYTES)), 0);
	page = mmap(NULL, size + PERF_LIFE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	data = (uint8_t *)page + size;
	return fd;
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *e)
{
	return 0;
}

int __wrap_notes_execs_fd(const struct notes *n)
{
	return -1;
}

int __wrap_notes_execs(struct notes *n, void (*fn)(void *arg, const struct abi_exec *exec),
		       void *arg)
{
	return 0;
}

static int setup(void **state)
{
	struct reason why;

	engine.ncpu = 1;
	assert_int_equal(process_events_new(&engine, &events, &why), 0);
	return process_events_cpu(events, 0, true, 0);
}

static int teardown(void **state)
{
	process_events_free(events);
	return munmap(page, (size_t)sysconf(_SC_PAGESIZE) + PERF_LIFE_BYTES);
}

static void put(const void *from, size_t size)
{
	const size_t at = page->data_head % PERF_LIFE_BYTES, room = PERF_LIFE_BYTES - at;
	const size_t first = size < room ? size : room;

	memcpy(data + at, from, first);
	memcpy(data, (const uint8_t *)from + first, size - first);
	page->data_head += size;
}

/* A birth of process `pid`, as far as `type` says so. */
static void record(uint32_t type, uint16_t misc, uint32_t pid, uint64_t time)
{
	const struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time, id, at, cpu;
	} r = {
		.h = { .type = type, .misc = misc, .size = sizeof(r) },
		.pid = pid, .ppid = 1, .tid = pid, .ptid = 1, .time = time, .at = time,
	};

	put(&r, sizeof(r));
}

static void next_is(pid_t pid, uint64_t time)
{
	const struct proc_event *e = process_events_next(events, UINT64_MAX);

	assert_non_null(e);
	assert_int_equal(e->what, PROC_FORK);
	assert_int_equal(e->pid, pid);
	assert_int_equal(e->time, time);
}

/* PERF-239 (bits of `misc`), PERF-231 (its mode 0 and any other), PERF-240 (types) */
static void test_unknown(void **state)
{
	record(PERF_RECORD_FORK, 0, 7, 100);
	record(4711, 0, 8, 200);
	record(PERF_RECORD_SAMPLE, 0, 8, 200);
	record(PERF_RECORD_FORK, 0xffff, 9, 300);
	assert_int_equal(process_events_collect(events, 1000), 1000);
	next_is(7, 100);
	next_is(9, 300);
	assert_null(process_events_next(events, UINT64_MAX));
}

/* PERF-224: up to the head, and the tail follows; PERF-230: by the size of each. */
static void test_ring(void **state)
{
	for (uint64_t n = 1; n <= 3 * PERF_LIFE_BYTES / 56; n += 100) {
		for (uint64_t i = n; i < n + 100; i++)
			record(PERF_RECORD_FORK, 0, (uint32_t)i, i);
		assert_int_equal(process_events_collect(events, UINT64_MAX), UINT64_MAX);
		for (uint64_t i = n; i < n + 100; i++)
			next_is((pid_t)i, i);
		assert_null(process_events_next(events, UINT64_MAX));
		assert_int_equal(page->data_tail, page->data_head);
	}
}

/* A size that no record has, or that leads behind the head. */
static void test_sizes(void **state)
{
	record(PERF_RECORD_FORK, 0, 7, 100);
	record(PERF_RECORD_FORK, 0, 8, 200);
	page->data_head -= 8;
	process_events_collect(events, 1000);
	next_is(7, 100);
	assert_null(process_events_next(events, UINT64_MAX));
	page->data_head += 8;
	process_events_collect(events, 1000);
	next_is(8, 200);
	put((uint64_t [2]){ 0, 0 }, 16);
	process_events_collect(events, 1000);
	assert_null(process_events_next(events, UINT64_MAX));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_unknown), T(test_ring), T(test_sizes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
