/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of event specifiers.  Nothing here reads a file or asks a daemon:
 *
 *	spec      := event [ "," qualifier ]...
 *	event     := alias | [ CLASS "-" ] NAME | PMU "/" [ term [ "," term ]... ] "/"
 *	qualifier := KEY [ "=" VALUE ]		term := KEY [ "=" VALUE ]
 *
 * "tracepoint:" and "breakpoint:" (perf's "mem:") are class prefixes, too; a slash is part of the
 * event behind the latter.  Names of probes (probe_name.h) have paths, whose slashes and commas
 * separate nothing; and "filter=" takes all that follows as its value.
 *
 * Names and keys match without regard to case, and space, "_", "-" and "." are one character.
 */
#ifndef PMCBPF_EVSPEC_H
#define PMCBPF_EVSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/reason.h"
#include "lib/base/wire.h"

#define EVSPEC_MAX	 512u	/* bytes of a specifier */
#define EVSPEC_MAX_PAIRS 32u

/* A column of the alias table. */
enum evspec_family {
	EVSPEC_NO_PMU,		/* no hardware counters: GENERIC */
	EVSPEC_INTEL,
	EVSPEC_AMD,
	EVSPEC_ARM64,
	EVSPEC_FAMILIES
};

/* The machine, as far as the grammar depends on it. */
struct evspec_machine {
	enum evspec_family family;
	unsigned int nclass;
	uint32_t class[WIRE_CLASS_MAX];		/* enum pmc_class */
};

struct evspec_pair {
	const char *key;
	const char *value;	/* NULL: no "=" */
};

struct evspec {
	bool raw;			/* PMU/term,.../ */
	int class;			/* of the prefix, -1 without one */
	const char *event;		/* the name without prefix; raw: the PMU */
	unsigned int nterms, nquals;
	struct evspec_pair terms[EVSPEC_MAX_PAIRS];
	struct evspec_pair quals[EVSPEC_MAX_PAIRS];
	char text[EVSPEC_MAX + 1];	/* the pointers above point into it */
};

/* Splits a specifier.  -EINVAL with the reason.  `spec` must not be moved afterwards. */
int evspec_parse(const char *text, const struct evspec_machine *m, struct evspec *spec,
		 struct reason *why);

bool evspec_machine_has(const struct evspec_machine *m, uint32_t class);

/* Equal after folding?  The second form compares n characters of a with all of b. */
bool evspec_same(const char *a, const char *b);
bool evspec_same_n(const char *a, size_t n, const char *b);

#endif
