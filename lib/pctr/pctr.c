/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libpctr: pctr(4) for kernels without character devices in user space.  /dev/pctr is a plain file
 * there, and this ioctl(2), linked or preloaded, takes the device's requests to pctrd, on the
 * socket beside that file; all others go to the kernel unchanged.  There is no state between calls:
 * threads, children and signal handlers share nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/pctr_wire.h"

#define EXPORT	  __attribute__((visibility("default")))
#define STAND_IN  PMCBPF_RUNDIR "/pmcbpf/" PCTR_FILE

static bool request_sets(uint32_t request)
{
	return pctr_is(request, PCIOCS0) || pctr_is(request, PCIOCS1) ||
	       pctr_is(request, PCIOCS2) || pctr_is(request, PCIOCS3);
}

/* The socket beside an open file.  -ENOTTY: this is no stand-in. */
static int pctr_socket(int device, struct sockaddr_un *at)
{
	static const char ending[] = ".sock";
	const size_t room = sizeof(at->sun_path) - sizeof(ending);
	struct stat st;
	char link[64];
	ssize_t len;

	if (fstat(device, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTTY;
	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", device);
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	len = readlink(link, at->sun_path, room);
	if (len <= 0 || (size_t)len >= room)
		return -ENOTTY;
	memcpy(at->sun_path + len, ending, sizeof(ending));
	return 0;
}

/* -ENXIO: there is a stand-in, but no pctrd. */
static int pctr_connect(const struct sockaddr_un *at)
{
	int err, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	while (connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0) {
		if (errno == EINTR)
			continue;
		err = errno == ENOENT ? -ENOTTY : errno == ECONNREFUSED ? -ENXIO : -errno;
		close(fd);
		return err;
	}
	return fd;
}

/*
 * sendmsg(2) reads the function from the caller's memory: a bad pointer is EFAULT, as for a device.
 */
static int pctr_send(int fd, int device, uint32_t request, void *arg)
{
	struct pctr_wire_request wire = { .magic = PCTR_WIRE_MAGIC, .request = request };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec parts[] = {
		{ &wire, offsetof(struct pctr_wire_request, value) },
		{ request_sets(request) ? arg : &wire.value, sizeof(wire.value) },
		{ &wire.cpu, sizeof(wire.cpu) },
	};
	struct msghdr msg = {
		.msg_iov = parts, .msg_iovlen = sizeof(parts) / sizeof(parts[0]),
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int cpu = sched_getcpu();

	wire.cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	memcpy(CMSG_DATA(&control.header), &device, sizeof(device));
	while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? -ENXIO : -errno;
	return 0;
}

/* The caller's memory is written only if the request succeeded. */
static int pctr_receive(int fd, uint32_t request, void *arg)
{
	struct pctr_wire_reply reply;
	struct iovec parts[] = {
		{ &reply, offsetof(struct pctr_wire_reply, state) },
		{ arg, sizeof(reply.state) },
	};
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	do
		n = recv(fd, &reply, sizeof(reply), MSG_PEEK | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return -ENXIO;
	if (n < 0)
		return -errno;
	if (n != sizeof(reply) || reply.error > 0 || reply.error < -4095)
		return -EPROTO;
	if (reply.error || !pctr_is(request, PCIOCRD))
		return reply.error;
	return recvmsg(fd, &msg, 0) < 0 ? -errno : 0;
}

/* 0 or -errno; -ENOTTY: the request is not pctrd's. */
static int pctr_request(int device, uint32_t request, void *arg)
{
	struct sockaddr_un at;
	int fd, err = pctr_socket(device, &at);

	if (err)
		return err;
	fd = pctr_connect(&at);
	if (fd < 0)
		return fd;
	err = pctr_send(fd, device, request, arg);
	if (!err)
		err = pctr_receive(fd, request, arg);
	close(fd);
	return err;
}

static int pctr_ioctl(int device, unsigned long request, void *arg)
{
	if (_IOC_TYPE((uint32_t)request) == 'c') {
		int err = pctr_request(device, (uint32_t)request, arg);

		if (!err)
			return 0;
		if (err != -ENOTTY) {
			errno = -err;
			return -1;
		}
	}
	return (int)syscall(SYS_ioctl, device, request, arg);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return pctr_ioctl(fd, request, arg);
}

EXPORT int pctr_open(int flags)
{
	const char *chosen = secure_getenv("PCTR_DEVICE");
	int fd = open(chosen ? chosen : _PATH_PCTR, flags | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && !chosen)
		fd = open(STAND_IN, flags | O_CLOEXEC);
	return fd;
}

EXPORT pctrval pctr_rdpmc(unsigned int ctr)
{
	struct pctrst state;
	int err, fd;

	if (ctr >= PCTR_NUM) {
		errno = EINVAL;
		return (pctrval)-1;
	}
	fd = pctr_open(O_RDONLY);
	if (fd < 0)
		return (pctrval)-1;
	err = pctr_ioctl(fd, PCIOCRD, &state) < 0 ? errno : 0;
	close(fd);
	errno = err;
	return err ? (pctrval)-1 : state.pctr_hwc[ctr];
}
