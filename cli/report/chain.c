/* SPDX-License-Identifier: BSD-2-Clause */
/* See chain.h. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "chain.h"

/* Innermost first, as stacks are. */
static int chain_add(struct chain *chain, const struct profile *p, const struct place *place)
{
	size_t n;
	const struct frame *frames = symbols_frames(p->symbols, place, &n);

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (array_reserve(chain->links, chain->room, chain->n + 1) != 0)
			return -ENOMEM;
		chain->links[chain->n++] = (struct link){ &frames[i], place };
	}
	return 0;
}

int chain_fill(struct chain *chain, const struct profile *p, uint32_t stack)
{
	chain->n = 0;
	for (; stack != STACK_NONE; stack = p->stacks[stack].caller) {
		int err = chain_add(chain, p, &p->places[p->stacks[stack].place]);

		if (err < 0)
			return err;
	}
	for (size_t i = 0; i < chain->n / 2; i++) {
		struct link link = chain->links[i];

		chain->links[i] = chain->links[chain->n - 1 - i];
		chain->links[chain->n - 1 - i] = link;
	}
	return 0;
}

void chain_free(struct chain *chain)
{
	free(chain->links);
	*chain = (struct chain){ 0 };
}
