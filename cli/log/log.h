/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs as the tools read them: opening one, a pass over its records, and a record as a line of text.
 * Decoding is pmclog(3)'s, in libpmc-compat.
 *
 * Callers are measure/ (pmcstat -R), pmc/, pmcannotate/, profile/ (which walks a log's samples) and
 * top/.  A pass runs in the caller's thread and calls the caller's functions from there, in the order
 * of the records.  A log may still be growing: opening makes a pipe or a connection non-blocking, and
 * a pass waits in poll(2) after `idle` has let its caller show what it has.
 */
#ifndef PMCBPF_CLI_LOG_H
#define PMCBPF_CLI_LOG_H

#include "logopen.h"
#include "logread.h"
#include "logtext.h"

#endif
