/* SPDX-License-Identifier: BSD-2-Clause */
/* The line table of a unit: only the sequences that hold an address in question are decoded. */
#ifndef PMCBPF_CLI_PROFILE_LINES_H
#define PMCBPF_CLI_PROFILE_LINES_H

#include <elfutils/libdw.h>

#include "spans.h"

struct line_table {
	const uint8_t *program, *end;
	unsigned int version, offset_size;
	unsigned int step, range, base;	/* step of addresses; range and base of special opcodes */
	int line_base;
	struct sequence *sequences;
	size_t nsequences, sequences_room;
	struct spans spans;		/* of the sequences */
	const char **folders;
	size_t nfolders, folders_room;
	struct line_file *files;
	size_t nfiles, files_room;
};

struct line_file {
	const char *name;
	uint64_t folder;
	const char *whole;	/* the caller's */
};

/* 0, -ENOMEM, or -ENOTSUP: an unusual table, left to libdw. */
int lines_open(struct line_table *l, Dwarf_Die *unit);
void lines_close(struct line_table *l);

/* false: no line is known. */
bool lines_find(struct line_table *l, uint64_t pc, unsigned int *file, unsigned int *line);

#endif
