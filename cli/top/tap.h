/* SPDX-License-Identifier: BSD-2-Clause */
/* The reading end of a log's pipe, emptied by a thread: see top.h. */
#ifndef PMCBPF_CLI_TOP_TAP_H
#define PMCBPF_CLI_TOP_TAP_H

#include <stdbool.h>
#include <stddef.h>

struct tap;

/* Starts to read `fd`, which stays the caller's.  *ready is readable when tap_take() has data. */
int tap_open(struct tap **tap, int fd, int *ready);

/*
 * Takes the data so far, valid until the next call.  *err: -1 if more may come, 0 at the end of
 * the log, or the errno that ended it.
 */
size_t tap_take(struct tap *tap, char **data, int *err);

/* May a full tap stop reading?  Not while the caller waits for the daemon to write. */
void tap_hold(struct tap *tap, bool on);

/* Waits for data or the end. */
void tap_wait(struct tap *tap);

void tap_close(struct tap *tap);

#endif
