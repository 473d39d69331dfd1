/* SPDX-License-Identifier: BSD-2-Clause */
/* See site.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
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

/* --- users and groups ------------------------------------------------------------------------- */

static struct site_name *name_find(const struct site_rules *s, bool group, const char *text)
{
	for (unsigned int i = s->nnames; i-- > 0;)
		if (s->name[i]->group == group && !strcmp(s->name[i]->text, text))
			return s->name[i];
	return NULL;
}

/* NULL: no memory. */
static struct site_name *name_add(struct site_rules *s, bool group, const char *text)
{
	size_t size = strlen(text) + 1;
	struct site_name *n;

	if (array_extend(s->name, s->nnames) != 0)
		return NULL;
	n = malloc(sizeof(*n) + size);
	if (!n)
		return NULL;
	*n = (struct site_name){ .group = group, .text = memcpy(n + 1, text, size) };
	s->name[s->nnames++] = n;
	return n;
}

static int rule_take_id(struct site_rules *s, bool group, struct site_ids *ids, const char *text,
			struct reason *why)
{
	struct site_id *id = &ids->id[ids->n++];
	uint64_t number;

	if (!number_parse(text, 10, UINT32_MAX - 1, &number)) {
		id->id = (uint32_t)number;
		id->known = true;
		return 0;
	}
	id->name = name_find(s, group, text) ?: name_add(s, group, text);
	return id->name ? 0 : deny(why, -ENOMEM, "no memory for a rule");
}

/* Splits the list in place. */
static int rule_take_ids(struct site_rules *s, struct site_rule *r, bool group, char *list,
			 struct reason *why)
{
	struct site_ids *ids = group ? &r->groups : &r->users;
	char *rest = NULL;
	int err = 0;

	if (ids->n)
		return deny(why, -EINVAL, "%s is there twice; write one list, with \",\" between "
			    "the names", group ? "group" : "user");
	ids->id = calloc(strlen(list) + 1, sizeof(*ids->id));
	if (!ids->id)
		return deny(why, -ENOMEM, "no memory for a rule");
	s->any_groups |= group;
	for (char *p = strtok_r(list, ", ", &rest); p && !err; p = strtok_r(NULL, ", ", &rest))
		err = rule_take_id(s, group, ids, p, why);
	if (err || ids->n)
		return err;
	return deny(why, -EINVAL, "%s has no name; leave it out for all of them",
		    group ? "group" : "user");
}

/* --- containers ------------------------------------------------------------------------------- */

static int rule_take_container(struct site_rules *s, struct site_rule *r, const char *value,
			       struct reason *why)
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
	s->any_cgroups = true;
	while (site_word(&list, word, sizeof(word)))
		if (*word != '/' || strlen(word) == sizeof(word) - 1)
			return deny(why, -EINVAL, "container takes any, none, or paths of control "
				    "groups that begin with a /, as \"/machine.slice/*\", not "
				    "\"%.60s\"", word);
	return value[strspn(value, ", ")] ? 0 : deny(why, -EINVAL, "container has no value");
}

/* --- matching --------------------------------------------------------------------------------- */

static bool ids_have(const struct site_ids *ids, const struct site_subject *subject, bool group)
{
	for (unsigned int i = 0; i < ids->n; i++) {
		if (!ids->id[i].known)
			continue;
		if (!group && ids->id[i].id == subject->uid)
			return true;
		for (unsigned int j = 0; group && j < subject->ngroups; j++)
			if (ids->id[i].id == subject->groups[j])
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

bool site_matches(const struct site_rule *r, const struct site_subject *subject)
{
	if (!ids_have(&r->users, subject, false) || !ids_have(&r->groups, subject, true))
		return false;
	switch (r->container) {
	case SITE_HOST:
		return !subject->jailed;
	case SITE_CONTAINER:
		return subject->jailed;
	case SITE_CGROUP:
		return cgroups_match(r->cgroups, subject->cgroup);
	default:
		return true;
	}
}

/* --- contradictions --------------------------------------------------------------------------- */

/* Two names of one user have the same number. */
static bool id_same(const struct site_id *a, const struct site_id *b)
{
	return a->known == b->known && (a->known ? a->id == b->id : a->name == b->name);
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

/* True if rule a selects every process that rule b selects. */
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
	for (const struct site_rule *first = s->rule; first < r; first++) {
		uint32_t both = first->set & r->set;

		if (!both || !rule_covers(first, r))
			continue;
		for (enum setting t = 0; t < SETTINGS; t++)
			if (both >> t & 1 && !setting_same(first, r, t))
				return deny(why, -EINVAL, "%s:%u: %s=\"%.40s\" never takes effect: "
					    "%s:%u comes first, is for the same processes, and has "
					    "%s=\"%.40s\"; remove one, or put this line before it",
					    r->file, r->line, setting_name(t), r->value[t],
					    first->file, first->line, setting_name(t),
					    first->value[t]);
	}
	return 0;
}

/* --- settling --------------------------------------------------------------------------------- */

static void id_warn(const struct site_rule *r, const struct site_name *n,
		    void (*warn)(void *arg, const char *line), void *arg)
{
	char line[512];

	snprintf(line, sizeof(line), "%s:%u: there is no %s \"%.40s\", so the rule selects nobody "
		 "by this name; create the %s, then send SIGHUP", r->file, r->line,
		 n->group ? "group" : "user", n->text, n->group ? "group" : "user");
	warn(arg, line);
}

static void ids_settle(const struct site_rule *r, const struct site_ids *ids,
		       void (*warn)(void *arg, const char *line), void *arg)
{
	for (unsigned int i = 0; i < ids->n; i++) {
		struct site_id *id = &ids->id[i];

		if (!id->name)
			continue;
		id->known = id->name->known;
		id->id = id->name->id;
		if (!id->known)
			id_warn(r, id->name, warn, arg);
	}
}

int site_settle(struct site_rules *s, struct fibers *fs,
		void (*warn)(void *arg, const char *line), void *arg, struct reason *why)
{
	int err = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		ids_settle(&s->rule[i], &s->rule[i].users, warn, arg);
		ids_settle(&s->rule[i], &s->rule[i].groups, warn, arg);
	}
	for (unsigned int i = 0; i < s->n && !err; i++) {
		fiber_breathe(fs);
		err = rule_check_effect(s, &s->rule[i], why);
	}
	return err;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void rule_free(struct site_rule *r)
{
	free(r->users.id);
	free(r->groups.id);
	free(r->text);
	free(r->words);
}

static int rule_take_word(struct site_rules *s, struct site_rule *r, const char *name, char *value,
			  struct reason *why)
{
	if (!strcmp(name, "user") || !strcmp(name, "group"))
		return rule_take_ids(s, r, *name == 'g', value, why);
	if (!strcmp(name, "container"))
		return rule_take_container(s, r, value, why);
	return setting_take(r, name, value, why);
}

/* Copies the rule of a line: up to `n`, the end of its last value, without leading blanks. */
static char *rule_trim(const char *line, size_t n)
{
	size_t skip = strspn(line, " \t\r");

	skip = skip < n ? skip : n;
	while (n > skip && strchr(" \t\r", line[n - 1]))
		n--;
	return strndup(line + skip, n - skip);
}

/* 1: a rule; 0: an empty line. */
static int rule_parse(struct site_rules *s, struct site_rule *r, const char *line,
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
	if (s->n == SITE_RULES_MAX)
		return deny(why, -EINVAL, "more than %u rules", SITE_RULES_MAX);
	if (array_extend(s->rule, s->n) != 0)
		return deny(why, -ENOMEM, "no memory for a rule");
	s->rule[s->n++] = *r;
	s->users_count_cpus |= setting_counts_cpus(r);
	return 0;
}

static int rule_keep(struct site_rules *s, const struct site_rule *r, struct reason *why)
{
	int err;

	if (!r->set)
		return deny(why, -EINVAL, "the rule sets nothing; add a setting, as pmcs=\"8\", or "
			    "remove the line");
	err = setting_check(r, why);
	return err ?: rule_add(s, r, why);
}

/* An empty line has no rule. */
static int site_line(void *arg, char *line, unsigned int number, struct reason *why)
{
	struct site_rules *s = arg;
	struct site_rule r = { .file = s->file[s->nfiles - 1], .line = number };
	int err = rule_parse(s, &r, line, why);
	bool kept = false;

	if (err > 0) {
		err = rule_keep(s, &r, why);
		kept = !err;
	}
	if (!kept)
		rule_free(&r);
	return err;
}

/* --- files ------------------------------------------------------------------------------------ */

static int site_add_file(struct site_rules *s, const char *name, struct reason *why)
{
	if (array_extend(s->file, s->nfiles) != 0 || !(s->file[s->nfiles] = strdup(name)))
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

/* Rules give rights: only root may write the files, and add files to the folder. */
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

int site_read(const char *dir, struct site_rules **out, struct reason *why)
{
	struct site_rules *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return deny(why, -ENOMEM, "no memory to read the rules in %s", dir);
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
	for (unsigned int i = 0; i < s->nnames; i++)
		free(s->name[i]);
	free(s->name);
	free(s->rule);
	free(s->file);
	free(s);
}
