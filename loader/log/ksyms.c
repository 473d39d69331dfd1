/* SPDX-License-Identifier: BSD-2-Clause */
/* A sorted array of addresses, and one block of names: some 30 bytes a function. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "ksyms.h"
#include "lib/base/number.h"

#define PAGE	  4096u
#define LONGEST	  (256u * 1024)		/* bytes of a function; larger gaps are no code */
#define HIDDEN_LINES 64u		/* more zeros than per-CPU data at the beginning has */
#define BLOCK	  (1u << 20)
#define BLOCK_MAX (1u << 30)

struct ksym_entry {
	uint64_t start;
	uint32_t size;			/* the most it can have */
	uint32_t name;			/* in names */
};

struct ksyms {
	struct ksym_entry *entry;
	size_t n, room;
	char *names;
	size_t len, names_room;
};

void ksyms_free(struct ksyms *k)
{
	if (!k)
		return;
	free(k->entry);
	free(k->names);
	free(k);
}

static int ksym_add(struct ksyms *k, uint64_t start, const char *module, const char *name)
{
	size_t len = strlen(module) + strlen(name) + 1;

	if (array_reserve(k->entry, k->room, k->n + 1) != 0)
		return -ENOMEM;
	if (k->names_room - k->len < len) {
		size_t room = (k->len + len) * 2 + BLOCK;
		char *more = room <= BLOCK_MAX ? realloc(k->names, room) : NULL;

		if (!more)
			return -ENOMEM;
		k->names = more;
		k->names_room = room;
	}
	k->entry[k->n++] = (struct ksym_entry){ .start = start, .name = (uint32_t)k->len };
	k->len += (size_t)sprintf(k->names + k->len, "%s%s", module, name) + 1;
	return 0;
}

/* The next word of a line, "" at its end. */
static char *line_word(char **text)
{
	char *at = *text + strspn(*text, " \t\n");
	size_t len = strcspn(at, " \t\n");

	*text = at + len + (at[len] != '\0');
	at[len] = '\0';
	return at;
}

/* "address type name [module]"; skips data, and hidden addresses. */
static int ksym_add_line(struct ksyms *k, char *line)
{
	char *at = line;
	const char *address = line_word(&at), *type = line_word(&at);
	const char *name = line_word(&at), *module = line_word(&at);
	uint64_t start;

	if (number_parse(address, 16, UINT64_MAX, &start) || !start || !*type ||
	    !strchr("tTwW", *type) || type[1] || !*name)
		return 0;
	/* Arm's mapping symbols, between code and data. */
	if (*name == '$')
		return 0;
	return ksym_add(k, start, *module == '[' ? module : "", name);
}

static int ksym_compare(const void *a, const void *b)
{
	const struct ksym_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Bytes of "[module]" that a name begins with. */
static size_t name_module_len(const char *name)
{
	return *name == '[' ? strcspn(name, "]") + 1 : 0;
}

static bool name_same_image(const char *a, const char *b)
{
	size_t len = name_module_len(a);

	return len == name_module_len(b) && !strncmp(a, b, len);
}

/*
 * The last function of a module is assumed to end with its page: the next page may belong to code
 * that is not in the table.  BPF programs are packed, so this does not apply to them.
 */
static uint32_t ksym_size(const struct ksyms *k, size_t i)
{
	const struct ksym_entry *e = &k->entry[i];
	const char *name = k->names + e->name;
	uint64_t size = LONGEST;
	bool last = true;

	if (i + 1 < k->n) {
		uint64_t gap = e[1].start - e->start;

		size = gap < size ? gap : size;
		last = !name_same_image(name, k->names + e[1].name);
	}
	if (last && strncmp(name, "[bpf]", 5) && size > PAGE - e->start % PAGE)
		size = PAGE - e->start % PAGE;
	return (uint32_t)size;
}

/* Frees the room for growth; on failure the array stays as it is. */
static void *array_trim(void *array, size_t size)
{
	void *less = size ? realloc(array, size) : NULL;

	return less ? less : array;
}

/* Sorts, with one name for each address: the kernel's first. */
static void ksyms_sort(struct ksyms *k)
{
	size_t n = 0;

	qsort(k->entry, k->n, sizeof(k->entry[0]), ksym_compare);
	for (size_t i = 0; i < k->n; i++)
		if (!n || k->entry[n - 1].start != k->entry[i].start)
			k->entry[n++] = k->entry[i];
	k->n = n;
	for (size_t i = 0; i < n; i++)
		k->entry[i].size = ksym_size(k, i);
	k->entry = array_trim(k->entry, n * sizeof(k->entry[0]));
	k->names = array_trim(k->names, k->len);
}

int ksyms_read(struct ksyms **out, const char *path)
{
	struct ksyms *k = calloc(1, sizeof(*k));
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!k || !f)
		err = k ? -errno : -ENOMEM;
	while (!err && getline(&line, &size, f) > 0)
		err = ksym_add_line(k, line);
	if (!err && ferror(f))
		err = -EIO;
	if (!err && !k->names)
		err = -EPERM;
	free(line);
	if (f)
		fclose(f);
	if (err) {
		ksyms_free(k);
		return err;
	}
	ksyms_sort(k);
	*out = k;
	return 0;
}

struct ksyms *ksyms_new(void)
{
	return calloc(1, sizeof(struct ksyms));
}

int ksyms_add(struct ksyms *k, uint64_t start, uint64_t size, const char *name)
{
	size_t at = array_upto(k->entry, k->n, start, start);
	bool known = at && k->entry[at - 1].start == start;
	struct ksym_entry added;
	int err;

	if (known && !strcmp(k->names + k->entry[at - 1].name, name))
		return 0;
	err = ksym_add(k, start, "", name);
	if (err)
		return err;
	added = k->entry[k->n - 1];
	added.size = size < LONGEST ? (uint32_t)size : LONGEST;
	if (known) {
		k->entry[at - 1] = added;
		k->n--;
		return 0;
	}
	memmove(&k->entry[at + 1], &k->entry[at], (k->n - 1 - at) * sizeof(added));
	k->entry[at] = added;
	return 0;
}

int ksyms_start(const char *path, uint64_t *start)
{
	FILE *f = fopen(path, "re");
	char line[512], name[256];
	uint64_t address;
	unsigned int hidden = 0;
	int err = f ? -ENODATA : -errno;

	*start = 0;
	while (f && !*start && hidden < HIDDEN_LINES && fgets(line, sizeof(line), f)) {
		err = -EPERM;
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_stext") || !strcmp(name, "_text"))
			*start = address;
		hidden += !address;
	}
	if (f)
		fclose(f);
	return *start ? 0 : err;
}

bool ksyms_find(const struct ksyms *k, uint64_t address, struct ksym *sym)
{
	size_t upto = array_upto(k->entry, k->n, start, address);
	const struct ksym_entry *e;

	if (!upto)
		return false;
	e = &k->entry[upto - 1];
	if (address - e->start >= e->size)
		return false;
	sym->start = e->start;
	sym->name = k->names + e->name;
	sym->image = *sym->name == '[' ? "" : "[kernel.kallsyms]";
	return true;
}
