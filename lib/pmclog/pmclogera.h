/* SPDX-License-Identifier: BSD-2-Clause */
/* What pmclog_read7() needs of the parser. */
#ifndef PMCBPF_PMCLOGERA_H
#define PMCBPF_PMCLOGERA_H

#include <pmclog.h>

/* A copy of an event's name, which the parser keeps until its next record. */
const char *pmclog_keep_name(void *cookie, const char *name);

int pmclog_read7(void *cookie, struct pmclog_ev *ev);
int pmclog_read12(void *cookie, struct pmclog_ev *ev);

#endif
