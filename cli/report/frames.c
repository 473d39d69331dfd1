/* SPDX-License-Identifier: BSD-2-Clause */
/* See frames.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/base/json.h"
#include "frames.h"
#include "pairs.h"

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */

uint32_t event_first(const struct profile *p, uint32_t event)
{
	return walk_event(p->walk, event)->first;
}

uint64_t event_total(const struct profile *p, uint32_t first)
{
	uint64_t samples = 0;

	if (event_first(p, first) != first)
		return 0;
	for (uint32_t event = first; event < p->nevents; event++)
		if (event_first(p, event) == first)
			samples += p->event_samples[event];
	return samples;
}

size_t event_count(const struct profile *p)
{
	size_t n = 0;

	for (uint32_t event = 0; event < p->nevents; event++)
		n += event_total(p, event) > 0;
	return n;
}

/* Innermost first, as stacks are. */
static int chain_add(struct chain *chain, const struct profile *p, const struct place *place)
{
	size_t n;
	const struct frame *frames = symbols_frames(p->symbols, place, &n);

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct link *links = grow(chain->links, &chain->room, chain->n + 1, sizeof(*links));

		if (!links)
			return -ENOMEM;
		chain->links = links;
		links[chain->n++] = (struct link){ &frames[i], place };
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

/* Maps of JIT code that programs write: perf-PID.map. */
static bool image_is_jit(const char *name)
{
	size_t digits;

	if (strncmp(name, "perf-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits > 0 && strcmp(name + 5 + digits, ".map") == 0;
}

enum kind symbol_kind(const struct symbol *symbol)
{
	if (symbol->inlined)
		return KIND_INLINED;
	if (!symbol->image)
		return symbol->start >> 63 ? KIND_KERNEL : KIND_USER;
	if (symbol->image->kernel)
		return KIND_KERNEL;
	return image_is_jit(symbol->image->name) ? KIND_JIT : KIND_USER;
}

void symbol_label(struct buf *out, const struct symbol *symbol)
{
	const char *object = symbol->image ? symbol->image->name : "[unknown]";
	char room[24];

	if (!symbol->name)
		buf_printf(out, *object == '[' ? "%s " : "[%s] ", object);
	buf_printf(out, "%s", symbol_text(symbol, room));
}

void put_plain(struct buf *out, const char *text, const char *avoid, char instead)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t len = utf8_length(s);

		if (len == 0 || (len == 3 && memcmp(s, "\xef\xbf", 2) == 0 && s[2] >= 0xbe))
			buf_add(out, REPLACEMENT, sizeof(REPLACEMENT) - 1);
		else if (*s < ' ' || *s == 0x7f || (len == 1 && strchr(avoid, *s)))
			buf_add(out, &instead, 1);
		else
			buf_add(out, (const char *)s, len);
		s += len ? len : 1;
	}
}

bool report_is_partial(const struct report *r)
{
	const struct walk_stats *stats = walk_stats(r->profile->walk);

	return stats->cut || stats->drops > 0;
}

const char *image_state_name(enum image_state state)
{
	static const char *const names[] = {
		[IMAGE_UNOPENED] = "unopened", [IMAGE_OPEN] = "open",
		[IMAGE_STRIPPED] = "stripped", [IMAGE_MISSING] = "missing",
		[IMAGE_REPLACED] = "replaced", [IMAGE_BAD] = "bad",
	};

	return names[state];
}

const char *image_id_text(const struct image *image, char room[static IMAGE_ID_TEXT])
{
	return image->idlen ? hex_text(image->id, image->idlen, room) : NULL;
}
