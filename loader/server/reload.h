/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGHUP: the configuration, the administrator's rules, and the machine's counters are read again.
 *
 * A fiber reads the rules, because it may wait for a name service; the rules in use decide until
 * the new ones are complete.  The rest happens outside of it: between two requests nobody may see
 * half of the classes.  A SIGHUP that comes meanwhile begins another reload after this one.
 */
#ifndef PMCBPF_RELOAD_H
#define PMCBPF_RELOAD_H

#include "loop.h"

void reload_begin(struct server *s);
/* True if reload_run() has something to do. */
bool reload_ready(const struct server *s);
void reload_run(struct server *s);
/* Gives a reload up, after fibers_hurry(). */
void reload_finish(struct server *s);

#endif
