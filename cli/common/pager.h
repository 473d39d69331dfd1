/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that goes to a terminal: the user's pager, messages beside it, and colours. */
#ifndef PMCBPF_CLI_PAGER_H
#define PMCBPF_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * It reads what is written to *fd from now on, and Ctrl-C means it alone.  Without one all stays as
 * it is.  0, or EX_OSERR and its line.
 */
int pager_start(pid_t *pid, int *fd);

/*
 * Messages on a terminal that a pager takes would be drawn over its text, or scroll away before
 * anybody has read them: they are held from begin on and printed by end, when it has gone.  Where
 * standard error is no terminal they stay as they are.
 */
struct held {
	int terminal;		/* standard error as it was */
	int text;		/* as it is; -1: nothing is held */
};

#define HELD_NONE ((struct held){ .terminal = -1, .text = -1 })

void held_begin(struct held *held);
void held_end(struct held *held);

/* It is a terminal that has colours, and nobody asked for none. */
bool terminal_colour(int fd);

/* Until it is left; its end of the pipe is closed before.  0: there is none. */
void pager_wait(pid_t pid);

#endif
