/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread of a log: writes queued buffers with the ids and the limits of the owner. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "logpool.h"

#define PACE_MS	  100
#define NS_PER_MS 1000000u

#define PARTS (LOG_BATCH + 2)		/* the buffers, names, and the rest of the last buffer */

static bool log_is_abandoned(const struct logfile *l)
{
	return __atomic_load_n(&l->abandoned, __ATOMIC_ACQUIRE);
}

/* --- one write -------------------------------------------------------------------------------- */

/*
 * The kernel puts the sender's real ids into each message of AF_UNIX: here those are root's.  The
 * reader has to see the owner's.
 */
static ssize_t writer_send(const struct logfile *l, struct iovec *v, unsigned int n)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr msg = {
		.msg_iov = v, .msg_iovlen = n,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof(struct ucred));
	memcpy(CMSG_DATA(c), &l->id->sender, sizeof(struct ucred));
	return sendmsg(l->fd, &msg, MSG_NOSIGNAL);
}

/* Copies parts up to a total of `room` bytes; returns their number. */
static unsigned int parts_cut(struct iovec *to, const struct iovec *v, unsigned int n,
			      uint64_t room)
{
	unsigned int parts = 0;

	for (; parts < n && room; parts++) {
		to[parts] = v[parts];
		if (to[parts].iov_len > room)
			to[parts].iov_len = (size_t)room;
		room -= to[parts].iov_len;
	}
	return parts;
}

/*
 * RLIMIT_FSIZE is per process: the kernel applies the daemon's, and this function the owner's, in
 * the same way: up to the limit a write is cut, from there on it fails.  The owner may move the
 * offset at any moment, so the offset that was compared is passed to the write.
 */
static ssize_t writer_write_limited(const struct logfile *l, const struct iovec *v, unsigned int n)
{
	bool append = fcntl(l->fd, F_GETFL) & O_APPEND;
	struct stat st = { .st_size = 0 };
	struct iovec part[PARTS];
	ssize_t done;
	off_t at;

	if (append && fstat(l->fd, &st))
		return -1;
	at = append ? st.st_size : lseek(l->fd, 0, SEEK_CUR);
	if (at < 0)
		return -1;
	if ((uint64_t)at >= l->id->file_limit) {
		errno = EFBIG;
		return -1;
	}
	n = parts_cut(part, v, n, l->id->file_limit - (uint64_t)at);
	if (append)
		return writev(l->fd, part, (int)n);
	done = pwritev(l->fd, part, (int)n, at);
	if (done > 0)
		(void)lseek(l->fd, at + done, SEEK_SET);
	return done;
}

static ssize_t writer_write_once(const struct logfile *l, struct iovec *v, unsigned int n)
{
	struct msghdr msg = { .msg_iov = v, .msg_iovlen = n };

	switch (l->dest.kind) {
	case LOGDEST_UNIX:
		return writer_send(l, v, n);
	case LOGDEST_TCP:
		return sendmsg(l->fd, &msg, MSG_NOSIGNAL);
	case LOGDEST_FILE:
		if (l->id->file_limit != UINT64_MAX)
			return writer_write_limited(l, v, n);
		break;
	default:
		break;
	}
	return writev(l->fd, v, (int)n);
}

/* --- buffers ---------------------------------------------------------------------------------- */

/* For non-blocking descriptors: waits until the descriptor takes more. */
static int fd_wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* Skips `done` bytes that have been written; returns the number of whole parts. */
static unsigned int parts_pass(struct iovec *v, unsigned int n, size_t done)
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

/* Returns when the last of the parts has been written. */
static int parts_write_step(const struct logfile *l, struct iovec *v, unsigned int n)
{
	while (n) {
		ssize_t done;
		int err;

		if (log_is_abandoned(l))
			return -EINTR;
		done = writer_write_once(l, v, n);
		err = done < 0 ? -errno : 0;
		if (done > 0) {
			unsigned int whole = parts_pass(v, n, (size_t)done);

			v += whole;
			n -= whole;
		} else if (err == -EAGAIN) {
			err = fd_wait_writable(l->fd);
		} else if (err == -EINTR) {
			err = 0;
		} else if (done == 0) {
			err = -EIO;
		}
		if (err)
			return err;
	}
	return 0;
}

/*
 * Waits until a log with a limit may write again.  An owner that has ended must not lose its log
 * for that, so the wait counts as progress.
 */
static int writer_pace(struct logfile *l)
{
	while (l->kilobytes) {
		uint64_t now = clock_ns(), ms;

		if (log_is_abandoned(l))
			return -EINTR;
		if (now >= l->due_to_write)
			break;
		ms = (l->due_to_write - now) / NS_PER_MS + 1;
		(void)poll(NULL, 0, ms < PACE_MS ? (int)ms : PACE_MS);
		__atomic_add_fetch(&l->steps, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* The bytes use up their time; time that has passed unused is lost. */
static void writer_paced(struct logfile *l, size_t len)
{
	uint64_t now = clock_ns();

	if (!l->kilobytes)
		return;
	if (l->due_to_write < now)
		l->due_to_write = now;
	l->due_to_write += len * NS_PER_S / (l->kilobytes * 1024);
}

/* The bytes of the next write: with a limit, those of a short time. */
static uint64_t writer_step(const struct logfile *l)
{
	uint64_t step = l->kilobytes * 1024 / (1000 / PACE_MS);

	return l->kilobytes && step < LOG_STEP ? step : LOG_STEP;
}

/* A slow reader takes a buffer in many steps, each of which shows that it still reads. */
static int parts_write(struct logfile *l, struct iovec *v, unsigned int n)
{
	while (n) {
		struct iovec part[PARTS];
		unsigned int parts = parts_cut(part, v, n, writer_step(l)), whole;
		size_t len = 0;
		int err = writer_pace(l);

		for (unsigned int i = 0; i < parts; i++)
			len += part[i].iov_len;
		err = err ?: parts_write_step(l, part, parts);
		if (err)
			return err;
		writer_paced(l, len);
		__atomic_add_fetch(&l->steps, 1, __ATOMIC_RELAXED);
		whole = parts_pass(v, n, len);
		v += whole;
		n -= whole;
	}
	return 0;
}

static unsigned int parts_add(struct iovec *v, unsigned int parts, const void *data, size_t len)
{
	v[parts] = (struct iovec){ .iov_base = (void *)data, .iov_len = len };
	return parts + (len > 0);
}

/* Buffers, and at their end, but before CLOSELOG, the names of kernel functions in them. */
static unsigned int parts_gather(struct logfile *l, struct iovec *v, struct logbuf *const *b,
				 unsigned int n)
{
	unsigned int parts = 0;
	const uint8_t *names;
	size_t at = 0, len;

	for (unsigned int i = 0; i < n; i++) {
		at = name_search_scan(l->names, b[i]->data, b[i]->used);
		parts = parts_add(v, parts, b[i]->data, at);
	}
	len = name_search_records(l->names, &names);
	if (len)
		parts = parts_add(v, parts, names, len);
	return n ? parts_add(v, parts, b[n - 1]->data + at, b[n - 1]->used - at) : parts;
}

static void buffers_free(struct logfile *l, struct logbuf *const *b, unsigned int n)
{
	unsigned int returned[LOGBUF_POOLS] = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		if (b[i]->pool != LOGBUF_NONE)
			returned[b[i]->pool]++;
		free(b[i]);
	}
	log_give_back(l, returned);
}

/* The loop is notified only if it waits: each time costs two context switches. */
static void buffers_write(struct logfile *l, struct logbuf *const *b, unsigned int n)
{
	struct iovec v[PARTS];
	int err = l->error;
	bool news;

	if (!err)
		err = parts_write(l, v, parts_gather(l, v, b, n));
	buffers_free(l, b, n);
	pthread_mutex_lock(&l->lock);
	news = l->awaited > l->written || err != l->error;
	l->written += n;
	__atomic_store_n(&l->error, err, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&l->lock);
	if (news)
		logpool_wake_loop(l->pool);
}

/* The lock is held. */
static unsigned int buffers_take(struct logfile *l, struct logbuf **b)
{
	unsigned int n = 0;
	size_t bytes = 0;

	for (; l->head && n < LOG_BATCH && (!n || bytes + l->head->used <= LOG_STEP);
	     l->head = l->head->next) {
		bytes += l->head->used;
		b[n++] = l->head;
	}
	if (!l->head)
		l->tail = &l->head;
	return n;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* If it cannot take on the owner's ids, it writes nothing. */
static void writer_become_owner(struct logfile *l)
{
	const char *call;
	int err = identity_take_on(l->id, l->dest.kind == LOGDEST_UNIX, &call);

	if (!err)
		return;
	if (!__atomic_exchange_n(&l->pool->complained, true, __ATOMIC_RELAXED))
		messages_put(l->pool->config.messages, LOG_ERR,
			"cannot write logs with the ids of their "
			"owners: %s: %s; let pmcbpfd have CAP_SETUID and CAP_SETGID", call,
			strerror(-err));
	pthread_mutex_lock(&l->lock);
	__atomic_store_n(&l->error, err, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&l->lock);
	logpool_wake_loop(l->pool);
}

/*
 * With shutdown(2) the reader sees the end even if the owner still has its descriptor.  close(2) of
 * a socket with SO_LINGER waits for the peer; the owner may set the option again at any moment, and
 * then a kick ends that wait.
 */
static void writer_close(const struct logfile *l)
{
	const struct linger none = { .l_onoff = 0 };

	if (l->dest.kind == LOGDEST_TCP)
		(void)setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (l->dest.kind == LOGDEST_TCP || l->dest.kind == LOGDEST_UNIX)
		(void)shutdown(l->fd, SHUT_WR);
	close(l->fd);
}

void *log_writer(void *arg)
{
	struct logfile *l = arg;

	writer_become_owner(l);
	pthread_mutex_lock(&l->lock);
	while (!log_is_abandoned(l)) {
		struct logbuf *b[LOG_BATCH];
		unsigned int n = buffers_take(l, b);

		if (n || (!l->end && !l->error && name_search_due(l->names))) {
			pthread_mutex_unlock(&l->lock);
			buffers_write(l, b, n);
			pthread_mutex_lock(&l->lock);
		} else if (l->end) {
			break;
		} else {
			pthread_cond_wait(&l->work, &l->lock);
		}
	}
	pthread_mutex_unlock(&l->lock);
	writer_close(l);
	name_search_free(l->names);
	pthread_mutex_lock(&l->lock);
	l->done = true;
	pthread_mutex_unlock(&l->lock);
	logpool_wake_loop(l->pool);
	return NULL;
}
