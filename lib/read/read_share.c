/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of the table of pages and events: made, published, retired, used again. */
#include <sys/mman.h>

#include "read_share.h"

/* A signal handler may call this, so it does not use malloc(3). */
static struct read_version *version_new(struct read_shared *s)
{
	struct read_version *v = s->spare;

	if (v) {
		s->spare = v->older;
		return v;
	}
	v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return v == MAP_FAILED ? NULL : v;
}

static void version_retire(struct read_shared *s, struct read_version *v)
{
	v->older = s->spare;
	s->spare = v;
}

struct read_table *read_share_change(struct read_shared *s)
{
	struct read_version *v = version_new(s);

	if (!v)
		return NULL;
	v->table = s->current->table;
	return &v->table;
}

void read_share_publish(struct read_shared *s, struct read_table *table)
{
	struct read_version *v = (struct read_version *)table, *last = s->current;

	v->newer = NULL;
	v->older = last;
	last->newer = v;
	__atomic_store_n(&s->current, v, __ATOMIC_SEQ_CST);
	read_share_reclaim(s);
}

/*
 * A version shares mappings and descriptors with its neighbours unless a change replaced them, and
 * nothing comes back once it was replaced: those that neither neighbour has are unused.
 */
void read_share_reclaim(struct read_shared *s)
{
	struct read_version *v = s->current->older;

	while (v) {
		struct read_version *older = v->older;

		if (__atomic_load_n(&v->readers, __ATOMIC_SEQ_CST) == 0) {
			read_table_drop(&v->table, older ? &older->table : NULL, &v->newer->table);
			v->newer->older = older;
			if (older)
				older->newer = v->newer;
			version_retire(s, v);
		}
		v = older;
	}
}

void read_share_reset(struct read_shared *s)
{
	static const struct read_table empty;
	struct read_version *v, *older;

	for (v = s->current; v; v = older) {
		older = v->older;
		read_table_drop(&v->table, older ? &older->table : NULL, NULL);
		v->table = empty;
		v->readers = 0;
		if (v != s->current)
			version_retire(s, v);
		else
			v->older = v->newer = NULL;
	}
}
