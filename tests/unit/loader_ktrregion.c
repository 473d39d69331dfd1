/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's trace region as memory: layout, header, formats, and the copies for unprivileged
 * users.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/kernel/ktrregion.h"
#include "unit.h"

#define CPUS 3u

static struct reason why;

static struct ktr_region *make(uint32_t entries)
{
	struct ktr_layout l;
	struct ktr_region *r;

	assert_int_equal(ktrregion_layout(&l, CPUS, entries, &why), 0);
	r = aligned_alloc(KTR_REGION_PAGE, (ktrregion_size(&l) + KTR_REGION_PAGE - 1) &
			  ~(size_t)(KTR_REGION_PAGE - 1));
	assert_non_null(r);
	/* Earlier contents must not matter. */
	memset(r, 0xa5, ktrregion_size(&l));
	ktrregion_header(r, &l);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		struct ktr_ring *ring = (struct ktr_ring *)((char *)r + KTR_ENTRY_SIZE *
							    ktrregion_slot(&l, cpu));

		assert_ptr_equal(ring, (char *)r + r->hdrsize + cpu * r->stride);
		memset(ring, 0, sizeof(*ring));
		ring->cpu = cpu;
	}
	return r;
}

static struct ktr_ring *ring_of(struct ktr_region *r, unsigned int cpu)
{
	return (struct ktr_ring *)((char *)r + r->hdrsize + cpu * r->stride);
}

static struct ktr_entry *entry_of(struct ktr_region *r, unsigned int cpu, uint64_t n)
{
	return (struct ktr_entry *)(ring_of(r, cpu) + 1) + (n & (r->entries - 1));
}

/* The next entry of a ring; all words are `fill`. */
static struct ktr_entry *put(struct ktr_region *r, unsigned int cpu, unsigned int id, uint64_t fill)
{
	uint64_t n = ring_of(r, cpu)->head++;
	struct ktr_entry *e = entry_of(r, cpu, n);

	*e = (struct ktr_entry){
		.ktr_time = 1000 + n, .ktr_seq = (uint32_t)(n + 1), .ktr_tid = 7,
		.ktr_desc = KTR_DESC(cpu, r->generation, id), .ktr_parm1 = fill,
		.ktr_parm2 = fill, .ktr_parm3 = fill, .ktr_parm4 = fill, .ktr_parm5 = fill,
	};
	return e;
}

static struct ktr_region *copy(struct ktr_region *r)
{
	struct ktr_region *to;
	struct stat st;
	int fd = ktrregion_copy(r, &why);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	/* Memory that others may have mapped is read-only. */
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 1), -1);
	to = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(to, MAP_FAILED);
	close(fd);
	return to;
}

/* KTR-05, KTR-17, KTR-73: the header says where every CPU's ring of 64-byte entries is. */
static void test_header(void **state)
{
	struct ktr_region *r = make(8);

	assert_memory_equal(r->magic, KTR_REGION_MAGIC, sizeof(r->magic));
	assert_int_equal(r->entsize, 64);
	assert_int_equal(r->entries, 8);
	assert_int_equal(r->ncpu, CPUS);
	assert_int_equal(r->stride, 9 * 64);
	assert_int_equal(r->hdrsize % KTR_REGION_PAGE, 0);
	assert_int_equal(r->flags, KTR_REGION_KERNEL);
	assert_int_equal(r->clock, KTR_CLOCK_MONOTONIC);
	assert_int_equal(r->frequency, 1000000000);
	assert_int_equal(r->pid, getpid());
	assert_int_equal(r->formats, KTR_EVENTS);
	assert_true(r->formats_offset + r->formats * sizeof(struct ktr_format) <= r->hdrsize);
	assert_in_range(r->generation, 1, 0xffff);
	assert_true(r->first.clock && r->first.clock == r->first.monotonic && r->first.realtime);
	assert_int_equal(ktrregion_written(r), 0);
	put(r, 2, KTR_EV_MARK, 0);
	assert_int_equal(ktrregion_written(r), 1);
	free(r);
}

static void test_too_large(void **state)
{
	struct ktr_layout l;

	assert_int_equal(ktrregion_layout(&l, 1, KTR_REGION_ENTRIES, &why), 0);
	assert_int_equal(ktrregion_layout(&l, 255, KTR_REGION_ENTRIES, &why), 0);
	assert_int_equal(ktrregion_layout(&l, 256, KTR_REGION_ENTRIES, &why), -E2BIG);
	assert_contains(why.text, "ktr.size=\"1073741824\" is too much for 256 CPUs");
	assert_int_equal(ktrregion_layout(&l, KTR_REGION_CPUS + 1, 1, &why), -E2BIG);
}

/* KTR-09, KTR-23, KTR-44, KTR-45: every event has a class, at most 5 words, and a text to match. */
static void test_formats(void **state)
{
	struct ktr_region *r = make(1);
	const struct ktr_format *f = (void *)((char *)r + r->formats_offset);

	for (unsigned int i = 0; i < r->formats; i++) {
		unsigned int words = 0, parameter = 0;

		assert_int_equal(f[i].magic, KTR_FORMAT_MAGIC);
		assert_int_equal(f[i].id, i);
		assert_int_equal(f[i].generation, r->generation);
		assert_int_not_equal(f[i].classes, 0);
		assert_true(strlen(f[i].text) > 0 && strlen(f[i].text) < sizeof(f[i].text));
		for (const char *p = strchr(f[i].text, '%'); p; p = strchr(p + 1, '%')) {
			uint32_t type = KTR_ARGTYPE(f[i].argtypes, parameter++);

			p += strspn(p + 1, "0123456789") + 1;
			assert_non_null(strchr("sdx", *p));
			assert_int_equal(*p == 's', type == KTR_ARG_TEXT);
			if (type == KTR_ARG_PTR)
				assert_int_equal(*p, 'x');
			words += type == KTR_ARG_TEXT ? 2 : 1;
		}
		assert_in_range(words, 0, 5);
		assert_int_equal(f[i].argtypes >> 4 * parameter, 0);
	}
	assert_string_equal(f[KTR_EV_SYSCALL].text, "syscall p=0x%x #0x%x");
	assert_string_equal(f[KTR_EV_SYSRET].text, "syscall p=0x%x err=%d ret=%x");
	assert_string_equal(f[KTR_EV_SYSCALL].name, "sys_enter");
	assert_int_equal(f[KTR_EV_SYSCALL].classes, KTR_SYSC);
	assert_string_equal(f[KTR_EV_MARK].name, "");
	free(r);
}

/* KTR-80: addresses, messages and left-over words are for the privileged only. */
static void test_copy(void **state)
{
	struct ktr_region *r = make(4), *to;
	struct ktr_entry *e;

	put(r, 1, KTR_EV_SYSCALL, 0xffff888811112222);
	e = put(r, 1, KTR_EV_EXEC, ~0ull);
	e->ktr_parm1 = 42;
	memcpy(&e->ktr_parm2, "sh\0rest of older", 16);
	put(r, 1, KTR_EV_PRINTK, 0x4141414141414141);
	put(r, 2, KTR_EVENTS, 1);
	put(r, 2, KTR_EV_FORK, 5)->ktr_desc ^= 1 << 16;
	put(r, 2, KTR_EV_FORK, 5)->ktr_seq = 0;
	to = copy(r);
	assert_int_equal(to->flags, KTR_REGION_KERNEL | KTR_REGION_SCRUBBED);
	assert_int_equal(to->entries, 4);
	e = entry_of(to, 1, 0);
	assert_int_equal(e->ktr_seq, 1);
	assert_int_equal(e->ktr_tid, 7);
	assert_true(e->ktr_parm1 == 0 && e->ktr_parm2 == 0xffff888811112222);
	assert_true(!e->ktr_parm3 && !e->ktr_parm4 && !e->ktr_parm5);
	e = entry_of(to, 1, 1);
	assert_int_equal(e->ktr_parm1, 42);
	assert_memory_equal(&e->ktr_parm2, "sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_true(!e->ktr_parm4 && !e->ktr_parm5);
	/* The kernel's message, unknown ids, and an entry being written. */
	for (uint64_t n = 0; n < 4; n++) {
		static const struct ktr_entry empty;

		if (n >= 2)
			assert_memory_equal(entry_of(to, 1, n), &empty, sizeof(empty));
		assert_memory_equal(entry_of(to, 2, n), &empty, sizeof(empty));
	}
	assert_int_equal(ring_of(to, 1)->head, 3);
	assert_int_equal(ring_of(to, 2)->head, 3);
	munmap(to, to->hdrsize + CPUS * to->stride);
	free(r);
}

/* Of large rings the latest entries are copied, with their numbers. */
static void test_large_copy(void **state)
{
	struct ktr_region *r = make(1 << 17), *to;
	const uint64_t written = (1 << 17) + 77;

	for (uint64_t i = 0; i < written; i++)
		put(r, 0, KTR_EV_FORK, i);
	to = copy(r);
	assert_true(to->entries < r->entries && to->entries * CPUS * 64 <= KTR_COPY);
	assert_int_equal(to->entries & (to->entries - 1), 0);
	assert_int_equal(ring_of(to, 0)->head, written);
	for (uint64_t n = written - to->entries; n < written; n++) {
		assert_int_equal(entry_of(to, 0, n)->ktr_seq, n + 1);
		assert_int_equal(entry_of(to, 0, n)->ktr_parm1, n);
	}
	munmap(to, to->hdrsize + CPUS * to->stride);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_formats), cmocka_unit_test(test_copy),
		cmocka_unit_test(test_large_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
