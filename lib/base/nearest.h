/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "Did you mean": the known name that is nearest to a mistyped one.  Distance is the number of
 * letters inserted, left out, replaced or swapped with their neighbour; case does not count, and
 * space, "_", "-" and "." are one character, as in event names.
 */
#ifndef PMCBPF_NEAREST_H
#define PMCBPF_NEAREST_H

#include <stddef.h>

#define NEAREST_MAX 80u		/* bytes of a name; longer ones are near to nothing */

struct nearest {
	const char *word;
	char name[NEAREST_MAX];		/* the best so far */
	size_t distance;		/* its distance; above the limit at first */
	char hint[NEAREST_MAX + 32];
};

void nearest_begin(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *name);

/* ' (did you mean "NAME"?)' with `prefix` before the name, or "" if no name is near enough. */
const char *nearest_hint(struct nearest *n, const char *prefix);

/*
 * The hint for a word of a command line, "--NAME[=VALUE]", that getopt_long() did not know among
 * `names`; "" for a letter.
 */
struct option;
const char *nearest_option(struct nearest *n, const char *word, const struct option *names);

#endif
