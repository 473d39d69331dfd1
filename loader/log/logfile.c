/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into buffers; the beginning and the end of logs. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "loader/base/base.h"
#include "logpool.h"

#define NAMED_MAX 65536u		/* numbers that a log remembers */

/* --- records ------------------------------------------------------------------------------- */

static void log_hand_over(struct logfile *l)
{
	if (l->current)
		log_queue(l, l->current);
	l->current = NULL;
}

/* Room for a record of `len` bytes; a record never spans buffers. */
static uint8_t *log_room(struct logfile *l, size_t len)
{
	uint8_t *p;

	if (log_waits(l))
		return log_wait_room(l, len);
	if (l->current && l->current->size - l->current->used < len)
		log_hand_over(l);
	if (!l->current)
		l->current = log_buffer(l, len);
	if (!l->current)
		return NULL;
	p = l->current->data + l->current->used;
	l->current->used += (uint32_t)len;
	return p;
}

static bool log_append(struct logfile *l, const uint8_t *record, size_t len)
{
	uint8_t *p = log_room(l, len);

	if (p)
		memcpy(p, record, len);
	return p != NULL;
}

/* Not inlined: the record on the stack would cost its caller time for each sample. */
static __attribute__((noinline)) bool log_put_drop(struct logfile *l, uint64_t ns)
{
	struct pmclog_ev ev = {
		.pl_type = PMCLOG_TYPE_DROPNOTIFY, .pl_u.pl_dn.pl_lost = l->lost,
	};
	uint8_t record[LOGREC_MAX];

	if (!log_append(l, record, logrec_encode(record, &l->clock, ns, &ev)))
		return false;
	l->dropped = false;
	l->lost = 0;
	return true;
}

/* Marks a gap before the first record behind it. */
bool log_mark_gap(struct logfile *l, uint64_t ns)
{
	return !l->dropped || log_put_drop(l, ns);
}

static uint64_t log_time(struct logfile *l, uint64_t ns)
{
	if (ns > l->last)
		l->last = ns;
	return l->last;
}

int log_put_encoded(struct logfile *l, uint64_t ns, const uint8_t *record, size_t len)
{
	if (log_mark_gap(l, ns) && log_append(l, record, len))
		return 0;
	logfile_lost(l, 1);
	return -ENOMEM;
}

static int log_put_event(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev)
{
	uint8_t record[LOGREC_MAX];
	size_t len;

	ns = log_time(l, ns);
	len = logrec_encode(record, &l->clock, ns, ev);
	/* The old format has no records of threads: nothing is missing. */
	return len ? log_put_encoded(l, ns, record, len) : 0;
}

bool logfile_has(const struct logfile *l, enum pmclog_type type)
{
	const struct logfmt_record *r = logfmt_find(type);

	return r && r->fixed[l->clock.format];
}

unsigned int logfile_chain_room(const struct logfile *l)
{
	return l->clock.format == LOGFMT_OLD ? LOGREC_OLD_CHAIN : PMC_CALLCHAIN_DEPTH_MAX;
}

/* Beyond the limit, or without memory, it is named again. */
bool logfile_names(struct logfile *l, uint32_t number)
{
	if (number_set_has(&l->named, number))
		return false;
	if (l->named.n >= NAMED_MAX)
		number_set_clear(&l->named);
	(void)number_set_add(&l->named, number);
	return true;
}

/* Not inlined, like log_put_drop(). */
static __attribute__((noinline)) int log_put_renumbered(struct logfile *l, uint64_t ns,
							const struct pmclog_ev *ev)
{
	struct pmclog_ev mine = *ev;

	return l->numbers->event(l->numbers, ns, &mine) ? log_put_event(l, ns, &mine) : 0;
}

int logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev)
{
	if (l->closed || log_failed(l))
		return -EPIPE;
	log_wait_reserve(l);
	return l->numbers ? log_put_renumbered(l, ns, ev) : log_put_event(l, ns, ev);
}

int logfile_callchain(struct logfile *l, uint64_t ns, const struct pmclog_ev_callchain *c,
		      const uint64_t *pc)
{
	struct pmclog_ev_callchain mine;
	uint8_t *p;
	size_t len;

	if (l->closed || log_failed(l))
		return -EPIPE;
	log_wait_reserve(l);
	if (l->numbers) {
		memcpy(&mine, c, offsetof(struct pmclog_ev_callchain, pl_pc));
		l->numbers->sample(l->numbers, ns, &mine);
		c = &mine;
	}
	ns = log_time(l, ns);
	len = logrec_callchain_size(&l->clock, (unsigned int)c->pl_npc);
	p = log_mark_gap(l, ns) ? log_room(l, len) : NULL;
	if (!p) {
		logfile_lost(l, 1);
		return -ENOMEM;
	}
	logrec_callchain(p, &l->clock, ns, c, pc);
	return 0;
}

bool logfile_renumbers(const struct logfile *l)
{
	return l->numbers;
}

void logfile_hide_names(struct logfile *l)
{
	name_search_hide(l->names);
}

void logfile_gap(struct logfile *l)
{
	l->dropped = true;
}

void logfile_lost(struct logfile *l, uint64_t n)
{
	l->dropped |= n != 0;
	l->lost += n;
}

uint64_t logfile_flush(struct logfile *l)
{
	log_hand_over(l);
	pthread_mutex_lock(&l->lock);
	l->awaited = l->queued;
	pthread_mutex_unlock(&l->lock);
	logpool_push(l->pool);
	return l->queued;
}

uint64_t logfile_written(const struct logfile *l)
{
	struct logfile *mutable = (struct logfile *)l;
	uint64_t written;

	pthread_mutex_lock(&mutable->lock);
	written = l->written;
	pthread_mutex_unlock(&mutable->lock);
	return written;
}

int logfile_error(struct logfile *l, bool *news)
{
	int err;

	pthread_mutex_lock(&l->lock);
	err = l->error;
	pthread_mutex_unlock(&l->lock);
	if (news) {
		*news = err && !l->reported;
		l->reported |= err != 0;
	}
	return err;
}

/* --- beginning and end ----------------------------------------------------------------------- */

static void log_initialize(struct pmclog_ev *ev, struct logfile *l, uint32_t cputype,
			   const char *cpuid, uint64_t mono)
{
	uint64_t wall = mono + (uint64_t)l->clock.to_wall;

	memset(ev, 0, sizeof(*ev));
	ev->pl_type = PMCLOG_TYPE_INITIALIZE;
	ev->pl_u.pl_i.pl_version = l->clock.format == LOGFMT_OLD ? LOGFMT_OLD_VERSION :
								   LOGFMT_NEW_VERSION;
	ev->pl_u.pl_i.pl_arch = cputype;
	ev->pl_u.pl_i.pl_tsc_freq = 1000000000;
	ev->pl_u.pl_i.pl_ts.tv_sec = (time_t)(wall / NS_PER_S);
	ev->pl_u.pl_i.pl_ts.tv_nsec = (long)(wall % NS_PER_S);
	memcpy(ev->pl_u.pl_i.pl_cpuid, cpuid, strnlen(cpuid, PMC_CPUID_LEN - 1));
}

static struct logfile *logfile_alloc(struct logpool *pool, const struct logfile_config *config)
{
	struct logfile *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pool = pool;
	l->fd = config->fd;
	l->dest = config->dest;
	l->id = config->id;
	l->user = config->user;
	l->owner_stats = config->owner_stats;
	l->numbers = config->numbers;
	l->kilobytes = config->kilobytes;
	l->owned = true;
	l->tail = &l->head;
	TAILQ_INIT(&l->waiting);
	l->clock.format = config->format;
	l->clock.to_wall = (int64_t)(clock_read(CLOCK_REALTIME) - clock_ns());
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	return l;
}

/* Signals go to the loop; the thread takes the kick only. */
static int log_start_writer(struct logfile *l, struct reason *why)
{
	int err = worker_start(&l->thread, log_writer, l, LOG_KICK);

	return err ? deny(why, err, "cannot start a thread to write the log: %s", strerror(-err)) :
		     0;
}

int logfile_new(struct logpool *pool, const struct logfile_config *config, struct logfile **out,
		struct reason *why)
{
	struct user_table *users = pool->config.users;
	int err = user_take(users, config->user, POOL_LOGS, 1, why);
	struct logfile *l;
	struct pmclog_ev ev;

	if (err)
		return err;
	l = logfile_alloc(pool, config);
	if (l)
		l->names = name_search_new(pool->names, &l->clock);
	if (!l || !l->names) {
		err = deny(why, -ENOMEM, "no memory for a log");
		goto no_log;
	}
	err = -ENOMEM;
	l->current = log_first_buffer(l, why);
	if (!l->current)
		goto no_log;
	log_initialize(&ev, l, config->cputype, config->cpuid, clock_ns());
	(void)logfile_put(l, clock_ns(), &ev);
	err = log_start_writer(l, why);
	if (err)
		goto no_log;
	l->next = pool->logs;
	pool->logs = l;
	*out = l;
	return 0;
no_log:
	if (l && l->current)
		log_drop_buffer(l, l->current);
	if (l)
		name_search_free(l->names);
	free(l);
	user_give(users, config->user, POOL_LOGS, 1);
	return err;
}

void logfile_close(struct logfile *l)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_CLOSELOG };

	if (l->closed)
		return;
	logfile_release(l, true);
	l->ending = true;
	(void)logfile_put(l, clock_ns(), &ev);
	l->closed = true;
	log_hand_over(l);
	pthread_mutex_lock(&l->lock);
	l->end = true;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
}

void logfile_free(struct logfile *l)
{
	if (!l)
		return;
	logfile_close(l);
	if (l->numbers)
		l->numbers->end(l->numbers);
	l->numbers = NULL;
	l->owner_stats = NULL;
	l->owned = false;
	log_leave(l);
}
