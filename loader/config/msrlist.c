/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of registers as text.  Every line is checked, including lines for other CPUs. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/number.h"
#include "loader/base/base.h"
#include "msrlist.h"

#define BLANK	 " \t\r"
#define MAX_LINE 512u
#define MAX_FILE (128u * 1024)
#define MAX_ALL	 1024u		/* registers in a file, of all vendors */

#define FORM "register read-mask write-mask vendor who name source"

enum column { REGISTER, READ, WRITE, VENDOR, WHO, NAME, SOURCE, COLUMNS };

/* The vendors of an entry: a bit for each enum msr_vendor. */
static const struct {
	const char *word;
	unsigned int vendors;
} vendors[] = {
	{ "x86", 1u << MSR_INTEL | 1u << MSR_AMD | 1u << MSR_OTHER },
	{ "intel", 1u << MSR_INTEL },
	{ "amd", 1u << MSR_AMD },
	{ "arm64", 1u << MSR_ARM64 },
};

struct line {
	struct msrlist_entry entry;
	unsigned int vendors, number;
};
struct lines {
	unsigned int n;
	struct line line[MAX_ALL];
};

static int msrlist_number(const char *text, uint64_t max, const char *what, uint64_t *value,
			  struct reason *why)
{
	if (number_parse(text, 0, max, value))
		return deny(why, -EINVAL, "\"%.40s\" is no %s: a number, as 0xe8, to 0x%llx", text,
			    what, (unsigned long long)max);
	return 0;
}

static int msrlist_parse_vendor(const char *text, struct line *l, struct reason *why)
{
	for (unsigned int i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!strcmp(text, vendors[i].word)) {
			l->vendors = vendors[i].vendors;
			return 0;
		}
	return deny(why, -EINVAL, "\"%.40s\" is no vendor: x86, intel, amd or arm64", text);
}

static int msrlist_parse_users(const char *text, struct msrlist_entry *e, struct reason *why)
{
	e->admin = !strcmp(text, "admin");
	if (e->admin || !strcmp(text, "any"))
		return 0;
	return deny(why, -EINVAL, "\"%.40s\" does not say who may count it: any or admin", text);
}

/* Accepts names that an event specifier can hold and that are not numbers. */
static int msrlist_parse_name(const char *text, struct msrlist_entry *e, struct reason *why)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._");

	if (!strcmp(text, "-"))
		return 0;
	if (text[n] || n >= sizeof(e->name) || !isalpha((unsigned char)*text))
		return deny(why, -EINVAL, "\"%.40s\" is no name: at most %zu letters, digits, "
			    "\".\" and \"_\", a letter first, or - for none", text,
			    sizeof(e->name) - 1);
	memcpy(e->name, text, n + 1);
	return 0;
}

static int msrlist_check_masks(const struct msrlist_entry *e, struct reason *why)
{
	if (e->read & (e->read + 1))
		return deny(why, -EINVAL, "read mask 0x%llx: the bits that are read begin with bit "
			    "0 and leave none out, as in 0xffffffff",
			    (unsigned long long)e->read);
	if (!e->read && !e->write)
		return deny(why, -EINVAL, "neither bits to read nor bits to write: leave 0x%x out",
			    e->reg);
	return 0;
}

static int msrlist_parse_columns(char *column[COLUMNS], struct line *l, struct reason *why)
{
	struct msrlist_entry *e = &l->entry;
	uint64_t reg, max;
	int err = msrlist_parse_vendor(column[VENDOR], l, why);

	/* The number of an MRS encoding has 16 bits. */
	max = l->vendors == 1u << MSR_ARM64 ? 0xffff : 0xffffffff;
	err = err ?: msrlist_number(column[REGISTER], max, "register", &reg, why);
	if (err)
		return err;
	e->reg = (uint32_t)reg;
	err = msrlist_number(column[READ], UINT64_MAX, "read mask", &e->read, why);
	err = err ?: msrlist_number(column[WRITE], UINT64_MAX, "write mask", &e->write, why);
	err = err ?: msrlist_parse_users(column[WHO], e, why);
	err = err ?: msrlist_parse_name(column[NAME], e, why);
	return err ?: msrlist_check_masks(e, why);
}

/* 1: an entry; 0: nothing on the line; or -EINVAL. */
static int msrlist_parse_line(char *text, struct line *l, struct reason *why)
{
	char *column[COLUMNS], *p = text;
	unsigned int n = 0;
	int err;

	text[strcspn(text, "#")] = '\0';
	for (p += strspn(p, BLANK); *p && n < COLUMNS; p += strspn(p, BLANK)) {
		column[n++] = p;
		if (n == COLUMNS)
			break;
		p += strcspn(p, BLANK);
		if (*p)
			*p++ = '\0';
	}
	if (!n)
		return 0;
	if (n < COLUMNS)
		return deny(why, -EINVAL, "%u of 7 columns: " FORM ", the source being where the "
			    "register is described", n);
	err = msrlist_parse_columns(column, l, why);
	return err ? err : 1;
}

static int msrlist_check_twice(const struct lines *all, const struct line *l, struct reason *why)
{
	for (unsigned int i = 0; i < all->n; i++) {
		const struct line *o = &all->line[i];

		if (!(o->vendors & l->vendors))
			continue;
		if (o->entry.reg == l->entry.reg)
			return deny(why, -EINVAL, "register 0x%x is on line %u already; give it "
				    "one line", l->entry.reg, o->number);
		if (*l->entry.name && !strcasecmp(o->entry.name, l->entry.name))
			return deny(why, -EINVAL, "the name %s is taken by line %u; choose "
				    "another, or -", l->entry.name, o->number);
	}
	return 0;
}

static int msrlist_add_line(struct lines *all, const struct line *l, struct reason *why)
{
	int err = msrlist_check_twice(all, l, why);

	if (!err && all->n == MAX_ALL)
		err = deny(why, -EINVAL, "more than %u registers", MAX_ALL);
	if (!err)
		all->line[all->n++] = *l;
	return err;
}

static int msrlist_by_register(const void *a, const void *b)
{
	uint32_t x = ((const struct msrlist_entry *)a)->reg;
	uint32_t y = ((const struct msrlist_entry *)b)->reg;

	return x < y ? -1 : x > y;
}

static int msrlist_choose(const struct lines *all, enum msr_vendor vendor, struct msrlist *list,
			  struct reason *why)
{
	list->n = 0;
	for (unsigned int i = 0; i < all->n; i++) {
		if (!(all->line[i].vendors >> vendor & 1))
			continue;
		if (list->n == MSRLIST_MAX)
			return deny(why, -EINVAL, "%u: more than %u registers for this CPU; "
				    "leave some out", all->line[i].number, MSRLIST_MAX);
		list->entry[list->n++] = all->line[i].entry;
	}
	qsort(list->entry, list->n, sizeof(list->entry[0]), msrlist_by_register);
	return 0;
}

int msrlist_text(const char *file, const char *text, size_t len, enum msr_vendor vendor,
		 struct msrlist *list, struct reason *why)
{
	struct lines *all = calloc(1, sizeof(*all));
	struct reason what = { "" };
	unsigned int n = 0;
	int err = all ? 0 : deny(why, -ENOMEM, "no memory to read %s", file);

	while (!err && len) {
		const char *nl = memchr(text, '\n', len);
		size_t size = nl ? (size_t)(nl - text) : len;
		struct line l = { .number = ++n };
		char line[MAX_LINE];

		if (size >= sizeof(line) || memchr(text, '\0', size)) {
			err = deny(why, -EINVAL, "%s:%u: not a line of text of at most %u bytes",
				   file, n, MAX_LINE - 1);
			break;
		}
		memcpy(line, text, size);
		line[size] = '\0';
		err = msrlist_parse_line(line, &l, &what);
		err = err > 0 ? msrlist_add_line(all, &l, &what) : err;
		if (err)
			deny(why, err, "%s:%u: %s", file, n, what.text);
		size += nl != NULL;
		text += size;
		len -= size;
	}
	if (!err && msrlist_choose(all, vendor, list, &what))
		err = deny(why, -EINVAL, "%s:%s", file, what.text);
	free(all);
	return err;
}

int msrlist_read(const char *path, enum msr_vendor vendor, struct msrlist *list, struct reason *why)
{
	char *text = malloc(MAX_FILE);
	int n;

	if (!text)
		return deny(why, -ENOMEM, "no memory to read %s", path);
	n = file_read(AT_FDCWD, path, text, MAX_FILE);
	if (n < 0)
		deny(why, n, "cannot read the list of registers %s: %s", path, strerror(-n));
	else if (n == (int)MAX_FILE - 1)
		n = deny(why, -EFBIG, "%s is longer than %u bytes: is it the right file?", path,
			 MAX_FILE - 2);
	else
		n = msrlist_text(path, text, (size_t)n, vendor, list, why);
	free(text);
	return n;
}

const struct msrlist_entry *msrlist_find(const struct msrlist *list, uint32_t reg)
{
	const struct msrlist_entry key = { .reg = reg };

	return bsearch(&key, list->entry, list->n, sizeof(key), msrlist_by_register);
}
