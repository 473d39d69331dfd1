/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of a log as JSON, an object a line; every value is a string, as FreeBSD's are. */
#ifndef PMCBPF_CLI_LOGJSON_H
#define PMCBPF_CLI_LOGJSON_H

#include <pmclog.h>

#include "buf.h"

void logjson(struct buf *out, const struct pmclog_ev *ev);

#endif
