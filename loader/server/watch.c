/* SPDX-License-Identifier: BSD-2-Clause */
/* See watch.h. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "watch.h"

static int watch_control(int epoll, int op, struct watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	return epoll_ctl(epoll, op, w->fd, &e) ? -errno : 0;
}

int watch_add(int epoll, struct watch *w, uint32_t events)
{
	return watch_control(epoll, EPOLL_CTL_ADD, w, events);
}

void watch_change(int epoll, struct watch *w, uint32_t events)
{
	(void)watch_control(epoll, EPOLL_CTL_MOD, w, events);
}

void watch_remove(int epoll, struct watch *w)
{
	if (w->fd >= 0)
		(void)watch_control(epoll, EPOLL_CTL_DEL, w, 0);
}

void watch_drop(int epoll, struct watch *w)
{
	if (w->fd < 0)
		return;
	/* Not left to close(): the owner's copy of a pidfd would keep it in the set. */
	watch_remove(epoll, w);
	close(w->fd);
	w->fd = -1;
}
