/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's description of a PMU in sysfs: format/ names bit fields, events/ names settings. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/nearest.h"
#include "lib/base/number.h"
#include "pmu.h"

#define PMU_TEXT 512		/* longest content of a file that makes sense */

static int pmu_file_read(const char *root, const char *pmu, const char *dir, const char *name,
			 char text[PMU_TEXT])
{
	char path[600];
	ssize_t n;
	int fd;

	if (strchr(pmu, '/') || strchr(name, '/') || *name == '.' || *pmu == '.')
		return -ENOENT;
	if (snprintf(path, sizeof(path), "%s/%s/%s/%s", root, pmu, dir, name) >= (int)sizeof(path))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, PMU_TEXT);
	close(fd);
	if (n < 0 || n == PMU_TEXT)
		return -EINVAL;
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return 0;
}

/* NAME.unit, NAME.scale and the like describe NAME; they are no events. */
static bool pmu_file_is_event(const char *name)
{
	static const char *const endings[] = { ".unit", ".scale", ".snapshot", ".per-pkg" };
	size_t i, n = strlen(name);

	if (*name == '.' || n >= WIRE_NAME_MAX)
		return false;
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (n > strlen(endings[i]) &&
		    strcmp(name + n - strlen(endings[i]), endings[i]) == 0)
			return false;
	return true;
}

/* --- fields ---------------------------------------------------------------------------------- */

static const char *const words[] = { "config", "config1", "config2" };

static uint64_t pmu_bits(uint64_t from, uint64_t to)
{
	return (~0ull >> (63 - to)) & (~0ull << from);
}

/* At most two digits. */
static int pmu_bit_read(const char **p, uint64_t *bit)
{
	const char *start = *p;

	return number_read(p, 10, 63, bit) || *p - start > 2 ? -EINVAL : 0;
}

int pmu_field_parse(const char *text, struct pmu_field *field)
{
	const char *p = strchr(text, ':');
	size_t i;

	if (!p)
		return -EINVAL;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(text, words[i], p - text) == 0 && !words[i][p - text])
			break;
	if (i == sizeof(words) / sizeof(words[0]))
		return strncmp(text, "config", 6) == 0 ? -EOPNOTSUPP : -EINVAL;
	*field = (struct pmu_field){ .word = i };
	do {
		uint64_t from, to;

		p++;
		if (pmu_bit_read(&p, &from) < 0)
			return -EINVAL;
		to = from;
		if (*p == '-') {
			p++;
			if (pmu_bit_read(&p, &to) < 0 || to < from)
				return -EINVAL;
		}
		if (field->mask & pmu_bits(from, to))
			return -EINVAL;
		field->mask |= pmu_bits(from, to);
	} while (*p == ',');
	return *p ? -EINVAL : 0;
}

int pmu_field_set(const struct pmu_field *field, uint64_t value, uint64_t config[3])
{
	uint64_t mask, out = 0;

	for (mask = field->mask; mask; mask &= mask - 1) {
		if (value & 1)
			out |= mask & -mask;
		value >>= 1;
	}
	if (value)
		return -ERANGE;
	config[field->word] = (config[field->word] & ~field->mask) | out;
	return 0;
}

/* Offers the names of the files in a directory of the PMU. */
static void pmu_offer(const char *root, const char *pmu, const char *dir, struct nearest *near)
{
	struct dirent *entry;
	char path[600];
	DIR *files;

	snprintf(path, sizeof(path), "%s/%s/%s", root, pmu, dir);
	files = opendir(path);
	while (files && (entry = readdir(files)))
		if (pmu_file_is_event(entry->d_name))
			nearest_offer(near, entry->d_name);
	if (files)
		closedir(files);
}

int pmu_field_find(const char *root, const char *pmu, const char *name, struct pmu_field *field,
		   struct reason *why)
{
	struct nearest near;
	char text[PMU_TEXT];
	size_t i;
	int err;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(name, words[i]) == 0) {
			*field = (struct pmu_field){ .word = i, .mask = ~0ull };
			return 0;
		}
	err = pmu_file_read(root, pmu, "format", name, text);
	if (err) {
		nearest_begin(&near, name);
		pmu_offer(root, pmu, "format", &near);
		pmu_offer(root, pmu, "events", &near);
		return deny(why, -ENOENT, "PMU %s has no field \"%s\"%s; %s/%s/format lists them",
			    pmu, name, nearest_hint(&near, ""), root, pmu);
	}
	err = pmu_field_parse(text, field);
	if (err)
		return deny(why, err, "PMU %s describes its field \"%s\" as \"%s\", which is not "
			    "understood", pmu, name, text);
	return 0;
}

int pmu_term(const char *root, const char *pmu, const struct evspec_pair *term, uint64_t config[3],
	     struct reason *why)
{
	struct pmu_field field;
	uint64_t value = 1;

	if (term->value && strcmp(term->value, "?") == 0)
		return deny(why, -EINVAL, "the event needs a value for \"%s\": write %s/%s=.../",
			    term->key, pmu, term->key);
	if (term->value && number_parse(term->value, 0, UINT64_MAX, &value))
		return deny(why, -EINVAL, "\"%s=%s\": not a number", term->key, term->value);
	if (pmu_field_find(root, pmu, term->key, &field, why) < 0)
		return -EINVAL;
	if (pmu_field_set(&field, value, config) < 0)
		return deny(why, -EINVAL, "\"%s=0x%llx\": the field of PMU %s has %d bits",
			    term->key, (unsigned long long)value, pmu,
			    __builtin_popcountll(field.mask));
	return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

/* "event=0x3c,umask=1,inv": the content of an event's file. */
static int pmu_terms_apply(const char *root, const char *pmu, char *text, uint64_t config[3],
			   struct reason *why)
{
	char *next, *value;
	int err = 0;

	for (; text && !err; text = next) {
		struct evspec_pair term;

		next = strchr(text, ',');
		if (next)
			*next++ = '\0';
		value = strchr(text, '=');
		if (value)
			*value++ = '\0';
		term = (struct evspec_pair){ .key = text, .value = value };
		err = pmu_term(root, pmu, &term, config, why);
	}
	return err;
}

int pmu_each(const char *root, const char *pmu, pmu_each_fn *fn, void *arg)
{
	char path[600], text[PMU_TEXT];
	struct dirent **list;
	int i, n, err = 0;

	if (strchr(pmu, '/') ||
	    snprintf(path, sizeof(path), "%s/%s/events", root, pmu) >= (int)sizeof(path))
		return -ENOENT;
	n = scandir(path, &list, NULL, alphasort);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	for (i = 0; i < n; i++) {
		if (!err && pmu_file_is_event(list[i]->d_name) &&
		    pmu_file_read(root, pmu, "events", list[i]->d_name, text) == 0)
			err = fn(arg, list[i]->d_name, text);
		free(list[i]);
	}
	free(list);
	return err;
}

struct search {
	const char *wanted;
	char name[WIRE_NAME_MAX];
	char text[PMU_TEXT];
};

static int pmu_search_one(void *arg, const char *name, const char *text)
{
	struct search *s = arg;

	if (!evspec_same(s->wanted, name))
		return 0;
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->text, sizeof(s->text), "%s", text);
	return 1;
}

int pmu_sysfs_event(const char *root, const char *pmu, const char *name, struct pmu_event *event,
		    struct reason *why)
{
	struct search s = { .wanted = name };
	int found = pmu_each(root, pmu, pmu_search_one, &s);

	if (found <= 0)
		return found ? found : -ENOENT;
	memcpy(event->name, s.name, sizeof(event->name));
	return pmu_terms_apply(root, pmu, s.text, event->config, why);
}

void pmu_event_unit(const char *root, const char *pmu, const char *name, char *buf, size_t size)
{
	char file[WIRE_NAME_MAX + 8], scale[PMU_TEXT], unit[PMU_TEXT];

	*buf = '\0';
	snprintf(file, sizeof(file), "%s.unit", name);
	if (pmu_file_read(root, pmu, "events", file, unit))
		return;
	snprintf(file, sizeof(file), "%s.scale", name);
	if (pmu_file_read(root, pmu, "events", file, scale))
		strcpy(scale, "1");
	snprintf(buf, size, "%s %s", scale, unit);
}

void pmu_cpus(const char *root, const char *pmu, char *buf, size_t size)
{
	char text[PMU_TEXT] = "";

	if (pmu_file_read(root, pmu, ".", "cpumask", text) &&
	    pmu_file_read(root, pmu, ".", "cpus", text))
		*text = '\0';
	snprintf(buf, size, "%s", text);
}

bool pmu_lists(const char *root, const char *pmu, const char *name)
{
	struct pmu_event event = { .usr = false };
	struct pmu_field field;
	struct reason unused;

	return !pmu_sysfs_event(root, pmu, name, &event, &unused) ||
	       !pmu_field_find(root, pmu, name, &field, &unused);
}
