/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that operations leave in their owner's log, if it has one: allocations, attachments,
 * detachments; and the beginning and end of a log.  All of it runs in the event loop, in the fiber
 * of an operation or of a piece of work (server/work.h).
 */
#ifndef PMCBPF_LOGBOOK_H
#define PMCBPF_LOGBOOK_H

#include "loader/daemon/daemon.h"
#include "loader/pmc/lifetime.h"
#include "loader/log/log.h"
#include "loader/pmc/pmc.h"

void logbook_allocate(struct pmc *p);
/* After an attach or detach: writes records of new targets and of targets that have left. */
void logbook_targets(struct daemon *d, struct pmc *p);

/*
 * The same, later, for PMCs whose targets were in an exec or may be unknown: a piece of work of the
 * owner's (work.h), after lifetime_late().
 */
bool logbook_is_late(const struct owner *o);
void logbook_late(struct daemon *d, struct owner *o);
/* Notes of set-id execs are missing: every owner with a log may have lost targets. */
void logbook_doubt(struct daemon *d);

/* A set-id exec of the process: PMCs that may not follow have left it. */
void logbook_secure(struct daemon *d, pid_t tgid);

/* Begins a new log with the existing allocations and attachments. */
int logbook_begin(struct daemon *d, struct owner *o, struct reason *why);
/*
 * Stops the PMCs that need a log, drains their records into it, and ends its events; the log itself
 * stays open.
 */
void logbook_end(struct daemon *d, struct owner *o);

#endif
