/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel_symbols.h: printk's "%pS", read back. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "pmcbpf.skel.h"
#include "kernel_symbols.h"

#define TAG_DIGITS 16u			/* of a BPF program's tag in its name */

static bool name_begins(const char *name, const char *with, const char **rest)
{
	*rest = name + strlen(with);
	return !strncmp(name, with, strlen(with));
}

/* /proc/kallsyms has them in "[bpf]", "%pS" does not; no function of the kernel is named so. */
static bool kernel_symbol_is_bpf(const char *name)
{
	const char *rest;

	if (name_begins(name, "bpf_prog_", &rest)) {
		size_t tag = strspn(rest, "0123456789abcdef");

		return tag == TAG_DIGITS && (!rest[tag] || rest[tag] == '_');
	}
	return name_begins(name, "bpf_trampoline_", &rest) && *rest &&
	       !rest[strspn(rest, "0123456789")];
}

/* Names that functions of the kernel and BPF's own code may have. */
static bool kernel_symbol_is_ambiguous(const char *name)
{
	const char *rest;

	return name_begins(name, "bpf_dispatcher_", &rest) || name_begins(name, "bpf__", &rest);
}

/* "name+0x1/0x20 [module]"; none: an answer without an offset, or one that was cut. */
static void kernel_symbol_take(struct kernel_symbol *s, char *text, uint64_t address)
{
	char *plus, *module = strstr(text, " ["), *end;
	uint64_t offset, size;

	s->start = 0;
	if (strlen(text) == ABI_SYMBOL_TEXT - 1)
		return;
	if (module)
		*module++ = '\0';
	plus = strrchr(text, '+');
	if (!plus || plus == text)
		return;
	*plus++ = '\0';
	offset = strtoull(plus, &end, 16);
	if (end == plus || *end != '/' || offset >= address || kernel_symbol_is_ambiguous(text))
		return;
	size = strtoull(end + 1, NULL, 16);
	if (offset >= size)
		return;
	if (!module)
		module = kernel_symbol_is_bpf(text) ? "[bpf]" : "";
	snprintf(s->name, sizeof(s->name), "%s%s", module, text);
	s->start = address - offset;
	s->size = size;
}

int kernel_symbols_find(const struct engine *e, const uint64_t *address, size_t n,
			struct kernel_symbol *found)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct abi_symbols *s = &e->skel->bss->symbols;
	int err;

	if (n > ABI_SYMBOLS)
		return -E2BIG;
	memcpy(s->address, address, n * sizeof(*address));
	s->n = (uint32_t)n;
	err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.symbols_find), &opts);
	for (size_t i = 0; i < n && !err; i++)
		kernel_symbol_take(&found[i], s->text[i], address[i]);
	return err;
}

static int kernel_symbol_locate(const struct engine *e, const char *name, uint64_t *address)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct abi_symbol_place *place = &e->skel->bss->symbol_place;
	int err;

	if (strlen(name) >= sizeof(place->name))
		return -ENOENT;
	memset(place, 0, sizeof(*place));
	memcpy(place->name, name, strlen(name));
	err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.symbol_locate), &opts);
	*address = place->address;
	return err ?: (int)opts.retval;
}

int kernel_symbols_function(const struct engine *e, const char *text, struct kernel_symbol *found)
{
	uint64_t address;
	char *end;
	int err;

	errno = 0;
	address = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text))
		err = kernel_symbol_locate(e, text, &address);
	else
		err = *end || errno ? -ENOENT : 0;
	err = err ?: kernel_symbols_find(e, &address, 1, found);
	return err || found->start ? err : -ENOENT;
}
