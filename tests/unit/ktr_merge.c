/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings, damaged and sound, and their merge: over regions that are built here, byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/trace/merge.h"

struct built {
	struct memory mem;
	struct rings rings;
	uint8_t *bytes;
	size_t size;
	uint32_t ncpu, entries;
	/* Of a reader in a hurry. */
	size_t largest;
	uint64_t reads, step;
};

static struct ktr_region *header(struct built *b)
{
	return (struct ktr_region *)(void *)b->bytes;
}

static struct ktr_ring *ring(struct built *b, uint32_t cpu)
{
	return (void *)(b->bytes + 4096 + cpu * (64 + (size_t)b->entries * 64));
}

static struct ktr_entry *slot(struct built *b, uint32_t cpu, uint64_t number)
{
	return (struct ktr_entry *)(void *)(ring(b, cpu) + 1) + number % b->entries;
}

static void build(struct built *b, uint32_t ncpu, uint32_t entries)
{
	*b = (struct built){ .ncpu = ncpu, .entries = entries };
	b->size = 4096 + ncpu * (64 + (size_t)entries * 64);
	b->bytes = calloc(1, b->size);
	*header(b) = (struct ktr_region){ .magic = "KTRRGN1", .version = 1, .hdrsize = 4096,
		.entsize = 64, .entries = entries, .ncpu = ncpu, .flags = KTR_REGION_RSEQ,
		.stride = 64 + (uint64_t)entries * 64, .clock = KTR_CLOCK_TSC };
	memory_map(&b->mem, b->bytes, b->size);
}

static void put(struct built *b, uint32_t cpu, uint64_t time)
{
	uint64_t number = ring(b, cpu)->head++;

	*slot(b, cpu, number) = (struct ktr_entry){ .ktr_time = time,
		.ktr_seq = (uint32_t)(number + 1), .ktr_tid = cpu, .ktr_parm1 = number };
}

static void open_built(struct built *b)
{
	assert_int_equal(rings_open(&b->rings, &b->mem, 0, "test"), 0);
}

static void drop(struct built *b)
{
	rings_close(&b->rings);
	free(b->bytes);
}

/* Times and CPUs in the order of the merge, "5/1 4/0 ". */
static const char *merged(struct built *b, enum merge_order order)
{
	static char text[4096];
	struct rings *rings = &b->rings;
	const struct item *item;
	struct merge merge;
	size_t len = 0;

	text[0] = '\0';
	assert_int_equal(merge_open(&merge, &rings, 1, order, NULL, NULL), 0);
	while ((item = merge_next(&merge)))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llu/%u ",
					item->corrupt ? "!" : "", (unsigned long long)item->time,
					item->cpu);
	assert_null(merge_next(&merge));
	assert_int_equal(merge_error(&merge), 0);
	merge_close(&merge);
	return text;
}

/* KTR-73 KTR-74: one trace by time; equal times go by CPU and number, both ways round. */
static void test_merged_by_time(void **state)
{
	struct built b;

	build(&b, 3, 16);
	put(&b, 0, 10);
	put(&b, 0, 30);
	put(&b, 0, 30);
	put(&b, 1, 20);
	put(&b, 1, 30);
	put(&b, 2, 5);
	put(&b, 2, 40);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "40/2 30/1 30/0 30/0 20/1 10/0 5/2 ");
	assert_string_equal(merged(&b, MERGE_OLDEST), "5/2 10/0 20/1 30/0 30/0 30/1 40/2 ");
	assert_string_equal(merged(&b, MERGE_APART), "30/0 30/0 10/0 30/1 20/1 40/2 5/2 ");
	drop(&b);
}

static void test_no_entries(void **state)
{
	struct built b;

	build(&b, 2, 4);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "");
	assert_string_equal(merged(&b, MERGE_OLDEST), "");
	assert_string_equal(merged(&b, MERGE_APART), "");
	drop(&b);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Many rings of different lengths, among them empty ones, longer than any window. */
static void test_against_a_sort(void **state)
{
	enum { CPUS = 37, ENTRIES = 1024 };
	static uint64_t all[CPUS * ENTRIES];
	struct built b;
	struct rings *rings = &b.rings;
	const struct item *item;
	struct merge merge;
	size_t n = 0, i;

	srand(1);
	build(&b, CPUS, ENTRIES);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		uint64_t time = 1;

		for (int left = cpu % 5 ? rand() % ENTRIES : 0; left > 0; left--) {
			time += (uint64_t)(rand() % 64) + 1;
			all[n++] = time;
			put(&b, cpu, time);
		}
	}
	qsort(all, n, sizeof(all[0]), compare_times);
	open_built(&b);
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_OLDEST, NULL, NULL), 0);
	for (i = 0; (item = merge_next(&merge)); i++)
		assert_int_equal(item->time, all[i]);
	assert_int_equal(i, n);
	merge_close(&merge);
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL), 0);
	for (i = n; (item = merge_next(&merge)); i--)
		assert_int_equal(item->time, all[i - 1]);
	assert_int_equal(i, 0);
	merge_close(&merge);
	drop(&b);
}

/* KTR-66: the slot that may be written over now is left out; the index is the slot's. */
static void test_overwritten(void **state)
{
	struct built b;
	struct rings *rings = &b.rings;
	struct merge merge;
	const struct item *item;

	build(&b, 1, 4);
	for (uint64_t time = 1; time <= 10; time++)
		put(&b, 0, time);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "10/0 9/0 8/0 ");
	assert_string_equal(merged(&b, MERGE_OLDEST), "8/0 9/0 10/0 ");
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL), 0);
	item = merge_next(&merge);
	assert_non_null(item);
	assert_int_equal(item->index, 9 % 4);
	merge_close(&merge);
	drop(&b);
	build(&b, 1, 1);
	put(&b, 0, 1);
	put(&b, 0, 2);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "2/0 ");
	drop(&b);
}

/* Numbers of entries have 32 bits in the entry, and all bits in the head. */
static void test_numbers_wrap(void **state)
{
	struct built b;

	build(&b, 1, 8);
	ring(&b, 0)->head = 0x2fffffffcull;
	for (uint64_t time = 1; time <= 6; time++)
		put(&b, 0, time);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "6/0 5/0 4/0 3/0 2/0 1/0 ");
	drop(&b);
}

/* KTR-77: an entry being written is not there yet, a torn one does not stop the walk. */
static void test_torn(void **state)
{
	struct built b;

	build(&b, 1, 8);
	for (uint64_t time = 1; time <= 6; time++)
		put(&b, 0, time);
	slot(&b, 0, 5)->ktr_seq = 0;
	slot(&b, 0, 4)->ktr_seq = 5 - 8;
	slot(&b, 0, 2)->ktr_seq = 4711;
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_NEWEST), "4/0 !4/0 2/0 1/0 ");
	assert_string_equal(merged(&b, MERGE_OLDEST), "1/0 2/0 !2/0 4/0 ");
	drop(&b);
}

/* KTR-80: heads and entries with arbitrary contents. */
static void test_hostile_rings(void **state)
{
	struct built b;
	const char *text;
	int corrupt = 0;

	build(&b, 2, 8);
	memset(slot(&b, 0, 0), 0xff, (size_t)8 * 64);
	ring(&b, 0)->head = UINT64_MAX;
	ring(&b, 1)->head = 1ull << 63;
	open_built(&b);
	for (text = merged(&b, MERGE_NEWEST); *text; text++)
		corrupt += *text == '!';
	assert_int_equal(corrupt, 6);
	/* The kernel's entries contain their CPU. */
	memset(b.bytes + 4096, 0, b.size - 4096);
	header(&b)->flags = KTR_REGION_KERNEL;
	for (uint64_t time = 1; time <= 3; time++)
		put(&b, 1, time);
	slot(&b, 1, 0)->ktr_desc = KTR_DESC(1, 0, 7);
	slot(&b, 1, 1)->ktr_desc = KTR_DESC(0, 0, 7);
	rings_close(&b.rings);
	open_built(&b);
	assert_string_equal(merged(&b, MERGE_OLDEST), "1/1 !1/1 !1/1 ");
	drop(&b);
}

static ssize_t counted_read(struct memory *mem, uint64_t at, void *to, size_t len)
{
	struct built *b = (struct built *)mem;

	b->largest = len > b->largest ? len : b->largest;
	if (at >= b->size)
		return 0;
	memcpy(to, b->bytes + at, len);
	return (ssize_t)len;
}

/* A long ring is never in memory as a whole. */
static void test_flat_memory(void **state)
{
	struct built b;
	struct rings *rings = &b.rings;
	struct merge merge;
	uint64_t n = 0;

	build(&b, 2, 1u << 15);
	for (uint64_t time = 1; time < 1u << 15; time++)
		put(&b, (uint32_t)time % 2, time);
	open_built(&b);
	b.mem.read = counted_read;
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL), 0);
	while (merge_next(&merge))
		n++;
	merge_close(&merge);
	assert_int_equal(n, (1u << 15) - 1);
	assert_in_range(b.largest, 64, (size_t)CURSOR_WINDOW * 64);
	drop(&b);
}

/* A writer that continues: each read of entries finds the ring `step` entries further. */
static ssize_t overtaking_read(struct memory *mem, uint64_t at, void *to, size_t len)
{
	struct built *b = (struct built *)mem;

	memcpy(to, b->bytes + at, len);
	if (at > 4096)
		for (uint64_t i = 0; i < b->step; i++)
			put(b, 0, ring(b, 0)->head + 1);
	return (ssize_t)len;
}

/* Entries that are overwritten while they are read are not shown, from either end. */
static void test_overtaken(void **state)
{
	struct built b;
	struct rings *rings = &b.rings;
	const struct item *item;
	struct merge merge;
	uint64_t n, expected;

	build(&b, 1, 1024);
	for (uint64_t time = 1; time <= 1024; time++)
		put(&b, 0, time);
	open_built(&b);
	b.mem.read = overtaking_read;
	b.mem.live = true;
	b.step = CURSOR_WINDOW;
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL), 0);
	for (n = 0, expected = 1024; (item = merge_next(&merge)); n++, expected--) {
		assert_false(item->corrupt);
		assert_int_equal(item->time, expected);
	}
	assert_in_range(n, CURSOR_WINDOW, 1024 - CURSOR_WINDOW);
	merge_close(&merge);
	/* Oldest first, overwritten entries are counted. */
	b.step = 2 * CURSOR_WINDOW;
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_OLDEST, NULL, NULL), 0);
	for (n = 0; (item = merge_next(&merge)); n++)
		assert_false(item->corrupt);
	assert_int_equal(n + merge_lost(&merge), 1023);
	assert_in_range(merge_lost(&merge), 2 * CURSOR_WINDOW - CURSOR_WINDOW, 1023);
	merge_close(&merge);
	drop(&b);
}

/* Later entries come next, each once; an incomplete one is waited for. */
static void test_followed(void **state)
{
	struct built b;
	struct rings *rings = &b.rings;
	struct merge merge;

	build(&b, 1, 8);
	put(&b, 0, 1);
	put(&b, 0, 2);
	open_built(&b);
	b.mem.live = true;
	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_OLDEST, NULL, NULL), 0);
	merge.cursors[0].patient = true;
	assert_int_equal(merge_next(&merge)->time, 1);
	assert_int_equal(merge_next(&merge)->time, 2);
	assert_null(merge_next(&merge));
	put(&b, 0, 3);
	put(&b, 0, 4);
	slot(&b, 0, 2)->ktr_seq = 0;
	assert_int_equal(merge_again(&merge), 0);
	assert_null(merge_next(&merge));
	slot(&b, 0, 2)->ktr_seq = 3;
	assert_int_equal(merge_again(&merge), 0);
	assert_int_equal(merge_next(&merge)->time, 3);
	assert_int_equal(merge_next(&merge)->time, 4);
	assert_null(merge_next(&merge));
	/* Overtaken: 11 new ones, of which 7 are there. */
	for (uint64_t time = 5; time < 16; time++)
		put(&b, 0, time);
	assert_int_equal(merge_again(&merge), 0);
	assert_int_equal(merge_next(&merge)->time, 9);
	assert_int_equal(merge_lost(&merge), 4);
	merge_close(&merge);
	drop(&b);
}

static uint64_t skew_of(struct built *b)
{
	struct rings *rings = &b->rings;
	struct merge merge;
	uint64_t skew;

	assert_int_equal(merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL), 0);
	while (merge_next(&merge))
		;
	skew = merge_skew(&merge);
	merge_close(&merge);
	return skew;
}

/* KTR-75: a clock that goes back is noticed; small steps are normal between writers. */
static void test_skew(void **state)
{
	struct built b;

	build(&b, 1, 8);
	put(&b, 0, 1000);
	put(&b, 0, 2000);
	open_built(&b);
	assert_int_equal(skew_of(&b), 0);
	put(&b, 0, 1500);
	assert_int_equal(skew_of(&b), 500);
	rings_close(&b.rings);
	header(&b)->flags = 0;
	open_built(&b);
	assert_int_equal(skew_of(&b), 0);
	put(&b, 0, 10000000);
	put(&b, 0, 1);
	assert_int_equal(skew_of(&b), 9999999);
	drop(&b);
}

/* KTR-F09: a damaged region, or none, is refused. */
static void test_damaged_headers(void **state)
{
	struct built b;
	struct ktr_region good;

	build(&b, 2, 8);
	good = *header(&b);
#define REFUSED(field, value) do { \
		*header(&b) = good; \
		header(&b)->field = (value); \
		assert_int_not_equal(rings_open(&b.rings, &b.mem, 0, #field), 0); \
	} while (0)
	REFUSED(magic[0], 'X');
	REFUSED(version, 2);
	REFUSED(version, 1u << 24);
	REFUSED(entsize, 32);
	REFUSED(entries, 0);
	REFUSED(entries, 7);
	REFUSED(entries, 16);
	REFUSED(entries, 1u << 25);
	REFUSED(ncpu, 0);
	REFUSED(ncpu, 3);
	REFUSED(ncpu, 1025);
	REFUSED(stride, 64);
	REFUSED(stride, UINT64_MAX);
	REFUSED(hdrsize, 0);
	REFUSED(hdrsize, 4095);
	REFUSED(hdrsize, 8192);
	REFUSED(hdrsize, UINT32_MAX & ~4095u);
	REFUSED(clock, 0);
	REFUSED(clock, 5);
	REFUSED(formats, 1);
	*header(&b) = good;
	header(&b)->formats = UINT32_MAX;
	header(&b)->formats_offset = 4000;
	assert_int_not_equal(rings_open(&b.rings, &b.mem, 0, "formats"), 0);
	*header(&b) = good;
	assert_int_equal(rings_open(&b.rings, &b.mem, 0, "good"), 0);
	rings_close(&b.rings);
	b.mem.size--;
	assert_int_not_equal(rings_open(&b.rings, &b.mem, 0, "truncated"), 0);
	drop(&b);
}

/* KTR-19 KTR-74: one clock for all: counters by pairs of stamps, coarse time in microseconds. */
static void test_clocks(void **state)
{
	struct built b;
	struct ktr_stamp now = { .clock = 1000 + 2596000000, .monotonic = 5000 + 1000000000 };

	build(&b, 1, 8);
	header(&b)->first = (struct ktr_stamp){ .clock = 1000, .monotonic = 5000 };
	open_built(&b);
	assert_int_equal(rings_time(&b.rings, 77), 77);
	assert_int_equal(rings_to_ns(&b.rings, NULL), -ENODATA);
	assert_int_equal(rings_to_ns(&b.rings, &now), 0);
	assert_int_equal(rings_time(&b.rings, 1000), 5000);
	assert_in_range(rings_time(&b.rings, 1000 + 2596), 5999, 6001);
	/* 10 hours later, and before the first stamp. */
	assert_in_range(rings_time(&b.rings, 1000 + 36000ull * 2596000000),
			5000 + 36000ull * 1000000000 - 10, 5000 + 36000ull * 1000000000 + 10);
	assert_in_range(rings_time(&b.rings, 1000 - 519), 4799, 4801);
	rings_close(&b.rings);
	header(&b)->frequency = 1000000000;
	header(&b)->first.monotonic = 0;
	open_built(&b);
	assert_int_equal(rings_to_ns(&b.rings, NULL), 0);
	assert_int_equal(rings_time(&b.rings, 1100), 100);
	rings_close(&b.rings);
	header(&b)->clock = KTR_CLOCK_COARSE;
	open_built(&b);
	assert_int_equal(rings_time(&b.rings, 3ull << 32 | 7), 3000007);
	assert_int_equal(rings_to_ns(&b.rings, NULL), 0);
	assert_int_equal(rings_time(&b.rings, 3ull << 32 | 7), 3000007000);
	drop(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_merged_by_time), T(test_no_entries), T(test_against_a_sort),
		T(test_overwritten), T(test_numbers_wrap), T(test_torn), T(test_hostile_rings),
		T(test_flat_memory), T(test_overtaken), T(test_followed), T(test_skew),
		T(test_damaged_headers), T(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
