/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs as the tools read them: opening one, a pass over its records, a record as a line of text.
 * libpmc-compat decodes the records (pmclog(3)).
 *
 * Callers are measure/ (pmcstat -R), analysis/, pmc/, pmcannotate/, profile/ (which walks a log's
 * samples) and top/.  A pass runs in the caller's thread and calls the caller's functions in the
 * order of the records.  A log may still be growing: opening makes a pipe or a connection
 * non-blocking, and a pass that has read everything so far calls `idle`, so that its caller can
 * show the records, and then waits in poll(2).
 */
#ifndef PMCBPF_CLI_LOG_H
#define PMCBPF_CLI_LOG_H

#include "chains.h"
#include "logopen.h"
#include "logread.h"
#include "logtext.h"

#endif
