/* SPDX-License-Identifier: BSD-2-Clause */
/* Records to bytes: the other direction of pmclog(3), by the same table. */
#ifndef PMCBPF_LOADER_LOGREC_H
#define PMCBPF_LOADER_LOGREC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/logfmt.h"

#define LOGREC_PATH	PMCLOG_PATH_MAX	/* bytes of a path and its NUL: Linux's PATH_MAX … */
#define LOGREC_OLD_PATH 1024u		/* … and FreeBSD's, which old readers insist on */
#define LOGREC_OLD_CHAIN 128u		/* addresses that readers on FreeBSD 6 to 11 take */
#define LOGREC_MAX  (40u + 8u * PMC_CALLCHAIN_DEPTH_MAX)	/* bytes of any record */

/* How a log tells time. */
struct logclock {
	enum logfmt format;
	int64_t to_wall;		/* ns from CLOCK_MONOTONIC to CLOCK_REALTIME */
};

/*
 * Writes the record that ev->pl_type and its member of ev->pl_u describe, at `ns` of
 * CLOCK_MONOTONIC; returns its length, 0 if the format has no such record.  `room` ≥ LOGREC_MAX.
 */
size_t logrec_encode(uint8_t *to, const struct logclock *clock, uint64_t ns,
		     const struct pmclog_ev *ev);

/*
 * The path, if it takes up less than `room`.  Of a longer one the end follows "...": no file is
 * called so, and its name can still be read.  Returns the length.
 */
size_t logrec_path(char *to, const char *path, size_t room);

/* A call chain alone, whose length is also known before: of samples there are many. */
size_t logrec_callchain_size(const struct logclock *clock, unsigned int npc);
void logrec_callchain(uint8_t *to, const struct logclock *clock, uint64_t ns,
		      const struct pmclog_ev_callchain *c, const uint64_t *pc);

#endif
