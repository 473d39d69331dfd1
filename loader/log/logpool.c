/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of log buffers, their charges to users, and the ends of logs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "logpool.h"

#define LOGS_MAX    4096u		/* of all users: a thread and a descriptor each */
#define FILE_BYTES  (16u * 1024 * 1024)	/* for bursts that are not yet written to files */
#define LATE_MAX_KB 65536u
#define END_SIZE    64u			/* bytes: DROPNOTIFY and CLOSELOG */
#define PAUSE_MIN   1000000ull		/* ns between two kicks, which doubles … */
#define PAUSE_MAX   NS_PER_S		/* … up to this */
#define SAY_NS	    10000000000ull	/* between two messages about logs that were given up */

static const enum pool_kind pools[LOGBUF_POOLS] = {
	[LOGBUF_ALL] = POOL_LOG_BUFFERS,
	[LOGBUF_FILES] = POOL_FILE_BUFFERS,
};

/* --- begin ------------------------------------------------------------------------------------ */

void logpool_wake_loop(const struct logpool *pool)
{
	uint64_t one = 1;

	/* It fails only if the counter is full, and then the event is readable. */
	(void)!write(pool->bell, &one, sizeof(one));
}

static void on_kick(int sig)
{
}

static void names_ready(void *arg)
{
	logpool_wake_loop(arg);
}

static int pool_open_events(struct logpool *pool)
{
	struct sigaction kick = { .sa_handler = on_kick };	/* no SA_RESTART: write() ends */
	struct epoll_event e = { .events = EPOLLIN };

	pool->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pool->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	pool->event = epoll_create1(EPOLL_CLOEXEC);
	if (pool->bell < 0 || pool->timer < 0 || pool->event < 0 ||
	    epoll_ctl(pool->event, EPOLL_CTL_ADD, pool->bell, &e) ||
	    epoll_ctl(pool->event, EPOLL_CTL_ADD, pool->timer, &e) ||
	    sigaction(LOG_KICK, &kick, NULL))
		return -errno;
	return 0;
}

static void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void pool_destroy(struct logpool *pool)
{
	kernel_names_free(pool->names);
	fd_close(pool->event);
	fd_close(pool->timer);
	fd_close(pool->bell);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

int logpool_new(struct logpool **out, const struct logpool_config *config, int *event,
		struct reason *why)
{
	struct logpool *pool = calloc(1, sizeof(*pool));
	unsigned int file_buffers = FILE_BYTES / config->size;
	int err;

	if (!pool)
		return deny(why, -ENOMEM, "no memory for the log buffers' pool");
	pool->config = *config;
	pool->bell = pool->timer = pool->event = -1;
	pthread_mutex_init(&pool->lock, NULL);
	err = pool_open_events(pool);
	if (!err)
		pool->names = kernel_names_new(config->kallsyms ?: "/proc/kallsyms", config->engine,
					       config->messages, names_ready, pool);
	if (!err && !pool->names)
		err = -ENOMEM;
	if (err) {
		pool_destroy(pool);
		return deny(why, err, "cannot set up logging: %s", strerror(-err));
	}
	user_pool(config->users, POOL_LOGS, LOGS_MAX);
	user_pool(config->users, POOL_LATE, LATE_MAX_KB);
	user_pool(config->users, POOL_LOG_BUFFERS, config->buffers);
	user_pool(config->users, POOL_FILE_BUFFERS,
		  file_buffers > config->buffers ? file_buffers : config->buffers);
	*event = pool->event;
	*out = pool;
	return 0;
}

void logpool_stats(const struct logpool *pool, uint32_t *requests, uint32_t *failed)
{
	*requests = pool->requests;
	*failed = pool->failed;
}

/* --- buffers ---------------------------------------------------------------------------------- */

void log_give_back(struct logfile *l, const unsigned int n[LOGBUF_POOLS])
{
	struct logpool *pool = l->pool;
	unsigned int before = 0, now = 0;

	pthread_mutex_lock(&pool->lock);
	for (unsigned int i = 0; i < LOGBUF_POOLS; i++) {
		before += l->returned[i];
		now += n[i];
		l->returned[i] += n[i];
	}
	if (!before && now) {
		l->next_returning = pool->returning;
		pool->returning = l;
	}
	pthread_mutex_unlock(&pool->lock);
}

static void buffers_uncharge(struct logfile *l, enum logbuf_pool pool, unsigned int n)
{
	l->charged[pool] -= n;
	user_give(l->pool->config.users, l->user, pools[pool], n);
}

/* An abandoned log's buffers have been uncharged already. */
static void buffers_count_returned(struct logpool *pool)
{
	pthread_mutex_lock(&pool->lock);
	for (struct logfile *l = pool->returning; l; l = l->next_returning)
		for (unsigned int i = 0; i < LOGBUF_POOLS; i++) {
			if (!l->abandoned)
				buffers_uncharge(l, i, l->returned[i]);
			l->returned[i] = 0;
		}
	pool->returning = NULL;
	pthread_mutex_unlock(&pool->lock);
}

static unsigned int pool_room(const struct logfile *l, enum logbuf_pool pool)
{
	return user_room(l->pool->config.users, l->user, pools[pool]);
}

/*
 * A burst may exceed the log's share of the pool.  A file takes it soon, without a reader: bursts
 * to files have buffers of their own, so that no record is lost.  The end of a log needs no room in
 * the pool: it is small, and the number of logs is limited.
 */
static enum logbuf_pool pool_choose(const struct logfile *l)
{
	if (pool_room(l, LOGBUF_ALL))
		return LOGBUF_ALL;
	if (l->dest.kind == LOGDEST_FILE && pool_room(l, LOGBUF_FILES))
		return LOGBUF_FILES;
	return LOGBUF_NONE;
}

/* A buffer of the usual size, or larger if the record needs more. */
static struct logbuf *buffer_alloc(struct logfile *l, enum logbuf_pool pool, size_t needs,
				   struct reason *why)
{
	uint32_t usual = pool == LOGBUF_NONE ? END_SIZE : l->pool->config.size;
	uint32_t size = needs > usual ? (uint32_t)needs : usual;
	struct logbuf *b = malloc(sizeof(*b) + size);

	if (!b) {
		deny(why, -ENOMEM, "no memory for a log buffer of %u bytes", size);
		return NULL;
	}
	if (pool != LOGBUF_NONE && user_take(l->pool->config.users, l->user, pools[pool], 1, why)) {
		free(b);
		return NULL;
	}
	if (pool != LOGBUF_NONE)
		l->charged[pool]++;
	*b = (struct logbuf){ .size = size, .pool = pool };
	return b;
}

static struct logbuf *buffer_count_request(struct logfile *l, struct logbuf *b)
{
	l->pool->requests++;
	l->pool->failed += !b;
	l->user->stats.buffer_requests++;
	l->user->stats.buffer_requests_failed += !b;
	if (l->owner_stats) {
		l->owner_stats->buffer_requests++;
		l->owner_stats->buffer_requests_failed += !b;
	}
	return b;
}

struct logbuf *log_first_buffer(struct logfile *l, struct reason *why)
{
	buffers_count_returned(l->pool);
	return buffer_count_request(l, buffer_alloc(l, LOGBUF_ALL, 0, why));
}

struct logbuf *log_buffer(struct logfile *l, size_t needs)
{
	enum logbuf_pool pool;
	struct logbuf *b = NULL;
	struct reason unused;

	buffers_count_returned(l->pool);
	pool = pool_choose(l);
	if (pool != LOGBUF_NONE || l->ending)
		b = buffer_alloc(l, pool, needs, &unused);
	return buffer_count_request(l, b);
}

void log_drop_buffer(struct logfile *l, struct logbuf *b)
{
	if (b->pool != LOGBUF_NONE)
		buffers_uncharge(l, b->pool, 1);
	free(b);
}

static void log_call_thread(struct logfile *l)
{
	l->held = false;
	pthread_mutex_lock(&l->lock);
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
}

void logpool_push(struct logpool *pool)
{
	for (struct logfile *l = pool->logs; l && pool->held; l = l->next)
		if (l->held)
			log_call_thread(l);
	pool->held = 0;
	pool->held_bytes = 0;
}

/* Threads are woken for many buffers at a time: at a drain's end, or when room runs low. */
void log_queue(struct logfile *l, struct logbuf *b)
{
	struct logpool *pool = l->pool;

	l->queued++;
	pool->held++;
	pool->held_bytes += b->used;
	pthread_mutex_lock(&l->lock);
	*l->tail = b;
	l->tail = &b->next;
	pthread_mutex_unlock(&l->lock);
	l->held = true;
	if (pool->held_bytes >= LOG_STEP || pool->held >= LOG_BATCH ||
	    pool->held >= pool_room(l, LOGBUF_ALL))
		logpool_push(pool);
}

/* --- logs without an owner -------------------------------------------------------------------- */

static void pool_set_alarm(struct logpool *pool, uint64_t at)
{
	struct itimerspec t = {
		.it_value = { .tv_sec = (time_t)(at / NS_PER_S),
			      .tv_nsec = (long)(at % NS_PER_S) },
	};

	if (pool->alarm && pool->alarm <= at)
		return;
	pool->alarm = at;
	timerfd_settime(pool->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static uint64_t log_steps(const struct logfile *l)
{
	return __atomic_load_n(&l->steps, __ATOMIC_RELAXED);
}

void log_leave(struct logfile *l)
{
	l->seen = log_steps(l);
	l->due = clock_ns() + LOG_GRACE_NS;
	pool_set_alarm(l->pool, l->due);
	/* The thread may have ended before: the loop has to check it once more. */
	logpool_wake_loop(l->pool);
}

static bool log_is_done(struct logfile *l)
{
	bool done;

	pthread_mutex_lock(&l->lock);
	done = l->done;
	pthread_mutex_unlock(&l->lock);
	return done;
}

static void logfile_destroy(struct logfile *l)
{
	struct logpool *pool = l->pool;
	struct logfile **p = &pool->logs;

	pthread_join(l->thread, NULL);
	buffers_count_returned(pool);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	user_give(pool->config.users, l->user, POOL_LOGS, 1);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
	number_set_free(&l->named);
	free(l->id);
	free(l);
}

/* Queued buffers are freed at once; those being written, by the thread. */
static void log_abandon(struct logfile *l)
{
	struct logbuf *b, *next;

	buffers_count_returned(l->pool);
	pthread_mutex_lock(&l->lock);
	b = l->head;
	l->head = NULL;
	l->tail = &l->head;
	l->pool->lost += l->queued - l->written;
	__atomic_store_n(&l->abandoned, true, __ATOMIC_RELEASE);
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	for (unsigned int i = 0; i < LOGBUF_POOLS; i++)
		buffers_uncharge(l, i, l->charged[i]);
	l->pool->given_up++;
	l->pause = PAUSE_MIN;
}

static void log_kick(struct logfile *l, uint64_t now)
{
	pthread_kill(l->thread, LOG_KICK);
	l->due = now + l->pause;
	l->pause = l->pause * 2 < PAUSE_MAX ? l->pause * 2 : PAUSE_MAX;
}

static void log_look_after(struct logfile *l, uint64_t now)
{
	uint64_t steps = log_steps(l);

	if (!l->abandoned && steps != l->seen) {
		l->seen = steps;
		l->due = now + LOG_GRACE_NS;
		return;
	}
	if (!l->abandoned)
		log_abandon(l);
	log_kick(l, now);
}

/* Rate-limited: users decide how often it happens. */
static void pool_say_given_up(struct logpool *pool, uint64_t now)
{
	if (!pool->given_up)
		return;
	if (pool->said && now < pool->said + SAY_NS) {
		pool_set_alarm(pool, pool->said + SAY_NS);
		return;
	}
	messages_put(pool->config.messages, LOG_NOTICE,
		"%u log%s without an owner abandoned: the file or "
		"the reader did not take the last %llu buffer%s", pool->given_up,
		pool->given_up == 1 ? "" : "s", (unsigned long long)pool->lost,
		pool->lost == 1 ? "" : "s");
	pool->given_up = 0;
	pool->lost = 0;
	pool->said = now;
}

/* Wakes the threads after new names have come: idle ones may wait for them. */
static void pool_call_for_names(struct logpool *pool)
{
	unsigned int news = kernel_names_news(pool->names);

	for (struct logfile *l = pool->logs; l && news != pool->names_news; l = l->next)
		log_call_thread(l);
	pool->names_news = news;
}

void logpool_reap(struct logpool *pool)
{
	uint64_t now = clock_ns(), unused;
	struct logfile *l, *next;

	(void)!read(pool->bell, &unused, sizeof(unused));
	if (read(pool->timer, &unused, sizeof(unused)) > 0)
		pool->alarm = 0;
	kernel_names_serve(pool->names);
	pool_call_for_names(pool);
	for (l = pool->logs; l; l = next) {
		next = l->next;
		if (l->owned)
			continue;
		if (log_is_done(l)) {
			logfile_destroy(l);
			continue;
		}
		if (l->due <= now)
			log_look_after(l, now);
		pool_set_alarm(pool, l->due);
	}
	pool_say_given_up(pool, now);
}

/* --- end -------------------------------------------------------------------------------------- */

/* True: all logs have ended. */
static bool pool_all_done(struct logpool *pool)
{
	for (struct logfile *l = pool->logs; l; l = l->next)
		if (!log_is_done(l))
			return false;
	return true;
}

static void pool_wait(struct logpool *pool, bool kicks)
{
	uint64_t until = clock_ns() + LOG_GRACE_NS;

	while (!pool_all_done(pool) && clock_ns() < until) {
		kernel_names_serve(pool->names);
		for (struct logfile *l = pool->logs; l && kicks; l = l->next)
			if (!log_is_done(l))
				pthread_kill(l->thread, LOG_KICK);
		usleep(1000);
	}
}

void logpool_free(struct logpool *pool)
{
	struct logfile *l, *next;

	if (!pool)
		return;
	for (l = pool->logs; l; l = l->next)
		if (l->owned)
			logfile_free(l);
	pool_wait(pool, false);
	for (l = pool->logs; l; l = l->next)
		if (!log_is_done(l) && !l->abandoned)
			log_abandon(l);
	pool_wait(pool, true);
	pool->said = 0;
	pool_say_given_up(pool, clock_ns());
	for (l = pool->logs; l; l = next) {
		next = l->next;
		if (log_is_done(l))
			logfile_destroy(l);
	}
	if (!pool->logs) {
		pool_destroy(pool);
		return;
	}
	/* The thread still uses the pool: it is not freed. */
	messages_put(pool->config.messages, LOG_WARNING,
		     "the kernel does not let a log's writer end");
}
