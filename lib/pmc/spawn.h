/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The private daemon: where no pmcbpfd runs, a program of root gets one of its own that lives as
 * long as the connection.
 */
#ifndef PMCBPF_SPAWN_H
#define PMCBPF_SPAWN_H

#include <stddef.h>

#include "lib/base/reason.h"

/* Starts `pmcbpfd -f --client-fd=N` for this process alone; *fd is our end, *log its messages. */
int spawn_daemon(int *fd, int *log, struct reason *why);

/* The last line that a daemon wrote to `log`, "" if none. */
void spawn_last_line(int log, char *line, size_t size);

#endif
