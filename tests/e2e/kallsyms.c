/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for each function of /proc/kallsyms by an address inside of it, as the daemon does, and
 * compares.  Functions that come or go meanwhile do not count: both of two readings have to have
 * them.  Prints a line for each function that is not found or has another name there, and a
 * summary; status 1: one is wrong.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "loader/kernel/kernel.h"
#include "loader/log/log.h"

struct sums {
	unsigned long all, modules, bpf, missing, wrong;
};

/* Of modules and BPF: they may come or go. */
struct added {
	uint64_t address;
	struct kernel_symbol found;
};

struct search {
	const struct engine *e;
	const struct ksyms *before;
	uint64_t address[ABI_SYMBOLS];
	size_t n;
	struct added *added;
	size_t nadded, room;
	struct sums sums;
};

static void check(struct search *s, uint64_t address, const struct kernel_symbol *found)
{
	struct ksym sym = { .name = "" };
	bool known = ksyms_find(s->before, address, &sym), bpf = !strncmp(sym.name, "[bpf]", 5);

	s->sums.all++;
	s->sums.bpf += bpf;
	s->sums.modules += *sym.name == '[' && !bpf;
	if (!found->start) {
		printf("missing %s\n", sym.name);
		s->sums.missing++;
	} else if (known && sym.start == found->start && strcmp(sym.name, found->name)) {
		printf("alias %s: %s\n", sym.name, found->name);
	} else if (!known || sym.start != found->start) {
		printf("wrong %s at %" PRIx64 ": %s at %" PRIx64 "\n", sym.name, sym.start,
		       found->name, found->start);
		s->sums.wrong++;
	}
}

static void ask(struct search *s)
{
	static struct kernel_symbol found[ABI_SYMBOLS];
	int error = kernel_symbols_find(s->e, s->address, s->n, found);
	struct ksym sym;

	if (error)
		errx(2, "kernel_symbols_find: %s", strerror(-error));
	for (size_t i = 0; i < s->n; i++) {
		if (!ksyms_find(s->before, s->address[i], &sym) || *sym.name != '[') {
			check(s, s->address[i], &found[i]);
			continue;
		}
		if (array_reserve(s->added, s->room, s->nadded + 1) != 0)
			err(2, "memory");
		s->added[s->nadded++] = (struct added){ s->address[i], found[i] };
	}
	s->n = 0;
}

static void check_added(struct search *s)
{
	struct ksyms *after = NULL;
	struct ksym x, y;

	if (ksyms_read(&after, "/proc/kallsyms"))
		errx(2, "/proc/kallsyms");
	for (size_t i = 0; i < s->nadded; i++)
		if (ksyms_find(s->before, s->added[i].address, &x) &&
		    ksyms_find(after, s->added[i].address, &y) && !strcmp(x.name, y.name))
			check(s, s->added[i].address, &s->added[i].found);
	ksyms_free(after);
}

int main(void)
{
	struct search s = { .n = 0 };
	struct ksyms *before = NULL;
	struct engine *e = NULL;
	struct reason why = { "" };
	char line[1024], type;
	uint64_t address;
	FILE *f;

	if (engine_new(&e, &why))
		errx(2, "%s", why.text);
	f = fopen("/proc/kallsyms", "re");
	if (!f || ksyms_read(&before, "/proc/kallsyms"))
		errx(2, "/proc/kallsyms");
	s.e = e;
	s.before = before;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %c", &address, &type) == 2 && strchr("tTwW", type)) {
			s.address[s.n++] = address + 1;
			if (s.n == ABI_SYMBOLS)
				ask(&s);
		}
	ask(&s);
	check_added(&s);
	fclose(f);
	free(s.added);
	ksyms_free(before);
	engine_free(e);
	printf("%lu functions, %lu of modules, %lu of BPF, %lu missing, %lu wrong\n", s.sums.all,
	       s.sums.modules, s.sums.bpf, s.sums.missing, s.sums.wrong);
	return s.sums.wrong ? 1 : 0;
}
