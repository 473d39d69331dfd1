/* SPDX-License-Identifier: BSD-2-Clause */
/* What operations leave in their owner's log, if it has one: allocations, attachments. */
#ifndef PMCBPF_LOGBOOK_H
#define PMCBPF_LOGBOOK_H

#include "loader/daemon.h"
#include "loader/pmc/lifetime.h"
#include "loader/log/log.h"
#include "loader/pmc/pmc.h"

void logbook_allocate(const struct pmc *p);
/* After an attach or detach: tells of targets that are new, or not targets any more. */
void logbook_targets(struct daemon *d, struct pmc *p);

/*
 * The same for PMCs whose targets were in an exec then, or nobody knows: a piece of work of the
 * owner's (work.h), after lifelog_late().
 */
bool logbook_is_late(const struct owner *o);
void logbook_late(struct daemon *d, struct owner *o);
/* Notes of set-id execs are missing: whoever has a log may have lost targets. */
void logbook_doubt(struct daemon *d);

/* A set-id exec of the process: PMCs that may not follow have left it. */
void logbook_secure(struct daemon *d, pid_t tgid);

/* A new log begins with what was allocated and attached before it. */
int logbook_begin(struct daemon *d, struct owner *o, struct why *why);
/*
 * PMCs that need a log stop, what they left goes into it, and then it hears of nothing any more; it
 * may still be written.
 */
void logbook_end(struct daemon *d, struct owner *o);

#endif
