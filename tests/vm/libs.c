// SPDX-License-Identifier: BSD-2-Clause
/* Loads every library that dynamically linked pmcbpf programs use, and calls each one. */
#include <bpf/libbpf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <ini.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <zlib.h>

static int on_pair(void *seen, const char *section, const char *name, const char *value)
{
	(void)section;
	(void)name;
	(void)value;
	*(int *)seen += 1;
	return 1;
}

int main(void)
{
	int pairs = 0;

	printf("libbpf %s libelf %u libdw %s zlib %s libpfm %d ", libbpf_version_string(),
	       elf_version(EV_CURRENT), dwfl_version(NULL), zlibVersion(), pfm_get_version());
	printf("libinih %d\n", ini_parse_string("[a]\nb = c\n", on_pair, &pairs) == 0 ? pairs : -1);
	return pairs == 1 ? 0 : 1;
}
