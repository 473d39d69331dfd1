/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of owners. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "loader/log/log.h"
#include "owner.h"
#include "pmc.h"

int owner_table_init(struct owner_table *t, unsigned int buckets, const struct debug *debug)
{
	t->debug = debug;
	t->owners = 0;
	t->numbers = 0;
	t->ends = 0;
	TAILQ_INIT(&t->ended);
	TAILQ_INIT(&t->waits);
	t->buckets = buckets;
	t->bucket = calloc(buckets, sizeof(struct owner *));
	return t->bucket ? 0 : -ENOMEM;
}

void owner_table_free(struct owner_table *t)
{
	free(t->bucket);
	t->bucket = NULL;
}

static struct owner **owner_bucket(const struct owner_table *t, pid_t pid)
{
	return &t->bucket[(unsigned int)pid % t->buckets];
}

int owner_get(struct owner_table *t, struct user *user, const struct cred *cred, int pidfd,
	      struct owner **out)
{
	struct owner **bucket = owner_bucket(t, cred->pid), *o;

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
		o->number = ++t->numbers;
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

static struct owner *owner_from(struct owner *o, pid_t pid)
{
	while (o && o->cred.pid != pid)
		o = o->next;
	return o;
}

struct owner *owner_first(const struct owner_table *t, pid_t pid)
{
	return owner_from(*owner_bucket(t, pid), pid);
}

struct owner *owner_next(const struct owner *o)
{
	return owner_from(o->next, o->cred.pid);
}

bool owner_current(const struct owner_table *t, pid_t pid)
{
	const struct owner *o = owner_first(t, pid);

	while (o && o->ended)
		o = owner_next(o);
	return o;
}

/* --- the end ---------------------------------------------------------------------------------- */

void owner_end(struct owner_table *t, struct owner *o)
{
	if (o->ended)
		return;
	o->ended = true;
	o->end = ++t->ends;
	TAILQ_INSERT_TAIL(&t->ended, o, in_ended);
	/* Nothing is left to wait for, and other owners may wait for this one. */
	if (o->waits)
		fiber_wake(o->waits);
}

static bool owners_any_ended(const struct owner_table *t, uint64_t end)
{
	const struct owner *first = TAILQ_FIRST(&t->ended);

	return first && first->end <= end;
}

static void owner_released(struct owner_table *t, struct owner *o)
{
	struct owner *w;

	TAILQ_REMOVE(&t->ended, o, in_ended);
	TAILQ_FOREACH(w, &t->waits, in_waits)
		if (!owners_any_ended(t, w->waits_end))
			fiber_wake(w->waits);
}

bool owner_wait_ended(struct owner_table *t, struct fibers *fs, struct owner *o)
{
	uint64_t end = t->ends;

	if (o->ended || !owners_any_ended(t, end) || !fiber_current(fs))
		return false;
	o->waits = fiber_current(fs);
	o->waits_end = end;
	TAILQ_INSERT_TAIL(&t->waits, o, in_waits);
	while (!o->ended && !fibers_hurried(fs) && owners_any_ended(t, end))
		fiber_park(fs);
	TAILQ_REMOVE(&t->waits, o, in_waits);
	o->waits = NULL;
	return !o->ended && !fibers_hurried(fs);
}

bool owner_logs_all(const struct owner *o)
{
	const struct pmc *p;

	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->logs_all)
			return true;
	return false;
}

bool owner_knows_kernel(const struct owner *o)
{
	const struct pmc *p;
	bool knows = false;

	TAILQ_FOREACH(p, &o->pmcs, owned) {
		if (pmc_is_sampling(p) && p->kernel == KERNEL_ADDRESSES)
			return false;
		knows |= pmc_is_sampling(p) && p->kernel == KERNEL_NAMES;
	}
	return knows;
}

void owner_put(struct owner_table *t, struct owner *o)
{
	struct owner **p = owner_bucket(t, o->cred.pid);

	DEBUG(t->debug, OWNER, MAYBEREMOVE, "pid %d (%s), connections %u", o->cred.pid, o->program,
	      o->connections);
	if (--o->connections)
		return;
	if (o->ended)
		owner_released(t, o);
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

void owner_lost(struct owner *o, struct wire_driverstats *all, uint32_t n, uint32_t gaps)
{
	all->intr_bufferfull += n + gaps;
	o->stats.intr_bufferfull += n + gaps;
	o->user->stats.intr_bufferfull += n + gaps;
	if (o->log)
		logfile_lost(o->log, n);
	if (o->log && gaps)
		logfile_gap(o->log);
}
