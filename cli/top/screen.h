/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal that shows pictures, by curses.  While it is open, messages and the command's output
 * that would go to the same terminal are kept; screen_close() prints them.
 */
#ifndef PMCBPF_CLI_TOP_SCREEN_H
#define PMCBPF_CLI_TOP_SCREEN_H

#include "picture.h"

struct screen;

/* Checks that the terminal of `fd` can be drawn on; it is not changed yet.  0 or an exit code. */
int screen_new(struct screen **screen, int fd);

/* The descriptor for the command's output to the terminal. */
int screen_output(const struct screen *screen);

/* Takes the terminal, until screen_close().  *keys is the descriptor of keys, or -1. */
int screen_open(struct screen *screen, int *keys);

void screen_size(const struct screen *screen, unsigned int *rows, unsigned int *cols);
void screen_show(struct screen *screen, const struct picture *picture);

/* Redraws: the terminal has another size, or another program has written to it. */
void screen_renew(struct screen *screen);

/* ^Z: restores the terminal, until screen_renew(). */
void screen_suspend(struct screen *screen);

/* Frees the memory of all but the end of the kept output. */
void screen_trim(const struct screen *screen);

/* Restores the terminal, and prints the last picture and the output that was kept. */
void screen_close(struct screen *screen, const struct picture *last);

#endif
