/* SPDX-License-Identifier: BSD-2-Clause */
/* See threads.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/base/base.h"
#include "threads.h"

struct thread {
	LIST_ENTRY(thread) next;
	pid_t tid;
	bool asked;
	char comm[PROC_COMM];
};

static bool thread_ask(pid_t pid, pid_t tid, char comm[PROC_COMM])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	return !file_line(path, comm, PROC_COMM);
}

void threads_init(struct threads *t)
{
	for (unsigned int i = 0; i < THREAD_BUCKETS; i++)
		LIST_INIT(&t->bucket[i]);
	t->ask = thread_ask;
}

static struct thread *thread_find(struct threads *t, pid_t tid)
{
	struct thread *one;

	LIST_FOREACH(one, &t->bucket[(unsigned int)tid % THREAD_BUCKETS], next)
		if (one->tid == tid)
			return one;
	return NULL;
}

static void thread_drop(struct thread *one)
{
	if (!one)
		return;
	LIST_REMOVE(one, next);
	free(one);
}

void threads_clear(struct threads *t)
{
	for (unsigned int i = 0; i < THREAD_BUCKETS; i++) {
		struct thread *one, *next;

		for (one = LIST_FIRST(&t->bucket[i]); one; one = next) {
			next = LIST_NEXT(one, next);
			free(one);
		}
		LIST_INIT(&t->bucket[i]);
	}
}

/* Without memory the name is read again later. */
static struct thread *thread_keep(struct threads *t, pid_t tid, const char *comm, bool asked)
{
	struct thread *one = thread_find(t, tid);

	if (!one) {
		one = malloc(sizeof(*one));
		if (!one)
			return NULL;
		one->tid = tid;
		LIST_INSERT_HEAD(&t->bucket[(unsigned int)tid % THREAD_BUCKETS], one, next);
	}
	one->asked = asked;
	memcpy(one->comm, comm, sizeof(one->comm));
	return one;
}

void threads_know(struct threads *t, pid_t tid, const char *comm, bool asked)
{
	char whole[PROC_COMM] = "";

	snprintf(whole, sizeof(whole), "%s", comm);
	if (!thread_find(t, tid))
		(void)thread_keep(t, tid, whole, asked);
}

static void thread_born(struct threads *t, struct proc_event *e)
{
	const struct thread *creator = thread_find(t, e->creator);
	char comm[PROC_COMM] = "";

	if (!creator && t->ask(e->pid, e->creator, comm))
		creator = thread_keep(t, e->creator, comm, true);
	if (creator)
		memcpy(e->comm, creator->comm, sizeof(e->comm));
	else if (!t->ask(e->pid, e->tid, e->comm))
		e->comm[0] = '\0';
	e->asked = !creator || creator->asked;
	if (e->comm[0])
		(void)thread_keep(t, e->tid, e->comm, e->asked);
}

static void process_born(struct threads *t, const struct proc_event *e)
{
	const struct thread *creator = thread_find(t, e->creator);

	if (creator)
		(void)thread_keep(t, e->tid, creator->comm, creator->asked);
}

void threads_event(struct threads *t, struct proc_event *e)
{
	switch (e->what) {
	case PROC_EXEC:
	case PROC_NAME:
		(void)thread_keep(t, e->tid, e->comm, false);
		break;
	case PROC_FORK:
		process_born(t, e);
		break;
	case PROC_THREAD:
		thread_born(t, e);
		break;
	case PROC_EXIT:
	case PROC_THREAD_EXIT:
		thread_drop(thread_find(t, e->tid));
		break;
	case PROC_LOST:
		if (!e->pid)
			threads_clear(t);
		break;
	default:
		break;
	}
}
