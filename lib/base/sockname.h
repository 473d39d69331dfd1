/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket to which pmc_init() connects. */
#ifndef PMCBPF_BASE_SOCKNAME_H
#define PMCBPF_BASE_SOCKNAME_H

#include <stdlib.h>

#include "wire.h"

/*
 * Names the usual socket in the environment unless another is named there: pmc_init() then starts
 * no private daemon, and fails with ENOENT or ENOTDIR where none runs.  0, or -1 with errno.
 */
static inline int sockname_require(void)
{
	const char *named = secure_getenv("PMCBPF_SOCKET");

	return named && *named ? 0 : setenv("PMCBPF_SOCKET", WIRE_SOCKET, 1);
}

#endif
