/* SPDX-License-Identifier: BSD-2-Clause */
/* An append-only table of names with a hash beside it; entries never move or go. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "lib/base/sigdefer.h"

#include <sys/pmc.h>

#define CHUNK	256u
#define CHUNKS	((PMC_EV_PMU_LAST - PMC_EV_PMU_FIRST + 1u) / CHUNK)
#define BUCKETS 1024u

struct intern_entry {
	const char *name;
	uint32_t next;		/* index + 1 in the same bucket; 0: none */
};

static struct {
	pthread_mutex_t lock;
	struct intern_entry *chunk[CHUNKS];
	uint32_t bucket[BUCKETS];	/* index + 1 */
	uint32_t count;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct intern_entry *intern_at(uint32_t index)
{
	return &table.chunk[index / CHUNK][index % CHUNK];
}

static uint32_t intern_hash(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h % BUCKETS;
}

/* Caller holds the lock.  Index of a new entry, or -1. */
static int64_t intern_append(const char *name, uint32_t bucket)
{
	uint32_t index = table.count;
	struct intern_entry **chunk = &table.chunk[index / CHUNK];
	char *copy;

	if (index >= CHUNKS * CHUNK)
		return -1;
	if (!*chunk)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	copy = *chunk ? strdup(name) : NULL;
	if (!copy)
		return -1;
	*intern_at(index) = (struct intern_entry){ .name = copy, .next = table.bucket[bucket] };
	table.bucket[bucket] = index + 1;
	table.count++;
	return index;
}

uint32_t intern_event(const char *name, const char **text)
{
	uint32_t bucket = intern_hash(name), i;
	int64_t index = -1;

	sigdefer_begin();
	pthread_mutex_lock(&table.lock);
	for (i = table.bucket[bucket]; i && index < 0; i = intern_at(i - 1)->next)
		if (strcmp(intern_at(i - 1)->name, name) == 0)
			index = i - 1;
	if (index < 0)
		index = intern_append(name, bucket);
	if (index >= 0 && text)
		*text = intern_at(index)->name;
	pthread_mutex_unlock(&table.lock);
	sigdefer_end();
	return index < 0 ? 0 : PMC_EV_PMU_FIRST + (uint32_t)index;
}

const char *intern_name(uint32_t event)
{
	const char *name = NULL;

	sigdefer_begin();
	pthread_mutex_lock(&table.lock);
	if (event >= PMC_EV_PMU_FIRST && event - PMC_EV_PMU_FIRST < table.count)
		name = intern_at(event - PMC_EV_PMU_FIRST)->name;
	pthread_mutex_unlock(&table.lock);
	sigdefer_end();
	return name;
}
