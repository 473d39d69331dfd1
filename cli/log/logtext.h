/* SPDX-License-Identifier: BSD-2-Clause */
/* A log's records as pmcstat's lines of text: a tag, then the fields. */
#ifndef PMCBPF_CLI_LOGTEXT_H
#define PMCBPF_CLI_LOGTEXT_H

#include <pmclog.h>

#include "lib/base/buf.h"

/* Appends the line or lines of one record. */
void logtext(struct buf *out, const struct pmclog_ev *ev);

#endif
