/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat -T: a live view of a log, period by period.  A measurement's loop calls top_live() with
 * its events (measure.h); this room calls profile/ for the counts and report/ for texts.
 *
 *   tap.c      a thread that empties the log's pipe, the only thread of the tools.  The daemon
 *              answers a flush when it has written everything, and it writes when the pipe has
 *              room: the thread that waits for the answer cannot be the one that makes room.
 *   top.c      feeds the bytes to a parser and the records to a profile.  At each tick it copies
 *              the period's counts, so that keys look at a whole period while the next one grows.
 *   view*.c    draw a look (which view, which PMC) at a profile into a picture.
 *   picture.c  a screen as text, so that views are testable without a terminal.
 *   screen.c   curses; no other file knows it.  Without a terminal, pictures go to the output.
 *   keys.c     changes the look.
 *
 * The tap's buffer is all that the two threads share, under the tap's lock; everything else belongs
 * to the main thread.
 */
#ifndef PMCBPF_CLI_TOP_TOP_H
#define PMCBPF_CLI_TOP_TOP_H

#include "cli/measure/measure.h"

/* The `live` of a measurement with -T. */
int top_live(struct measure *m, enum live_event event);

/* Opens the input, for -T with -R: nothing is measured. */
int top_read(struct measure *m);

#endif
