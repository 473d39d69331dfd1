/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal that a picture is shown on.  Nothing else knows of curses; a picture for a file
 * needs no screen.  While it is open, what would go to the terminal beside it, messages and what
 * the command prints, is kept, and follows when it is closed.
 */
#ifndef PMCBPF_CLI_TOP_SCREEN_H
#define PMCBPF_CLI_TOP_SCREEN_H

#include "picture.h"

struct screen;

/* Can the terminal of `fd` do it?  Nothing changes yet.  0 or an exit code, the line printed. */
int screen_new(struct screen **screen, int fd);

/* Where the command's output to the terminal goes. */
int screen_output(const struct screen *screen);

/* From here to screen_close() the terminal is the screen's.  *keys is where keys come, or -1. */
int screen_open(struct screen *screen, int *keys);

void screen_size(const struct screen *screen, unsigned int *rows, unsigned int *cols);
void screen_show(struct screen *screen, const struct picture *picture);

/* The terminal has another size, or somebody else has written to it. */
void screen_renew(struct screen *screen);

/* ^Z: the terminal is as it was until screen_renew(). */
void screen_suspend(struct screen *screen);

/* Of the command's output, what came last is enough; the rest gives its memory back. */
void screen_trim(const struct screen *screen);

/* The terminal is as it was, with the last picture below, and what else was printed meanwhile. */
void screen_close(struct screen *screen, const struct picture *last);

#endif
