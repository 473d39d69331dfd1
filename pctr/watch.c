/* SPDX-License-Identifier: BSD-2-Clause */
/* The set that the event loop waits for. */
#include <errno.h>
#include <sys/epoll.h>

#include "watch.h"

int watch_add(int epoll, struct watch *w)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = w };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, w->fd, &e) ? -errno : 0;
}

void watch_reading(int epoll, struct watch *w, bool reading)
{
	struct epoll_event e = { .events = reading ? EPOLLIN : 0, .data.ptr = w };

	epoll_ctl(epoll, EPOLL_CTL_MOD, w->fd, &e);
}
