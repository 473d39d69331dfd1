/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting to a running pmcbpfd: see running.h. */
#include <pmc.h>

#include "lib/base/sockname.h"
#include "running.h"

int running_connect(void)
{
	return sockname_require() ? -1 : pmc_init();
}
