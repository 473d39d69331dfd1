/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding and opening the files of objects.h: its other half. */
#ifndef PMCBPF_CLI_TRACE_FILES_H
#define PMCBPF_CLI_TRACE_FILES_H

#include "objects.h"

/* Opens an object's file, if it is the one that ran; a line says why it is not. */
void files_open(struct objects *objects, struct mapped_file *object);

#endif
