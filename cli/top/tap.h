/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a log's pipe, emptied by a thread.  The daemon answers a flush when it has written,
 * and writes when there is room: who asks for the flush cannot be the one who makes room.
 */
#ifndef PMCBPF_CLI_TOP_TAP_H
#define PMCBPF_CLI_TOP_TAP_H

#include <stdbool.h>
#include <stddef.h>

struct tap;

/* Reads `fd`, which stays the caller's, to its end.  *ready is readable when there is something. */
int tap_open(struct tap **tap, int fd, int *ready);

/*
 * What has come, valid until the next call.  *err: -1 the log goes on, 0 that was the end, or the
 * errno that ended it.
 */
size_t tap_take(struct tap *tap, char **data, int *err);

/* May the writer be held up when much waits to be taken?  Not while who takes waits for it. */
void tap_hold(struct tap *tap, bool on);

/* Waits for more, or for the end. */
void tap_wait(struct tap *tap);

void tap_close(struct tap *tap);

#endif
