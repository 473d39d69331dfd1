/* SPDX-License-Identifier: BSD-2-Clause */
/* See late_sample.h. */
#include <stdlib.h>
#include <string.h>

#include "late_sample.h"
#include "pmc.h"

struct kept_stack {
	struct abi_rec rec;		/* kind 0: none is kept */
	uint64_t data[STACK_WALK_WORDS];
};

struct late_samples {
	unsigned int ncpu;
	struct kept_stack *cpu[];	/* NULL: none yet */
};

struct late_samples *late_samples_new(unsigned int ncpu)
{
	struct late_samples *l = calloc(1, sizeof(*l) + ncpu * sizeof(l->cpu[0]));

	if (l)
		l->ncpu = ncpu;
	return l;
}

void late_samples_free(struct late_samples *l)
{
	for (unsigned int cpu = 0; l && cpu < l->ncpu; cpu++)
		free(l->cpu[cpu]);
	free(l);
}

bool late_samples_keep(struct late_samples *l, const struct abi_rec *rec, const uint64_t *data)
{
	struct kept_stack **k = rec->cpu < l->ncpu ? &l->cpu[rec->cpu] : NULL;

	if (rec->kind != ABI_REC_STACK)
		return false;
	if (!k || !stack_walk_check((const struct abi_stack *)data, rec->n))
		return true;
	if (!*k)
		*k = malloc(sizeof(**k));
	if (!*k)
		return true;
	(*k)->rec = *rec;
	memcpy((*k)->data, data, rec->n * sizeof(*data));
	return true;
}

static struct kept_stack *stack_of(struct late_samples *l, const struct abi_rec *rec)
{
	struct kept_stack *k = rec->cpu < l->ncpu ? l->cpu[rec->cpu] : NULL;

	if (rec->kind != ABI_REC_SAMPLE || rec->end != UNWIND_CUT_TABLE || !k ||
	    k->rec.kind != ABI_REC_STACK || k->rec.pmc != rec->pmc || k->rec.tid != rec->tid ||
	    k->rec.time != rec->time)
		return NULL;
	k->rec.kind = 0;
	return k;
}

struct late_sample *late_sample_new(struct late_samples *l, const struct unwinder *u,
				    struct pmc *p, const struct abi_rec *rec, const uint64_t *data)
{
	const struct kept_stack *k = stack_of(l, rec);
	struct user *user = p->owner->user;
	struct late_sample *s;
	struct reason unused;
	unsigned int kb;

	if (!k || rec->n > STACK_WALK_CHAIN)
		return NULL;
	kb = (unsigned int)((sizeof(*s) + k->rec.n * sizeof(*data)) / 1024 + 1);
	if (user_take(user->table, user, POOL_LATE, kb, &unused))
		return NULL;
	s = malloc(sizeof(*s) + k->rec.n * sizeof(*data));
	if (!s) {
		user_give(user->table, user, POOL_LATE, kb);
		return NULL;
	}
	memset(s, 0, offsetof(struct late_sample, pc));
	s->pmc = p;
	s->u = u;
	s->until = clock_ns() + LATE_NS;
	s->turns = unwinder_turns(u);
	s->kb = kb;
	s->rec = *rec;
	memcpy(s->pc, data, rec->n * sizeof(*data));
	memcpy(s->stack, k->data, k->rec.n * sizeof(*data));
	return s;
}

void late_sample_free(struct late_sample *s)
{
	struct user *user = s->pmc->owner->user;

	user_give(user->table, user, POOL_LATE, s->kb);
	free(s);
}

/* Is there a reason to wait for the file's table? */
static bool table_comes(const struct late_sample *s, uint32_t file)
{
	return unwinder_builds(s->u, file) && clock_ns() < s->until &&
	       (unwinder_state(s->u, file) == UNWIND_FILE_ASKED ||
		unwinder_turns(s->u) == s->turns);
}

bool late_sample_complete(struct late_sample *s, bool now)
{
	struct stack_walk w = { .s = (struct abi_stack *)s->stack, .to = s->pc, .n = s->rec.n };
	bool done;

	if (!now && table_comes(s, w.s->file))
		return false;
	done = stack_walk_go(s->u, &w);
	s->rec.n = (uint16_t)w.n;
	s->rec.end = (uint8_t)w.end;
	s->rec.pointers |= w.pointers;
	return done || now || !table_comes(s, w.s->file);
}
