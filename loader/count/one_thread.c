/* SPDX-License-Identifier: BSD-2-Clause */
/* See one_thread.h. */
#include <errno.h>
#include <string.h>

#include "one_thread.h"

static int one_thread_set(const struct count *c, uint32_t tid, struct reason *why)
{
	int err = 0;

	if (c->spec.sampling)
		err = sampler_set_thread(c->e->samplers, (uint32_t)c->spec.tag, tid);
	else if (c->spec.alone)
		err = target_map_alone(c->e, c->owner->counts.slot, c->pos, tid);
	return err ? deny(why, err, "the thread cannot be chosen: %s", strerror(-err)) : 0;
}

static struct abi_alone_at one_thread_at(const struct count *c)
{
	if (c->spec.sampling)
		return (struct abi_alone_at){ .sampled = 1, .key = c->spec.tag % ABI_SAMPLERS };
	return (struct abi_alone_at){ .key = ABI_ALONE(c->owner->counts.slot, c->pos) };
}

/* A thread that executes a program gets its process's number before any program notes that. */
static int one_thread_bind(const struct count *c, struct reason *why)
{
	int err = c->spec.alone || c->spec.sampling ?
			  visit_bind_thread(c->e, one_thread_at(c), (uint32_t)c->tid) : 0;

	return err ? deny(why, err, "the thread cannot be looked at: %s", strerror(-err)) : 0;
}

int one_thread_begin(const struct count *c, struct reason *why)
{
	struct user *u = c->owner->user;
	int err = c->spec.alone ? user_take(u->table, u, POOL_THREADS, 1, why) : 0;

	if (err)
		return err;
	err = one_thread_set(c, c->spec.thread ? ABI_THREAD_GONE : 0, why);
	if (err && c->spec.alone)
		user_give(u->table, u, POOL_THREADS, 1);
	return err;
}

void one_thread_end(const struct count *c)
{
	struct user *u = c->owner->user;

	if (!c->spec.alone)
		return;
	target_map_alone_end(c->e, c->owner->counts.slot, c->pos);
	user_give(u->table, u, POOL_THREADS, 1);
}

int one_thread_attach(struct count *c, pid_t tgid, struct reason *why)
{
	int err;

	if (!c->spec.thread)
		return 0;
	err = one_thread_set(c, (uint32_t)c->tid, why);
	/* From here on the program of forks sees a new thread of that number. */
	err = err ?: one_thread_bind(c, why);
	err = err ?: count_state_check_thread(c, tgid, true, why);
	if (err)
		one_thread_detach(c, tgid);
	return err;
}

void one_thread_detach(struct count *c, pid_t tgid)
{
	struct reason unused;

	(void)tgid;
	if (c->spec.thread)
		(void)one_thread_set(c, ABI_THREAD_GONE, &unused);
}
