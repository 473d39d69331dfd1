/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that empties a pipe: see tap.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tap.h"

#define TAP_PIECE  (256u << 10)	/* bytes of one read */
#define TAP_PIPE   (1u << 20)	/* size of the pipe */
#define TAP_NOTIFY (2u << 20)	/* bytes at which the main thread is notified */
#define TAP_LIMIT  (8u << 20)	/* bytes at which reading stops, if it may */
#define TAP_REST   10		/* ms between two reads: larger ones are cheaper */

struct tap {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t taken;
	int fd, ready, stop;
	int rest;		/* ms between two reads */
	char *data, *given;	/* the data so far; the data that tap_take() returned */
	size_t len, size, given_size;
	int err;		/* -1: not at the end */
	bool hold, stopped;
	bool running;
};

static void tap_signal(int event)
{
	eventfd_write(event, 1);
}

/* Makes room for a piece.  False: no memory, or the tap was stopped.  The lock is held. */
static bool tap_make_room(struct tap *tap)
{
	size_t size = tap->size ? 2 * tap->size : 4 * TAP_PIECE;
	char *data;

	while (tap->len >= TAP_LIMIT && tap->hold && !tap->stopped)
		pthread_cond_wait(&tap->taken, &tap->lock);
	if (tap->stopped || tap->size - tap->len >= TAP_PIECE)
		return !tap->stopped;
	data = realloc(tap->data, size);
	if (!data) {
		tap->err = ENOMEM;
		return false;
	}
	tap->data = data;
	tap->size = size;
	return true;
}

static void tap_add(struct tap *tap, const char *piece, size_t n)
{
	memcpy(tap->data + tap->len, piece, n);
	tap->len += n;
}

/* Reads a piece; `fd` may be non-blocking.  A stop also ends the rest before it. */
static ssize_t tap_read_piece(struct tap *tap, char *piece)
{
	struct pollfd fds[2] = { { .fd = tap->fd, .events = POLLIN },
				 { .fd = tap->stop, .events = POLLIN } };
	ssize_t n;

	if (tap->rest)
		poll(&fds[1], 1, tap->rest);
	do {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (fds[1].revents)
			return 0;
		n = read(tap->fd, piece, TAP_PIECE);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	return n;
}

static void *tap_run(void *arg)
{
	struct tap *tap = arg;
	char *piece = malloc(TAP_PIECE);
	ssize_t n = 1;
	bool worth;

	while (n > 0) {
		n = piece ? tap_read_piece(tap, piece) : -1;
		pthread_mutex_lock(&tap->lock);
		if (n <= 0)
			tap->err = n < 0 ? errno : 0;
		else if (tap_make_room(tap))
			tap_add(tap, piece, (size_t)n);
		else
			n = 0;
		worth = n <= 0 || !tap->rest || tap->len >= TAP_NOTIFY;
		pthread_mutex_unlock(&tap->lock);
		if (worth)
			tap_signal(tap->ready);
	}
	free(piece);
	return NULL;
}

/* The main thread receives all signals. */
static int tap_start(struct tap *tap)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&tap->thread, NULL, tap_run, tap);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	tap->running = !err;
	return -err;
}

int tap_open(struct tap **made, int fd, int *ready)
{
	struct tap *tap = calloc(1, sizeof(*tap));
	int err = 0;

	if (!tap)
		return -ENOMEM;
	tap->fd = fd;
	tap->err = -1;
	/* A file needs no rest, and a pipe that stays small must be emptied at once. */
	if (fcntl(fd, F_SETPIPE_SZ, TAP_PIPE) >= (int)TAP_PIPE)
		tap->rest = TAP_REST;
	pthread_mutex_init(&tap->lock, NULL);
	pthread_cond_init(&tap->taken, NULL);
	tap->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tap->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tap->ready < 0 || tap->stop < 0)
		err = -errno;
	if (!err)
		err = tap_start(tap);
	if (err) {
		tap_close(tap);
		return err;
	}
	*ready = tap->ready;
	*made = tap;
	return 0;
}

size_t tap_take(struct tap *tap, char **data, int *err)
{
	char *old = tap->given;
	size_t old_size = tap->given_size, len;
	eventfd_t count;

	eventfd_read(tap->ready, &count);
	pthread_mutex_lock(&tap->lock);
	len = tap->len;
	*err = tap->err;
	*data = tap->given = tap->data;
	tap->given_size = tap->size;
	tap->data = old;
	tap->size = old_size;
	tap->len = 0;
	pthread_cond_signal(&tap->taken);
	pthread_mutex_unlock(&tap->lock);
	return len;
}

void tap_hold(struct tap *tap, bool on)
{
	pthread_mutex_lock(&tap->lock);
	tap->hold = on;
	pthread_cond_signal(&tap->taken);
	pthread_mutex_unlock(&tap->lock);
}

void tap_wait(struct tap *tap)
{
	struct pollfd fd = { .fd = tap->ready, .events = POLLIN };

	poll(&fd, 1, -1);
}

void tap_close(struct tap *tap)
{
	if (!tap)
		return;
	if (tap->running) {
		pthread_mutex_lock(&tap->lock);
		tap->stopped = true;
		pthread_cond_signal(&tap->taken);
		pthread_mutex_unlock(&tap->lock);
		tap_signal(tap->stop);
		pthread_join(tap->thread, NULL);
	}
	if (tap->ready >= 0)
		close(tap->ready);
	if (tap->stop >= 0)
		close(tap->stop);
	pthread_cond_destroy(&tap->taken);
	pthread_mutex_destroy(&tap->lock);
	free(tap->data);
	free(tap->given);
	free(tap);
}
