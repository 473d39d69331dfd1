/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges by address: see spans.h. */
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "spans.h"

int spans_add(struct spans *s, struct span span)
{

	if (span.start >= span.end)
		return 0;
	if (array_reserve(s->span, s->room, s->n + 1) != 0)
		return -ENOMEM;
	s->span[s->n++] = span;
	return 0;
}

static int span_order(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* A heap of the ranges that have begun, the highest rank first; ended ones are dropped lazily. */
struct live {
	const struct span **heap;
	size_t n;
};

static void live_add(struct live *l, const struct span *span)
{
	size_t i = l->n++;

	for (; i > 0 && l->heap[(i - 1) / 2]->rank < span->rank; i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = span;
}

static void live_drop(struct live *l)
{
	const struct span *last = l->heap[--l->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < l->n; i = child) {
		if (child + 1 < l->n && l->heap[child + 1]->rank > l->heap[child]->rank)
			child++;
		if (l->heap[child]->rank <= last->rank)
			break;
		l->heap[i] = l->heap[child];
	}
	l->heap[i] = last;
}

static int spans_emit(struct spans *to, const struct span *span, uint64_t start, uint64_t end)
{
	struct span *last = to->n ? &to->span[to->n - 1] : NULL;

	if (last && last->end == start && last->item == span->item && last->rank == span->rank) {
		last->end = end;
		return 0;
	}
	return spans_add(to, (struct span){ start, end, span->rank, span->item });
}

/* From `at` to where the next range begins. */
static int live_emit(struct spans *to, struct live *l, uint64_t at, uint64_t next)
{
	int err = 0;

	while (!err && l->n && at < next) {
		const struct span *top = l->heap[0];
		uint64_t end = top->end < next ? top->end : next;

		if (end > at) {
			err = spans_emit(to, top, at, end);
			at = end;
		}
		if (top->end <= at)
			live_drop(l);
	}
	return err;
}

static bool spans_in_order(const struct spans *s)
{
	for (size_t i = 1; i < s->n; i++)
		if (span_order(&s->span[i - 1], &s->span[i]) > 0)
			return false;
	return true;
}

int spans_sort(struct spans *s)
{
	struct spans apart = { 0 };
	struct live live = { .heap = calloc(s->n + 1, sizeof(*live.heap)) };
	int err = live.heap ? 0 : -ENOMEM;

	if (!spans_in_order(s))
		qsort(s->span, s->n, sizeof(*s->span), span_order);
	for (size_t i = 0; !err && i < s->n; i++) {
		live_add(&live, &s->span[i]);
		err = live_emit(&apart, &live, s->span[i].start,
				i + 1 < s->n ? s->span[i + 1].start : UINT64_MAX);
	}
	free(live.heap);
	if (err) {
		spans_free(&apart);
		return err;
	}
	spans_free(s);
	*s = apart;
	return 0;
}

const struct span *spans_find(const struct spans *s, uint64_t address)
{
	size_t i = array_upto(s->span, s->n, end, address);

	return i < s->n && address >= s->span[i].start ? &s->span[i] : NULL;
}

void spans_free(struct spans *s)
{
	free(s->span);
	*s = (struct spans){ 0 };
}
