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

/* A copy of so many bytes, with room for more; the PMC's user is charged.  NULL: no memory. */
static void *late_copy(struct late_sample *s, const void *from, size_t bytes, size_t room)
{
	struct user *user = s->pmc->owner->user;
	const unsigned int kb = (unsigned int)((bytes + room) / 1024 + 1);
	struct reason unused;
	void *copy;

	if (user_take(user->table, user, POOL_LATE, kb, &unused))
		return NULL;
	s->kb += kb;
	copy = malloc(bytes + room);
	if (copy)
		memcpy(copy, from, bytes);
	return copy;
}

/* The stack pointer of the address i, of which the record has room for STACK_WALK_CHAIN. */
static uint64_t *pointer_at(struct abi_python *p, unsigned int i)
{
	return (uint64_t *)((struct python_frame *)(p + 1) + p->frames) + (i - p->first);
}

int late_sample_keep(struct late_sample *s, const struct abi_python *python,
		     const struct pmclog_ev *waker)
{
	if (python && python->pointers) {
		s->python = late_copy(s, python, sizeof(*python) + python->frames *
				      sizeof(struct python_frame) + python->pointers * 8,
				      STACK_WALK_CHAIN * 8);
		if (!s->python)
			return -ENOMEM;
	}
	if (waker)
		s->waker = late_copy(s, waker, sizeof(*waker), 0);
	return waker && !s->waker ? -ENOMEM : 0;
}

void late_sample_free(struct late_sample *s)
{
	struct user *user = s->pmc->owner->user;

	user_give(user->table, user, POOL_LATE, s->kb);
	s->pmc->nlate--;
	free(s->python);
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
		.sp = s->python ? pointer_at(s->python, s->rec.n - s->head - 1) : NULL,
		.n = s->rec.n - s->head,
	};
	bool done;

	if (!now && table_comes(s, w.s->file))
		return false;
	done = stack_walk_go(s->u, &w);
	if (s->python)
		s->python->pointers = w.n - s->python->first;
	s->rec.n = (uint16_t)(s->head + w.n);
	s->rec.end = (uint8_t)w.end;
	s->rec.pointers |= w.pointers;
	return done || now || !table_comes(s, w.s->file);
}
