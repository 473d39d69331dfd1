/* SPDX-License-Identifier: BSD-2-Clause */
/* See client.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "greeting.h"
#include "loop.h"
#include "server.h"
#include "work.h"

static void pending_close_fds(int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
}

/* --- replies ------------------------------------------------------------------------------- */

/* 1: sent; 0: no room; -errno: it cannot be sent. */
static int socket_send(int fd, const void *data, size_t len, const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(WIRE_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	if (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 1;
	return errno == EAGAIN ? 0 : -errno;
}

static void pending_free(struct server *s, struct client *c)
{
	struct pending *p = &c->pending;

	if (c->user)
		user_give(&s->d->users, c->user, POOL_EVENTS, p->paid);
	pending_close_fds(p->fds, p->nfds);
	free(p->fds);
	free(p->data);
	memset(p, 0, sizeof(*p));
}

/* Keeps the reply for later, with copies of its descriptors, which outlive their PMC. */
static int pending_keep(struct server *s, struct client *c, const struct reply *r)
{
	struct pending *p = &c->pending;
	struct reason unused;

	if (r->nfds &&
	    (!c->user || user_take(&s->d->users, c->user, POOL_EVENTS, r->nfds, &unused)))
		return -EAGAIN;
	p->paid = r->nfds;
	p->data = malloc(r->len);
	p->fds = calloc(r->nfds + 1, sizeof(int));
	if (!p->data || !p->fds)
		return -ENOMEM;
	memcpy(p->data, r->data, r->len);
	p->len = r->len;
	p->close = r->close;
	for (unsigned int i = 0; i < r->nfds; i++) {
		p->fds[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, 0);
		if (p->fds[i] < 0)
			return -errno;
		p->nfds++;
	}
	return 0;
}

void client_answer(struct server *s, struct client *c, const struct reply *r)
{
	int sent = socket_send(c->socket.fd, r->data, r->len, r->fds, r->nfds);

	if (sent < 0 || (sent && r->close) || (!sent && pending_keep(s, c, r)))
		client_close(s, c);
	else if (!sent)
		watch_change(s->epoll, &c->socket, EPOLLOUT);
}

static void pending_retry(struct server *s, struct client *c)
{
	struct pending *p = &c->pending;
	int sent = socket_send(c->socket.fd, p->data, p->len, p->fds, p->nfds);
	bool end = sent < 0 || (sent && p->close);

	if (sent) {
		pending_free(s, c);
		watch_change(s->epoll, &c->socket, EPOLLIN);
	}
	if (end)
		client_close(s, c);
}

/* --- events -------------------------------------------------------------------------------- */

void client_greeted(struct server *s, struct client *c)
{
	if (c->is_silent)
		TAILQ_REMOVE(&s->silent, c, silent);
	c->is_silent = false;
}

static void on_socket(struct server *s, struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)w;

	if (c->closing)
		return;
	/* A client that has hung up reads no reply. */
	if (events & (EPOLLHUP | EPOLLERR))
		client_close(s, c);
	else if (c->pending.data)
		pending_retry(s, c);
	else
		work_offer(s, c);
}

static void on_process_exit(struct server *s, struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)((char *)w - offsetof(struct client, exit));

	if (c->session.owner) {
		DEBUG(&s->d->debug, PROCESS, EXIT, "owner %d", c->session.owner->cred.pid);
		owner_end(&s->d->owners, c->session.owner);
	}
	client_close(s, c);
}

/* --- life ------------------------------------------------------------------------------------ */

/*
 * The peer sees the end at once.  Packets that were not received are freed with the last reference
 * of the socket, and with them the peer's descriptors: a helper drops that reference, because
 * closing those may hang.
 */
static void socket_close(struct server *s, int fd)
{
	if (fd < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
	helper_hang_up(s->d->errands.helpers, fd);
}

/* Sends the reply to a HELLO that has not arrived: the client finds it with its first read. */
static void socket_refuse(int fd, int err, const struct reason *why)
{
	struct {
		struct wire_hdr h;
		char reason[WIRE_MAX_REASON];
	} m = { .h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = WIRE_OP_HELLO,
		       .seq = WIRE_SEQ_REFUSED, .error = err } };

	m.h.reason_len = (uint32_t)strnlen(why->text, sizeof(m.reason));
	memcpy(m.reason, why->text, m.h.reason_len);
	(void)socket_send(fd, &m, sizeof(m.h) + m.h.reason_len, NULL, 0);
}

void client_refuse(struct server *s, int fd, int err, const struct reason *why)
{
	socket_refuse(fd, err, why);
	socket_close(s, fd);
	server_client_gone(s);
}

static struct client *client_new(struct server *s, int fd, struct user *user, int pidfd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->socket = (struct watch){ .fd = fd, .ready = on_socket, .kind = WATCHDOG_CLOSE };
	c->exit = (struct watch){ .fd = pidfd, .ready = on_process_exit, .end = true,
				   .kind = WATCHDOG_CLOSE };
	c->user = user;
	c->next = s->clients;
	c->link = &s->clients;
	if (c->next)
		c->next->link = &c->next;
	s->clients = c;
	s->nclients++;
	return c;
}

/* All connections of a process have the grant of its first one. */
static int client_join(struct server *s, struct client *c, const struct grant *grant,
		       const struct cred *cred)
{
	int copy = fcntl(c->exit.fd, F_DUPFD_CLOEXEC, 0);
	int err = copy < 0 ? -errno : owner_get(&s->d->owners, c->user, cred, copy,
						&c->session.owner);

	if (!err && c->session.owner->connections == 1)
		c->session.owner->grant = *grant;
	c->session.cred = *cred;
	err = err ?: watch_add(s->epoll, &c->socket, EPOLLIN);
	return err ?: watch_add(s->epoll, &c->exit, EPOLLIN);
}

int client_add(struct server *s, int fd, struct user *user, const struct grant *grant,
	       const struct cred *cred, int pidfd, struct reason *why)
{
	struct client *c = client_new(s, fd, user, pidfd);
	int err = c ? client_join(s, c, grant, cred) : -ENOMEM;

	if (err)
		deny(why, err, "cannot take the connection: %s", strerror(-err));
	if (!c) {
		user_give(&s->d->users, user, POOL_CONNECTIONS, 1);
		greeting_forget(s->d, cred->pid);
		close(pidfd);
		client_refuse(s, fd, err, why);
	} else if (err) {
		socket_refuse(fd, err, why);
		client_close(s, c);
	} else if (!s->single) {
		c->since = clock_ns();
		c->is_silent = true;
		TAILQ_INSERT_TAIL(&s->silent, c, silent);
	}
	return err;
}

static void client_leave_owner(struct server *s, struct client *c)
{
	struct owner *o = c->session.owner;

	c->session.owner = NULL;
	if (!o)
		return;
	o->blocked -= c->blocked;
	o->closing -= c->closing;
	if (o->connections == 1 && (o->npmc || o->log))
		work_end_owner(s, o);
	else
		owner_put(&s->d->owners, o);
}

/* Its request is at work.  The owner has ended all the same if this was its last connection. */
static void close_later(struct server *s, struct client *c)
{
	struct owner *o = c->session.owner;

	if (c->closing)
		return;
	c->closing = true;
	watch_remove(s->epoll, &c->socket);
	watch_remove(s->epoll, &c->exit);
	if (++o->closing == o->connections)
		owner_end(&s->d->owners, o);
}

void client_close(struct server *s, struct client *c)
{
	if (!work_withdraw(s, c)) {
		close_later(s, c);
		return;
	}
	client_leave_owner(s, c);
	greeting_forget(s->d, c->session.cred.pid);
	client_greeted(s, c);
	pending_free(s, c);
	user_give(&s->d->users, c->user, POOL_CONNECTIONS, 1);
	socket_close(s, c->socket.fd);
	c->socket.fd = -1;
	watch_drop(s->epoll, &c->exit);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	s->nclients--;
	c->next = s->dead;
	s->dead = c;
	server_client_gone(s);
}

int clients_silent(struct server *s)
{
	uint64_t patience = (uint64_t)s->d->config.value[TUN_USER_GREETING] * NS_PER_S;
	struct client *c;
	struct reason why;

	while ((c = TAILQ_FIRST(&s->silent))) {
		uint64_t now = clock_ns();

		if (now < c->since + patience)
			return (int)((c->since + patience - now) / 1000000) + 1;
		/* A packet may have arrived while the daemon was busy: that is served first. */
		if (c->work || c->blocked || receive_peek(c->socket.fd) >= 0) {
			TAILQ_REMOVE(&s->silent, c, silent);
			TAILQ_INSERT_TAIL(&s->silent, c, silent);
			c->since = now;
			continue;
		}
		deny(&why, -ETIMEDOUT, "nothing was said for %d s (user.greeting); connect again, "
		     "and say HELLO", s->d->config.value[TUN_USER_GREETING]);
		socket_refuse(c->socket.fd, -ETIMEDOUT, &why);
		client_close(s, c);
	}
	return -1;
}

void clients_resume(struct server *s)
{
	struct client *c, *next;

	for (c = s->clients; c; c = next) {
		next = c->next;
		if (!c->session.later.waits || c->session.owner->busy ||
		    !op_resume(s->d, &c->session, &s->reply))
			continue;
		watch_change(s->epoll, &c->socket, EPOLLIN);
		client_answer(s, c, &s->reply);
		reply_end(&s->reply);
	}
}

void clients_bury(struct server *s)
{
	while (s->dead) {
		struct client *c = s->dead;

		s->dead = c->next;
		free(c);
	}
}
