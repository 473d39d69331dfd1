/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The longest time for which each kind of work has held up the event loop.  The loop measures every
 * piece of work that it does without checking for other ready work: a slice of a request, an
 * accepted connection, a drain of the rings.  `pmccontrol --doctor` shows the longest ones.  The
 * service manager is notified that the loop runs (WatchdogSec= in the unit).
 */
#ifndef PMCBPF_WATCHDOG_H
#define PMCBPF_WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

/* Operations have the numbers of lib/base/wire.h; these follow them. */
enum watchdog_kind {
	WATCHDOG_ACCEPT = 96,
	WATCHDOG_RECEIVE,		/* a request, before its operation is known */
	WATCHDOG_END,			/* an owner's end */
	WATCHDOG_CLOSE,			/* a connection's end */
	WATCHDOG_LOGS,
	WATCHDOG_RINGS,			/* samples and records of processes */
	WATCHDOG_NOTES,			/* of execs and exits */
	WATCHDOG_HELPERS,
	WATCHDOG_OTHER,			/* CPUs, signals, trace rings, registers */
	WATCHDOG_KINDS
};

struct watchdog {
	uint64_t began;			/* ns */
	uint64_t longest[WATCHDOG_KINDS];	/* ns */
	uint64_t late;			/* pieces of work that took WATCHDOG_LATE_NS or more */
	uint64_t period, due;		/* ns; for the service manager; 0: it has no watchdog */
};

#define WATCHDOG_LATE_NS 50000000u

/* Takes the service manager's period from WATCHDOG_USEC. */
void watchdog_init(struct watchdog *w);
void watchdog_begin(struct watchdog *w);
/* `kind`: enum wire_op or enum watchdog_kind. */
void watchdog_end(struct watchdog *w, unsigned int kind);
/* Notifies the service manager if that is due; returns the ms until it is due again, -1: never. */
int watchdog_beat(struct watchdog *w);

/* "longest 3.1 ms (PMCATTACH), then …; 0 of 50 ms or more" */
void watchdog_text(const struct watchdog *w, const char *(*op_name)(unsigned int op), char *buf,
		   size_t size);

#endif
