/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmclog(3): the reader of logs in libpmc-compat.  <pmclog.h> is its interface; this header is for
 * the room itself and for tests.
 *
 *   pmclog	  source (mapped, read or fed bytes), decoder, state of a parser
 *   pmclogera	  pmclog_read() for programs written for FreeBSD 6, 7, 12 and 13
 *   pmclogjson	  a record as a JSON object
 *   pmclogvalue	  the values of a sample
 *   pmclogfields	  the fields of tracepoints' records, which a parser remembers
 *   pmclognote	  notes behind the paths of records
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

/*
 * From the note behind the path at p, whose record ends after `len` bytes: the build id of a
 * mapping's file, the address at which a program begins.
 */
void pmclognote_buildid(struct pmclog_ev_map_in *mi, const uint8_t *p, size_t len);
void pmclognote_entry(struct pmclog_ev_procexec *x, const uint8_t *p, size_t len);

/* pmclog_read() of FreeBSD 6 and 7, and of 12 and 13: <pmclog.h> chooses by PMC_API. */
int pmclog_read7(void *cookie, struct pmclog_ev *ev);
int pmclog_read12(void *cookie, struct pmclog_ev *ev);

#endif
