/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What logs are told of processes: who is born, execs, maps, exits.  A process-scope PMC's log
 * hears of its targets, the log of a running system-scope sampler of everybody.  When a target
 * executes a set-id program, only owners who may follow it have records of the exec and of what
 * comes after it.
 */
#ifndef PMCBPF_LIFELOG_H
#define PMCBPF_LIFELOG_H

#include "pmc.h"
#include "loader/process/process.h"

struct lifelog;

struct engine;
struct errands;
/* Mappings are read by errands. */
int lifelog_new(struct engine *e, struct errands *es, struct lifelog **out, struct why *why);
void lifelog_free(struct lifelog *l);
/* Readable when there is much to read; -1 while nobody listens. */
int lifelog_fd(const struct lifelog *l);

/* CPUs have come or gone. */
void lifelog_cpus(struct lifelog *l);

/* The owner has a log from now on, or none any more. */
int lifelog_listen(struct lifelog *l, struct owner *o, struct why *why);
/* False if it had none. */
bool lifelog_leave(struct lifelog *l, struct owner *o);

/*
 * The PMC measures the process; its log gets what happens from `since` on.  False: no memory, and
 * the log has a gap.
 */
bool lifelog_attach(struct lifelog *l, struct pmc *p, pid_t tgid, uint64_t since);
/* It has not left or exited since, nor has the log an exec of it: what it had then is of use. */
bool lifelog_awaits(struct lifelog *l, const struct pmc *p, pid_t tgid, uint64_t since);
bool lifelog_follows(struct lifelog *l, const struct pmc *p, pid_t tgid);
/* Calls gone() for those that the PMC does not measure any more, and follows them no longer. */
void lifelog_prune(struct lifelog *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid),
		   void *arg);
void lifelog_forget(struct pmc *p);
/*
 * From now on processes leave the PMC, one by one, until lifelog_parted(): its log gets what they
 * have done so far, because execs after they have left get no verdict.
 */
void lifelog_parting(struct pmc *p);
void lifelog_parted(struct lifelog *l, struct pmc *p);
/*
 * To be called after something about a target was read from /proc: may the PMC's log have it?
 * False also while the target is in an exec, whose verdict is not known.
 */
bool lifelog_shows(struct lifelog *l, const struct pmc *p, pid_t tgid);
/* What /proc has called a thread of a target, of which lifelog_shows() was true afterwards. */
void lifelog_name(struct lifelog *l, const struct pmc *p, pid_t tid, const char *comm);
/*
 * The PMC's log may lack targets, which logbook_targets() finds: it is to be called again.  NULL:
 * for those of which that is known.
 */
void lifelog_retry(struct lifelog *l, struct pmc *p);
/* True if that, or lifelog_shows() that returned false, has happened since the last call. */
bool lifelog_late(struct lifelog *l);
/*
 * May the PMC's log have a sample of the process?  Events up to that time have been written.  LATE:
 * not known, because the process is in an exec that takes long.
 */
enum hearing { HEARS, HEARS_NOT, HEARS_LATE };
enum hearing lifelog_hears(struct lifelog *l, struct pmc *p, pid_t tgid, uint64_t time);
/* Does any log hear of the process? */
bool lifelog_followed(struct lifelog *l, pid_t tgid);
/* Calls left() for each PMC that a set-id exec took the process from, which it follows no more. */
void lifelog_secure(struct lifelog *l, pid_t tgid,
		    void (*left)(void *arg, struct pmc *p, pid_t tgid), void *arg);

/* A sampling PMC starts: its log gets the kernel's mappings, and with system scope everybody's. */
void lifelog_start(struct lifelog *l, const struct pmc *p);

/* Reads on up to `horizon`; returns up to when events are known: until then lifelog_tell() may. */
uint64_t lifelog_collect(struct lifelog *l, uint64_t horizon);
/* Writes all events up to `until`. */
void lifelog_tell(struct lifelog *l, uint64_t until);
/* A process unmaps executable memory. */
void lifelog_unmap(struct lifelog *l, uint64_t time, pid_t tgid, uint64_t start, uint64_t end);

#endif
