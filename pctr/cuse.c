/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel sends requests, one frame for each read(2); each is answered before the next is read,
 * so that nothing is ever interrupted.
 *
 * Unrestricted ioctls: the kernel would guess the argument's size and direction from the request's
 * number, and OpenBSD's numbers have the directions the other way round.  So the kernel sends an
 * ioctl twice: the first answer names the caller's memory that is needed, and the second request
 * has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuse.h"
#include "machine.h"
#include "request.h"

struct answer {
	struct fuse_out_header header;
	unsigned char body[CUSE_REPLY_MAX - sizeof(struct fuse_out_header)];
};
_Static_assert(sizeof(struct answer) == CUSE_REPLY_MAX, "no padding");

/* --- answers: each returns the length of the body, or -errno -------------------------------- */

static int cuse_answer_init(struct cuse *c, const void *in, size_t len, struct answer *a)
{
	const struct cuse_init_in *init = in;
	struct cuse_init_out out = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
		.flags = CUSE_UNRESTRICTED_IOCTL, .max_read = 4096, .max_write = 4096,
	};
	int n;

	if (len < sizeof(*init) || c->ready)
		return -EPROTO;
	if (init->major != FUSE_KERNEL_VERSION || init->minor < 12) {
		messages_put(c->messages, LOG_ERR,
			     "this kernel's CUSE is version %u.%u; 7.12 or a later 7 "
			     "is needed", init->major, init->minor);
		return -EPROTO;
	}
	if (init->minor < out.minor)
		out.minor = init->minor;
	memcpy(a->body, &out, sizeof(out));
	n = snprintf((char *)a->body + sizeof(out), sizeof(a->body) - sizeof(out), "DEVNAME=%s",
		     c->name);
	c->ready = true;
	return (int)sizeof(out) + n + 1;
}

/* The handle of an open file is its access mode. */
static int cuse_answer_open(struct cuse *c, const void *in, size_t len, struct answer *a)
{
	const struct fuse_open_in *open = in;
	struct fuse_open_out out = { .fh = 0 };

	if (len < sizeof(*open))
		return -EPROTO;
	out.fh = (open->flags & O_ACCMODE) != O_RDONLY;
	memcpy(a->body, &out, sizeof(out));
	return sizeof(out);
}

/* The caller's memory, to be read (size in) or written (out). */
static int cuse_want_memory(const struct fuse_ioctl_in *io, size_t in, size_t out, struct answer *a)
{
	struct fuse_ioctl_out again = {
		.flags = FUSE_IOCTL_RETRY, .in_iovs = in != 0, .out_iovs = out != 0,
	};
	struct fuse_ioctl_iovec memory = { .base = io->arg, .len = in + out };

	memcpy(a->body, &again, sizeof(again));
	memcpy(a->body + sizeof(again), &memory, sizeof(memory));
	return sizeof(again) + sizeof(memory);
}

static int cuse_answer_ioctl(struct cuse *c, const struct fuse_in_header *header, const void *in,
			     size_t len, struct answer *a)
{
	const struct fuse_ioctl_in *io = in;
	struct core_caller who = { .cpu = 0 };
	struct fuse_ioctl_out out = { .result = 0 };
	struct pctrst state;
	uint32_t fn = 0;
	int what, err, cpu;

	if (len < sizeof(*io) || io->in_size > len - sizeof(*io))
		return -EPROTO;
	err = request_decode(io->cmd, &what);
	if (err)
		return err;
	if (what == REQUEST_READ && !io->out_size)
		return cuse_want_memory(io, 0, sizeof(state), a);
	if (what != REQUEST_READ && !io->in_size)
		return cuse_want_memory(io, sizeof(fn), 0, a);
	if (io->in_size != (what == REQUEST_READ ? 0 : sizeof(fn)) ||
	    io->out_size != (what == REQUEST_READ ? sizeof(state) : 0))
		return -EPROTO;
	memcpy(&fn, io + 1, io->in_size);
	/* The caller sleeps in this request, so its last CPU is the one it made the request on. */
	cpu = what == REQUEST_READ ? c->cpu_of((pid_t)header->pid) : 0;
	if (cpu < 0)
		return cpu;
	who.cpu = (unsigned int)cpu;
	who.writes = io->fh;
	err = core_request(c->core, what, &who, fn, &state);
	if (err)
		return err;
	memcpy(a->body, &out, sizeof(out));
	memcpy(a->body + sizeof(out), &state, io->out_size);
	return (int)(sizeof(out) + io->out_size);
}

/* --- frames --------------------------------------------------------------------------------- */

static int cuse_dispatch(struct cuse *c, const struct fuse_in_header *header, struct answer *a)
{
	const void *in = header + 1;
	size_t len = header->len - sizeof(*header);

	switch (header->opcode) {
	case CUSE_INIT:
		return cuse_answer_init(c, in, len, a);
	case FUSE_OPEN:
		return cuse_answer_open(c, in, len, a);
	case FUSE_IOCTL:
		return cuse_answer_ioctl(c, header, in, len, a);
	case FUSE_RELEASE:
		return 0;
	case FUSE_READ:
	case FUSE_WRITE:
		return -ENODEV;
	default:
		return -ENOSYS;
	}
}

int cuse_answer(struct cuse *c, const void *frame, size_t len, void *reply)
{
	const struct fuse_in_header *header = frame;
	struct answer *a = reply;
	int n;

	if (len < sizeof(*header) || header->len != len)
		return -EPROTO;
	if (header->opcode == FUSE_INTERRUPT || header->opcode == FUSE_FORGET)
		return 0;
	n = cuse_dispatch(c, header, a);
	if (n == -EPROTO)
		return n;
	a->header = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(a->header) + (size_t)(n < 0 ? 0 : n)),
		.error = n < 0 ? n : 0, .unique = header->unique,
	};
	return (int)a->header.len;
}

/* --- the device ----------------------------------------------------------------------------- */

/* One frame.  -EAGAIN: there is none. */
static int cuse_serve(struct cuse *c)
{
	_Alignas(8) unsigned char frame[CUSE_FRAME_MAX];
	_Alignas(8) unsigned char reply[CUSE_REPLY_MAX];
	ssize_t n = read(c->watch.fd, frame, sizeof(frame));
	int len;

	if (n < 0)
		return errno == EINTR || errno == ENOENT ? 0 : -errno;
	len = cuse_answer(c, frame, (size_t)n, reply);
	if (len <= 0)
		return len;
	/* ENOENT: the caller was killed meanwhile. */
	if (write(c->watch.fd, reply, (size_t)len) < 0 && errno != ENOENT && errno != EINTR)
		return -errno;
	return 0;
}

static void cuse_ready(struct watch *w)
{
	struct cuse *c = (struct cuse *)w;
	int err = cuse_serve(c);

	if (!err || err == -EAGAIN)
		return;
	messages_put(c->messages, LOG_ERR, "/dev/%s has ended: %s", c->name, strerror(-err));
	c->ended = true;
	cuse_close(c);
}

/* The kernel sends the first frame; after the answer it makes the node, or closes the file. */
static int cuse_hello(struct cuse *c)
{
	int err = cuse_serve(c);

	if (!err && !c->ready)
		err = -EPROTO;
	return err;
}

int cuse_open(struct cuse *c, const char *name, struct core *core, const struct messages *messages)
{
	int err;

	*c = (struct cuse){ .watch = { .ready = cuse_ready }, .core = core, .messages = messages,
			    .cpu_of = machine_cpu_of };
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->watch.fd = open("/dev/cuse", O_RDWR | O_CLOEXEC);
	if (c->watch.fd < 0)
		return -errno;
	err = cuse_hello(c);
	if (!err && fcntl(c->watch.fd, F_SETFL, O_NONBLOCK))
		err = -errno;
	if (err)
		cuse_close(c);
	return err;
}

void cuse_close(struct cuse *c)
{
	if (c->watch.fd >= 0)
		close(c->watch.fd);
	c->watch.fd = -1;
}
