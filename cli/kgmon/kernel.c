/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's functions: lines of "address type name [module]", as in /proc/kallsyms and
 * System.map.  The list has no sizes: a function ends at the next one, the last of the kernel or of
 * a module with its page.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "kgmon.h"
#include "cli/common/common.h"

#define PAGE	4096u
#define LONGEST (256u * 1024)		/* bytes of a function */
#define ANCHOR	"_stext"		/* where the kernel's code begins */

struct name_reader {
	struct kernel_names *names;
	uint64_t anchor;		/* 0: not seen, or hidden */
	char module[64];		/* module of the previous line, and its place in the text */
	uint32_t module_at;
};

/* Sorts by address; several names of one address stay in the list's order. */
static int kernel_name_order(const void *a, const void *b)
{
	const struct kernel_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int names_add(struct name_reader *r, uint64_t start, const char *name, const char *module)
{
	struct kernel_names *k = r->names;

	if (array_reserve(k->list, k->room, k->n + 1) != 0)
		return -ENOMEM;
	if (strcmp(r->module, module) != 0) {
		snprintf(r->module, sizeof(r->module), "%s", module);
		r->module_at = (uint32_t)k->text.len;
		buf_add(&k->text, module, strlen(module) + 1);
	}
	k->list[k->n] = (struct kernel_name){
		.start = start, .line = (uint32_t)k->n, .name = (uint32_t)k->text.len,
		.module = *module ? r->module_at : KERNEL_ITSELF,
	};
	k->n++;
	buf_add(&k->text, name, strlen(name) + 1);
	return k->text.failed || k->text.len > INT32_MAX ? -ENOMEM : 0;
}

/* Skips symbols that are no code, and hidden addresses. */
static int names_add_line(struct name_reader *r, const char *line)
{
	char name[512], module[64] = "", type;
	unsigned long long start;

	if (sscanf(line, "%llx %c %511s %63s", &start, &type, name, module) < 3 || !start)
		return 0;
	if (strcmp(name, ANCHOR) == 0)
		r->anchor = start;
	/* Arm's marks of code and data begin with '$'. */
	if (!strchr("tTwW", type) || *name == '$')
		return 0;
	return names_add(r, start, name, *module == '[' ? module : "");
}

static bool names_same_module(const struct kernel_names *k, uint32_t a, uint32_t b)
{
	if (a == KERNEL_ITSELF || b == KERNEL_ITSELF)
		return a == b;
	return strcmp(k->text.data + a, k->text.data + b) == 0;
}

/* Sorts the names, keeps one for each address, and sets the sizes. */
static void names_finish(struct kernel_names *k)
{
	size_t n = 0;

	qsort(k->list, k->n, sizeof(k->list[0]), kernel_name_order);
	for (size_t i = 0; i < k->n; i++)
		if (!n || k->list[n - 1].start != k->list[i].start)
			k->list[n++] = k->list[i];
	k->n = n;
	for (size_t i = 0; i < n; i++) {
		struct kernel_name *e = &k->list[i];
		bool bpf = e->module != KERNEL_ITSELF &&
			   !strcmp(k->text.data + e->module, "[bpf]");
		bool last = i + 1 == n || !names_same_module(k, e->module, e[1].module);
		uint64_t gap = i + 1 < n ? e[1].start - e->start : LONGEST;

		if (last && !bpf && gap > PAGE - e->start % PAGE)
			gap = PAGE - e->start % PAGE;
		e->size = gap < LONGEST ? (uint32_t)gap : LONGEST;
	}
}

static int names_read_list(struct name_reader *r, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!f)
		return fail_errno(EX_NOINPUT, "ERROR: cannot read \"%s\"", path);
	while (!err && getline(&line, &size, f) > 0)
		err = names_add_line(r, line);
	if (!err && ferror(f))
		err = -EIO;
	free(line);
	fclose(f);
	if (!err)
		return 0;
	errno = -err;
	return fail_errno(EX_OSERR, "ERROR: cannot read \"%s\"", path);
}

/* A file is of this boot if its kernel has the address of the running one. */
static int list_check_boot(const struct name_reader *r, const char *system)
{
	struct kernel_names unused = { 0 };
	struct name_reader now = { .names = &unused };
	int code = names_read_list(&now, KERNEL_LIST);

	kernel_names_free(&unused);
	if (code)
		return code;
	if (!now.anchor)
		return fail(EX_NOPERM, "ERROR: cannot check that \"%s\" is of this boot: the "
			    "kernel hides its addresses (kernel.kptr_restrict, or CAP_SYSLOG is "
			    "missing)", system);
	if (r->anchor == now.anchor)
		return 0;
	return fail(EX_DATAERR, "ERROR: \"%s\" has no names of this boot: " ANCHOR " is at 0x%llx "
		    "there, and at 0x%llx in this kernel; without -N the names are those of "
		    KERNEL_LIST, system, (unsigned long long)r->anchor,
		    (unsigned long long)now.anchor);
}

int kernel_names_read(struct kernel_names *names, const char *system)
{
	struct name_reader r = { .names = names };
	int code = names_read_list(&r, system ? system : KERNEL_LIST);

	if (!code && names->n == 0)
		code = system ? fail(EX_DATAERR, "ERROR: \"%s\" has no names of functions as "
				     KERNEL_LIST " has them", system) :
				fail(EX_NOPERM, "ERROR: the kernel hides its addresses in "
				     KERNEL_LIST " (kernel.kptr_restrict=2, or CAP_SYSLOG is "
				     "missing): a profile would have no names");
	if (!code)
		names_finish(names);
	if (!code && system)
		code = list_check_boot(&r, system);
	return code;
}

struct kernel_name *kernel_names_find(const struct kernel_names *names, uint64_t address)
{
	size_t upto = array_upto(names->list, names->n, start, address);

	return upto ? &names->list[upto - 1] : NULL;
}

void kernel_names_free(struct kernel_names *names)
{
	free(names->list);
	buf_free(&names->text);
	*names = (struct kernel_names){ 0 };
}
