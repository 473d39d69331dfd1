/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of probes.  Pure text.
 *
 *	name := ( "uprobe" | "uretprobe" ) ":" PATH ":" SYMBOL [ "+" OFFSET ]
 *	      | "usdt:" PATH ":" PROVIDER ":" NAME
 *	      | ( "kprobe" | "kretprobe" ) ":" FUNCTION [ "+" OFFSET ]
 */
#ifndef PMCBPF_EVENT_PROBE_NAME_H
#define PMCBPF_EVENT_PROBE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/reason.h"

struct probe_name {
	uint32_t kind;			/* enum wire_probe */
	const char *word;		/* "uprobe" */
	char *path;			/* in the text that was split; NULL: the kernel's */
	char *provider;			/* NULL: it has none */
	char *symbol;
	uint64_t plus;
};

/* True if the text begins with a kind of probe that this release counts. */
bool probe_name_is(const char *text);
/* The characters of the name at the beginning of a specifier: qualifiers follow a comma. */
size_t probe_name_length(const char *text);
/* Splits a name, which it cuts.  -EINVAL with the reason. */
int probe_name_split(char *text, struct probe_name *name, struct reason *why);

#endif
