/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of the live view: see keys.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keys.h"

#define ESCAPE	  '\033'
#define BACKSPACE '\b'
#define DELETE	  '\177'

static const char *const kinds[VIEW_KINDS] = { "callers", "call tree", "processes", "threads" };

static void keys_answer(struct keys *k, const char *key, const char *text)
{
	snprintf(k->echo, sizeof(k->echo), "Key: %s => %s", key, text);
}

static void press_sum(struct keys *k, const struct profile *profile)
{
	k->first = 'c';
	keys_answer(k, "c", "a: add up, d: each period for itself");
}

static void press_merge(struct keys *k, const struct profile *profile)
{
	const struct walk_event *e = walk_event(profile->walk, k->look.event);

	k->look.apart = !k->look.apart;
	if (e && !k->look.apart)
		k->look.event = e->first;
	keys_answer(k, "m", k->look.apart ? "each PMC for itself" : "PMCs of one event together");
}

static void press_view(struct keys *k, const struct profile *profile)
{
	k->look.kind = (k->look.kind + 1) % VIEW_KINDS;
	keys_answer(k, "n", kinds[k->look.kind]);
}

static void press_pmc(struct keys *k, const struct profile *profile)
{
	const struct walk_event *e;

	do {
		k->look.event++;
		if (!walk_event(profile->walk, k->look.event))
			k->look.event = 0;
	} while (k->look.event && !view_has(profile, &k->look, k->look.event));
	e = walk_event(profile->walk, k->look.event);
	keys_answer(k, "p", !e ? "no PMC yet" : k->look.apart ? e->unique : e->name);
}

static void press_pause(struct keys *k, const struct profile *profile)
{
	k->paused = !k->paused;
	keys_answer(k, "space", k->paused ? "paused" : "goes on");
}

static void press_links(struct keys *k, const struct profile *profile)
{
	k->look.skip_links = !k->look.skip_links;
	keys_answer(k, "f", k->look.skip_links ? "small links are dots" : "all links have names");
}

static void press_total(struct keys *k, const struct profile *profile)
{
	k->look.total = !k->look.total;
	keys_answer(k, "s", k->look.total ? "functions with all they call" :
					    "functions by themselves");
}

static void press_addresses(struct keys *k, const struct profile *profile)
{
	k->look.addresses = !k->look.addresses;
	keys_answer(k, "A", k->look.addresses ? "addresses" : "names");
}

static void press_offsets(struct keys *k, const struct profile *profile)
{
	k->look.offsets = !k->look.offsets;
	keys_answer(k, "I", k->look.offsets ? "offsets in functions" : "whole functions");
}

static void press_only(struct keys *k, const struct profile *profile)
{
	k->first = '/';
	k->only[0] = '\0';
	keys_answer(k, "/", "_");
}

static void press_help(struct keys *k, const struct profile *profile)
{
	k->help = true;
}

static void press_quit(struct keys *k, const struct profile *profile)
{
	k->quit = true;
}

static const struct binding {
	char key;
	void (*press)(struct keys *k, const struct profile *profile);
	const char *help;
} bindings[] = {
	{ 'q', press_quit, "q      quit" },
	{ '?', press_help, "? h    this page" },
	{ 'h', press_help, NULL },
	{ 'n', press_view, "n      next view: callers, call tree, processes, threads" },
	{ 'c', press_sum, "c a    samples add up from now on" },
	{ 0, NULL, "c d    samples of each period for itself" },
	{ 'p', press_pmc, "p      next PMC" },
	{ 'm', press_merge, "m      PMCs of one event together, or each for itself" },
	{ 's', press_total, "s      a function by itself, or with all that it calls" },
	{ 'f', press_links, "f      call tree: dots for functions that only pass calls on" },
	{ '/', press_only, "/TEXT  only rows with this text, until the next /" },
	{ 'A', press_addresses, "A      addresses, or names" },
	{ 'I', press_offsets, "I      offsets in functions, or whole functions" },
	{ ' ', press_pause, "space  pause, or go on" },
};
#define NBINDINGS (sizeof(bindings) / sizeof(bindings[0]))

static void keys_second(struct keys *k, char key)
{
	k->first = 0;
	if (key != 'a' && key != 'd') {
		keys_answer(k, "c", "nothing: a or d must follow");
		return;
	}
	k->sums = key == 'a';
	keys_answer(k, "c", k->sums ? "samples add up" : "each period for itself");
}

static void keys_filter(struct keys *k, char key)
{
	size_t len = strlen(k->only);

	if (key == '\r' || key == '\n' || key == ESCAPE) {
		k->first = 0;
		if (key == ESCAPE)
			k->only[0] = '\0';
	} else if (key == BACKSPACE || key == DELETE) {
		if (len)
			k->only[len - 1] = '\0';
	} else if (len + 1 < sizeof(k->only) && (unsigned char)key >= ' ') {
		k->only[len] = key;
		k->only[len + 1] = '\0';
	}
	snprintf(k->echo, sizeof(k->echo), "Key: / => %s%s", k->only, k->first ? "_" : "");
}

void keys_begin(struct keys *k)
{
	k->look.only = k->only;
}

void keys_press(struct keys *k, const struct profile *profile, char key)
{
	char name[2] = { key };

	if (k->help) {
		k->help = false;
		return;
	}
	if (k->first) {
		if (k->first == 'c')
			keys_second(k, key);
		else
			keys_filter(k, key);
		return;
	}
	for (size_t i = 0; i < NBINDINGS; i++) {
		if (bindings[i].press && bindings[i].key == key) {
			bindings[i].press(k, profile);
			return;
		}
	}
	keys_answer(k, name, "nothing; ? shows the keys");
}

/* The length of an escape sequence at the beginning of the text; 0: there is none. */
static size_t keys_skip_sequence(const char *text, size_t len)
{
	size_t n = 2;

	if (len < 3 || text[0] != ESCAPE || (text[1] != '[' && text[1] != 'O'))
		return 0;
	while (n < len && text[n] < '@')
		n++;
	return n < len ? n + 1 : len;
}

void keys_type(struct keys *k, const struct profile *profile, const char *text, size_t len)
{
	while (len > 0) {
		size_t n = keys_skip_sequence(text, len);

		if (!n) {
			keys_press(k, profile, *text);
			n = 1;
		}
		text += n;
		len -= n;
	}
}

void keys_help(struct picture *p)
{
	for (size_t i = 0; i < NBINDINGS; i++) {
		if (!bindings[i].help)
			continue;
		picture_text(p, bindings[i].help);
		if (!picture_line(p))
			return;
	}
}
