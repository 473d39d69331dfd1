/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call chains that are completed later.  The records behind one wait, encoded, in memory that is
 * charged to the log's user; the chain itself is a mark among them.  Without memory the chains are
 * written as they are, so that no record is lost because of them.
 */
#include <stdlib.h>
#include <string.h>

#include "logpool.h"

#define LATE_BYTES   32768u
#define LATE_KB	     (LATE_BYTES / 1024)
#define LATE_RESERVE (2 * (LOGREC_MAX + 16u))	/* for a record behind a DROPNOTIFY */

/* Records, each behind its length; a mark has length 0, and a pointer. */
struct log_waiting {
	TAILQ_ENTRY(log_waiting) next;
	uint32_t begin, end;
	uint8_t data[LATE_BYTES];
};

static void waiting_drop(struct logfile *l, struct log_waiting *w)
{
	TAILQ_REMOVE(&l->waiting, w, next);
	user_give(l->pool->config.users, l->user, POOL_LATE, LATE_KB);
	free(w);
}

/* False: there is no room for the next records. */
static bool waiting_reserve(struct logfile *l)
{
	struct log_waiting *w = TAILQ_LAST(&l->waiting, log_waiting_list);
	struct reason unused;

	if (w && sizeof(w->data) - w->end >= LATE_RESERVE)
		return true;
	if (user_take(l->pool->config.users, l->user, POOL_LATE, LATE_KB, &unused))
		return false;
	w = malloc(sizeof(*w));
	if (!w) {
		user_give(l->pool->config.users, l->user, POOL_LATE, LATE_KB);
		return false;
	}
	w->begin = w->end = 0;
	TAILQ_INSERT_TAIL(&l->waiting, w, next);
	return true;
}

static uint8_t *waiting_put(struct logfile *l, uint64_t len, size_t bytes)
{
	struct log_waiting *w = TAILQ_LAST(&l->waiting, log_waiting_list);
	uint8_t *p = w->data + w->end;

	memcpy(p, &len, sizeof(len));
	w->end += (uint32_t)(sizeof(len) + (bytes + 7) / 8 * 8);
	return p + sizeof(len);
}

/* The chain of a mark at the beginning. */
static struct log_late *waiting_mark(const struct log_waiting *w)
{
	struct log_late *late;

	memcpy(&late, w->data + w->begin + sizeof(uint64_t), sizeof(late));
	return late;
}

bool log_waits(const struct logfile *l)
{
	return !l->releases && !TAILQ_EMPTY(&l->waiting);
}

void log_wait_reserve(struct logfile *l)
{
	if (log_waits(l) && !waiting_reserve(l))
		logfile_release(l, true);
}

uint8_t *log_wait_room(struct logfile *l, size_t len)
{
	return waiting_put(l, len, len);
}

/* The first record that waits is a mark: others wait only behind one. */
bool logfile_is_late(const struct logfile *l, uint64_t until)
{
	return log_waits(l) && waiting_mark(TAILQ_FIRST(&l->waiting))->ns <= until;
}

bool logfile_defer(struct logfile *l, uint64_t ns, struct log_late *late)
{
	if (l->closed || l->releases)
		return false;
	if (ns > l->last)
		l->last = ns;
	if (!log_mark_gap(l, l->last) || !waiting_reserve(l))
		return false;
	late->ns = l->last;
	memcpy(waiting_put(l, 0, sizeof(late)), &late, sizeof(late));
	return true;
}

/* False: it has to wait, and so have those behind it. */
static bool waiting_write(struct logfile *l, struct log_waiting *w, bool now)
{
	const uint8_t *p = w->data + w->begin;
	struct log_late *late;
	uint64_t len;

	memcpy(&len, p, sizeof(len));
	p += sizeof(len);
	if (len) {
		if (!log_failed(l))
			(void)log_put_encoded(l, l->last, p, (size_t)len);
		w->begin += (uint32_t)(sizeof(len) + (len + 7) / 8 * 8);
		return true;
	}
	late = waiting_mark(w);
	l->last = late->ns;
	if (!late->write(late, now))
		return false;
	w->begin += (uint32_t)(sizeof(len) + sizeof(late));
	return true;
}

void logfile_release(struct logfile *l, bool now)
{
	/* What the records in memory lack has its mark among them. */
	const uint64_t last = l->last, lost = l->lost;
	const bool dropped = l->dropped;
	struct log_waiting *w;

	if (!log_waits(l))
		return;
	l->releases = true;
	l->dropped = false;
	l->lost = 0;
	while ((w = TAILQ_FIRST(&l->waiting)) && (w->begin == w->end || waiting_write(l, w, now)))
		if (w->begin == w->end)
			waiting_drop(l, w);
	l->releases = false;
	l->last = last;
	l->dropped |= dropped;
	l->lost += lost;
}
