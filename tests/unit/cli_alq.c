/* SPDX-License-Identifier: BSD-2-Clause */
/* The drainer of trace rings, over rings in this program's memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/ktrctl/alq.h"
#include "cli/trace/region.h"
#include "unit.h"

#define NCPU	2u
#define ENTRIES 8u

/* A region of two rings. */
struct rings {
	struct ktr_region head;
	unsigned char rest[KTR_REGION_PAGE - sizeof(struct ktr_region)];
	struct {
		struct ktr_ring ring;
		struct ktr_entry entries[ENTRIES];
	} cpu[NCPU];
};

struct world {
	struct rings rings;
	uint64_t writes;	/* entries that are written whenever entries are read */
	struct alq alq;
};

static struct ktr_entry *write_entry(struct rings *r, uint32_t cpu)
{
	uint64_t n = r->cpu[cpu].ring.head++;
	struct ktr_entry *entry = &r->cpu[cpu].entries[n % ENTRIES];

	*entry = (struct ktr_entry){ .ktr_time = n, .ktr_seq = (uint32_t)(n + 1),
				     .ktr_parm1 = n, .ktr_parm2 = cpu };
	return entry;
}

static int read_world(const void *source, uint64_t offset, void *data, size_t len)
{
	struct world *w = (struct world *)source;

	assert_true(offset <= sizeof(w->rings) && len <= sizeof(w->rings) - offset);
	memcpy(data, (char *)&w->rings + offset, len);
	if (offset >= KTR_REGION_PAGE && (offset - KTR_REGION_PAGE) % sizeof(w->rings.cpu[0]))
		for (uint64_t i = 0; i < w->writes; i++)
			write_entry(&w->rings, 0);
	return 0;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->rings.head = (struct ktr_region){
		.magic = KTR_REGION_MAGIC, .version = KTR_REGION_VERSION,
		.hdrsize = KTR_REGION_PAGE, .entsize = KTR_ENTRY_SIZE, .entries = ENTRIES,
		.ncpu = NCPU, .stride = sizeof(w->rings.cpu[0]), .clock = KTR_CLOCK_MONOTONIC,
	};
	w->rings.cpu[1].ring.cpu = 1;
	w->alq = (struct alq){
		.read = read_world, .source = w, .head = w->rings.head,
		.max = 1 << 20, .files = "", .fd = memfd_create("out", MFD_CLOEXEC),
	};
	assert_null(region_fault(&w->rings.head, sizeof(w->rings)));
	*state = w;
	return w->alq.fd < 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	alq_free(&w->alq);
	close(w->alq.fd);
	free(w);
	return 0;
}

static void pass(struct world *w)
{
	int more;

	assert_int_equal(alq_pass(&w->alq, &more), 0);
}

/* The file is a region whose ring has these entries of the source, and so many failed. */
static void assert_ring(struct world *w, uint32_t cpu, const uint64_t *numbers, uint32_t count,
			uint64_t failed)
{
	struct ktr_region head;
	struct ktr_ring ring;
	off_t at;

	assert_int_equal(pread(w->alq.fd, &head, sizeof(head), 0), sizeof(head));
	assert_null(region_fault(&head, (uint64_t)lseek(w->alq.fd, 0, SEEK_END)));
	assert_true(head.entries > count);
	at = (off_t)(head.hdrsize + cpu * head.stride);
	assert_int_equal(pread(w->alq.fd, &ring, sizeof(ring), at), sizeof(ring));
	assert_int_equal(ring.head, count);
	assert_int_equal(ring.cpu, cpu);
	assert_int_equal(ring.lost, failed);
	for (uint32_t i = 0; i < count; i++) {
		struct ktr_entry entry;

		at += KTR_ENTRY_SIZE;
		assert_int_equal(pread(w->alq.fd, &entry, sizeof(entry), at), sizeof(entry));
		assert_int_equal(entry.ktr_seq, i + 1);
		assert_int_equal(entry.ktr_parm1, numbers[i]);
		assert_int_equal(entry.ktr_parm2, cpu);
	}
}

/* KTR-F06: before begin nothing counts; the numbers of a ring's entries have 32 bits. */
static void test_from_now_on_past_2_to_the_32(void **state)
{
	static const uint64_t numbers[] = { 0xfffffffe, 0xffffffff, 0x100000000, 0x100000001 };
	struct world *w = *state;

	w->rings.cpu[0].ring.head = 0xfffffffa;
	for (int i = 0; i < 4; i++)
		write_entry(&w->rings, 0);
	assert_int_equal(alq_begin(&w->alq), 0);
	pass(w);
	assert_ring(w, 0, NULL, 0, 0);
	for (int i = 0; i < 4; i++) {
		write_entry(&w->rings, 0);
		pass(w);
	}
	assert_ring(w, 0, numbers, 4, 0);
	assert_int_equal(alq_end(&w->alq), 0);
	assert_ring(w, 0, numbers, 4, 0);
	assert_ring(w, 1, NULL, 0, 0);
}

/* KTR-F06: an entry overwritten while it is copied is dropped, and counted. */
static void test_overwritten_while_copied(void **state)
{
	static const uint64_t numbers[] = { 3, 4, 5 };
	struct world *w = *state;

	assert_int_equal(alq_begin(&w->alq), 0);
	for (int i = 0; i < 6; i++)
		write_entry(&w->rings, 0);
	w->writes = 4;	/* 2 to fill the ring, one that overwrites 0, one 1; 2 is next */
	pass(w);
	w->writes = 0;
	assert_ring(w, 0, numbers, 3, 3);
	pass(w);
	assert_int_equal(w->alq.kept + w->alq.failed, w->rings.cpu[0].ring.head);
}

/* KTR-F06: incomplete entries delay the others only briefly. */
static void test_half_written(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 2, 3 };
	struct world *w = *state;
	struct ktr_entry *entry;

	assert_int_equal(alq_begin(&w->alq), 0);
	write_entry(&w->rings, 1);
	entry = write_entry(&w->rings, 1);
	write_entry(&w->rings, 1);
	entry->ktr_seq = 0;
	pass(w);
	assert_ring(w, 1, numbers, 1, 0);
	entry->ktr_seq = 2;
	pass(w);
	assert_ring(w, 1, numbers, 3, 0);
	entry = write_entry(&w->rings, 1);
	entry->ktr_seq = 0;
	write_entry(&w->rings, 1);
	for (int i = 0; i < 1000; i++)
		pass(w);
	assert_int_equal(w->alq.kept, 4);
	assert_int_equal(w->alq.failed, 1);
}

/* Rings that begin anew, and a number that is not the slot's. */
static void test_cleared_and_corrupt(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 0 };
	struct world *w = *state;

	assert_int_equal(alq_begin(&w->alq), 0);
	write_entry(&w->rings, 0);
	write_entry(&w->rings, 0);
	pass(w);
	memset(w->rings.cpu, 0, sizeof(w->rings.cpu));
	write_entry(&w->rings, 0);
	pass(w);
	assert_ring(w, 0, numbers, 3, 0);
	write_entry(&w->rings, 0)->ktr_seq = 77;
	pass(w);
	assert_ring(w, 0, numbers, 3, 1);
}

static void test_max_counts_all_rings(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 2 };
	struct world *w = *state;
	int more;

	w->alq.max = 5 * KTR_ENTRY_SIZE;
	assert_int_equal(alq_begin(&w->alq), 0);
	for (int i = 0; i < 3; i++) {
		write_entry(&w->rings, 0);
		write_entry(&w->rings, 1);
	}
	assert_int_equal(alq_pass(&w->alq, &more), -ENOBUFS);
	assert_int_equal(alq_end(&w->alq), 0);
	assert_ring(w, 0, numbers, 3, 0);
	assert_ring(w, 1, numbers, 2, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_from_now_on_past_2_to_the_32),
		TEST(test_overwritten_while_copied),
		TEST(test_half_written),
		TEST(test_cleared_and_corrupt),
		TEST(test_max_counts_all_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
