/* SPDX-License-Identifier: BSD-2-Clause */
/* Text on a terminal: the user's pager, messages beside it, colours. */
#ifndef PMCBPF_CLI_PAGER_H
#define PMCBPF_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts the pager, which reads from the other end of *fd.  Ctrl-C then goes to it alone.  If
 * the user wants none, *pid and *fd stay as they are.  0, or EX_OSERR and its line.
 */
int pager_start(pid_t *pid, int *fd);

/*
 * A pager would draw over messages on its terminal, or scroll them away unread.  So messages are
 * held from pager_hold() on; pager_release() prints them when the pager is gone.  If standard
 * error is not a terminal, nothing is held.
 */
struct held {
	int terminal;		/* standard error as it was before */
	int text;		/* the messages; -1: nothing is held */
};

#define HELD_NONE ((struct held){ .terminal = -1, .text = -1 })

void pager_hold(struct held *held);
void pager_release(struct held *held);

/* Is `fd` a terminal with colours, and NO_COLOR unset? */
bool pager_colour(int fd);

/* Waits until the user leaves the pager; close the pipe before.  0: there is no pager. */
void pager_wait(pid_t pid);

#endif
