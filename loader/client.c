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
#include "logbook.h"

#define KERNEL_MAX_FDS 253		/* in one message */

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

static void pending_free(struct pending *p)
{
	close_all(p->fds, p->nfds);
	free(p->fds);
	free(p->data);
	memset(p, 0, sizeof(*p));
}

/* Keeps the reply for later, with descriptors that outlive the PMC they belong to. */
static int keep(struct pending *p, const struct reply *r)
{
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

static void answer(struct server *s, struct client *c, const struct reply *r)
{
	int sent = send_reply(c->socket.fd, r->data, r->len, r->fds, r->nfds);

	if (sent < 0 || (sent && r->close) || (!sent && keep(&c->pending, r)))
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
		pending_free(p);
		watch_change(s, &c->socket, EPOLLIN);
	}
	if (end)
		client_close(s, c);
}

/* --- requests ------------------------------------------------------------------------------ */

struct incoming {
	struct message m;
	int fds[KERNEL_MAX_FDS];
	struct ucred sender;
	bool signed_;			/* the sender's credentials came along */
};

static void read_control(struct msghdr *msg, struct incoming *in)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && n == sizeof(in->sender)) {
			memcpy(&in->sender, CMSG_DATA(c), n);
			in->signed_ = true;
		}
		for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && i < n / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (in->m.nfds < KERNEL_MAX_FDS)
				in->fds[in->m.nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* 1: a message; 0: none yet; -errno: the connection is over. */
static int receive(struct server *s, struct client *c, struct incoming *in)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred)) +
			  CMSG_SPACE(KERNEL_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = s->request, .iov_len = WIRE_MAX_REQUEST };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(c->socket.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	memset(&in->m, 0, sizeof(in->m));
	in->signed_ = false;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	read_control(&msg, in);
	/* An empty message has a sender, an end has none. */
	if (n == 0 && !in->signed_)
		return -ECONNRESET;
	in->m.data = s->request;
	in->m.len = (size_t)n;
	in->m.fds = in->fds;
	in->m.truncated = msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	in->m.pid = in->sender.pid;
	in->m.uid = in->sender.uid;
	return 1;
}

static void refuse(struct client *c, const struct message *m, struct reply *r)
{
	struct wire_hdr h = { .op = 0 };

	if (m->len >= sizeof(h))
		memcpy(&h, m->data, sizeof(h));
	r->why = c->refusal;
	r->close = true;
	reply_refuse(r, h.op, h.seq, c->error);
}

static void serve(struct server *s, struct client *c)
{
	struct incoming in;
	int got = receive(s, c, &in);

	if (got < 0)
		client_close(s, c);
	if (got <= 0)
		return;
	server_catch_up(s);
	if (c->socket.fd >= 0 && c->session.owner)
		message_handle(s->d, &c->session, &in.m, &s->reply);
	else if (c->socket.fd >= 0)
		refuse(c, &in.m, &s->reply);
	close_all(in.fds, in.m.nfds);
	/* So that a signal which the request has caused comes before its answer. */
	server_catch_up(s);
	if (c->socket.fd >= 0 && s->reply.later)
		watch_change(s, &c->socket, 0);	/* one request at a time */
	else if (c->socket.fd >= 0)
		answer(s, c, &s->reply);
	reply_end(&s->reply);
}

static void on_socket(struct server *s, struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)w;

	/* Who hangs up has nothing left that could be answered. */
	if (events & (EPOLLHUP | EPOLLERR))
		client_close(s, c);
	else if (c->pending.data)
		retry(s, c);
	else
		serve(s, c);
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
		close(fd);
		if (pidfd >= 0)
			close(pidfd);
		if (user)
			user_give(&s->d->users, user, POOL_CONNECTIONS, 1);
		return deny(why, -ENOMEM, "no memory for a connection");
	}
	c->socket = (struct watch){ .fd = fd, .ready = on_socket };
	c->exit = (struct watch){ .fd = pidfd, .ready = on_exit_of_process, .end = true };
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

void client_close(struct server *s, struct client *c)
{
	struct owner *o = c->session.owner;

	if (o) {
		if (o->connections == 1) {
			logbook_end(s->d, o);
			pmc_release_all(&s->d->rows, o);
		}
		owner_put(&s->d->owners, o);
		c->session.owner = NULL;
	}
	if (c->user)
		user_give(&s->d->users, c->user, POOL_CONNECTIONS, 1);
	pending_free(&c->pending);
	watch_close(s, &c->socket);
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
		if (!c->session.later.waits || !message_resume(s->d, &c->session, &s->reply))
			continue;
		watch_change(s, &c->socket, EPOLLIN);
		answer(s, c, &s->reply);
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
