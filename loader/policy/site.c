/* SPDX-License-Identifier: BSD-2-Clause */
/* See site.h.  Only the event loop's thread looks users and groups up. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "loader/base/base.h"
#include "loader/config/config.h"
#include "setting.h"
#include "site.h"

#define WORD 256u

/* --- words and patterns ----------------------------------------------------------------------- */

bool site_word(const char **list, char *word, size_t size)
{
	const char *p = *list;
	size_t n = 0;

	while (*p == ',' || *p == ' ')
		p++;
	for (; *p && *p != ',' && *p != ' '; p++)
		if (n < size - 1)
			word[n++] = *p;
	word[n] = '\0';
	*list = p;
	return n > 0;
}

bool site_pattern(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (tolower((unsigned char)*pattern) == tolower((unsigned char)*text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

/* --- who -------------------------------------------------------------------------------------- */

static bool id_find(bool group, const char *name, uint32_t *id)
{
	const struct group *g;
	const struct passwd *p;

	if (group) {
		g = getgrnam(name);	/* NOLINT(concurrency-mt-unsafe): one thread, see above */
		*id = g ? g->gr_gid : 0;
		return g;
	}
	p = getpwnam(name);		/* NOLINT(concurrency-mt-unsafe) */
	*id = p ? p->pw_uid : 0;
	return p;
}

/* The same name in an earlier rule, so that a large list is not looked up once for each line. */
static const struct site_id *id_earlier(const struct site_rules *s, bool group, const char *name)
{
	for (unsigned int i = s->n; i-- > 0;) {
		const struct site_ids *ids = group ? &s->rule[i].groups : &s->rule[i].users;

		for (unsigned int j = 0; j < ids->n; j++)
			if (!strcmp(ids->id[j].name, name))
				return &ids->id[j];
	}
	return NULL;
}

static void id_warn(const struct site_rules *s, const struct site_rule *r, bool group,
		    const char *name)
{
	char line[512];

	snprintf(line, sizeof(line), "%s:%u: there is no %s \"%.40s\": the rule is for nobody of "
		 "that name until the rules are read again (SIGHUP)", r->file, r->line,
		 group ? "group" : "user", name);
	s->warn(s->arg, line);
}

static void id_resolve(const struct site_rules *s, const struct site_rule *r, bool group,
		       struct site_id *id)
{
	const struct site_id *before;
	uint64_t number;

	if (!number_parse(id->name, 10, UINT32_MAX - 1, &number)) {
		id->id = (uint32_t)number;
		id->known = true;
		return;
	}
	before = id_earlier(s, group, id->name);
	if (before) {
		id->id = before->id;
		id->known = before->known;
	} else {
		id->known = id_find(group, id->name, &id->id);
	}
	if (!id->known)
		id_warn(s, r, group, id->name);
}

/* Splits the list in place. */
static int rule_take_ids(const struct site_rules *s, struct site_rule *r, bool group, char *list,
			 struct reason *why)
{
	struct site_ids *ids = group ? &r->groups : &r->users;
	char *rest = NULL;

	if (ids->n)
		return deny(why, -EINVAL, "%s is there twice; write one list, with \",\" between "
			    "the names", group ? "group" : "user");
	ids->id = calloc(strlen(list) + 1, sizeof(*ids->id));
	if (!ids->id)
		return deny(why, -ENOMEM, "no memory for a rule");
	for (char *p = strtok_r(list, ", ", &rest); p; p = strtok_r(NULL, ", ", &rest)) {
		ids->id[ids->n].name = p;
		id_resolve(s, r, group, &ids->id[ids->n++]);
	}
	return ids->n ? 0 : deny(why, -EINVAL, "%s has no name; leave it out for all of them",
				 group ? "group" : "user");
}

static int rule_take_container(struct site_rule *r, const char *value, struct reason *why)
{
	const char *list = value;
	char word[WORD];

	if (r->container)
		return deny(why, -EINVAL, "container is there twice; write one list");
	r->container = !strcmp(value, "none") ? SITE_HOST :
		       !strcmp(value, "any") ? SITE_CONTAINER : SITE_CGROUP;
	r->cgroups = value;
	if (r->container != SITE_CGROUP)
		return 0;
	while (site_word(&list, word, sizeof(word)))
		if (*word != '/' || strlen(word) == sizeof(word) - 1)
			return deny(why, -EINVAL, "container takes any, none, or paths of control "
				    "groups that begin with a /, as \"/machine.slice/*\", not "
				    "\"%.60s\"", word);
	return value[strspn(value, ", ")] ? 0 : deny(why, -EINVAL, "container has no value");
}

static bool ids_have(const struct site_ids *ids, const struct site_subject *who, bool group)
{
	for (unsigned int i = 0; i < ids->n; i++) {
		if (!ids->id[i].known)
			continue;
		if (!group && ids->id[i].id == who->uid)
			return true;
		for (unsigned int j = 0; group && j < who->ngroups; j++)
			if (ids->id[i].id == who->groups[j])
				return true;
	}
	return !ids->n;
}

static bool cgroups_match(const char *list, const char *path)
{
	char word[WORD];

	while (site_word(&list, word, sizeof(word)))
		if (site_pattern(word, path))
			return true;
	return false;
}

bool site_matches(const struct site_rule *r, const struct site_subject *who)
{
	if (!ids_have(&r->users, who, false) || !ids_have(&r->groups, who, true))
		return false;
	switch (r->container) {
	case SITE_HOST:
		return !who->jailed;
	case SITE_CONTAINER:
		return who->jailed;
	case SITE_CGROUP:
		return cgroups_match(r->cgroups, who->cgroup);
	default:
		return true;
	}
}

/* --- contradictions --------------------------------------------------------------------------- */

/* Names of the same user are compared by number; others are nobody's. */
static bool id_same(const struct site_id *a, const struct site_id *b)
{
	return a->known == b->known && (a->known ? a->id == b->id : !strcmp(a->name, b->name));
}

static bool ids_cover(const struct site_ids *a, const struct site_ids *b)
{
	if (!a->n)
		return true;
	for (unsigned int i = 0; i < b->n; i++) {
		unsigned int j = 0;

		while (j < a->n && !id_same(&a->id[j], &b->id[i]))
			j++;
		if (j == a->n)
			return false;
	}
	return b->n;
}

/* Is rule a for every process that rule b is for? */
static bool rule_covers(const struct site_rule *a, const struct site_rule *b)
{
	if (!ids_cover(&a->users, &b->users) || !ids_cover(&a->groups, &b->groups))
		return false;
	return !a->container || (a->container == b->container &&
				 (a->container != SITE_CGROUP || !strcmp(a->cgroups, b->cgroups)));
}

/* A setting that an earlier rule always decides otherwise would never take effect. */
static int rule_check_effect(const struct site_rules *s, const struct site_rule *r,
			     struct reason *why)
{
	for (unsigned int i = 0; i < s->n; i++) {
		const struct site_rule *first = &s->rule[i];
		uint32_t both = first->set & r->set;

		if (!both || !rule_covers(first, r))
			continue;
		for (enum setting t = 0; t < SETTINGS; t++)
			if (both >> t & 1 && !setting_same(first, r, t))
				return deny(why, -EINVAL, "%s=\"%.40s\" never takes effect: "
					    "%s:%u comes first, is for the same processes, and has "
					    "%s=\"%.40s\"; remove one, or put this line before it",
					    setting_name(t), r->value[t], first->file, first->line,
					    setting_name(t), first->value[t]);
	}
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void rule_free(struct site_rule *r)
{
	free(r->users.id);
	free(r->groups.id);
	free(r->text);
	free(r->words);
}

static int rule_take_word(const struct site_rules *s, struct site_rule *r, const char *name,
			  char *value, struct reason *why)
{
	if (!strcmp(name, "user") || !strcmp(name, "group"))
		return rule_take_ids(s, r, *name == 'g', value, why);
	if (!strcmp(name, "container"))
		return rule_take_container(r, value, why);
	return setting_take(r, name, value, why);
}

/* The line without blanks at its ends and without a comment, which is behind all quotes. */
static char *rule_trim(const char *line, size_t n)
{
	size_t skip = strspn(line, " \t\r");

	skip = skip < n ? skip : n;
	while (n > skip && strchr(" \t\r", line[n - 1]))
		n--;
	return strndup(line + skip, n - skip);
}

static int rule_parse(const struct site_rules *s, struct site_rule *r, const char *line,
		      struct reason *why)
{
	char *at, *name, *value;
	size_t end = 0;
	int err;

	r->words = strdup(line);
	if (!r->words)
		return deny(why, -ENOMEM, "no memory for a rule");
	at = r->words;
	while ((err = config_pair(&at, &name, &value, why)) > 0) {
		end = (size_t)(value - r->words) + strlen(value);
		end += line[end] == '"';
		err = rule_take_word(s, r, name, value, why);
		if (err)
			return err;
	}
	if (err || !end)
		return err;
	r->text = rule_trim(line, end);
	return r->text ? 1 : deny(why, -ENOMEM, "no memory for a rule");
}

static int rule_add(struct site_rules *s, const struct site_rule *r, struct reason *why)
{
	struct site_rule *more;

	if (s->n == SITE_RULES_MAX)
		return deny(why, -EINVAL, "more than %u rules", SITE_RULES_MAX);
	more = reallocarray(s->rule, s->n + 1, sizeof(*more));
	if (!more)
		return deny(why, -ENOMEM, "no memory for a rule");
	s->rule = more;
	s->rule[s->n++] = *r;
	s->users_count_cpus |= setting_counts_cpus(r);
	return 0;
}

/* 0, also for an empty line. */
static int site_line(void *arg, char *line, unsigned int number, struct reason *why)
{
	struct site_rules *s = arg;
	struct site_rule r = { .file = s->file[s->nfiles - 1], .line = number };
	int err = rule_parse(s, &r, line, why);

	if (err > 0 && !r.set)
		err = deny(why, -EINVAL, "the rule sets nothing; add a setting, as pmcs=\"8\", or "
			   "remove the line");
	if (err > 0)
		err = setting_check(&r, why);
	if (err >= 0 && r.set)
		err = rule_check_effect(s, &r, why) ?: rule_add(s, &r, why);
	else if (!err)
		err = 1;		/* nothing to keep */
	if (err)
		rule_free(&r);
	return err < 0 ? err : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static int site_add_file(struct site_rules *s, const char *name, struct reason *why)
{
	char **more = reallocarray(s->file, s->nfiles + 1, sizeof(*more));

	if (more)
		s->file = more;
	if (!more || !(s->file[s->nfiles] = strdup(name)))
		return deny(why, -ENOMEM, "no memory to read %s", name);
	s->nfiles++;
	return 0;
}

int site_text(struct site_rules *s, const char *file, const char *text, size_t len,
	      struct reason *why)
{
	int err = site_add_file(s, file, why);

	return err ?: config_lines(file, text, len, site_line, s, why);
}

/* A rule gives rights: no other user may write the file, nor replace it. */
static int site_check_owner(int fd, const char *path, struct reason *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return deny(why, -errno, "cannot read %s: %m", path);
	if (st.st_uid == 0 || st.st_uid == geteuid()) {
		if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
			return 0;
		return deny(why, -EPERM, "%s may be written by other users than root; run chmod "
			    "go-w on it", path);
	}
	return deny(why, -EPERM, "%s belongs to uid %u; run chown root on it", path, st.st_uid);
}

static int site_read_file(struct site_rules *s, const char *dir, const char *name,
			  struct reason *why)
{
	char path[WIRE_TUNABLE_MAX + 256];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return deny(why, -errno, "cannot read %s: %m", path);
	err = site_check_owner(fileno(f), path, why);
	err = err ?: site_add_file(s, path, why);
	err = err ?: config_file(path, f, site_line, s, why);
	fclose(f);
	return err;
}

static int site_is_file(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return *e->d_name != '.' && n > 5 && !strcmp(e->d_name + n - 5, ".conf");
}

/* In the order of the bytes of their names, whatever the locale. */
static int site_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int site_read_folder(struct site_rules *s, const char *dir, struct reason *why)
{
	struct dirent **files = NULL;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n, err;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return deny(why, -errno, "cannot read the rules in %s: %m", dir);
	err = site_check_owner(fd, dir, why);
	n = err ? 0 : scandir(dir, &files, site_is_file, site_compare);
	if (n < 0)
		err = deny(why, -errno, "cannot read the rules in %s: %m", dir);
	for (int i = 0; i < n; i++) {
		err = err ?: site_read_file(s, dir, files[i]->d_name, why);
		free(files[i]);
	}
	free(files);
	close(fd);
	return err;
}

int site_read(const char *dir, void (*warn)(void *arg, const char *line), void *arg,
	      struct site_rules **out, struct reason *why)
{
	struct site_rules *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return deny(why, -ENOMEM, "no memory to read the rules in %s", dir);
	s->warn = warn;
	s->arg = arg;
	err = site_read_folder(s, dir, why);
	if (err)
		site_free(s);
	else
		*out = s;
	return err;
}

void site_free(struct site_rules *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < s->n; i++)
		rule_free(&s->rule[i]);
	for (unsigned int i = 0; i < s->nfiles; i++)
		free(s->file[i]);
	free(s->rule);
	free(s->file);
	free(s);
}
