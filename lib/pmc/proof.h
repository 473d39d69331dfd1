/* SPDX-License-Identifier: BSD-2-Clause */
/* A proof for the daemon that this process may debug another. */
#ifndef PMCBPF_LIB_PROOF_H
#define PMCBPF_LIB_PROOF_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Opens a file of the process behind the pidfd, one that only its debuggers may open.  -errno: the
 * kernel refuses.  `path` gets the name of the file.
 */
int proof_open(int pidfd, char *path, size_t size);

#endif
