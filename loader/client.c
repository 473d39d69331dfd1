/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: one message in, one reply out. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "work.h"

static void close_all(int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
}

/* --- replies ------------------------------------------------------------------------------- */

/* 1: sent; 0: no room; -errno: it never will be. */
static int send_reply(int fd, const void *data, size_t len, const int *fds, unsigned int nfds)
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
	close_all(p->fds, p->nfds);
	free(p->fds);
	free(p->data);
	memset(p, 0, sizeof(*p));
}

/* Keeps the reply for later, with descriptors that outlive the PMC they belong to. */
static int keep(struct server *s, struct client *c, const struct reply *r)
{
	struct pending *p = &c->pending;
	struct why unused;

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
	int sent = send_reply(c->socket.fd, r->data, r->len, r->fds, r->nfds);

	if (sent < 0 || (sent && r->close) || (!sent && keep(s, c, r)))
		client_close(s, c);
	else if (!sent)
		watch_change(s, &c->socket, EPOLLOUT);
}

static void retry(struct server *s, struct client *c)
{
	struct pending *p = &c->pending;
	int sent = send_reply(c->socket.fd, p->data, p->len, p->fds, p->nfds);
	bool end = sent < 0 || (sent && p->close);

	if (sent) {
		pending_free(s, c);
		watch_change(s, &c->socket, EPOLLIN);
	}
	if (end)
		client_close(s, c);
}

/* --- events -------------------------------------------------------------------------------- */

/* A connection that was never taken on: one answer, then it is over. */
static void refuse(struct server *s, struct client *c)
{
	struct received in;
	struct wire_hdr h = { .op = 0 };

	if (receive_peek(c->socket.fd) == 0 && receive_plain(c->socket.fd, &in) == 1 &&
	    in.len >= sizeof(h)) {
		memcpy(&h, in.data, sizeof(h));
		s->reply.why = c->refusal;
		s->reply.close = true;
		reply_refuse(&s->reply, h.op, h.seq, c->error);
		client_answer(s, c, &s->reply);
		return;
	}
	client_close(s, c);
}

static void on_socket(struct server *s, struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)w;

	if (c->closing)
		return;
	/* Who hangs up has nothing left that could be answered. */
	if (events & (EPOLLHUP | EPOLLERR))
		client_close(s, c);
	else if (c->pending.data)
		retry(s, c);
	else if (c->session.owner)
		work_offer(s, c);
	else
		refuse(s, c);
}

static void on_exit_of_process(struct server *s, struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)((char *)w - offsetof(struct client, exit));

	if (c->session.owner)
		DEBUG(&s->d->debug, PROCESS, EXIT, "owner %d", c->session.owner->cred.pid);
	client_close(s, c);
}

/* --- life ------------------------------------------------------------------------------------ */

int client_add(struct server *s, int fd, struct user *user, const struct cred *cred, int pidfd,
	       int err, struct why *why)
{
	struct client *c = calloc(1, sizeof(*c));
	int result = -ENOMEM;

	if (!c) {
		helper_hang_up(s->d->errands.helpers, fd);
		if (pidfd >= 0)
			close(pidfd);
		if (user)
			user_give(&s->d->users, user, POOL_CONNECTIONS, 1);
		return deny(why, -ENOMEM, "no memory for a connection");
	}
	c->socket = (struct watch){ .fd = fd, .ready = on_socket, .kind = WATCHDOG_CLOSE };
	c->exit = (struct watch){ .fd = pidfd, .ready = on_exit_of_process, .end = true,
				   .kind = WATCHDOG_CLOSE };
	c->error = err;
	if (err)
		c->refusal = *why;
	c->next = s->clients;
	c->link = &s->clients;
	if (c->next)
		c->next->link = &c->next;
	s->clients = c;
	s->nclients++;
	if (cred) {
		int copy = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);

		c->user = user;
		result = copy < 0 ? -errno : owner_get(&s->d->owners, user, cred, copy,
						       &c->session.owner);
	} else {
		result = 0;
	}
	if (!result)
		result = watch_add(s, &c->socket, EPOLLIN);
	if (!result && pidfd >= 0)
		result = watch_add(s, &c->exit, EPOLLIN);
	if (result) {
		client_close(s, c);
		return deny(why, result, "cannot take the connection: %s", strerror(-result));
	}
	return err;
}

static void socket_close(struct server *s, struct watch *w)
{
	if (w->fd < 0)
		return;
	watch_remove(s, w);
	helper_hang_up(s->d->errands.helpers, w->fd);
	w->fd = -1;
}

static void leave_owner(struct server *s, struct client *c)
{
	struct owner *o = c->session.owner;

	c->session.owner = NULL;
	if (!o)
		return;
	o->blocked -= c->blocked;
	if (o->connections == 1 && (o->npmc || o->log))
		work_end_owner(s, o);
	else
		owner_put(&s->d->owners, o);
}

void client_close(struct server *s, struct client *c)
{
	if (!work_withdraw(s, c)) {
		c->closing = true;
		watch_remove(s, &c->socket);
		watch_remove(s, &c->exit);
		return;
	}
	leave_owner(s, c);
	pending_free(s, c);
	if (c->user)
		user_give(&s->d->users, c->user, POOL_CONNECTIONS, 1);
	socket_close(s, &c->socket);
	watch_close(s, &c->exit);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	s->nclients--;
	c->next = s->dead;
	s->dead = c;
	server_client_gone(s);
}

void clients_resume(struct server *s)
{
	struct client *c, *next;

	for (c = s->clients; c; c = next) {
		next = c->next;
		if (!c->session.later.waits || c->session.owner->busy ||
		    !message_resume(s->d, &c->session, &s->reply))
			continue;
		watch_change(s, &c->socket, EPOLLIN);
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
