/* SPDX-License-Identifier: BSD-2-Clause */
/* See frames.h. */
#include <string.h>

#include "lib/base/utf8.h"
#include "frames.h"

#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */

/* Maps of JIT code that programs write: perf-PID.map, jit-PID.dump. */
static bool image_is_jit(const char *name)
{
	size_t digits;

	if (symbols_is_jitdump(name))
		return true;
	if (strncmp(name, "perf-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits > 0 && strcmp(name + 5 + digits, ".map") == 0;
}

enum kind frame_kind(const struct symbol *symbol)
{
	if (symbol->inlined)
		return KIND_INLINED;
	if (symbol_is_cut(symbol))
		return KIND_CUT;
	if (!symbol->image)
		return symbol->start >> 63 ? KIND_KERNEL : KIND_USER;
	if (symbol->image->kernel)
		return KIND_KERNEL;
	return image_is_jit(symbol->image->name) ? KIND_JIT : KIND_USER;
}

void frame_label(struct buf *out, const struct symbol *symbol)
{
	const char *object = symbol->image ? symbol->image->name : "[unknown]";
	char room[24];

	if (!symbol->name)
		buf_printf(out, *object == '[' ? "%s " : "[%s] ", object);
	buf_printf(out, "%s", symbol_text(symbol, room));
}

void report_put_plain(struct buf *out, const char *text, const char *avoid, char instead)
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

void report_put_ends(struct json *json, const struct chains *c)
{
	json_number(json, "chains_cut", c->cut);
	json_number(json, "chains_ended", c->ended);
	json_number(json, "chains_whole", c->whole);
	json_number(json, "chains_pointers", c->pointers);
	json_open(json, "cuts", '{');
	for (uint32_t i = chains_next(c, CHAIN_ENDS); i != CHAIN_ENDS; i = chains_next(c, i))
		json_number(json, chain_end_cut_key(i), c->cuts[i]);
	json_close(json, '}');
}

const char *report_image_state(enum image_state state)
{
	static const char *const names[] = {
		[IMAGE_UNOPENED] = "unopened", [IMAGE_OPEN] = "open",
		[IMAGE_STRIPPED] = "stripped", [IMAGE_MISSING] = "missing",
		[IMAGE_REPLACED] = "replaced", [IMAGE_BAD] = "bad",
	};

	return names[state];
}

const char *report_image_id(const struct image *image, char room[static IMAGE_ID_TEXT])
{
	return image->idlen ? buf_hex(image->id, image->idlen, room) : NULL;
}
