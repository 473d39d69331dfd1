/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line. */
#ifndef PMCBPF_PCTR_OPTIONS_H
#define PMCBPF_PCTR_OPTIONS_H

#include <stdbool.h>

#include "core.h"

#define OPTIONS_DONE 1		/* --help, --version: printed, nothing is left to do */

struct options {
	bool foreground, test;
	const char *dir;
	const char *node;		/* "": none */
	unsigned int intel_counters;
	struct core_config set;
};

/* 0, OPTIONS_DONE, or -EINVAL with a message. */
int options_parse(struct options *o, int argc, char **argv, const struct messages *messages);

/* Sets "NAME=VALUE".  0, or -EINVAL with a message. */
int options_knob(struct options *o, const char *text, const struct messages *messages);

#endif
