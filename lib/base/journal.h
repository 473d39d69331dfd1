/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of services on standard error: with their priorities, where the journal reads them. */
#ifndef PMCBPF_JOURNAL_H
#define PMCBPF_JOURNAL_H

/*
 * Writes "name: text" in a line to standard error.  If that is the journal's stream
 * (JOURNAL_STREAM, systemd.exec(5)), "<N>" precedes each line, as sd-daemon(3) has it; a redirected
 * standard error gets none.
 */
void journal_put(int priority, const char *name, const char *text);

#endif
