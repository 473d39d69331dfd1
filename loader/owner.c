/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of owners. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "owner.h"

int owner_table_init(struct owner_table *t, unsigned int buckets)
{
	t->owners = 0;
	t->buckets = buckets;
	t->bucket = calloc(buckets, sizeof(struct owner *));
	return t->bucket ? 0 : -ENOMEM;
}

void owner_table_free(struct owner_table *t)
{
	free(t->bucket);
	t->bucket = NULL;
}

static struct owner **bucket_of(struct owner_table *t, pid_t pid)
{
	return &t->bucket[(unsigned int)pid % t->buckets];
}

int owner_get(struct owner_table *t, const struct cred *cred, int pidfd, struct owner **out)
{
	struct owner **bucket = bucket_of(t, cred->pid), *o;

	for (o = *bucket; o; o = o->next)
		if (o->cred.pid == cred->pid && o->cred.start == cred->start)
			break;
	if (o) {
		close(pidfd);
	} else {
		o = calloc(1, sizeof(*o));
		if (!o) {
			close(pidfd);
			return -ENOMEM;
		}
		o->cred = *cred;
		o->pidfd = pidfd;
		o->next = *bucket;
		*bucket = o;
		t->owners++;
	}
	o->connections++;
	*out = o;
	return 0;
}

void owner_put(struct owner_table *t, struct owner *o)
{
	struct owner **p = bucket_of(t, o->cred.pid);

	if (--o->connections)
		return;
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	t->owners--;
	count_owner_free(o->counts);
	close(o->pidfd);
	free(o);
}

bool owner_gone(const struct owner *o)
{
	struct pollfd p = { .fd = o->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}
