/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that goes to a terminal: the user's pager, and colours. */
#ifndef PMCBPF_CLI_PAGER_H
#define PMCBPF_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * It reads what is written to *fd from now on, and Ctrl-C means it alone.  Without one all stays as
 * it is.  0, or EX_OSERR and its line.
 */
int pager_start(pid_t *pid, int *fd);

/* It is a terminal that has colours, and nobody asked for none. */
bool terminal_colour(int fd);

/* Until it is left; its end of the pipe is closed before.  0: there is none. */
void pager_wait(pid_t pid);

#endif
