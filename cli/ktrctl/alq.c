/* SPDX-License-Identifier: BSD-2-Clause */
/* Draining trace rings into a file: see alq.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alq.h"
#include "lib/base/pwrite.h"

#define BATCH	 512u		/* entries that are read at once */
#define PATIENCE 100		/* passes to wait for an incomplete entry */

struct alq_ring {
	uint64_t next;		/* the next entry to read from the source */
	uint64_t kept, failed;
	uint32_t cpu;
	unsigned int waited;	/* passes spent waiting for `next` */
};

/* --- the file ------------------------------------------------------------------------------- */

static uint64_t file_stride(uint32_t entries)
{
	return sizeof(struct ktr_ring) + (uint64_t)entries * KTR_ENTRY_SIZE;
}

static uint64_t file_ring(const struct alq *alq, uint32_t entries, uint32_t i)
{
	return alq->head.hdrsize + i * file_stride(entries);
}

/*
 * A ring's size for so many entries plus one: the oldest of a full ring may be about to be
 * overwritten.
 */
static uint32_t file_entries(uint64_t count)
{
	uint32_t entries = 1;

	while (entries <= count && entries < KTR_REGION_ENTRIES)
		entries *= 2;
	return entries;
}

/* The source's current header, with its formats; after the process's end, the first one read. */
static int file_put_head(struct alq *alq)
{
	char *text = (char *)alq->batch;
	struct ktr_region head;
	int err = 0;

	if (!alq->read(alq->source, 0, &head, sizeof(head)))
		alq->head.last = head.last;
	for (uint64_t at = KTR_REGION_PAGE, n; at < alq->head.hdrsize && !err; at += n) {
		n = alq->head.hdrsize - at;
		if (n > BATCH * KTR_ENTRY_SIZE)
			n = BATCH * KTR_ENTRY_SIZE;
		if (!alq->read(alq->source, at, text, n))
			err = pwrite_all(alq->fd, text, n, at);
	}
	head = alq->head;
	head.entries = alq->entries;
	head.stride = file_stride(alq->entries);
	return err ? err : pwrite_all(alq->fd, &head, sizeof(head), 0);
}

/* The mappings go after the rings, on a page of their own. */
static int file_put_files(const struct alq *alq)
{
	uint64_t at = file_ring(alq, alq->entries, alq->head.ncpu);

	if (!*alq->files)
		return 0;
	at = (at + KTR_REGION_PAGE - 1) / KTR_REGION_PAGE * KTR_REGION_PAGE;
	return pwrite_all(alq->fd, alq->files, strlen(alq->files) + 1, at);
}

static int file_put_ring(const struct alq *alq, uint32_t i)
{
	const struct alq_ring *ring = &alq->rings[i];
	struct ktr_ring head = { .head = ring->kept, .cpu = ring->cpu, .lost = ring->failed };

	return pwrite_all(alq->fd, &head, sizeof(head), file_ring(alq, alq->entries, i));
}

/* --- the source ----------------------------------------------------------------------------- */

static uint64_t source_ring_offset(const struct alq *alq, uint32_t i)
{
	return alq->head.hdrsize + i * alq->head.stride;
}

static int source_read_ring(const struct alq *alq, uint32_t i, struct ktr_ring *ring)
{
	return alq->read(alq->source, source_ring_offset(alq, i), ring, sizeof(*ring));
}

static void alq_fail_until(struct alq *alq, struct alq_ring *ring, uint64_t next)
{
	alq->failed += next - ring->next;
	ring->failed += next - ring->next;
	ring->next = next;
	ring->waited = 0;
}

/*
 * Moves the complete entries among `count`, from ring->next on, to the beginning of the batch;
 * `head` is the ring's head after they were copied.  False: the next entry is still being written.
 */
static bool entries_keep_whole(struct alq *alq, struct alq_ring *ring, uint32_t count,
			       uint64_t head, uint32_t *kept)
{
	uint32_t entries = alq->head.entries;

	*kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ktr_entry *entry = &alq->batch[i];
		uint32_t seq = (uint32_t)(ring->next + 1);
		bool old = ring->next + entries < head + 1;

		if (!old && entry->ktr_seq == seq) {
			entry->ktr_seq = (uint32_t)(ring->kept + *kept + 1);
			alq->batch[(*kept)++] = *entry;
			ring->next++;
			ring->waited = 0;
			continue;
		}
		if (!old && (entry->ktr_seq == 0 || entry->ktr_seq == seq - entries) &&
		    ring->waited < PATIENCE) {
			ring->waited++;
			return false;
		}
		alq_fail_until(alq, ring, ring->next + 1);
	}
	return true;
}

static int entries_append(struct alq *alq, uint32_t i, uint32_t count)
{
	struct alq_ring *ring = &alq->rings[i];
	uint64_t at = file_ring(alq, alq->entries, i) + sizeof(struct ktr_ring) +
		      ring->kept * KTR_ENTRY_SIZE;
	int err = pwrite_all(alq->fd, alq->batch, (size_t)count * KTR_ENTRY_SIZE, at);

	if (err)
		return err;
	ring->kept += count;
	alq->kept += count;
	return file_put_ring(alq, i);
}

/* Drains one contiguous piece of a ring.  1: no more entries now. */
static int ring_drain_piece(struct alq *alq, uint32_t i, uint64_t head)
{
	struct alq_ring *ring = &alq->rings[i];
	uint32_t slot, kept, entries = alq->head.entries;
	uint64_t count = head - ring->next, room = alq->max / KTR_ENTRY_SIZE - alq->kept;
	struct ktr_ring after;
	bool all;
	int err;

	if (room > alq->entries - 1 - ring->kept)
		room = alq->entries - 1 - ring->kept;
	if (room == 0)
		return -ENOBUFS;
	if (count > entries)
		alq_fail_until(alq, ring, head - entries);
	slot = (uint32_t)ring->next & (entries - 1);
	count = head - ring->next;
	count = count < BATCH ? count : BATCH;
	count = count < room ? count : room;
	count = count < entries - slot ? count : entries - slot;
	err = alq->read(alq->source,
			source_ring_offset(alq, i) + sizeof(after) +
				(uint64_t)slot * KTR_ENTRY_SIZE,
			alq->batch, count * KTR_ENTRY_SIZE);
	if (!err)
		err = source_read_ring(alq, i, &after);
	if (err)
		return err;
	all = entries_keep_whole(alq, ring, (uint32_t)count, after.head, &kept);
	err = entries_append(alq, i, kept);
	return err ? err : !all;
}

static int ring_drain(struct alq *alq, uint32_t i, int *more)
{
	struct alq_ring *ring = &alq->rings[i];
	struct ktr_ring head;
	int err = source_read_ring(alq, i, &head);

	if (err)
		return err;
	if (head.head < ring->next)	/* the ring was cleared */
		ring->next = 0;
	if (head.head - ring->next > alq->head.entries / 4)
		*more = 1;
	while (!err && ring->next < head.head)
		err = ring_drain_piece(alq, i, head.head);
	return err < 0 ? err : 0;
}

/* --- begin, pass, end ------------------------------------------------------------------------ */

int alq_begin(struct alq *alq)
{
	int err;

	alq->kept = alq->failed = 0;
	alq->entries = file_entries(alq->max / KTR_ENTRY_SIZE);
	alq->rings = calloc(alq->head.ncpu, sizeof(*alq->rings));
	alq->batch = malloc(BATCH * sizeof(*alq->batch));
	if (!alq->rings || !alq->batch)
		return -ENOMEM;
	for (uint32_t i = 0; i < alq->head.ncpu; i++) {
		struct ktr_ring ring;

		err = source_read_ring(alq, i, &ring);
		alq->rings[i] = (struct alq_ring){ .next = ring.head, .cpu = ring.cpu };
		if (!err)
			err = file_put_ring(alq, i);
		if (err)
			return err;
	}
	if (ftruncate(alq->fd, (off_t)file_ring(alq, alq->entries, alq->head.ncpu)))
		return -errno;
	err = file_put_files(alq);
	return err ? err : file_put_head(alq);
}

int alq_pass(struct alq *alq, int *more)
{
	int err = 0;

	*more = 0;
	for (uint32_t i = 0; i < alq->head.ncpu && !err; i++)
		err = ring_drain(alq, i, more);
	return err;
}

uint64_t alq_written(const struct alq *alq)
{
	uint64_t written = 0;

	for (uint32_t i = 0; i < alq->head.ncpu; i++) {
		struct ktr_ring ring;

		if (!source_read_ring(alq, i, &ring))
			written += ring.head;
	}
	return written;
}

/* Moves a ring to its place in a file of rings of `entries`, never to a higher offset. */
static int file_move_ring(struct alq *alq, uint32_t i, uint32_t entries)
{
	uint64_t from = file_ring(alq, alq->entries, i), to = file_ring(alq, entries, i);
	uint64_t left = file_stride((uint32_t)alq->rings[i].kept);

	while (left && from != to) {
		size_t n = left < BATCH * KTR_ENTRY_SIZE ? left : BATCH * KTR_ENTRY_SIZE;
		ssize_t got = pread(alq->fd, alq->batch, n, (off_t)from);
		int err = got == (ssize_t)n ? pwrite_all(alq->fd, alq->batch, n, to) : -EIO;

		if (err)
			return err;
		from += n;
		to += n;
		left -= n;
	}
	return 0;
}

int alq_end(struct alq *alq)
{
	static const char none[8];
	uint64_t most = 0;
	uint32_t entries;
	int err;

	for (uint32_t i = 0; i < alq->head.ncpu; i++)
		if (alq->rings[i].kept > most)
			most = alq->rings[i].kept;
	entries = file_entries(most);
	/* While rings move the file is no valid region. */
	err = pwrite_all(alq->fd, none, sizeof(none), 0);
	for (uint32_t i = 0; i < alq->head.ncpu && !err; i++)
		err = file_move_ring(alq, i, entries);
	if (err)
		return err;
	alq->entries = entries;
	if (ftruncate(alq->fd, (off_t)file_ring(alq, entries, alq->head.ncpu)))
		return -errno;
	for (uint32_t i = 0; i < alq->head.ncpu && !err; i++)
		err = file_put_ring(alq, i);
	if (!err)
		err = file_put_files(alq);
	return err ? err : file_put_head(alq);
}

void alq_free(struct alq *alq)
{
	free(alq->rings);
	free(alq->batch);
}
