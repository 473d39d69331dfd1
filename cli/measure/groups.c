/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of events, {a,b,c}.  Their columns are allocated one by one, as all are, and committed as
 * one; from then on the first column's PMC stands for all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/common/common.h"
#include "measure.h"

/* --- {a,b,c} ---------------------------------------------------------------------------------- */

struct event_group {
	struct event_group *next;
	struct event_list list;
	char text[];
};

/* The characters of a probe's kind with its colon: a path follows, and may have commas.  Or 0. */
static size_t member_probe(const char *text)
{
	static const char *const kinds[] = { "uprobe:", "uretprobe:", "usdt:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncasecmp(text, kinds[i], strlen(kinds[i])))
			return strlen(kinds[i]);
	return 0;
}

/* Behind a path there are so many colons. */
static bool member_has_place(const char *text, const char *end, unsigned int colons)
{
	while (colons && text < end)
		colons -= *text++ == ':';
	return !colons;
}

/*
 * In PMU/terms/, before the second slash, the comma separates terms; and before the last colon of a
 * probe's name it is the path's.
 */
static bool member_is_open(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len), *end = text + len;
	size_t probe = member_probe(text);

	if (probe)
		return !member_has_place(text + probe, end, probe == strlen("usdt:") ? 2 : 1);
	if (!slash || slash == text || memchr(text, ':', (size_t)(slash - text)))
		return false;
	return !memchr(slash + 1, '/', (size_t)(end - slash - 1));
}

/* The piece before the next comma is no event: "usr", "os", "filter=...", or the rest of terms. */
static bool piece_qualifies(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);

	if ((len == 3 && !memcmp(text, "usr", 3)) || (len == 2 && !memcmp(text, "os", 2)))
		return true;
	return memchr(text, '=', slash ? (size_t)(slash - text) : len);
}

size_t groups_member(const char *text, const char *ends)
{
	size_t len = strcspn(text, ends);

	while (text[len] == ',') {
		size_t piece = strcspn(text + len + 1, ends);

		if (!member_is_open(text, len) && !piece_qualifies(text + len + 1, piece))
			break;
		len += 1 + piece;
	}
	return len;
}

static int groups_deny(const char *arg, const char *what, const char *at)
{
	return fail(EX_USAGE, "ERROR: \"%s\": %s %s%s%s.", arg, what, *at ? "at \"" : "at the end",
		    at, *at ? "\"" : "");
}

/* :u and :k behind a group are qualifiers of each member. */
static int groups_find_sides(const char *arg, const char *mods, const char **sides)
{
	static const struct {
		const char *mods, *sides;
	} known[] = {
		{ "", "" }, { ":u", ",usr" }, { ":k", ",os" }, { ":uk", ",usr,os" },
		{ ":ku", ",usr,os" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(mods, known[i].mods)) {
			*sides = known[i].sides;
			return 0;
		}
	return groups_deny(arg, "behind a group there may be :u, :k or both, not this,", mods);
}

/* Splits `text`, a copy of what is between the braces of `arg`. */
static int groups_fill(const char *arg, struct event_group *g, const char *sides, size_t room)
{
	const char *from = arg + 1;
	char *out = g->text;

	for (;;) {
		size_t len = groups_member(from, ",}");
		bool last = from[len] == '}';

		if (!len)
			return groups_deny(arg, "an event is missing", from);
		if (g->list.n == PMC_GROUP_MAX_MEMBERS)
			return groups_deny(arg, "a group has at most 16 members, no more", from);
		g->list.member[g->list.n++] = out;
		out += snprintf(out, room - (size_t)(out - g->text), "%.*s%s", (int)len, from,
				sides) + 1;
		if (last)
			return 0;
		from += len + 1;
	}
}

int groups_split(struct measure *m, const char *arg, const struct event_list **list)
{
	const char *end = strchr(arg, '}'), *nested = *arg ? strchr(arg + 1, '{') : NULL;
	const char *sides = "";
	struct event_group *g;
	size_t room;
	int code;

	*list = NULL;
	if (*arg != '{')
		return 0;
	if (nested && (!end || nested < end))
		return groups_deny(arg, "a group in a group", nested);
	if (!end)
		return groups_deny(arg, "\"}\" is missing", "");
	code = groups_find_sides(arg, end + 1, &sides);
	if (code)
		return code;
	room = strlen(arg) + PMC_GROUP_MAX_MEMBERS * (strlen(sides) + 1);
	g = calloc(1, sizeof(*g) + room);
	if (!g)
		return fail_errno(EX_OSERR, "ERROR");
	g->next = m->groups;
	m->groups = g;
	*list = &g->list;
	return groups_fill(arg, g, sides, room);
}

void groups_free(struct measure *m)
{
	while (m->groups) {
		struct event_group *next = m->groups->next;

		free(m->groups);
		m->groups = next;
	}
}

/* --- their PMCs ------------------------------------------------------------------------------- */

bool groups_lead(const struct measure *m, const struct column *column)
{
	return !column->leader || column->leader == 1 + (size_t)(column - m->columns);
}

static int groups_add(const struct measure *m, uint32_t group, size_t leader)
{
	for (size_t i = leader; i < m->ncolumns; i++) {
		const struct column *column = &m->columns[i];

		if (column->leader != leader + 1)
			continue;
		if (pmc_group_add(group, column->id, i == leader) != 0)
			return fail_pmc(EX_OSERR, "ERROR: Cannot add pmc \"%s\" to the group of "
					"\"%s\"", column->spec, m->columns[leader].spec);
	}
	return 0;
}

int groups_commit(const struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++) {
		const struct column *column = &m->columns[i];
		uint32_t group;
		int code;

		if (!column->leader || !groups_lead(m, column))
			continue;
		if (pmc_group_create(&group) != 0)
			return fail_pmc(EX_OSERR, "ERROR: Cannot make a group");
		code = groups_add(m, group, i);
		if (!code && pmc_group_commit(group) != 0)
			code = fail_pmc(EX_OSERR, "ERROR: Cannot make the group of \"%s\"",
					column->spec);
		if (code)
			return code;
	}
	return 0;
}

int groups_read(struct measure *m, struct column *leader)
{
	struct pmc_group_member members[PMC_GROUP_MAX_MEMBERS];
	const size_t first = (size_t)(leader - m->columns);
	uint32_t n = PMC_GROUP_MAX_MEMBERS, k = 0;

	if (pmc_group_read(leader->id, &n, members, NULL) != 0)
		return -1;
	for (size_t i = first; i < m->ncolumns && k < n; i++)
		if (m->columns[i].leader == first + 1)
			m->columns[i].value = members[k++].pm_value - m->columns[i].base;
	return 0;
}
