/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that helpers close for the daemon. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array.h"
#include "helper_impl.h"

/*
 * The deadline for closing received descriptors.  It may be short: exit(2) waits for no peer, so a
 * killed helper closes the rest of its descriptors as well.
 */
#define DISPOSE_MS 10u

/* False: no helper is free. */
static bool dispose_now(struct helpers *h, const int *fds, unsigned int nfds)
{
	struct helper *p = h->closing_n < HELPER_CLOSERS ? helper_take(h) : NULL;

	if (!p)
		return false;
	p->closing = true;
	h->closing_n++;
	if (helper_order(h, p, HELPER_JOB_CLOSE, NULL, 0, fds, nfds, DISPOSE_MS))
		return false;
	for (unsigned int i = 0; i < nfds; i++)
		close(fds[i]);
	(void)message_send(p->socket, "", 1, NULL, 0, NULL, 0, MSG_DONTWAIT);
	return true;
}

/* Each close may take long: the helpers share them, so that these times do not add up. */
void helper_close_waiting(struct helpers *h)
{
	unsigned int share = 1 + h->waiting_n / HELPER_CLOSERS;

	share = share < HELPER_MAX_FDS ? share : HELPER_MAX_FDS;
	while (h->waiting_n) {
		unsigned int n = h->waiting_n < share ? h->waiting_n : share;

		if (!dispose_now(h, h->waiting + h->waiting_n - n, n))
			break;
		h->waiting_n -= n;
	}
}

void helper_dispose(struct helpers *h, const int *fds, unsigned int nfds)
{
	for (unsigned int i = 0; i < nfds; i++) {
		if (fds[i] < 0)
			continue;
		/* Leaking a descriptor is better than hanging in its close(2). */
		if (array_reserve(h->waiting, h->waiting_room, h->waiting_n + 1) != 0)
			return;
		h->waiting[h->waiting_n++] = fds[i];
	}
}

void helper_hang_up(struct helpers *h, int socket)
{
	(void)shutdown(socket, SHUT_RDWR);
	if (message_unread(socket))
		helper_dispose(h, &socket, 1);
	else
		close(socket);
}

static bool fd_is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void helpers_reap(struct helpers *h)
{
	struct helper *p, *next;

	for (p = LIST_FIRST(&h->busy); p; p = next) {
		next = LIST_NEXT(p, next);
		if (p->closing && fd_is_readable(p->socket))
			helper_drain(h, p);
	}
	for (p = LIST_FIRST(&h->ending); p; p = next) {
		next = LIST_NEXT(p, next);
		if (p->closing && p->pidfd >= 0 && fd_is_readable(p->pidfd))
			helper_exited(h, p);
	}
}
