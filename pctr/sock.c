/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One message, one reply, at once: a client that does not take its reply loses the connection, and
 * one that sends something else as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"
#include "sock.h"

#define BACKLOG 64

struct sock_client {
	struct watch watch;
	struct sock *sock;
	uid_t uid;
	LIST_ENTRY(sock_client) others;
};

/* --- requests ----------------------------------------------------------------------------- */

/* The stand-in, open: an O_PATH descriptor is no more than its name. */
static int check_file(const struct sock *s, int fd, bool *writes)
{
	struct stat st;
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || fstat(fd, &st))
		return -EBADF;
	if (st.st_dev != s->file.st_dev || st.st_ino != s->file.st_ino)
		return -ENOTTY;
	*writes = (flags & O_ACCMODE) != O_RDONLY;
	return 0;
}

int sock_answer(struct sock *s, const void *message, size_t len, int fd,
		struct pctr_wire_reply *reply)
{
	const struct pctr_wire_request *rq = message;
	struct core_caller who = { .cpu = 0 };
	int what, err;

	memset(reply, 0, sizeof(*reply));
	if (len != sizeof(*rq) || rq->magic != PCTR_WIRE_MAGIC)
		return -EPROTO;
	err = check_file(s, fd, &who.writes);
	who.cpu = rq->cpu;
	if (!err)
		err = request_decode(rq->request, &what);
	if (!err)
		err = core_request(s->core, what, &who, rq->value, &reply->state);
	if (err)
		memset(&reply->state, 0, sizeof(reply->state));
	reply->error = err;
	return 0;
}

/* --- clients ------------------------------------------------------------------------------ */

static void client_drop(struct sock_client *c)
{
	struct sock *s = c->sock;

	LIST_REMOVE(c, others);
	close(c->watch.fd);
	free(c);
	s->nclients--;
	s->full = false;
	if (s->paused)
		s->paused = watch_add(s->epoll, &s->watch) != 0;
}

/* The one descriptor that came along; of more, none. */
static int take_descriptor(struct msghdr *msg)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(one));
			if (n == 1 && fd < 0)
				fd = one;
			else
				close(one);
		}
	}
	return fd;
}

static int client_serve(struct sock_client *c)
{
	/* Room for more, so that a longer message and further descriptors are seen as such. */
	_Alignas(8) unsigned char message[sizeof(struct pctr_wire_request) + 8];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = message, .iov_len = sizeof(message) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct pctr_wire_reply reply;
	ssize_t n = recvmsg(c->watch.fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd, err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return -EPIPE;
	/* An empty message may bring descriptors, too. */
	fd = take_descriptor(&msg);
	err = n ? sock_answer(c->sock, message, (size_t)n, fd, &reply) : -EPIPE;
	if (fd >= 0)
		close(fd);
	if (!err && send(c->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	return err;
}

static void client_ready(struct watch *w)
{
	struct sock_client *c = (struct sock_client *)w;

	if (client_serve(c))
		client_drop(c);
}

/* --- accepting ---------------------------------------------------------------------------- */

static bool may_join(const struct sock *s, uid_t uid)
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
	if (!may_join(s, cred.uid))
		return -EAGAIN;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct sock_client){ .watch = { .fd = fd, .ready = client_ready }, .sock = s,
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

static void sock_ready(struct watch *w)
{
	struct sock *s = (struct sock *)w;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err = fd < 0 ? -errno : client_add(s, fd);

	/* Whoever it was has gone again. */
	if (err == -EINTR || err == -ECONNABORTED || (fd < 0 && err == -EAGAIN))
		return;
	if (err && fd >= 0)
		close(fd);
	/* Out of something: those that wait there would be seen again and again. */
	if (fd < 0 && s->nclients)
		s->paused = !epoll_ctl(s->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	if (err && !s->full)
		log_msg(s->log, LOG_WARNING, "a program was turned away (%u are connected): %s",
			s->nclients, strerror(-err));
	s->full = s->full || err;
}

/* --- the socket --------------------------------------------------------------------------- */

/* Takes away a socket that a killed pctrd has left. */
static int clear_stale(const struct sockaddr_un *address, const struct log *log)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(address->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		log_msg(log, LOG_ERR, "%s exists and is no socket; remove it, or choose another "
			"folder with -d", address->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN) {
		log_msg(log, LOG_ERR, "already running: a pctrd answers on %s; stop it, or choose "
			"another folder with -d", address->sun_path);
		err = -EADDRINUSE;
	} else if (errno != ECONNREFUSED || unlink(address->sun_path)) {
		err = -errno;
		log_msg(log, LOG_ERR, "%s is in the way: %s", address->sun_path, strerror(-err));
	}
	close(fd);
	return err;
}

static int bind_and_listen(struct sock *s)
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
	return watch_add(s->epoll, &s->watch);
}

int sock_open(struct sock *s, const char *path, int file, int epoll, struct core *core,
	      const struct log *log)
{
	int err = 0;

	*s = (struct sock){ .watch = { .fd = -1, .ready = sock_ready }, .epoll = epoll,
			    .core = core, .log = log, .address.sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(s->address.sun_path)) {
		log_msg(log, LOG_ERR, "%s: a socket's path has %zu bytes at most; choose a shorter "
			"folder with -d", path, sizeof(s->address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(s->address.sun_path, path);
	if (fstat(file, &s->file))
		return -errno;
	err = clear_stale(&s->address, log);
	if (err)
		return err;
	err = bind_and_listen(s);
	if (err)
		log_msg(log, LOG_ERR, "cannot listen on %s: %s", path, strerror(-err));
	return err;
}

void sock_close(struct sock *s)
{
	struct sock_client *c, *next;
	struct stat st;

	for (c = LIST_FIRST(&s->clients); c; c = next) {
		next = LIST_NEXT(c, others);
		client_drop(c);
	}
	if (s->ino && !lstat(s->address.sun_path, &st) && st.st_dev == s->dev &&
	    st.st_ino == s->ino)
		unlink(s->address.sun_path);
	if (s->watch.fd >= 0)
		close(s->watch.fd);
	s->watch.fd = -1;
}
