/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One reply for each message.  A client that does not take its reply, or sends anything else, loses
 * the connection.  A helper receives messages with a descriptor: until it is done with one, its
 * client's socket is not polled, nor are the sockets of clients that wait for a helper.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"
#include "sock.h"

#define BACKLOG	   64
#define HELPER_MS  5000u		/* for one message */

struct sock_client {
	struct watch watch;		/* first: a watch is its client */
	struct helper_task task;
	struct sock *sock;
	uid_t uid;
	bool busy;			/* a helper has its message */
	bool answered;			/* ... and may still be closing its descriptor */
	bool waits;			/* for a helper */
	LIST_ENTRY(sock_client) others;
};

helper_job *const sock_jobs[SOCK_JOBS] = { receive_job };

/* --- requests ----------------------------------------------------------------------------- */

int sock_answer(struct sock *s, const struct received *in, struct pctr_wire_reply *reply)
{
	struct pctr_wire_request rq;
	struct core_caller who = { .cpu = 0 };
	int what, err = in->error;

	memset(reply, 0, sizeof(*reply));
	memcpy(&rq, in->message, sizeof(rq));
	if (in->len != sizeof(rq) || rq.magic != PCTR_WIRE_MAGIC)
		return -EPROTO;
	who.cpu = rq.cpu;
	who.writes = in->writes;
	if (!err)
		err = request_decode(rq.request, &what);
	if (!err)
		err = core_request(s->core, what, &who, rq.value, &reply->state);
	if (err)
		memset(&reply->state, 0, sizeof(reply->state));
	reply->error = err;
	return 0;
}

/* --- clients ------------------------------------------------------------------------------ */

static void client_bury(struct sock_client *c)
{
	LIST_REMOVE(c, others);
	LIST_INSERT_HEAD(&c->sock->dead, c, others);
}

static void sock_listen_again(struct sock *s)
{
	if (s->paused && helpers_waiting(s->helpers) < SOCK_WAITING)
		s->paused = watch_add(s->epoll, &s->watch) != 0;
}

static void client_drop(struct sock_client *c)
{
	struct sock *s = c->sock;

	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->watch.fd, NULL);
	helper_hang_up(s->helpers, c->watch.fd);
	c->watch.fd = -1;
	s->nclients--;
	s->full = false;
	LIST_REMOVE(c, others);
	LIST_INSERT_HEAD(&s->leaving, c, others);
	if (c->busy)
		helper_cancel(s->helpers, &c->task);
	else
		client_bury(c);
	sock_listen_again(s);
}

static int client_answer(struct sock_client *c, const struct received *in)
{
	struct pctr_wire_reply reply;
	int err = sock_answer(c->sock, in, &reply);

	if (!err && send(c->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	return err;
}

/* --- messages with descriptors ------------------------------------------------------------ */

static struct sock_client *client_of_task(struct helper_task *t)
{
	return (struct sock_client *)((char *)t - offsetof(struct sock_client, task));
}

/* The helper has sent a part of its answer, or its deadline has passed. */
static void client_helper_ready(struct helper_task *t)
{
	struct sock_client *c = client_of_task(t);
	struct helper_part part;
	struct received in;
	int err = 0;

	switch (helper_read(c->sock->helpers, t, &part)) {
	case HELPER_LATER:
		return;
	case HELPER_PART:
		c->answered = part.len == sizeof(in) && !part.nfds;
		if (c->answered) {
			memcpy(&in, part.data, sizeof(in));
			err = client_answer(c, &in);
		}
		break;
	case HELPER_END:
		err = t->result ? t->result : c->answered ? 0 : -EIO;
		break;
	}
	if (err)
		client_drop(c);
}

/* The message's descriptor is closed, or the helper has exited. */
static void client_helper_over(struct helper_task *t)
{
	struct sock_client *c = client_of_task(t);

	c->busy = false;
	if (c->watch.fd < 0)
		client_bury(c);
	else
		watch_reading(c->sock->epoll, &c->watch, true);
}

static void clients_busy(const struct sock_clients *list, uid_t uid, unsigned int *all,
			 unsigned int *same)
{
	const struct sock_client *c;

	LIST_FOREACH(c, list, others) {
		*all += c->busy;
		*same += c->busy && c->uid == uid;
	}
}

static bool client_may_have_helper(const struct sock_client *c)
{
	unsigned int all = 0, same = 0;

	if (c->uid == 0)
		return true;
	clients_busy(&c->sock->clients, c->uid, &all, &same);
	clients_busy(&c->sock->leaving, c->uid, &all, &same);
	return all < SOCK_HELPERS - SOCK_HELPERS_KEPT && same < SOCK_HELPERS_PER_USER;
}

/* The client's socket is not polled until a helper has received the message. */
static int client_help(struct sock_client *c)
{
	struct sock *s = c->sock;
	int err = -EAGAIN;

	if (client_may_have_helper(c))
		err = helper_start(s->helpers, &c->task, 0, &s->file, sizeof(s->file),
				   &c->watch.fd, 1, HELPER_MS);
	if (err && err != -EAGAIN)
		return err;
	c->busy = !err;
	c->waits = err;
	c->answered = false;
	s->waits = s->waits || c->waits;
	watch_reading(s->epoll, &c->watch, false);
	return 0;
}

static void sock_helpers_ready(struct watch *w)
{
	struct sock *s = (struct sock *)((char *)w - offsetof(struct sock, helped));
	struct sock_client *c;

	helpers_run(s->helpers);
	sock_listen_again(s);
	if (!s->waits)
		return;
	s->waits = false;
	LIST_FOREACH(c, &s->clients, others) {
		if (c->waits)
			watch_reading(s->epoll, &c->watch, true);
		c->waits = false;
	}
}

static int client_serve(struct sock_client *c)
{
	int carries = message_carries(c->watch.fd, false);
	struct received in;
	int got;

	if (carries == -EAGAIN || carries == -EINTR)
		return 0;
	if (carries < 0)
		return carries;
	if (carries)
		return client_help(c);
	got = receive_plain(c->watch.fd, &in);
	return got > 0 ? client_answer(c, &in) : got;
}

static void client_ready(struct watch *w)
{
	struct sock_client *c = (struct sock_client *)w;

	/* A client that is not polled for reading only has its end reported. */
	if (c->busy || c->waits || client_serve(c))
		client_drop(c);
}

/* --- accepting ---------------------------------------------------------------------------- */

static bool sock_may_join(const struct sock *s, uid_t uid)
{
	unsigned int same = 0;
	const struct sock_client *c;

	LIST_FOREACH(c, &s->clients, others)
		same += c->uid == uid;
	return s->nclients < SOCK_CLIENTS && (uid == 0 || same < SOCK_CLIENTS_PER_USER);
}

static int client_add(struct sock *s, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct sock_client *c;
	int err;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (!sock_may_join(s, cred.uid))
		return -EAGAIN;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct sock_client){ .watch = { .fd = fd, .ready = client_ready },
				   .task = { .ready = client_helper_ready,
					     .over = client_helper_over },
				   .sock = s,
				   .uid = cred.uid };
	err = watch_add(s->epoll, &c->watch);
	if (err) {
		free(c);
		return err;
	}
	LIST_INSERT_HEAD(&s->clients, c, others);
	s->nclients++;
	return 0;
}

/* Clients in the backlog would make the socket ready all the time. */
static void sock_pause(struct sock *s)
{
	s->paused = !epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->watch.fd, NULL);
}

static void sock_ready(struct watch *w)
{
	struct sock *s = (struct sock *)w;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err = fd < 0 ? -errno : client_add(s, fd);

	/* The client has disconnected already. */
	if (err == -EINTR || err == -ECONNABORTED || (fd < 0 && err == -EAGAIN))
		return;
	if (err && fd >= 0)
		helper_hang_up(s->helpers, fd);
	if (helpers_waiting(s->helpers) >= SOCK_WAITING ||
	    (fd < 0 && (s->nclients || helpers_waiting(s->helpers))))
		sock_pause(s);
	if (err && !s->full)
		messages_put(s->messages, LOG_WARNING,
			     "a program was turned away (%u are connected): %s",
			     s->nclients, strerror(-err));
	s->full = s->full || err;
}

void sock_bury(struct sock *s)
{
	struct sock_client *c;

	while ((c = LIST_FIRST(&s->dead))) {
		LIST_REMOVE(c, others);
		free(c);
	}
}

void sock_settle(struct sock *s)
{
	helpers_settle(s->helpers);
	sock_bury(s);
}

/* --- the socket --------------------------------------------------------------------------- */

/* Removes a socket that a killed pctrd has left. */
static int sock_clear_stale(const struct sockaddr_un *address, const struct messages *messages)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(address->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		messages_put(messages, LOG_ERR,
			     "%s exists and is no socket; remove it, or choose another "
			     "folder with -d", address->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN) {
		messages_put(messages, LOG_ERR,
			     "already running: a pctrd answers on %s; stop it, or choose "
			     "another folder with -d", address->sun_path);
		err = -EADDRINUSE;
	} else if (errno != ECONNREFUSED || unlink(address->sun_path)) {
		err = -errno;
		messages_put(messages, LOG_ERR, "%s is in the way: %s", address->sun_path,
			     strerror(-err));
	}
	close(fd);
	return err;
}

static int sock_listen(struct sock *s)
{
	mode_t mask;
	struct stat st;
	int err = 0;

	s->watch.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->watch.fd < 0)
		return -errno;
	mask = umask(0111);		/* 0666: the stand-in's mode decides */
	if (bind(s->watch.fd, (const struct sockaddr *)&s->address, sizeof(s->address)))
		err = -errno;
	umask(mask);
	if (!err && (stat(s->address.sun_path, &st) || listen(s->watch.fd, BACKLOG)))
		err = -errno;
	if (err)
		return err;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	err = watch_add(s->epoll, &s->helped);
	return err ? err : watch_add(s->epoll, &s->watch);
}

int sock_open(struct sock *s, const char *path, int file, int epoll, struct helpers *helpers,
	      struct core *core, const struct messages *messages)
{
	struct stat st;
	int err = 0;

	*s = (struct sock){ .watch = { .fd = -1, .ready = sock_ready }, .epoll = epoll,
			    .helpers = helpers, .core = core, .messages = messages,
			    .helped = { .fd = helpers_fd(helpers), .ready = sock_helpers_ready },
			    .address.sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(s->address.sun_path)) {
		messages_put(messages, LOG_ERR,
			     "%s: a socket's path has %zu bytes at most; choose a shorter "
			     "folder with -d", path, sizeof(s->address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(s->address.sun_path, path);
	if (fstat(file, &st))
		return -errno;
	s->file = (struct receive_file){ .dev = st.st_dev, .ino = st.st_ino };
	err = sock_clear_stale(&s->address, messages);
	if (err)
		return err;
	err = sock_listen(s);
	if (err)
		messages_put(messages, LOG_ERR, "cannot listen on %s: %s", path, strerror(-err));
	return err;
}

void sock_close(struct sock *s)
{
	struct sock_client *c;
	struct stat st;

	while ((c = LIST_FIRST(&s->clients)))
		client_drop(c);
	if (s->ino && !lstat(s->address.sun_path, &st) && st.st_dev == s->dev &&
	    st.st_ino == s->ino)
		unlink(s->address.sun_path);
	if (s->watch.fd < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->helped.fd, NULL);
	close(s->watch.fd);
	s->watch.fd = -1;
}
