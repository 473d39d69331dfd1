/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the record of an event of a process. */
#ifndef PMCBPF_PROCESS_RECORD_H
#define PMCBPF_PROCESS_RECORD_H

#include "loader/log/log.h"
#include "loader/process/process.h"

/* Fills the record in, except for the PMC of a PROCEXEC.  False: the event has no record. */
bool process_record_make(struct pmclog_ev *ev, const struct proc_event *e);

#endif
