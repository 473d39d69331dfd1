/* SPDX-License-Identifier: BSD-2-Clause */
/* What keys do: they change how a profile is looked at, and answer on the screen's second line. */
#ifndef PMCBPF_CLI_TOP_KEYS_H
#define PMCBPF_CLI_TOP_KEYS_H

#include "view.h"

struct keys {
	struct look look;
	bool sums;		/* samples add up from period to period */
	bool paused, help, quit;
	char first;		/* of a key that takes another one, or text: 'c', '/'; else 0 */
	char only[32];		/* look.only */
	char echo[64];		/* the answer; "" of a period that nobody has touched */
};

void keys_begin(struct keys *k);
void keys_press(struct keys *k, const struct profile *profile, char key);

/* … of all keys in the text, but those that a terminal sends as ESC and more: they mean nothing. */
void keys_type(struct keys *k, const struct profile *profile, const char *text, size_t len);

/* The picture of `help`. */
void keys_help(struct picture *p);

#endif
