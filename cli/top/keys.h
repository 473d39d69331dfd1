/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys change the look at a profile, and answer on the screen's second line. */
#ifndef PMCBPF_CLI_TOP_KEYS_H
#define PMCBPF_CLI_TOP_KEYS_H

#include "view.h"

struct keys {
	struct look look;
	bool sums;		/* samples add up from period to period */
	bool paused, help, quit;
	char first;		/* a key that waits for another one, or text: 'c', '/'; else 0 */
	char only[32];		/* look.only */
	char echo[64];		/* the answer; "" if no key came in this period */
};

void keys_begin(struct keys *k);
void keys_press(struct keys *k, const struct profile *profile, char key);

/* Presses all keys in the text; escape sequences (arrows and others) are ignored. */
void keys_type(struct keys *k, const struct profile *profile, const char *text, size_t len);

/* Draws the help page. */
void keys_help(struct picture *p);

#endif
