/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting to a pmcbpfd that runs: see running.h. */
#include <stdlib.h>

#include <pmc.h>

#include "running.h"

/* A socket that is named has to be there. */
int running_connect(void)
{
	const char *named = secure_getenv("PMCBPF_SOCKET");

	if ((!named || !*named) && setenv("PMCBPF_SOCKET", PMCBPF_RUNDIR "/pmcbpf/pmc.sock", 1))
		return -1;
	return pmc_init();
}
