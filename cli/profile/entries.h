/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of a file or a JIT map, found by address. */
#ifndef PMCBPF_CLI_PROFILE_ENTRIES_H
#define PMCBPF_CLI_PROFILE_ENTRIES_H

#include "spans.h"
#include "symbol.h"

/* A name as its source has it, not demangled. */
struct entry {
	const char *name;
	uint64_t start, size;	/* an address; size 0: not known */
	const struct symbol *symbol;	/* made when it is first needed */
};

/* Entries by address. */
struct entries {
	struct entry *entry;
	size_t n, room;
	struct spans spans;
};

/* 0 or -ENOMEM. */
int entries_add(struct entries *e, struct entry entry, uint64_t end, uint32_t rank);
struct entry *entries_find(const struct entries *e, uint64_t address);
void entries_free(struct entries *e);

#endif
