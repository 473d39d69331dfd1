/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder for the files of a test program, gone when it ends, and commands that make them. */
#ifndef PMCBPF_UNIT_SCRATCH_H
#define PMCBPF_UNIT_SCRATCH_H

#include <stddef.h>

const char *scratch(void);

/* A file in it, valid for some calls. */
const char *scratch_file(const char *name);
void scratch_write(const char *name, const void *data, size_t size);
void *scratch_read(const char *name, size_t *size);	/* with a NUL behind; to be freed */

/* A shell command there; 0: it succeeded. */
int scratch_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
