/* SPDX-License-Identifier: BSD-2-Clause */
/* Records to bytes: the reverse of pmclog(3), by the same table (lib/base/logfmt.h). */
#ifndef PMCBPF_LOADER_LOGREC_H
#define PMCBPF_LOADER_LOGREC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/logfmt.h"

#define LOGREC_PATH	PMCLOG_PATH_MAX	/* bytes of a path and its NUL: Linux's PATH_MAX … */
#define LOGREC_OLD_PATH 1024u		/* … and FreeBSD's, which old readers insist on */
#define LOGREC_OLD_CHAIN 128u		/* addresses that readers on FreeBSD 6 to 11 take */
#define LOGREC_MAX  (56u + 8u * PMCLOG_VALUES_MAX)	/* bytes of any record */
_Static_assert(PMCLOG_VALUES_MAX >= PMC_CALLCHAIN_DEPTH_MAX &&
	       8u * PMCLOG_VALUES_MAX >= LOGREC_PATH, "the longest record");

/* A log's format and clock. */
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
 * Copies the path if it is shorter than `room`; of a longer one "..." and the end, so that no file
 * is mistaken for it and its name can still be read.  Returns the length.
 */
size_t logrec_path(char *to, const char *path, size_t room);

/* A call chain, written without a struct pmclog_ev: samples are the most frequent records. */
size_t logrec_callchain_size(const struct logclock *clock, unsigned int npc);
void logrec_callchain(uint8_t *to, const struct logclock *clock, uint64_t ns,
		      const struct pmclog_ev_callchain *c, const uint64_t *pc);

#endif
