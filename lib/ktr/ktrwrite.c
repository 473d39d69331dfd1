/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow path of the writers: before the constructor, without rseq, and for options that ask for
 * more than a write.  Any number of writers may be in a ring here and interrupt each other.  A
 * writer takes an entry's number by adding to the head, and its slot by exchanging the slot's
 * second word. If the ring has wrapped and the slot is still being written, the new entry is lost
 * and counted.
 */
#include <sched.h>
#include <string.h>

#include "ktr.h"

/*
 * ktr_seq and ktr_tid as one word.  Both are 0 in a slot that was never written; while a slot is
 * written, ktr_seq is 0 and ktr_tid is the writer's.
 */
struct second {
	uint32_t seq, tid;
};
_Static_assert(sizeof(struct second) == sizeof(uint64_t), "changes at once");

static struct second *ring_second_word(struct ktr_entry *entry)
{
	return (struct second *)(void *)&entry->ktr_seq;
}

static struct ktr_entry *entry_take(struct ktr_ring *ring, struct ktr_entry *slots, uint32_t count,
				    uint64_t *number)
{
	struct ktr_entry *entry;
	struct second old, mine = { 0, ktr_thread.tid };

	*number = __atomic_fetch_add(&ring->head, 1, __ATOMIC_ACQ_REL);
	entry = &slots[*number & (count - 1)];
	__atomic_load(ring_second_word(entry), &old, __ATOMIC_ACQUIRE);
	do {
		if (!old.seq && old.tid) {
			__atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	} while (!__atomic_compare_exchange(ring_second_word(entry), &old, &mine, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return entry;
}

static void entry_fill(struct ktr_entry *entry, uint64_t number, uint64_t desc,
		       const uint64_t *parms, unsigned int n)
{
	struct second done = { (uint32_t)(number + 1), ktr_thread.tid };

	entry->ktr_time = ktr_clock_read(ktr_lib.clock);
	entry->ktr_desc = desc;
	for (unsigned int i = 0; i < n; i++)
		(&entry->ktr_parm1)[i] = parms[i];
	if (!done.seq)
		done.tid = 0;	/* the ktr_seq of number 2^32 - 1 would be 0 */
	__atomic_store(ring_second_word(entry), &done, __ATOMIC_RELEASE);
}

static struct ktr_entry *entry_write_early(uint32_t cpu, uint64_t desc, const uint64_t *parms,
					   unsigned int n)
{
	struct ktr_entry *entry;
	uint64_t number;

	/* The environment cannot be read yet at this point. */
	if (!ktr_lib.clock)
		ktr_lib.clock = ktr_clock_choose(ktr_oldcpu()) ?: KTR_CLOCK_COARSE;
	entry = entry_take(&ktr_lib.early_ring, ktr_lib.early, KTR_EARLY, &number);
	if (!entry)
		return NULL;
	ktr_lib.early_cpu[number & (KTR_EARLY - 1)] = (uint16_t)cpu;
	entry_fill(entry, number, desc, parms, n);
	return entry;
}

static struct ktr_entry *entry_write_ring(uint32_t cpu, uint64_t desc, const uint64_t *parms,
					  unsigned int n)
{
	struct ktr_region *region = ktr_lib.region;
	/* CPUs that appeared after the region was made share the last ring. */
	struct ktr_ring *ring =
		ktr_region_ring(region, cpu < region->ncpu ? cpu : region->ncpu - 1);
	struct ktr_entry *entry;
	uint64_t number;

	entry = entry_take(ring, (struct ktr_entry *)(ring + 1), region->entries, &number);
	if (entry)
		entry_fill(entry, number, desc, parms, n);
	return entry;
}

/* Uses the region's fields: they may be changed from outside.  All are 0 in a retired region. */
static bool cpu_is_off(const struct ktr_region *region, uint32_t cpu)
{
	return cpu < region->ncpu && !(region->cpumask[cpu / 64] >> cpu % 64 & 1);
}

struct ktr_entry *ktr_write(uint64_t desc, const uint64_t *parms, unsigned int n)
{
	const struct ktr_region *region = ktr_lib.region;
	int here = sched_getcpu();
	uint32_t cpu = here < 0 || here >= (int)KTR_REGION_CPUS ? 0 : (uint32_t)here;
	struct ktr_entry *entry = NULL;

	if (ktr_lib.mode == KTR_OFF)
		return NULL;
	if (ktr_lib.mode == KTR_BEFORE)
		return entry_write_early(cpu, desc, parms, n);
	if (cpu_is_off(region, cpu))
		return NULL;
	if (ktr_lib.mode == KTR_ATOMIC)
		entry = entry_write_ring(cpu, desc, parms, n);
	else	/* a thread without rseq: nothing else may write to these rings */
		__atomic_fetch_add(&ktr_region_ring(ktr_lib.region, 0)->lost, 1, __ATOMIC_RELAXED);
	if (region->verbose)
		ktr_say_entry(cpu, desc, parms, n, region->verbose);
	return entry;
}

/* Whether the entry would have been written with the options that are known now. */
static bool entry_wanted(const struct ktr_entry *early, uint32_t cpu)
{
	const struct ktr_region *region = ktr_lib.region;
	const struct ktr_site *site = (const void *)(uintptr_t)early->ktr_desc;

	return cpu < region->ncpu && region->cpumask[cpu / 64] >> cpu % 64 & 1 &&
	       (early->ktr_desc & KTR_DESC_TEXT || site->ktr_class & ktr_mask);
}

/*
 * Copies each entry to the ring of its CPU, in order; if they had another clock, all get the
 * current time.
 */
void ktr_early_move(uint32_t clock)
{
	struct ktr_region *region = ktr_lib.region;
	uint64_t head = ktr_lib.early_ring.head;

	for (uint64_t i = head > KTR_EARLY ? head - KTR_EARLY : 0; i < head; i++) {
		const struct ktr_entry *early = &ktr_lib.early[i & (KTR_EARLY - 1)];
		uint32_t cpu = ktr_lib.early_cpu[i & (KTR_EARLY - 1)];
		struct ktr_ring *ring;
		struct ktr_entry *entry;

		if (early->ktr_seq != (uint32_t)(i + 1) || !entry_wanted(early, cpu))
			continue;
		ring = ktr_region_ring(region, cpu);
		entry = (struct ktr_entry *)(ring + 1) + (ring->head & (region->entries - 1));
		*entry = *early;
		entry->ktr_seq = (uint32_t)++ring->head;
		if (clock != region->clock)
			entry->ktr_time = ktr_clock_read(region->clock);
		if (region->verbose)
			ktr_say_entry(cpu, early->ktr_desc, &early->ktr_parm1, 5, region->verbose);
	}
	ktr_lib.early_ring.head = 0;
}

/* The slow paths of the writers in assembly; on other machines, the writers themselves. */
#ifdef KTR_ASSEMBLY
#define SLOW(n)		ktr_slow##n
#define AGAIN(n, ...) do { \
		if (ktr_ready()) { \
			__ktr_w##n(__VA_ARGS__); \
			return; \
		} \
	} while (0)
struct ktr_entry *ktr_entry(uint64_t desc);
void ktr_slow0(uint64_t desc);
void ktr_slow1(uint64_t desc, uint64_t a);
void ktr_slow2(uint64_t desc, uint64_t a, uint64_t b);
void ktr_slow3(uint64_t desc, uint64_t a, uint64_t b, uint64_t c);
void ktr_slow4(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
void ktr_slow5(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* For assembly, which stores parameters itself: they are 0 until it does. */
struct ktr_entry *ktr_slow_entry(uint64_t desc)
{
	static const uint64_t parms[5];
	struct ktr_entry *entry;

	if (ktr_ready())
		return ktr_entry(desc);
	entry = ktr_write(desc, parms, 5);
	return entry ? entry : &ktr_lib.nowhere;
}
#else
#define SLOW(n)		KTR_PUBLIC __ktr_w##n
#define AGAIN(n, ...)	ktr_ready()
#endif

void SLOW(0)(uint64_t desc)
{
	AGAIN(0, desc);
	ktr_write(desc, NULL, 0);
}

void SLOW(1)(uint64_t desc, uint64_t a)
{
	AGAIN(1, desc, a);
	ktr_write(desc, (uint64_t[]){ a }, 1);
}

void SLOW(2)(uint64_t desc, uint64_t a, uint64_t b)
{
	AGAIN(2, desc, a, b);
	ktr_write(desc, (uint64_t[]){ a, b }, 2);
}

void SLOW(3)(uint64_t desc, uint64_t a, uint64_t b, uint64_t c)
{
	AGAIN(3, desc, a, b, c);
	ktr_write(desc, (uint64_t[]){ a, b, c }, 3);
}

void SLOW(4)(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	AGAIN(4, desc, a, b, c, d);
	ktr_write(desc, (uint64_t[]){ a, b, c, d }, 4);
}

void SLOW(5)(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	AGAIN(5, desc, a, b, c, d, e);
	ktr_write(desc, (uint64_t[]){ a, b, c, d, e }, 5);
}
