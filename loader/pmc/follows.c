/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of follows: pairs of a PMC and a process. */
#include <stdlib.h>
#include <string.h>

#include "follows.h"

void follows_init(struct follows *fs, void (*detached)(const struct follow *f))
{
	memset(fs, 0, sizeof(*fs));
	TAILQ_INIT(&fs->ended);
	fs->detached = detached;
}

void follows_free(struct follows *fs)
{
	for (unsigned int b = 0; b < FOLLOW_BUCKETS; b++)
		while (!LIST_EMPTY(&fs->bucket[b])) {
			struct follow *f = LIST_FIRST(&fs->bucket[b]);

			LIST_REMOVE(f, in_bucket);
			free(f);
		}
}

struct follow_bucket *follows_of(struct follows *fs, pid_t pid)
{
	return &fs->bucket[(unsigned int)pid % FOLLOW_BUCKETS];
}

struct follow *follow_find(struct follows *fs, const struct pmc *p, pid_t pid)
{
	struct follow *f;

	LIST_FOREACH(f, follows_of(fs, pid), in_bucket)
		if (f->pid == pid && f->pmc == p)
			return f;
	return NULL;
}

void follow_free(struct follow *f)
{
	if (f->detached)
		f->table->detached(f);
	LIST_REMOVE(f, in_bucket);
	LIST_REMOVE(f, of_pmc);
	if (f->ended)
		TAILQ_REMOVE(&f->table->ended, f, in_ended);
	free(f);
}

struct follow *follow_make(struct follows *fs, struct pmc *p, pid_t pid, uint64_t since)
{
	struct follow *f = follow_find(fs, p, pid);

	if (f && !f->ended)
		return f;
	if (f)
		follow_free(f);
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->table = fs;
	f->pmc = p;
	f->pid = pid;
	f->since = since;
	f->until = UINT64_MAX;
	LIST_INSERT_HEAD(follows_of(fs, pid), f, in_bucket);
	LIST_INSERT_HEAD(&p->follows, f, of_pmc);
	return f;
}

void follow_end(struct follows *fs, struct follow *f, uint64_t time)
{
	if (f->ended)
		return;
	f->ended = time;
	TAILQ_INSERT_TAIL(&fs->ended, f, in_ended);
}

void follows_sweep(struct follows *fs, uint64_t written)
{
	struct follow *f;

	while ((f = TAILQ_FIRST(&fs->ended)) && f->ended < written)
		follow_free(f);
}

void follows_born(struct follows *fs, pid_t pid, uint64_t time)
{
	struct follow *f, *next;

	for (f = LIST_FIRST(follows_of(fs, pid)); f; f = next) {
		next = LIST_NEXT(f, in_bucket);
		if (f->pid == pid && f->since < time)
			follow_free(f);
	}
}
