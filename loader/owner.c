/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of owners. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "debug.h"
#include "logfile.h"
#include "owner.h"

int owner_table_init(struct owner_table *t, unsigned int buckets, const struct debug *debug)
{
	t->debug = debug;
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

static struct owner **bucket_of(const struct owner_table *t, pid_t pid)
{
	return &t->bucket[(unsigned int)pid % t->buckets];
}

int owner_get(struct owner_table *t, struct user *user, const struct cred *cred, int pidfd,
	      struct owner **out)
{
	struct owner **bucket = bucket_of(t, cred->pid), *o;

	for (o = *bucket; o; o = o->next)
		if (o->cred.pid == cred->pid && o->cred.start == cred->start && !o->ended)
			break;
	if (o) {
		DEBUG(t->debug, OWNER, FIND, "pid %d uid %u", cred->pid, cred->uid[ID_EFFECTIVE]);
		close(pidfd);
	} else {
		DEBUG(t->debug, OWNER, ALLOCATE, "pid %d uid %u", cred->pid,
		      cred->uid[ID_EFFECTIVE]);
		o = calloc(1, sizeof(*o));
		if (!o) {
			close(pidfd);
			return -ENOMEM;
		}
		TAILQ_INIT(&o->pmcs);
		o->cred = *cred;
		o->user = user;
		user->references++;
		o->pidfd = pidfd;
		o->next = *bucket;
		*bucket = o;
		t->owners++;
	}
	o->connections++;
	*out = o;
	return 0;
}

static struct owner *from_here(struct owner *o, pid_t pid)
{
	while (o && o->cred.pid != pid)
		o = o->next;
	return o;
}

struct owner *owner_first(const struct owner_table *t, pid_t pid)
{
	return from_here(*bucket_of(t, pid), pid);
}

struct owner *owner_next(const struct owner *o)
{
	return from_here(o->next, o->cred.pid);
}

bool owner_current(const struct owner_table *t, pid_t pid)
{
	const struct owner *o = owner_first(t, pid);

	while (o && o->ended)
		o = owner_next(o);
	return o;
}

void owner_put(struct owner_table *t, struct owner *o)
{
	struct owner **p = bucket_of(t, o->cred.pid);

	DEBUG(t->debug, OWNER, MAYBEREMOVE, "pid %d (%s), connections %u", o->cred.pid, o->program,
	      o->connections);
	if (--o->connections)
		return;
	DEBUG(t->debug, OWNER, REMOVE, "pid %d (%s)", o->cred.pid, o->program);
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	t->owners--;
	count_owner_free(o->counts);
	logfile_free(o->log);
	user_put(o->user);
	close(o->pidfd);
	free(o);
}

bool owner_gone(const struct owner *o)
{
	return policy_pidfd_exited(o->pidfd);
}
