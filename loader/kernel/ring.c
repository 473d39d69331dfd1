/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF ring buffers as the kernel maps them: a page with the consumer's position, which is ours, a
 * page with the producer's, and the data, mapped twice in a row so that no record is broken.  Two
 * words precede each record: its length and flags, and one of the kernel's own.
 *
 * Order: a program takes the time and then puts its record into the ring.  After the daemon has
 * read the time T, it sees all records that a CPU had put into its ring by T, so records up to T
 * may be merged.  If one program interrupts another between the two steps, their records are out of
 * order by no more than that interval; in the merged stream time never goes back.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

struct ring {
	volatile unsigned long *consumer;
	const volatile unsigned long *producer;
	const uint8_t *data;
	unsigned long at, end;		/* delivered so far, and the end of data, of this drain */
	const struct abi_rec *next;	/* NULL: no record to deliver now */
	void *consumer_map, *producer_map;
};

struct rings {
	unsigned int ncpu;
	size_t size, page;
	uint64_t last;			/* time of the latest record delivered */
	struct ring ring[];
};

static int ring_map(struct rings *rs, struct ring *r, int fd)
{
	void *map = mmap(NULL, rs->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	r->consumer_map = map;
	r->consumer = map;
	map = mmap(NULL, rs->page + 2 * rs->size, PROT_READ, MAP_SHARED, fd, (off_t)rs->page);
	if (map == MAP_FAILED)
		return -errno;
	r->producer_map = map;
	r->producer = map;
	r->data = (const uint8_t *)map + rs->page;
	return 0;
}

int rings_new(const int *fds, unsigned int ncpu, size_t size, struct rings **out,
	      struct reason *why)
{
	struct rings *rs = calloc(1, sizeof(*rs) + ncpu * sizeof(rs->ring[0]));
	int err = 0;

	if (!rs)
		return deny(why, -ENOMEM, "no memory for the rings of %u CPUs", ncpu);
	rs->ncpu = ncpu;
	rs->size = size;
	rs->page = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned int cpu = 0; cpu < ncpu && !err; cpu++)
		err = ring_map(rs, &rs->ring[cpu], fds[cpu]);
	if (err) {
		rings_free(rs);
		errno = -err;
		return deny(why, err, "cannot map the rings: %m");
	}
	*out = rs;
	return 0;
}

void rings_free(struct rings *rs)
{
	for (unsigned int cpu = 0; rs && cpu < rs->ncpu; cpu++) {
		if (rs->ring[cpu].consumer_map)
			munmap(rs->ring[cpu].consumer_map, rs->page);
		if (rs->ring[cpu].producer_map)
			munmap(rs->ring[cpu].producer_map, rs->page + 2 * rs->size);
	}
	free(rs);
}

/* Finds the next record of a ring, past those that were discarded. */
static void ring_peek(const struct rings *rs, struct ring *r)
{
	r->next = NULL;
	while (r->at < r->end) {
		const uint8_t *p = r->data + (r->at & (rs->size - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
		uint32_t len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		const struct abi_rec *rec = (const struct abi_rec *)(p + BPF_RINGBUF_HDR_SZ);

		/* Still being written: later records have to wait. */
		if (head & BPF_RINGBUF_BUSY_BIT)
			return;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && len >= sizeof(*rec) &&
		    sizeof(*rec) + 8u * rec->n <= len) {
			r->next = rec;
			return;
		}
		r->at += (len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	}
}

static void ring_pass(const struct rings *rs, struct ring *r)
{
	const uint8_t *p = (const uint8_t *)r->next - BPF_RINGBUF_HDR_SZ;
	uint32_t len = *(const uint32_t *)p;

	r->at += (len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	ring_peek(rs, r);
}

/* The ring with the oldest record up to `horizon`.  Few rings have one at a time. */
static struct ring *rings_oldest(struct rings *rs, uint64_t horizon)
{
	struct ring *best = NULL;

	for (unsigned int cpu = 0; cpu < rs->ncpu; cpu++) {
		struct ring *r = &rs->ring[cpu];

		if (r->next && r->next->time <= horizon &&
		    (!best || r->next->time < best->next->time))
			best = r;
	}
	return best;
}

uint64_t rings_drain(struct rings *rs, uint64_t horizon,
		     void (*fn)(void *arg, const struct abi_rec *rec, const uint64_t *data),
		     void *arg)
{
	unsigned int n = 0;
	struct ring *r;

	for (unsigned int cpu = 0; cpu < rs->ncpu; cpu++) {
		r = &rs->ring[cpu];
		r->at = *r->consumer;
		r->end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
		ring_peek(rs, r);
		/* A record that is still being written was begun before the horizon. */
		if (!r->next && r->at < r->end)
			horizon = horizon < rs->last ? horizon : rs->last;
	}
	while ((r = rings_oldest(rs, horizon))) {
		struct abi_rec rec = *r->next;

		if (rec.time < rs->last)
			rec.time = rs->last;
		rs->last = rec.time;
		fn(arg, &rec, (const uint64_t *)(r->next + 1));
		ring_pass(rs, r);
		n++;
		/* Free the space early, but do not write to a shared cache line at every step. */
		if (n % 64 == 0)
			__atomic_store_n(r->consumer, r->at, __ATOMIC_RELEASE);
	}
	for (unsigned int cpu = 0; cpu < rs->ncpu; cpu++)
		__atomic_store_n(rs->ring[cpu].consumer, rs->ring[cpu].at, __ATOMIC_RELEASE);
	return horizon;
}
