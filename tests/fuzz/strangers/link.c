/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and replies on the daemon's socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "strangers.h"

static union {
	uint8_t bytes[WIRE_MAX_REPLY];
	uint64_t align;
} reply;
static char reason[WIRE_MAX_REASON + 1];

const char *link_reason(void)
{
	return reason;
}

const char *link_op(uint16_t op)
{
	static const char *const names[] = {
		[WIRE_OP_CONFIGURELOG] = "CONFIGURELOG", [WIRE_OP_FLUSHLOG] = "FLUSHLOG",
		[WIRE_OP_GETMODULEVERSION] = "GETMODULEVERSION",
		[WIRE_OP_GETPMCINFO] = "GETPMCINFO", [WIRE_OP_PMCALLOCATE] = "PMCALLOCATE",
		[WIRE_OP_PMCATTACH] = "PMCATTACH", [WIRE_OP_PMCRELEASE] = "PMCRELEASE",
		[WIRE_OP_PMCRW] = "PMCRW", [WIRE_OP_PMCSTART] = "PMCSTART",
		[WIRE_OP_PMCSTOP] = "PMCSTOP", [WIRE_OP_WRITELOG] = "WRITELOG",
		[WIRE_OP_HELLO] = "connecting",
	};

	return op < sizeof(names) / sizeof(names[0]) && names[op] ? names[op] : "?";
}

int link_connect(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval wait = { .tv_sec = 5 };

	if (sock < 0)
		return -errno;
	/* If the daemon hangs, the judging process must not. */
	if (getpid() == stage->first) {
		setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	}
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", stage->socket);
	if (connect(sock, (struct sockaddr *)&sun, sizeof(sun))) {
		int err = -errno;

		close(sock);
		return err;
	}
	return sock;
}

int link_send(int sock, const struct packet *p, int flags)
{
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = p->op,
			      .len = (uint32_t)p->len };
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} u;
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)p->arg, p->len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (p->nfds) {
		memset(&u, 0, CMSG_SPACE(p->nfds * sizeof(int)));
		m.msg_control = &u;
		m.msg_controllen = CMSG_SPACE(p->nfds * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(p->nfds * sizeof(int));
		memcpy(CMSG_DATA(&u.h), p->fds, p->nfds * sizeof(int));
	}
	return sendmsg(sock, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void close_received(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) :
							0;

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			close(fd);
		}
	}
}

int link_receive(int sock, void **out)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} u;
	struct iovec iov = { reply.bytes, sizeof(reply.bytes) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	struct wire_hdr h;

	reason[0] = '\0';
	if (n < (ssize_t)sizeof(h))
		return LINK_CLOSED;
	close_received(&m);
	memcpy(&h, reply.bytes, sizeof(h));
	if (h.magic != WIRE_MAGIC || (size_t)n != sizeof(h) + h.len + h.reason_len ||
	    h.reason_len >= sizeof(reason)) {
		snprintf(reason, sizeof(reason), "a malformed reply of %zd bytes", n);
		return -EBADMSG;
	}
	memcpy(reason, reply.bytes + sizeof(h) + h.len, h.reason_len);
	reason[h.reason_len] = '\0';
	if (out)
		*out = reply.bytes + sizeof(h);
	return h.error;
}

int link_call(int sock, uint16_t op, const void *arg, size_t len, int fd, void **out)
{
	struct packet p = { .op = op, .arg = arg, .len = len, .fds = &fd, .nfds = fd >= 0 };

	return link_send(sock, &p, 0) ? LINK_CLOSED : link_receive(sock, out);
}

int link_open(void)
{
	struct wire_hello_req r = { .pid = (uint32_t)getpid(), .program = "strangers" };
	int sock = link_connect(), err;

	if (sock < 0)
		return sock;
	err = link_call(sock, WIRE_OP_HELLO, &r, sizeof(r), -1, NULL);
	if (!err)
		return sock;
	close(sock);
	return err == LINK_CLOSED ? -ECONNRESET : err;
}

int link_allocate(int sock, uint32_t mode, uint32_t event, uint32_t flags, uint32_t *id)
{
	struct wire_allocate_req r = {
		.mode = mode, .class = PMC_CLASS_SOFT, .event = event, .flags = flags,
		.caps = PMC_CAP_READ, .count = PMC_IS_SAMPLING_MODE(mode) ? 1000003 : 0,
		.cpu = PMC_IS_SYSTEM_MODE(mode) ? 0 : (uint32_t)PMC_CPU_ANY,
	};
	void *rep;
	int err = link_call(sock, WIRE_OP_PMCALLOCATE, &r, sizeof(r), -1, &rep);

	if (!err)
		*id = ((struct wire_allocate_rep *)rep)->pmcid;
	return err;
}

int link_id(int sock, uint16_t op, uint32_t id)
{
	struct wire_id_req r = { .pmcid = id };

	return link_call(sock, op, &r, sizeof(r), -1, NULL);
}

int link_attach(int sock, uint32_t id, pid_t pid)
{
	struct wire_attach_req r = { .pmcid = id, .pid = pid };
	int fds[2] = { -1, -1 };
	struct packet p = { .op = WIRE_OP_PMCATTACH, .arg = &r, .len = sizeof(r), .fds = fds };
	char path[64];
	int err;

	if (pid) {
		fds[0] = (int)syscall(SYS_pidfd_open, pid, 0);
		fds[1] = fds[0] < 0 ? -1 : proof_open(fds[0], path, sizeof(path));
	}
	while (p.nfds < 2 && fds[p.nfds] >= 0)
		p.nfds++;
	err = link_send(sock, &p, 0) ? LINK_CLOSED : link_receive(sock, NULL);
	while (p.nfds)
		close(fds[--p.nfds]);
	return err;
}

int link_log(int sock, int fd)
{
	struct wire_configurelog_req r = { .logfd = fd };

	return link_call(sock, WIRE_OP_CONFIGURELOG, &r, sizeof(r), fd, NULL);
}
