/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes the events of processes to logs.
 *
 * process/process_events.c delivers the births, execs, mappings, names and ends of all processes in
 * the order of time.  An event goes to
 *   - the log of every owner that runs a system-scope sampler: events of all processes;
 *   - the log of every PMC that *follows* the process: one struct follow (follows.h) for each pair
 *     of a PMC and a process, from the attachment or the birth until all events before the
 *     exit or the detachment have been written.
 * An owner's log gets an event once, even if several of its PMCs follow the process; an exec is
 * written for each PMC, because its record has the PMC's number.
 *
 * Secrets.  If a target executes a set-id program, only owners that may follow it get the exec and
 * later events; for all others the follow ends at the exec's beginning (`until`).  Whether an exec
 * is of that kind is known only from the BPF programs' verdict (execs.h): until then events of the
 * process wait, and its samples are ADMITTED_LATER.  Data read from /proc may be the new image's
 * already: it is read first, then lifetime_shows() decides, and only then it is written.
 *
 * Example: PMC 1 follows process 100 from 5 on.  100 forks 101 at 10: FORK is written, and 101 is
 * followed from 10 on.  100 begins a set-id exec at 20; its verdict arrives at 22.  Events and
 * samples of 100 up to 20 are written, later ones are not; 101 is still followed.
 *
 * All of it runs in the event loop.  lifetime_collect() comes first, then lifetime_write() up to
 * the time of each sample that is written.
 */
#ifndef PMCBPF_LIFETIME_H
#define PMCBPF_LIFETIME_H

#include "pmc.h"
#include "loader/process/process.h"

struct lifetime;

struct engine;
struct errands;
/* The errands read mappings. */
int lifetime_new(struct engine *e, struct errands *es, struct lifetime **out, struct reason *why);
void lifetime_free(struct lifetime *l);
/* Readable when a buffer is half full; -1 while no log is open. */
int lifetime_fd(const struct lifetime *l);

/* CPUs have come or gone. */
void lifetime_cpus(struct lifetime *l);

/* The owner's log begins to get events … */
int lifetime_listen(struct lifetime *l, struct owner *o, struct reason *why);
/* … or no longer gets any.  False if it got none before. */
bool lifetime_leave(struct lifetime *l, struct owner *o);

/*
 * The PMC measures the process; its log gets events from `since` on.  False: no memory, and the log
 * has a gap.
 */
bool lifetime_attach(struct lifetime *l, struct pmc *p, pid_t tgid, uint64_t since);
/*
 * True if the process has not left, exited or exec'd since then: its mappings of that time are
 * still valid.
 */
bool lifetime_awaits(struct lifetime *l, const struct pmc *p, pid_t tgid, uint64_t since);
bool lifetime_follows(struct lifetime *l, const struct pmc *p, pid_t tgid);
/* Calls gone() for each process that the PMC no longer measures, and ends its follow. */
void lifetime_prune(struct lifetime *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid),
		   void *arg);
void lifetime_forget(struct pmc *p);
/*
 * Between the two calls processes leave the PMC, one by one.  Its log gets their events up to the
 * first call only, because execs after a process has left get no verdict.
 */
void lifetime_parting(struct pmc *p);
void lifetime_parted(struct lifetime *l, struct pmc *p);
/*
 * To be called after something about a target was read from /proc: true if the PMC's log may have
 * that.  False also while the target is in an exec without a verdict.
 */
bool lifetime_shows(struct lifetime *l, const struct pmc *p, pid_t tgid);
/* Logs a thread's name from /proc; lifetime_shows() was true after it was read. */
void lifetime_name(struct lifetime *l, const struct pmc *p, pid_t tid, const char *comm);
/*
 * The PMC's log may lack targets: logbook_targets() has to be called again.  NULL: only for PMCs
 * that are marked already.
 */
void lifetime_retry(struct lifetime *l, struct pmc *p);
/* True if lifetime_retry() was called, or lifetime_shows() was false, since the last call. */
bool lifetime_late(struct lifetime *l);
/*
 * Decides whether the PMC's log may have a sample of the process.  Events up to that time have been
 * written.  ADMITTED_LATER: unknown, because the process is in a long exec.
 */
enum admission { ADMITTED, NOT_ADMITTED, ADMITTED_LATER };
enum admission lifetime_admits(struct lifetime *l, struct pmc *p, pid_t tgid, uint64_t time);
/* True if events up to `until`, for the owner's log, wait for the end of a long exec. */
bool lifetime_withholds(const struct lifetime *l, const struct owner *o, uint64_t until);
/* True if any PMC follows the process. */
bool lifetime_followed(struct lifetime *l, pid_t tgid);
/*
 * After a set-id exec: ends the follows of the PMCs that lost the process.  Its share and PMCDETACH
 * are logged once all earlier records are.  Not `complete`: its last slice may be missing.
 */
void lifetime_secure(struct lifetime *l, pid_t tgid, bool complete);

/* A sampling PMC starts: logs the kernel's mappings; in system scope, those of all processes. */
void lifetime_start(struct lifetime *l, struct pmc *p);
/* It has stopped, or has not started. */
void lifetime_stop(struct pmc *p);

/* Reads events up to `horizon`; returns the time up to which lifetime_write() may write them. */
uint64_t lifetime_collect(struct lifetime *l, uint64_t horizon);
/* Writes all events up to `until`. */
void lifetime_write(struct lifetime *l, uint64_t until);
/* A process is about to unmap executable memory. */
void lifetime_unmap(struct lifetime *l, uint64_t time, pid_t tgid, uint64_t start, uint64_t end);

#endif
