/* SPDX-License-Identifier: BSD-2-Clause */
/* A stranger's life: messages, connections, children, and its end. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "stranger.h"

#define FLOOD 60u			/* requests without a reply so far */

uint32_t pick(struct stranger *s, uint32_t n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (uint32_t)((s->random >> 32) * n >> 32);
}

bool chance(struct stranger *s, unsigned int percent)
{
	return pick(s, 100) < percent;
}

/* --- replies ------------------------------------------------------------------------------- */

/* Values that no daemon may send. */
static void accuse(const char *what, const struct wire_hdr *h)
{
	if (!stage->failure[0])
		snprintf(stage->failure, sizeof(stage->failure),
			 "%s: op %u error %d, %u and %u bytes", what, h->op, h->error, h->len,
			 h->reason_len);
}

static void check_reply(const uint8_t *bytes, size_t n)
{
	struct wire_hdr h = { 0 };

	if (n >= sizeof(h))
		memcpy(&h, bytes, sizeof(h));
	if (n < sizeof(h) || h.magic != WIRE_MAGIC || h.version != WIRE_VERSION ||
	    n != sizeof(h) + (size_t)h.len + h.reason_len || h.reason_len > WIRE_MAX_REASON) {
		accuse("a malformed reply", &h);
		return;
	}
	if (h.error > 0 || h.error < -4095 || (h.error && (h.len || !h.reason_len)))
		accuse("an error without a reason, or one that is none", &h);
	/* A reason is one line, whatever text clients have put into it. */
	for (uint32_t i = 0; i < h.reason_len; i++)
		if (iscntrl(bytes[sizeof(h) + h.len + i]))
			accuse("a reason with control characters", &h);
}

static void note_reply(struct stranger *s, const uint8_t *bytes, size_t n)
{
	struct wire_hdr h;

	check_reply(bytes, n);
	if (n < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	if (h.op == WIRE_OP_PMCALLOCATE && !h.error && h.len == sizeof(struct wire_allocate_rep))
		memcpy(&s->id[pick(s, IDS)], bytes + sizeof(h), sizeof(uint32_t));
}

static void take_descriptors(struct stranger *s, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) :
							0;

		for (size_t i = 0; i < n; i++) {
			if (s->from_daemon >= 0)
				close(s->from_daemon);
			memcpy(&s->from_daemon, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		}
	}
}

static void drop(struct stranger *s, unsigned int i)
{
	if (s->sock[i] >= 0)
		close(s->sock[i]);
	s->sock[i] = -1;
	s->unread[i] = 0;
}

/* No more traffic there for now: it stays open, and is forgotten. */
static void leave_open(struct stranger *s, unsigned int i)
{
	kind_keep(s, s->sock[i]);
	s->sock[i] = -1;
	s->unread[i] = 0;
}

/* Reads all replies that are due; a connection without a timely reply is left waiting. */
static void read_replies(struct stranger *s, unsigned int i)
{
	static uint8_t bytes[WIRE_MAX_REPLY];
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} u;

	while (s->sock[i] >= 0 && s->unread[i]) {
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
				    .msg_controllen = sizeof(u) };
		ssize_t n = recvmsg(s->sock[i], &m, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EAGAIN) {
			leave_open(s, i);
			return;
		}
		if (n <= 0) {
			drop(s, i);
			return;
		}
		s->unread[i]--;
		take_descriptors(s, &m);
		note_reply(s, bytes, (size_t)n);
	}
}

/* --- connections ----------------------------------------------------------------------------- */

static void say_hello(struct stranger *s, unsigned int i)
{
	struct {
		struct wire_hdr h;
		struct wire_hello_req r;
	} m = { .h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = WIRE_OP_HELLO,
		       .len = sizeof(m.r) } };

	if (send(s->sock[i], &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m))
		s->unread[i]++;
	read_replies(s, i);
}

static void connect_anew(struct stranger *s, unsigned int i)
{
	struct timeval wait = { .tv_usec = 20000 };

	drop(s, i);
	s->sock[i] = link_connect();
	if (s->sock[i] < 0) {
		s->sock[i] = -1;
		return;
	}
	setsockopt(s->sock[i], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(s->sock[i], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (chance(s, 95))
		say_hello(s, i);
}

/* --- messages -------------------------------------------------------------------------------- */

static unsigned int choose_descriptors(struct stranger *s, const struct frame *f, int *fds)
{
	unsigned int n = 0, wanted_n = pick(s, 250) == 0 ? pick(s, 253) : 1;
	int fd = -1;

	if (f->op == WIRE_OP_CONFIGURELOG && chance(s, 70))
		fd = kind_log(s);
	else if (f->takes_fd && chance(s, 80))
		fd = kind_process(s);
	else if (chance(s, f->takes_fd ? 90 : 4))
		fd = kind_make(s);
	if (fd >= 0)
		fds[n++] = fd;
	/* A process's proof, or something else. */
	if (n && f->op == WIRE_OP_PMCATTACH && chance(s, 85)) {
		char path[64];

		fd = chance(s, 80) ? proof_open(fds[0], path, sizeof(path)) : kind_make(s);
		if (fd >= 0)
			fds[n++] = fd;
	}
	/* Many copies of one: their number is wrong. */
	while (n && n < wanted_n) {
		fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			break;
		fds[n++] = fd;
	}
	return n;
}

static int send_frame(int sock, const struct frame *f, const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} u;
	struct iovec iov = { (void *)f->bytes, f->len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		memset(&u, 0, CMSG_SPACE(nfds * sizeof(int)));
		m.msg_control = &u;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&u.h), fds, nfds * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void send_one(struct stranger *s, unsigned int i)
{
	struct frame f;
	int fds[253], err;
	unsigned int nfds;

	message_make(s, &f);
	nfds = choose_descriptors(s, &f, fds);
	err = send_frame(s->sock[i], &f, fds, nfds);
	while (nfds)
		close(fds[--nfds]);
	__atomic_fetch_add(&stage->messages, 1, __ATOMIC_RELAXED);
	if (!err)
		s->unread[i]++;
	else if (err != -EAGAIN && err != -ETOOMANYREFS)
		drop(s, i);
}

/* --- children -------------------------------------------------------------------------------- */

static void be_parent(void)
{
	for (unsigned int i = 0; i < 40; i++) {
		pid_t pid = crew_fork();

		if (pid == 0) {
			usleep(1000 * (i % 7));
			_exit(0);
		}
		usleep(2000);
	}
}

/* A target: it waits, forks, execs, or ends. */
static void be_target(unsigned int how)
{
	switch (how) {
	case 0:
		be_parent();
		break;
	case 1:
		usleep(5000);
		execl("/bin/true", "true", (char *)NULL);
		break;
	case 2:
		usleep(5000);
		break;
	default:
		for (;;)
			usleep(10000);
	}
	_exit(0);
}

static void breed(struct stranger *s)
{
	pid_t *child = &s->child[pick(s, CHILDREN)], pid;
	unsigned int how = pick(s, 6);

	if (*child > 0)
		kill(*child, SIGKILL);
	pid = crew_fork();
	if (pid == 0)
		be_target(how);
	*child = pid;
}

/* A child sends on its parent's connection. */
static void share(struct stranger *s, unsigned int i)
{
	if (crew_fork() == 0) {
		for (unsigned int n = 0; n < 3 && s->sock[i] >= 0; n++)
			send_one(s, i);
		_exit(0);
	}
}

/* Another program inherits a connection that its process has made. */
static void become(struct stranger *s)
{
	uint64_t seed = (uint64_t)pick(s, UINT32_MAX) << 1 | 1;
	char number[16], text[32];

	if (crew_fork())
		return;
	connect_anew(s, 0);
	if (s->sock[0] < 0)
		_exit(0);
	for (unsigned int n = pick(s, 6); n && s->sock[0] >= 0; n--)
		send_one(s, 0);
	if (s->sock[0] < 0)
		_exit(0);
	fcntl(s->sock[0], F_SETFD, 0);
	snprintf(number, sizeof(number), "%d", s->sock[0]);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	execl("/proc/self/exe", "strangers", "inherit", number, text, (char *)NULL);
	_exit(0);
}

void stranger_inherit(int sock, uint64_t seed)
{
	struct stranger s = { .random = seed, .from_daemon = -1 };
	struct timeval wait = { .tv_usec = 50000 };

	for (unsigned int i = 0; i < SOCKS; i++)
		s.sock[i] = -1;
	for (unsigned int i = 0; i < KEPT; i++)
		s.kept[i] = -1;
	s.sock[0] = sock;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	for (unsigned int n = 0; n < 5 && s.sock[0] >= 0; n++) {
		send_one(&s, 0);
		if (s.sock[0] >= 0)
			read_replies(&s, 0);
	}
	_exit(0);
}

/* --- a life ---------------------------------------------------------------------------------- */

/* Occasionally something other than a message. */
static void do_something(struct stranger *s, unsigned int i)
{
	switch (pick(s, 12)) {
	case 0:
	case 1:
		connect_anew(s, pick(s, SOCKS));
		break;
	case 2:
		drop(s, pick(s, SOCKS));
		break;
	case 3:
		shutdown(s->sock[i], chance(s, 50) ? SHUT_WR : SHUT_RD);
		s->unread[i] = 0;
		break;
	case 4:
		share(s, i);
		break;
	case 5:
		if (chance(s, 30))
			become(s);
		break;
	case 6:
		/* A flood. */
		for (unsigned int n = pick(s, FLOOD); n && s->sock[i] >= 0; n--)
			send_one(s, i);
		break;
	case 7:
		/* In the middle of a request. */
		if (chance(s, 5)) {
			send_one(s, i);
			raise(SIGKILL);
		}
		break;
	default:
		breed(s);
	}
}

static void begin_life(struct stranger *s)
{
	for (unsigned int i = 0; i < SOCKS; i++)
		s->sock[i] = -1;
	for (unsigned int i = 0; i < KEPT; i++)
		s->kept[i] = -1;
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (chance(s, 80))
		signal(SIGIO, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

void stranger_live(uint64_t seed, uint64_t messages)
{
	struct stranger s = { .random = seed | 1, .from_daemon = -1 };

	for (unsigned int i = 0; i < 8; i++)
		pick(&s, 2);
	begin_life(&s);
	for (uint64_t n = 0; n < messages && !attack_over(); n++) {
		/* Mostly one connection: its allocations can be used there. */
		unsigned int i = chance(&s, 70) ? 0 : pick(&s, SOCKS);

		if (s.sock[i] < 0)
			connect_anew(&s, i);
		if (s.sock[i] < 0) {
			usleep(1000);
			continue;
		}
		if (pick(&s, 300) == 0)
			do_something(&s, i);
		if (s.sock[i] >= 0)
			send_one(&s, i);
		if (s.sock[i] >= 0 && chance(&s, 97))
			read_replies(&s, i);
	}
	_exit(0);
}
