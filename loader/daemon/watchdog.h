/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the event loop was held up, and by which kind of work.  Every piece of work is measured
 * between two looks at what else there is to do: a slice of a request, an accepted connection, a
 * look at the rings.  `pmccontrol --doctor` shows the longest ones; systemd hears that the loop
 * lives (WatchdogSec= in the unit).
 */
#ifndef PMCBPF_WATCHDOG_H
#define PMCBPF_WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

/* Operations have their numbers in lib/base/wire.h; these are behind them. */
enum watchdog_kind {
	WATCHDOG_ACCEPT = 96,
	WATCHDOG_RECEIVE,		/* a request whose operation is not known yet */
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
	uint64_t period, due;		/* ns; of systemd's watchdog; 0: it has none */
};

#define WATCHDOG_LATE_NS 50000000u

/* What the service manager asks for, by WATCHDOG_USEC. */
void watchdog_init(struct watchdog *w);
void watchdog_begin(struct watchdog *w);
/* `kind`: enum wire_op or enum watchdog_kind. */
void watchdog_end(struct watchdog *w, unsigned int kind);
/* Reports to the service manager if that is due; returns in how many ms it is again, -1: never. */
int watchdog_beat(struct watchdog *w);

/* "longest 3.1 ms (PMCATTACH), then …; 0 of 50 ms or more" */
void watchdog_text(const struct watchdog *w, const char *(*op_name)(unsigned int op), char *buf,
		   size_t size);

#endif
