/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page is a memory file.  Its futex word holds this thread's id and is on the thread's robust
 * list: however the daemon ends, the kernel sets FUTEX_OWNER_DIED in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heartbeat.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct heartbeat {
	struct robust_list_head head;	/* replaces the C library's: there are no robust mutexes */
	struct robust_list entry;
	struct wire_alive *page;
	size_t size;
	int fd;				/* read-only */
};

/* From now on only the mapping that exists already can write. */
static int heartbeat_seal(struct heartbeat *a, int fd)
{
	char path[64];

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	a->fd = open(path, O_RDONLY | O_CLOEXEC);
	return a->fd < 0 ? -errno : 0;
}

static int heartbeat_watch(struct heartbeat *a)
{
	a->page->magic = WIRE_MAGIC;
	a->page->futex = (uint32_t)syscall(SYS_gettid);
	a->entry.next = &a->head.list;
	a->head.list.next = &a->entry;
	/* The kernel finds the word of an entry at this distance from it. */
	a->head.futex_offset = (long)((intptr_t)&a->page->futex - (intptr_t)&a->entry);
	return syscall(SYS_set_robust_list, &a->head, sizeof(a->head)) ? -errno : 0;
}

int heartbeat_new(struct heartbeat **out, struct reason *why)
{
	struct heartbeat *a = calloc(1, sizeof(*a));
	int fd = -1, err = -ENOMEM;

	if (!a)
		goto out;
	a->fd = -1;
	a->size = (size_t)sysconf(_SC_PAGESIZE);
	fd = memfd_create("pmcbpfd-alive", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)a->size)) {
		err = -errno;
		goto out;
	}
	a->page = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (a->page == MAP_FAILED) {
		err = -errno;
		a->page = NULL;
		goto out;
	}
	err = heartbeat_seal(a, fd);
	if (!err)
		err = heartbeat_watch(a);
out:
	if (fd >= 0)
		close(fd);
	if (err) {
		errno = -err;
		deny(why, err, "cannot make the page of the daemon's heartbeat: %m");
		heartbeat_free(a);
		return err;
	}
	*out = a;
	return 0;
}

void heartbeat_free(struct heartbeat *a)
{
	if (!a)
		return;
	if (a->page) {
		syscall(SYS_set_robust_list, NULL, sizeof(a->head));
		__atomic_fetch_or(&a->page->futex, FUTEX_OWNER_DIED, __ATOMIC_RELEASE);
		munmap(a->page, a->size);
	}
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

int heartbeat_fd(const struct heartbeat *a)
{
	return a->fd;
}
