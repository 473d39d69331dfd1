/* SPDX-License-Identifier: BSD-2-Clause */
/* See receive.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "receive.h"

/* The size of a control message's payload; 0 for other levels than SOL_SOCKET. */
static size_t control_payload(const struct cmsghdr *c)
{
	return c->cmsg_level == SOL_SOCKET ? c->cmsg_len - CMSG_LEN(0) : 0;
}

int receive_peek(int fd)
{
	return message_carries(fd, true);
}

/* Receives a packet, and its descriptors if `fds` has room for them. */
static int receive_packet(int fd, struct received *in, void *control, size_t control_len, int *fds)
{
	struct iovec iov = { .iov_base = in->data, .iov_len = sizeof(in->data) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = control_len,
	};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	memset(in, 0, offsetof(struct received, data));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_type == SCM_CREDENTIALS && control_payload(c) == sizeof(in->sender)) {
			memcpy(&in->sender, CMSG_DATA(c), sizeof(in->sender));
			in->has_sender = true;
		}
		if (c->cmsg_type == SCM_RIGHTS && fds) {
			in->nfds = (uint32_t)(control_payload(c) / sizeof(int));
			memcpy(fds, CMSG_DATA(c), in->nfds * sizeof(int));
		}
	}
	/* An empty packet has a sender, the end has none. */
	if (n == 0 && !in->has_sender)
		return -ECONNRESET;
	in->len = (uint32_t)n;
	in->truncated = (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	return 1;
}

int receive_plain(int fd, struct received *in)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;

	return receive_packet(fd, in, &control, sizeof(control), NULL);
}

/* --- in a helper ---------------------------------------------------------------------------- */

static bool fd_is_process_file(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* A probe's file: opened for reading, which the kernel has allowed, and never waited for. */
static int fd_check_probe(int fd, struct reason *why)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY)
		return deny(why, -EBADF, "the file of a probe must be open for reading");
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return deny(why, -EBADF, "the file of a probe cannot be used: %m");
	if (!S_ISREG(st.st_mode))
		return deny(why, -EINVAL, "a probe is in a regular file: a program or a shared "
			    "object");
	if (!file_system_is_local(fs.f_type))
		return deny(why, -EXDEV, "the file of the probe is on a file system of type 0x%lx, "
			    "for which a program or another machine may answer (overlay, FUSE, NFS "
			    "…): a probe there could stop every process that maps the file; copy "
			    "the file to a local one", (unsigned long)fs.f_type);
	return 0;
}

/* The folder of a cgroup; the kernel says later whether perf counts by its hierarchy. */
static int fd_check_cgroup(int fd, struct reason *why)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (flags < 0 || flags & O_PATH)
		return deny(why, -EBADF, "the folder of a cgroup must be open for reading");
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return deny(why, -EBADF, "the folder of a cgroup cannot be used: %m");
	if ((fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC) ||
	    !S_ISDIR(st.st_mode))
		return deny(why, -EBADF, "the descriptor that came along is not that of a cgroup's "
			    "folder");
	return 0;
}

static int fd_check(uint16_t op, int fd, struct logdest *dest, struct reason *why)
{
	switch (op) {
	case WIRE_OP_PMCATTACH:
	case WIRE_OP_ATTACHEXEC:
	case WIRE_OP_ATTACHTHREAD:
	case WIRE_OP_PMCDETACH:
		if (file_is_pidfd(fd) || fd_is_process_file(fd))
			return 0;
		return deny(why, -EFAULT, "the descriptor that came along is no pidfd");
	case WIRE_OP_ATTACHCGROUP:
		return fd_check_cgroup(fd, why);
	case WIRE_OP_PMCALLOCATE:
		return fd_check_probe(fd, why);
	case WIRE_OP_CONFIGURELOG:
		return logdest_check(fd, dest, why);
	default:
		return deny(why, -EPROTO, "this operation takes no descriptor");
	}
}

int receive_job(struct helper_call *call)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred)) +
			  CMSG_SPACE(HELPER_MAX_FDS * sizeof(int))];
	} control;
	int connection = call->nfds ? call->fds[0] : -1;
	int fds[HELPER_MAX_FDS] = { 0 }, pass[RECEIVE_FDS];
	struct wire_hdr h = { .op = UINT16_MAX };
	unsigned int npass = 0;
	struct received in;
	struct reason why;
	int err = receive_packet(connection, &in, &control, sizeof(control), fds);

	if (err <= 0)
		return err ? err : -EAGAIN;
	if (in.len >= sizeof(h))
		memcpy(&h, in.data, sizeof(h));
	/* The last close of a file that has no name any more frees its memory, which takes time. */
	in.slow_close = h.op == WIRE_OP_CONFIGURELOG || h.op == WIRE_OP_PMCALLOCATE;
	for (unsigned int i = 0; i < in.nfds && i < RECEIVE_FDS; i++) {
		in.passed[i] = in.nfds > RECEIVE_FDS ? -EPROTO :
						       fd_check(h.op, fds[i], &in.dest, &why);
		if (!in.passed[i])
			pass[npass++] = fds[i];
		else if (!in.why.text[0] && in.nfds <= RECEIVE_FDS)
			in.why = why;
	}
	err = helper_emit(call, &in, sizeof(in), pass, npass);
	for (unsigned int i = 0; i < in.nfds; i++)
		close(fds[i]);
	return err;
}
