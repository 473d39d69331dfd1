/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_page.h. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event_page.h"

bool event_page_ready(const struct read_table *t, const struct read_event *events, unsigned int n)
{
	bool any = false;

	for (unsigned int i = 0; i < n; i++) {
		if (!events[i].page)
			return false;
		any |= load(&events[i].page->index) != 0;
	}
	return any && (t->counter || trap_ready());
}

ssize_t event_page_ask(const struct read_event *e, uint64_t *data, size_t size)
{
	ssize_t n;

	if (!ownfd_valid(&e->own))
		return -1;
	do
		n = syscall(SYS_read, e->own.fd, data, size);
	while (n < 0 && errno == EINTR);
	return n;
}

int event_page_lost(struct reason *why)
{
	return deny(why, -EBUSY, "the counter was taken away by another user of the hardware "
		    "(\"pmccontrol --doctor\" may name it): the count is lost; release the PMC "
		    "and allocate again");
}
