/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hwpmc's tunables and the file that sets them: `name="value"` lines and # comments, as in
 * loader.conf(5).
 */
#ifndef PMCBPF_CONFIG_H
#define PMCBPF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "why.h"

enum tunable {
	TUN_CALLCHAINDEPTH,
	TUN_HASHSIZE,
	TUN_LOGBUFFERSIZE,
	TUN_MTXPOOLSIZE,
	TUN_NBUFFERS,
	TUN_NSAMPLES,
	TUN_SYSPMCS,
	TUN_PROC_DEBUG,
	TUNABLES
};

struct config {
	int value[TUNABLES];
	bool debugflags;	/* somebody set kern.hwpmc.debugflags */
};

void config_init(struct config *c);

/* -EINVAL: no such tunable, or not a number. */
int config_set(struct config *c, const char *name, const char *value, struct why *why);

/* One "NAME=VALUE" of the command line. */
int config_option(struct config *c, const char *text, struct why *why);

/* The text of a file called `file`; the first bad line ends it, named in `why`. */
int config_text(struct config *c, const char *file, const char *text, size_t len, struct why *why);

/* An absent file is an error only if it must exist. */
int config_read(struct config *c, const char *file, bool must_exist, struct why *why);

/*
 * Puts values that are out of range back, with hwpmc's own words (but for "hwpmc: ") for each.
 */
void config_check(struct config *c, void (*say)(void *arg, const char *line), void *arg);

#endif
