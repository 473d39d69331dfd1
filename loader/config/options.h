/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line. */
#ifndef PMCBPF_OPTIONS_H
#define PMCBPF_OPTIONS_H

#include <stdbool.h>

#include "config.h"

#define OPTIONS_DONE 1		/* --help, --version: printed, nothing is left to do */

struct options {
	bool foreground, test;
	const char *socket, *config;
	bool config_given;
	int client_fd;			/* -1: none */
	struct config set;		/* the file's tunables, and over them those of -o */
	int argc;
	char **argv;
};

/* 0, OPTIONS_DONE, or -EINVAL. */
int options_parse(struct options *o, int argc, char **argv, struct why *why);

/* The tunables anew: the file may have changed. */
int options_tunables(const struct options *o, struct config *config, struct why *why);

#endif
