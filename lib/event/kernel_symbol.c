/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel_symbol.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_symbol.h"
#include "lib/base/nearest.h"

#define KALLSYMS "/proc/kallsyms"

struct kernel_match {
	unsigned int n;			/* different addresses */
	uint64_t address;
	char type;			/* as nm(1) prints it */
};

/* A line is "ADDRESS TYPE NAME[\t[MODULE]]". */
static bool kallsyms_parse(char *line, uint64_t *address, char *type, char **name)
{
	int at = 0;

	if (sscanf(line, "%" SCNx64 " %c %n", address, type, &at) != 2 || !at)
		return false;
	*name = line + at;
	(*name)[strcspn(*name, "\t\n")] = '\0';
	return true;
}

static void kallsyms_search(FILE *f, const char *wanted, struct kernel_match *m,
			    struct nearest *near)
{
	char *line = NULL, *name, type;
	uint64_t address;
	size_t size = 0;

	while (getline(&line, &size, f) > 0) {
		if (!kallsyms_parse(line, &address, &type, &name))
			continue;
		if (near)
			nearest_offer(near, name);
		else if (!strcmp(name, wanted) && (!m->n || m->address != address))
			*m = (struct kernel_match){ m->n + 1, address, type };
	}
	free(line);
}

static int kernel_symbol_deny(FILE *f, const char *name, struct reason *why)
{
	struct kernel_match unused = { .n = 0 };
	struct nearest near;

	nearest_begin(&near, name);
	rewind(f);
	kallsyms_search(f, name, &unused, &near);
	return deny(why, -EINVAL, "the kernel has no symbol \"%s\"%s; " KALLSYMS " lists them",
		    name, nearest_hint(&near, ""));
}

int kernel_symbol_find(const char *name, uint64_t *address, bool *code, struct reason *why)
{
	struct kernel_match m = { .n = 0 };
	FILE *f = fopen(KALLSYMS, "re");
	int err = 0;

	if (!f)
		return deny(why, -EINVAL, KALLSYMS ": %s: write the address of %s",
			    strerror(errno), name);
	kallsyms_search(f, name, &m, NULL);
	if (!m.n)
		err = kernel_symbol_deny(f, name, why);
	else if (m.n > 1)
		err = deny(why, -EINVAL, "the kernel has %u symbols %s: write the address of one",
			   m.n, name);
	else if (!m.address)
		err = deny(why, -EINVAL, "the address of kernel:%s is hidden from this process, "
			   "which lacks CAP_SYSLOG (or see sysctl kernel.kptr_restrict)", name);
	else if (!(m.address >> 63))
		err = deny(why, -EINVAL, "kernel:%s is a variable of each CPU, without one address",
			   name);
	fclose(f);
	*address = m.address;
	*code = strchr("tTwW", m.type) != NULL && m.type;
	return err;
}
