/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding and opening the files of objects.h. */
#ifndef PMCBPF_CLI_TRACE_FILES_H
#define PMCBPF_CLI_TRACE_FILES_H

#include "objects.h"

/* Opens an object's file if it is the one that ran, else prints the reason in one line. */
void files_open(struct objects *objects, struct mapped_file *object);

#endif
