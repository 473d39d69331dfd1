/* SPDX-License-Identifier: BSD-2-Clause */
/* See work.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "server.h"
#include "loader/pmc/pmc_release.h"
#include "loader/op/logbook.h"
#include "work.h"

#define SPARE_MAX 16u			/* unused pieces of work that are kept, with their reply */

static void work_enqueue(struct work *w)
{
	struct user *u = w->user;

	if (w->queued)
		return;
	w->queued = true;
	TAILQ_INSERT_TAIL(&u->works, w, in_queue);
	if (u->in_turn)
		return;
	u->in_turn = true;
	TAILQ_INSERT_TAIL(&w->s->turns, u, turn);
	w->s->nturns++;
}

static void work_dequeue(struct work *w)
{
	if (!w->queued)
		return;
	w->queued = false;
	TAILQ_REMOVE(&w->user->works, w, in_queue);
	if (!TAILQ_EMPTY(&w->user->works))
		return;
	w->user->in_turn = false;
	TAILQ_REMOVE(&w->s->turns, w->user, turn);
	w->s->nturns--;
}

static struct work *work_new(struct server *s, struct client *c, struct owner *o)
{
	struct work *w = TAILQ_FIRST(&s->spare);
	uint8_t *data;

	if (w) {
		TAILQ_REMOVE(&s->spare, w, in_all);
		s->nspare--;
		data = w->reply.data;
	} else {
		w = malloc(sizeof(*w));
		data = w ? malloc(WIRE_MAX_REPLY) : NULL;
		if (!data) {
			free(w);
			return NULL;
		}
	}
	memset(w, 0, sizeof(*w));
	w->reply.data = data;
	w->reply.own_fd = -1;
	w->s = s;
	w->client = c;
	w->owner = o;
	w->user = o->user;
	return w;
}

static void work_free(struct work *w)
{
	struct server *s = w->s;

	TAILQ_INSERT_HEAD(&s->spare, w, in_all);
	s->nspare++;
}

static void spares_trim(struct server *s, unsigned int most)
{
	struct work *w;

	while (s->nspare > most && (w = TAILQ_FIRST(&s->spare))) {
		TAILQ_REMOVE(&s->spare, w, in_all);
		s->nspare--;
		free(w->reply.data);
		free(w);
	}
}

/* Another request of the owner is at work: this connection is not read until that has finished. */
static void work_block(struct server *s, struct client *c)
{
	c->session.owner->blocked += !c->blocked;
	c->blocked = true;
	watch_change(s->epoll, &c->socket, 0);
}

void work_offer(struct server *s, struct client *c)
{
	struct owner *o = c->session.owner;

	if (c->work)
		return;
	if (o->busy) {
		work_block(s, c);
		return;
	}
	c->work = work_new(s, c, o);
	if (c->work)
		work_enqueue(c->work);
	else
		client_close(s, c);
}

bool work_withdraw(struct server *s, struct client *c)
{
	struct work *w = c->work;

	if (!w)
		return true;
	if (w->fiber)
		return false;
	work_dequeue(w);
	c->work = NULL;
	work_free(w);
	return true;
}

/* --- inside of a fiber ------------------------------------------------------------------------ */

/* Takes the packet that a helper has received; its descriptors are harmless. */
static int work_take_part(struct work *w, const struct helper_part *part)
{
	unsigned int next = 0;

	if (part->len != sizeof(w->in))
		return -EIO;
	memcpy(&w->in, part->data, sizeof(w->in));
	for (unsigned int i = 0; i < RECEIVE_FDS; i++) {
		if (i >= w->in.nfds || w->in.passed[i])
			continue;
		/* Our table of descriptors was full. */
		if (next == part->nfds)
			return -EMFILE;
		w->fds[i] = part->fds[next++];
	}
	return w->in.len <= sizeof(w->in.data) && next == part->nfds ? 0 : -EIO;
}

/* Makes a helper receive the packet, because its descriptors may block. */
static int work_receive_carried(struct work *w)
{
	struct errands *es = &w->s->d->errands;
	struct reason *why = &w->reply.why;
	struct helper_part part;
	struct errand *e;
	int err = errand_begin(es, w->user, ERRAND_RECEIVE, NULL, 0, &w->client->socket.fd, 1,
			       ERRAND_MS, &e, why);

	if (err)
		return err;
	err = errand_next(e, &part);
	if (err == 1)
		err = work_take_part(w, &part);
	else if (err == -ETIMEDOUT)
		deny(why, err, "the descriptor that came along does not answer; pass one of a "
		     "local file, a pipe, a socket or a terminal");
	else if (err == 0)
		err = -EIO;
	errand_end(e);
	return err;
}

static void work_serve(struct work *w)
{
	struct client *c = w->client;
	struct packet m = {
		.data = w->in.data, .fds = w->fds, .passed = w->in.passed, .refusal = &w->in.why,
		.dest = &w->in.dest,
	};
	int err = w->carries ? work_receive_carried(w) : 0;

	if (err) {
		/* The packet is still in the socket, or was lost: the connection is unusable. */
		if (!w->reply.why.text[0])
			deny(&w->reply.why, err, "pmcbpfd cannot receive the message: %s",
			     strerror(-err));
		w->reply.close = true;
		reply_finish(&w->reply, WIRE_OP_HELLO, WIRE_SEQ_REFUSED, err);
		return;
	}
	/* The sender may have executed another program meanwhile. */
	if (w->carries)
		server_catch_up(w->s);
	m.len = w->in.len;
	m.nfds = w->in.nfds;
	m.truncated = w->in.truncated;
	m.pid = w->in.has_sender ? w->in.sender.pid : 0;
	m.uid = w->in.sender.uid;
	if (!c->closing)
		op_handle(w->s->d, &c->session, &m, &w->reply);
}

static void work_release_owner(struct daemon *d, struct owner *o)
{
	logbook_end(d, o);
	pmc_release_all(&d->rows, o);
}

static void work_own(struct work *w)
{
	if (w->late)
		logbook_late(w->s->d, w->owner);
	else
		work_release_owner(w->s->d, w->owner);
}

static void work_main(void *arg)
{
	struct work *w = arg;

	if (w->client)
		work_serve(w);
	else
		work_own(w);
}

static void work_woken(void *arg)
{
	work_enqueue(arg);
}

/* --- the loop's side ------------------------------------------------------------------------ */

/* Reads the owner's other connections again. */
static void work_unblock(struct server *s, struct owner *o)
{
	for (struct client *c = s->clients; c && o->blocked; c = c->next)
		if (c->blocked && c->session.owner == o) {
			o->blocked--;
			c->blocked = false;
			watch_change(s->epoll, &c->socket, EPOLLIN);
		}
}

static void work_finish_request(struct work *w)
{
	struct server *s = w->s;
	struct client *c = w->client;

	c->work = NULL;
	if (c->session.hello)
		client_greeted(s, c);
	/* A signal that the request has caused comes before its reply. */
	server_catch_up(s);
	if (c->socket.fd < 0)
		return;
	if (c->closing) {
		client_close(s, c);
		return;
	}
	if (w->reply.later) {
		watch_change(s->epoll, &c->socket, 0);	/* one request at a time */
		return;
	}
	if (w->suspended)
		watch_change(s->epoll, &c->socket, EPOLLIN);
	client_answer(s, c, &w->reply);
}

/* Closing the destination of a log may take long. */
static void work_close_fds(struct work *w)
{
	for (unsigned int i = 0; i < RECEIVE_FDS; i++) {
		if (w->fds[i] < 0)
			continue;
		if (w->in.slow_close)
			helper_dispose(w->s->d->errands.helpers, &w->fds[i], 1);
		else
			close(w->fds[i]);
	}
}

static void work_begin_end(struct server *s, struct owner *o)
{
	struct work *w = work_new(s, NULL, o);

	if (w) {
		o->busy = true;
		work_enqueue(w);
		return;
	}
	work_release_owner(s->d, o);
	owner_put(&s->d->owners, o);
}

static void work_finish(struct work *w)
{
	struct server *s = w->s;
	struct owner *o = w->owner;

	TAILQ_REMOVE(&s->works, w, in_all);
	o->busy = false;
	/* Its connections may have waited. */
	work_unblock(s, o);
	if (w->client) {
		/* This may end the owner with its last connection: do not use it again. */
		work_finish_request(w);
		reply_end(&w->reply);
		work_close_fds(w);
		if (w->suspended)
			clients_resume(s);
	} else if (w->late) {
		/* Its last connection may have closed meanwhile. */
		if (o->left)
			work_begin_end(s, o);
		clients_resume(s);
	} else {
		owner_put(&s->d->owners, o);
	}
	work_free(w);
}

/* 1: there is a packet; 0: none yet; -errno: the connection has ended. */
static int work_receive(struct work *w)
{
	int fd = w->client->socket.fd, carries = receive_peek(fd);

	if (carries == -EAGAIN || carries == -EINTR)
		return 0;
	w->carries = carries > 0;
	return carries ? carries : receive_plain(fd, &w->in);
}

static bool work_begin(struct work *w)
{
	struct server *s = w->s;
	struct client *c = w->client;
	int got;

	/* A request of another connection has begun since this one was offered. */
	if (c && w->owner->busy) {
		work_withdraw(s, c);
		work_block(s, c);
		return false;
	}
	got = c ? work_receive(w) : 1;
	for (unsigned int i = 0; i < RECEIVE_FDS; i++)
		w->fds[i] = -1;
	if (got <= 0) {
		work_withdraw(s, c);
		if (got < 0)
			client_close(s, c);
		return false;
	}
	w->fiber = fiber_new(s->d->errands.fibers, work_main, work_woken, w);
	if (!w->fiber) {
		if (c) {
			work_withdraw(s, c);
			client_close(s, c);
			return false;
		}
		work_own(w);
	}
	TAILQ_INSERT_TAIL(&s->works, w, in_all);
	w->owner->busy = true;
	server_catch_up(s);
	return true;
}

/* The watchdog's kind of this work. */
static unsigned int work_kind(const struct work *w)
{
	struct wire_hdr h;

	if (!w->client)
		return w->late ? WATCHDOG_RINGS : WATCHDOG_END;
	if (w->in.len < sizeof(h))
		return WATCHDOG_RECEIVE;
	memcpy(&h, w->in.data, sizeof(h));
	return op_name(h.op)[0] == '?' ? WATCHDOG_RECEIVE : h.op;
}

/* Runs one slice; returns its kind of work. */
static unsigned int work_run(struct work *w)
{
	bool first = !w->fiber;
	enum fiber_state state;
	unsigned int kind;

	if (first && !work_begin(w))
		return WATCHDOG_RECEIVE;
	state = w->fiber ? fiber_resume(w->fiber) : FIBER_ENDED;
	kind = work_kind(w);
	if (state == FIBER_ENDED) {
		work_finish(w);
		return kind;
	}
	if (first && w->client && !w->client->closing)
		watch_change(w->s->epoll, &w->client->socket, 0);
	w->suspended = true;
	if (state == FIBER_READY)
		work_enqueue(w);
	return kind;
}

void work_end_owner(struct server *s, struct owner *o)
{
	owner_end(&s->d->owners, o);
	o->left = true;
	/* If work without a connection is under way, its end ends the owner. */
	if (!o->busy)
		work_begin_end(s, o);
}

static bool work_begin_late(struct server *s, struct owner *o)
{
	struct work *w = o->busy ? NULL : work_new(s, NULL, o);

	if (!w)
		return false;
	w->late = true;
	o->busy = true;
	work_enqueue(w);
	return true;
}

void works_late(struct server *s)
{
	struct owner_table *t = &s->d->owners;
	bool all = true;

	if (!lifetime_late(s->d->life))
		return;
	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			if (!o->ended && logbook_is_late(o))
				all &= work_begin_late(s, o);
	if (!all)
		lifetime_retry(s->d->life, NULL);
}

bool works_ready(const struct server *s)
{
	return !TAILQ_EMPTY(&s->turns);
}

void works_run(struct server *s)
{
	struct user *u;

	for (unsigned int n = s->nturns; n && (u = TAILQ_FIRST(&s->turns)); n--) {
		struct work *w = TAILQ_FIRST(&u->works);
		unsigned int kind;

		/* To the end of the queue, for the next turn. */
		TAILQ_REMOVE(&s->turns, u, turn);
		TAILQ_INSERT_TAIL(&s->turns, u, turn);
		work_dequeue(w);
		watchdog_begin(&s->d->watchdog);
		kind = work_run(w);
		watchdog_end(&s->d->watchdog, kind);
	}
	spares_trim(s, SPARE_MAX);
}

void works_finish(struct server *s)
{
	struct work *w;

	fibers_hurry(s->d->errands.fibers);
	while (works_ready(s))
		works_run(s);
	while ((w = TAILQ_FIRST(&s->works))) {
		work_dequeue(w);
		(void)work_run(w);
		while (works_ready(s))
			works_run(s);
	}
}

void works_free(struct server *s)
{
	spares_trim(s, 0);
}
