/* SPDX-License-Identifier: BSD-2-Clause */
/* The identity of a descriptor, by one system call without side effects. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ownfd.h"

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

/* Below the usual limit of 1024; where the limit is lower, half of it, and so on. */
#define OWNFD_HIGH 960
#define OWNFD_LOW  3

int ownfd_raise(int fd)
{
	int least = OWNFD_HIGH, high, err;

	while ((high = fcntl(fd, F_DUPFD_CLOEXEC, least)) < 0 && least > OWNFD_LOW) {
		least /= 2;
		if (least < OWNFD_LOW)
			least = OWNFD_LOW;
	}
	err = high < 0 ? -errno : 0;
	close(fd);
	return err ? err : high;
}

static bool cookie_get(int fd, uint64_t *number)
{
	socklen_t size = sizeof(*number);

	return !getsockopt(fd, SOL_SOCKET, SO_COOKIE, number, &size) && size == sizeof(*number);
}

static bool event_id_get(int fd, uint64_t *number)
{
	return !ioctl(fd, PERF_EVENT_IOC_ID, number);
}

static bool inode_get(int fd, uint64_t *number, uint64_t *device)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*number = st.st_ino;
	*device = st.st_dev;
	return true;
}

struct ownfd ownfd_identify(int fd)
{
	struct ownfd own = { .fd = fd };

	if (cookie_get(fd, &own.number))
		own.kind = OWNFD_SOCKET;
	else if (event_id_get(fd, &own.number))
		own.kind = OWNFD_EVENT;
	else if (inode_get(fd, &own.number, &own.device))
		own.kind = OWNFD_FILE;
	return own;
}

bool ownfd_valid(const struct ownfd *own)
{
	uint64_t number = 0, device = 0;
	bool found = false;

	switch (own->kind) {
	case OWNFD_NONE:
		return false;
	case OWNFD_SOCKET:
		found = cookie_get(own->fd, &number);
		break;
	case OWNFD_EVENT:
		found = event_id_get(own->fd, &number);
		break;
	case OWNFD_FILE:
		found = inode_get(own->fd, &number, &device);
		break;
	}
	return found && number == own->number && device == own->device;
}

void ownfd_close(struct ownfd *own)
{
	if (ownfd_valid(own))
		close(own->fd);
	*own = (struct ownfd)OWNFD_INITIALIZER;
}
