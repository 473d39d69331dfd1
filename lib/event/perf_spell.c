/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See perf_spell.h.  A specifier is a name, perf's modifiers behind the last ":" or "/" of the
 * name, and qualifiers behind the comma after that: "r11:uk,os" is "cpu/config=0x11/,usr,os,os".
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/generic.h"
#include "perf_spell.h"
#include "probe_name.h"

struct spelling {
	const char *name, *mods, *quals;	/* mods: "" without any; quals with their comma */
	int namelen, modslen;
};

/* Modifiers without a qualifier, and the reason for it. */
static const struct {
	char letter;
	const char *reason;
} declined[] = {
	{ 'h', "counts have a side of user code (usr) and of the kernel (os), none of a "
	       "hypervisor" },
	{ 'G', "guests are processes here: count the process that runs the guest" },
	{ 'H', "the host's and its guests' events are not separated" },
	{ 'I', "a process is never idle, and counts of a CPU contain its idle time" },
	{ 'D', "every PMC keeps its counter as long as it is allocated: leave it out" },
	{ 'S', "samples have no values of other PMCs: count them beside the samples" },
	{ 'W', "nothing takes turns on a counter, so that no group has to be split: leave it out" },
	{ 'e', "one user's PMC never takes all counters of a PMU from the others" },
	{ 'b', "every PMC of a process is counted by a BPF program: leave it out" },
	{ 'R', "samples have no weights of retired instructions" },
};

/* PMU/terms/: the length with the second slash, or 0. */
static size_t spelling_pmu(const char *text)
{
	const char *slash = strchr(text, '/'), *end;

	if (!slash || slash == text || slash > text + strcspn(text, ","))
		return 0;
	end = strchr(slash + 1, '/');
	return end ? (size_t)(end + 1 - text) : 0;
}

/* Letters behind neither sign are the end of a name. */
static struct spelling spelling_split(const char *text)
{
	size_t pmu = spelling_pmu(text), all = pmu + strcspn(text + pmu, ","), at = all;
	struct spelling s = { .name = text, .namelen = (int)all, .mods = "", .quals = text + all };

	while (at > pmu && strchr(PERF_MODIFIERS, text[at - 1]))
		at--;
	if (at == all || (pmu ? at != pmu : at < 2 || text[at - 1] != ':'))
		return s;
	s.mods = text + at;
	s.modslen = (int)(all - at);
	s.namelen = (int)(pmu ? at : at - 1);
	return s;
}

static bool spelling_is_raw(const struct spelling *s)
{
	int digits = s->namelen - 1;

	if (*s->name != 'r' || digits < 1 || digits > 16)
		return false;
	for (int i = 1; i <= digits; i++)
		if (!isxdigit((unsigned char)s->name[i]))
			return false;
	return true;
}

static bool spelling_is_cache(const char *text)
{
	return !strncasecmp(text, "cache:", strlen("cache:"));
}

bool perf_spell_certain(const char *text)
{
	struct spelling s = spelling_split(text);

	return spelling_is_cache(text) || (s.modslen && s.name[s.namelen - 1] == '/');
}

static bool spelling_add(char out[EVSPEC_MAX + 1], const char *format, ...)
{
	size_t used = strlen(out);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out + used, EVSPEC_MAX + 1 - used, format, args);
	va_end(args);
	return n >= 0 && (size_t)n <= EVSPEC_MAX - used;
}

/* --- rHEX ------------------------------------------------------------------------------------ */

static int raw_deny_kinds(const struct spelling *s, const char *pmu, struct reason *why)
{
	return deny(why, -EINVAL, "\"%.*s\": this machine has several kinds of CPUs, each with "
		    "numbers of its own: write %s/config=0x%.*s/, or another PMU's name",
		    s->namelen, s->name, pmu, s->namelen - 1, s->name + 1);
}

static int raw_spell(const struct machine *m, const struct spelling *s, char out[EVSPEC_MAX + 1],
		     struct reason *why)
{
	const char *pmu = NULL;

	for (unsigned int i = 0; i < m->cpu.nclass; i++) {
		if (!machine_class_is_hardware(&m->cpu.classes[i]))
			continue;
		if (pmu)
			return raw_deny_kinds(s, pmu, why);
		pmu = m->cpu.classes[i].pmu;
	}
	if (!pmu)
		return deny(why, -EINVAL, "\"%.*s\" is a number of the core's PMU, and here are no "
			    "hardware counters (\"pmccontrol --doctor\" says why)", s->namelen,
			    s->name);
	return !spelling_add(out, "%s/config=0x%.*s/", pmu, s->namelen - 1, s->name + 1);
}

/* --- cache:ID.OP.RESULT ---------------------------------------------------------------------- */

static const char *const caches[] = { "L1D", "L1I", "LL", "DTLB", "ITLB", "BPU", "NODE", NULL };
static const char *const ops[] = { "READ", "WRITE", "PREFETCH", NULL };
static const char *const results[] = { "ACCESS", "MISS", NULL };

/* The position of the word at *text, which ends at a dot or at `end`; -1: none of them. */
static int cache_word(const char **text, const char *end, const char *const *words)
{
	const char *start = *text;
	size_t n = 0;

	while (start + n < end && start[n] != '.')
		n++;
	*text = start + n + (start + n < end);
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == n && !strncasecmp(words[i], start, n))
			return i;
	return -1;
}

static int cache_spell(const struct spelling *s, char out[EVSPEC_MAX + 1], struct reason *why)
{
	const char *text = s->name + strlen("cache:"), *end = s->name + s->namelen;
	int cache = cache_word(&text, end, caches), op = cache_word(&text, end, ops);
	int result = cache_word(&text, end, results);

	if (cache < 0 || op < 0 || result < 0 || text != end || end[-1] == '.')
		return deny(why, -EINVAL, "\"%.*s\": write cache:ID.OP.RESULT with one of L1D, "
			    "L1I, LL, DTLB, ITLB, BPU, NODE, one of READ, WRITE, PREFETCH, and "
			    "ACCESS or MISS", s->namelen, s->name);
	return !spelling_add(out, "%s",
			     generic_by_code(generic_cache_code(cache, op, result))->name);
}

/* --- modifiers ------------------------------------------------------------------------------- */

static int modifier_deny(const struct spelling *s, char letter, struct reason *why)
{
	for (size_t i = 0; i < sizeof(declined) / sizeof(declined[0]); i++)
		if (declined[i].letter == letter)
			return deny(why, -EINVAL, "\"%.*s:%.*s\": perf's modifier %c has no "
				    "meaning here: %s; pmc.perf(3)", s->namelen, s->name,
				    s->modslen, s->mods, letter, declined[i].reason);
	return deny(why, -EINVAL, "no modifier %c", letter);
}

/* p counts: "ppp" is precise=3, and P asks for as much as there is. */
static int modifiers_spell(const struct spelling *s, char out[EVSPEC_MAX + 1], struct reason *why)
{
	bool user = memchr(s->mods, 'u', s->modslen), kernel = memchr(s->mods, 'k', s->modslen);
	int precise = 0;
	bool room;

	for (int i = 0; i < s->modslen; i++) {
		char letter = s->mods[i];

		if (letter == 'p' || letter == 'P')
			precise += letter == 'p' ? 1 : 3;
		else if (letter != 'u' && letter != 'k')
			return modifier_deny(s, letter, why);
	}
	if (precise > 3)
		return deny(why, -EINVAL, "\"%.*s:%.*s\": perf has p, pp, ppp and P, no more",
			    s->namelen, s->name, s->modslen, s->mods);
	room = spelling_add(out, "%s%s", user ? ",usr" : "", kernel ? ",os" : "");
	return !(room && (!precise || spelling_add(out, ",precise=%d", precise)));
}

/* --------------------------------------------------------------------------------------------- */

int perf_spell(const struct machine *m, const char *text, char out[EVSPEC_MAX + 1],
	       struct reason *why)
{
	struct spelling s = spelling_split(text);
	bool cache = spelling_is_cache(text), raw = spelling_is_raw(&s);
	int err;

	*out = '\0';
	if (probe_name_is(text))	/* a function may be called u */
		return 0;
	if (!cache && !raw && !s.modslen)
		return 0;
	if (cache)
		err = cache_spell(&s, out, why);
	else if (raw)
		err = raw_spell(m, &s, out, why);
	else
		err = !spelling_add(out, "%.*s", s.namelen, s.name);
	if (!err)
		err = modifiers_spell(&s, out, why);
	if (!err)
		err = !spelling_add(out, "%s", s.quals);
	if (err > 0)
		return deny(why, -EINVAL, "an event specifier has at most %u characters",
			    EVSPEC_MAX);
	return err ? err : 1;
}
