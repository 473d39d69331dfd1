/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of execs in progress. */
#include <stdlib.h>
#include <string.h>

#include "execs.h"

#define UNKNOWN 1u			/* earlier than any event */

void execs_init(struct execs *x)
{
	memset(x, 0, sizeof(*x));
}

void execs_drop(struct exec *e)
{
	LIST_REMOVE(e, in_bucket);
	LIST_REMOVE(e, in_all);
	free(e);
}

void execs_clear(struct execs *x)
{
	struct exec *e, *next;

	for (e = LIST_FIRST(&x->all); e; e = next) {
		next = LIST_NEXT(e, in_all);
		execs_drop(e);
	}
	LIST_INIT(&x->all);
	x->blind = false;
}

static struct exec_bucket *exec_bucket_of(const struct execs *x, pid_t pid)
{
	return (struct exec_bucket *)&x->bucket[(unsigned int)pid % EXECS_BUCKETS];
}

struct exec *execs_pending(const struct execs *x, pid_t pid)
{
	struct exec *e;

	LIST_FOREACH(e, exec_bucket_of(x, pid), in_bucket)
		if (e->pid == pid && !e->secure)
			return e;
	return NULL;
}

bool execs_knows(const struct execs *x, pid_t pid)
{
	const struct exec *e;

	LIST_FOREACH(e, exec_bucket_of(x, pid), in_bucket)
		if (e->pid == pid)
			return true;
	return false;
}

static struct exec *exec_begin(struct execs *x, pid_t pid, uint64_t time)
{
	struct exec *e = execs_pending(x, pid);

	/*
	 * An earlier exec without a verdict: everything since then is in doubt.  A suspected exec
	 * is the one that is noted now, because its verdict has not come.
	 */
	if (e) {
		if (e->time == UNKNOWN)
			e->time = time;
		return e;
	}
	e = calloc(1, sizeof(*e));
	if (!e) {
		x->blind = true;
		return NULL;
	}
	e->pid = pid;
	e->time = time;
	LIST_INSERT_HEAD(exec_bucket_of(x, pid), e, in_bucket);
	LIST_INSERT_HEAD(&x->all, e, in_all);
	return e;
}

void execs_suspect(struct execs *x, pid_t pid)
{
	(void)exec_begin(x, pid, UNKNOWN);
}

static void entry_note(struct execs *x, const struct abi_exec *note)
{
	x->entries[x->nentries++ % EXECS_ENTRIES] = (struct exec_entry){
		.pid = (pid_t)note->tgid, .time = note->time, .entry = note->entry,
	};
}

bool execs_entry(const struct execs *x, pid_t pid, uint64_t time, uint64_t *entry)
{
	unsigned int n = x->nentries < EXECS_ENTRIES ? x->nentries : EXECS_ENTRIES;
	const struct exec_entry *found = NULL;

	for (unsigned int i = 0; i < n; i++) {
		const struct exec_entry *e = &x->entries[i];

		if (e->pid == pid && e->time >= time && (!found || e->time < found->time))
			found = e;
	}
	if (found)
		*entry = found->entry;
	return found != NULL;
}

void execs_note(struct execs *x, const struct abi_exec *note)
{
	pid_t pid = (pid_t)note->tgid;
	struct exec *e;

	if (note->kind != ABI_EXEC_BEGIN)
		entry_note(x, note);
	switch (note->kind) {
	case ABI_EXEC_BEGIN:
		(void)exec_begin(x, pid, note->time);
		break;
	case ABI_EXEC_PLAIN:
		e = execs_pending(x, pid);
		if (e)
			execs_drop(e);
		break;
	case ABI_EXEC_SECURE:
		e = exec_begin(x, pid, UNKNOWN);
		if (e)
			e->secure = true;
		break;
	case ABI_EXEC_OTHER:
		/* It was a target at the beginning; the new image was not examined. */
		e = execs_pending(x, pid);
		if (e)
			e->secure = true;
		break;
	default:
		break;
	}
}
