/* SPDX-License-Identifier: BSD-2-Clause */
/* See late_sample.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmclog.h>

#include "late_sample.h"
#include "pmc.h"

/* The copy that the sample's walk goes on in; NULL: it has none. */
static const uint64_t *stack_of(struct kept_records *kept, const struct abi_rec *rec, size_t *words)
{
	const uint64_t *data = NULL;

	if (rec->end == UNWIND_CUT_TABLE)
		data = kept_record_take(kept, ABI_REC_STACK, rec, words);
	return data && stack_walk_check((const struct abi_stack *)data, *words) ? data : NULL;
}

struct late_sample *late_sample_new(struct kept_records *kept, const struct unwinder *u,
				    struct pmc *p, const struct abi_rec *rec, const uint64_t *data)
{
	unsigned int head = rec->kind == ABI_REC_OFFCPU ? ABI_OFFCPU_WORDS : 0;
	size_t words;
	const uint64_t *stack = stack_of(kept, rec, &words);
	struct user *user = p->owner->user;
	struct late_sample *s;
	struct reason unused;
	unsigned int kb;

	if (!stack || rec->n <= head || rec->n - head > STACK_WALK_CHAIN)
		return NULL;
	kb = (unsigned int)((sizeof(*s) + words * sizeof(*stack)) / 1024 + 1);
	if (user_take(user->table, user, POOL_LATE, kb, &unused))
		return NULL;
	s = malloc(sizeof(*s) + words * sizeof(*stack));
	if (!s) {
		user_give(user->table, user, POOL_LATE, kb);
		return NULL;
	}
	memset(s, 0, offsetof(struct late_sample, data));
	s->pmc = p;
	p->nlate++;
	s->u = u;
	s->until = clock_ns() + LATE_NS;
	s->turns = unwinder_turns(u);
	s->kb = kb;
	s->rec = *rec;
	s->head = head;
	memcpy(s->data, data, rec->n * sizeof(*data));
	memcpy(s->stack, stack, words * sizeof(*stack));
	return s;
}

int late_sample_keep(struct late_sample *s, const struct pmclog_ev *waker)
{
	struct user *user = s->pmc->owner->user;
	const unsigned int kb = sizeof(*waker) / 1024 + 1;
	struct reason unused;

	if (user_take(user->table, user, POOL_LATE, kb, &unused))
		return -ENOMEM;
	s->kb += kb;
	s->waker = malloc(sizeof(*waker));
	if (!s->waker)
		return -ENOMEM;
	memcpy(s->waker, waker, sizeof(*waker));
	return 0;
}

void late_sample_free(struct late_sample *s)
{
	struct user *user = s->pmc->owner->user;

	user_give(user->table, user, POOL_LATE, s->kb);
	s->pmc->nlate--;
	free(s->waker);
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
	struct stack_walk w = {
		.s = (struct abi_stack *)s->stack, .to = s->data + s->head,
		.n = s->rec.n - s->head,
	};
	bool done;

	if (!now && table_comes(s, w.s->file))
		return false;
	done = stack_walk_go(s->u, &w);
	s->rec.n = (uint16_t)(s->head + w.n);
	s->rec.end = (uint8_t)w.end;
	s->rec.pointers |= w.pointers;
	return done || now || !table_comes(s, w.s->file);
}
