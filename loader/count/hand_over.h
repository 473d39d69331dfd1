/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands a row over from its per-CPU source, which its running PMCs slice, to per-task events.  It
 * misses nothing and counts nothing twice, although targets run and create threads and processes.
 *
 * The events of all CPUs are opened first.  They do not count, so that threads which inherit one
 * and get another can be mended (task_cover.h) without a second counter.  Then the daemon runs on
 * one CPU after the other, so that no target runs there and none has a slice open there: it enables
 * the events for that CPU and closes the source there.  While targets run on other CPUs, the
 * sources there still count them; when they run here again, their events for this CPU do.  An
 * offline CPU runs no target.
 *
 * Two things can go wrong on a CPU, and then its part begins again with new events.  A call of the
 * daemon may have waited for a lock that a target held, so that others ran there and were counted
 * twice.  A fork(2) may be under way that has copied the events while they were disabled: its child
 * would not count.  Only the source's end cannot be undone.
 */
#ifndef PMCBPF_HAND_OVER_H
#define PMCBPF_HAND_OVER_H

#include "count_row.h"

/*
 * For each PMC of a row; called by count_row.c while no other operation runs.  0 or -errno.
 * *begun: a CPU has been handed over, and that cannot be undone.
 */
int hand_over_row(struct engine *e, struct count_row *row, bool *begun, struct reason *why);

#endif
