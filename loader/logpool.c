/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of log buffers, and the threads that write them: as many at once as have been filled. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "logpool.h"

#define GRACE_NS    1000000000ull
#define BATCH	    16u			/* buffers of one write: the usual ones fill a pipe */
#define PATIENCE_NS 50000000ull		/* for a file that does not take what it is given */

/* --- the writing thread ---------------------------------------------------------------------- */

/* Waits, for a descriptor that would not, until it takes more. */
static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static bool abandoned(struct logfile *l)
{
	bool abandon;

	pthread_mutex_lock(&l->lock);
	abandon = l->abandon;
	pthread_mutex_unlock(&l->lock);
	return abandon;
}

/* Passes over what has been written. */
static unsigned int pass(struct iovec *v, unsigned int n, size_t done)
{
	unsigned int whole = 0;

	while (whole < n && done >= v[whole].iov_len)
		done -= v[whole++].iov_len;
	if (whole < n) {
		v[whole].iov_base = (char *)v[whole].iov_base + done;
		v[whole].iov_len -= done;
	}
	return whole;
}

static int write_all(struct logfile *l, struct iovec *v, unsigned int n)
{
	while (n) {
		ssize_t done = writev(l->fd, v, (int)n);
		int err = done < 0 ? -errno : 0;

		if (done > 0) {
			unsigned int whole = pass(v, n, (size_t)done);

			v += whole;
			n -= whole;
		} else if (err == -EAGAIN) {
			err = wait_writable(l->fd);
		} else if (err == -EINTR) {
			err = 0;
		} else if (done == 0) {
			err = -EIO;
		}
		if (err)
			return err;
		if (n && abandoned(l))
			return -EINTR;
	}
	return 0;
}

void log_tell_loop(const struct logpool *pool)
{
	uint64_t one = 1;

	/* It fails only when the counter is full, and then the loop has been told. */
	(void)!write(pool->event, &one, sizeof(one));
}

/* A reader that holds the other end sees the end even if the owner still has its descriptor. */
static void close_file(int fd)
{
	(void)shutdown(fd, SHUT_WR);
	close(fd);
}

static void give_back(struct logpool *pool, unsigned int n)
{
	pthread_mutex_lock(&pool->lock);
	pool->returned += n;
	pthread_cond_signal(&pool->room);
	pthread_mutex_unlock(&pool->lock);
}

static unsigned int add_part(struct iovec *v, unsigned int parts, const void *data, size_t len)
{
	v[parts] = (struct iovec){ .iov_base = (void *)data, .iov_len = len };
	return parts + (len > 0);
}

/* Buffers, and at their end, but before CLOSELOG, the names of kernel functions in them. */
static unsigned int gather(struct logfile *l, struct iovec *v, struct logbuf *const *b,
			   unsigned int n)
{
	unsigned int parts = 0;
	const uint8_t *names;
	size_t at = 0, len;

	for (unsigned int i = 0; i < n; i++) {
		at = lognames_scan(l->names, b[i]->data, b[i]->used);
		parts = add_part(v, parts, b[i]->data, at);
	}
	len = lognames_records(l->names, &names);
	if (len)
		parts = add_part(v, parts, names, len);
	return n ? add_part(v, parts, b[n - 1]->data + at, b[n - 1]->used - at) : parts;
}

/* The loop is told only what it waits for: each time costs two switches. */
static void write_some(struct logfile *l, struct logbuf *const *b, unsigned int n)
{
	struct iovec v[BATCH + 2];
	int err = l->error;
	bool news;

	if (!err)
		err = write_all(l, v, gather(l, v, b, n));
	for (unsigned int i = 0; i < n; i++)
		free(b[i]);
	give_back(l->pool, n);
	pthread_mutex_lock(&l->lock);
	news = l->awaited > l->written || err != l->error;
	l->written += n;
	__atomic_store_n(&l->error, err, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&l->lock);
	if (news)
		log_tell_loop(l->pool);
}

/* With the lock held. */
static unsigned int take(struct logfile *l, struct logbuf **b)
{
	unsigned int n = 0;

	for (; l->head && n < BATCH; l->head = l->head->next)
		b[n++] = l->head;
	if (!l->head)
		l->tail = &l->head;
	return n;
}

void *log_writer(void *arg)
{
	struct logfile *l = arg;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		struct logbuf *b[BATCH];
		unsigned int n = take(l, b);

		if (n || (!l->end && !l->error && lognames_due(l->names))) {
			pthread_mutex_unlock(&l->lock);
			write_some(l, b, n);
			pthread_mutex_lock(&l->lock);
		} else if (l->end) {
			break;
		} else {
			pthread_cond_wait(&l->work, &l->lock);
		}
	}
	close_file(l->fd);
	lognames_free(l->names);
	l->fd = -1;
	l->done = true;
	pthread_mutex_unlock(&l->lock);
	log_tell_loop(l->pool);
	return NULL;
}

/* --- the pool ------------------------------------------------------------------------------ */

static void on_kick(int sig)
{
}

static void names_ready(void *arg)
{
	log_tell_loop(arg);
}

int logpool_new(struct logpool **out, const struct logpool_config *config, int *event,
		struct why *why)
{
	struct sigaction kick = { .sa_handler = on_kick };	/* no SA_RESTART: write() ends */
	struct logpool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return deny(why, -ENOMEM, "no memory for the log buffers' pool");
	pool->config = *config;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->room, NULL);
	pool->names = names_new(config->kallsyms ?: "/proc/kallsyms", config->log, names_ready,
				pool);
	pool->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!pool->names || pool->event < 0 || sigaction(LOG_KICK, &kick, NULL)) {
		int err = deny(why, -errno, "cannot set up logging: %m");

		if (pool->event >= 0)
			close(pool->event);
		names_free(pool->names);
		free(pool);
		return err;
	}
	*event = pool->event;
	*out = pool;
	return 0;
}

static void count_returned(struct logpool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->used -= pool->returned;
	pool->returned = 0;
	pthread_mutex_unlock(&pool->lock);
}

static void call_thread(struct logfile *l)
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
			call_thread(l);
	pool->held = 0;
}

/*
 * More came at once than the pool has room for.  A file takes it soon: better a moment's wait of
 * everybody than a gap.  Others, and a file that did not, until it does again, are not waited for.
 */
static void wait_for_room(struct logfile *l)
{
	struct logpool *pool = l->pool;
	uint64_t written = logfile_written(l), until = clock_ns() + PATIENCE_NS;
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
			       .tv_nsec = (long)(until % 1000000000u) };
	int err = 0;

	if (!l->regular || l->queued == written || (l->stuck && l->stuck == written + 1))
		return;
	logpool_push(pool);
	pthread_mutex_lock(&pool->lock);
	while (!pool->returned && !err)
		err = pthread_cond_clockwait(&pool->room, &pool->lock, CLOCK_MONOTONIC,
					     &ts);
	l->stuck = pool->returned ? 0 : written + 1;
	pthread_mutex_unlock(&pool->lock);
}

struct logbuf *log_buffer(struct logfile *l)
{
	struct logpool *pool = l->pool;
	struct logbuf *b = NULL;

	count_returned(pool);
	if (pool->used >= pool->config.buffers && !l->ending) {
		wait_for_room(l);
		/* Also what came back just before there was nothing more to wait for. */
		count_returned(pool);
	}
	pool->requests++;
	if (l->stats)
		l->stats->buffer_requests++;
	if (pool->used < pool->config.buffers || l->ending)
		b = malloc(sizeof(*b) + pool->config.size);
	if (!b) {
		pool->failed++;
		if (l->stats)
			l->stats->buffer_requests_failed++;
		return NULL;
	}
	pool->used++;
	b->next = NULL;
	b->used = 0;
	return b;
}

static void logfile_destroy(struct logfile *l)
{
	struct logfile **p = &l->pool->logs;

	pthread_join(l->thread, NULL);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static bool is_done(struct logfile *l)
{
	bool done;

	pthread_mutex_lock(&l->lock);
	done = l->done;
	pthread_mutex_unlock(&l->lock);
	return done;
}

/* Threads whose logs have no more to write wait for the table of names. */
static void call_for_names(struct logpool *pool)
{
	unsigned int reads = names_reads(pool->names);

	for (struct logfile *l = pool->logs; l && reads != pool->names_reads; l = l->next)
		call_thread(l);
	pool->names_reads = reads;
}

void logpool_reap(struct logpool *pool)
{
	struct logfile *l, *next;
	uint64_t unused;

	(void)!read(pool->event, &unused, sizeof(unused));
	call_for_names(pool);
	for (l = pool->logs; l; l = next) {
		next = l->next;
		if (!l->owned && is_done(l))
			logfile_destroy(l);
	}
}

/* Ends a thread that is stuck; a kick just before its write() is lost, hence more than one. */
static void give_up(struct logfile *l)
{
	pthread_mutex_lock(&l->lock);
	l->abandon = true;
	pthread_mutex_unlock(&l->lock);
	while (!is_done(l)) {
		pthread_kill(l->thread, LOG_KICK);
		usleep(1000);
	}
}

void logpool_free(struct logpool *pool)
{
	uint64_t deadline = clock_ns() + GRACE_NS;
	struct logfile *l, *next;

	if (!pool)
		return;
	for (l = pool->logs; l; l = l->next)
		if (l->owned)
			logfile_free(l);
	for (l = pool->logs; l; l = next) {
		next = l->next;
		while (!is_done(l) && clock_ns() < deadline)
			usleep(1000);
		if (!is_done(l))
			give_up(l);
		logfile_destroy(l);
	}
	names_free(pool->names);
	close(pool->event);
	pthread_cond_destroy(&pool->room);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void logpool_stats(const struct logpool *pool, uint32_t *requests, uint32_t *failed)
{
	*requests = pool->requests;
	*failed = pool->failed;
}

/* Threads are called for many buffers at a time: at a drain's end, or when the pool runs low. */
void log_queue(struct logfile *l, struct logbuf *b)
{
	struct logpool *pool = l->pool;

	l->queued++;
	pthread_mutex_lock(&l->lock);
	*l->tail = b;
	l->tail = &b->next;
	pthread_mutex_unlock(&l->lock);
	l->held = true;
	if (++pool->held >= BATCH || pool->held * 4 >= pool->config.buffers)
		logpool_push(pool);
}
