/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmclog(3): the reader of logs in libpmc-compat.  <pmclog.h> is its interface; this header is for
 * the room itself and for tests.
 *
 *   pmclog	  source (mapped, read or fed bytes), decoder, state of a parser
 *   pmclogera	  pmclog_read() for programs written for FreeBSD 6, 7, 12 and 13
 *   pmclogjson	  a record as a JSON object
 *
 * Layouts are in lib/base/logfmt.h.  Callers are tools and client programs, in any thread; a parser
 * belongs to one thread at a time and takes no lock.  Logs may be hostile: a record is decoded only
 * if all its bytes are at hand, and every length in it is checked.
 */
#ifndef PMCBPF_LIB_PMCLOG_H
#define PMCBPF_LIB_PMCLOG_H

#include <pmclog.h>

/* A copy of an event's name, which the parser keeps until its next record. */
const char *pmclog_keep_name(void *cookie, const char *name);

/* pmclog_read() of FreeBSD 6 and 7, and of 12 and 13: <pmclog.h> chooses by PMC_API. */
int pmclog_read7(void *cookie, struct pmclog_ev *ev);
int pmclog_read12(void *cookie, struct pmclog_ev *ev);

#endif
