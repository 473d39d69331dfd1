/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of an enabled tracepoint of LTTng-UST; tests/bench/lttng creates the session. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_points.h"

#include "loop.h"

static void two(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		lttng_ust_tracepoint(pmcbpf_bench, two, (int)i, (int)rounds);
}

int main(void)
{
	static const struct loop loops[] = { { '2', two } };

	if (!lttng_ust_tracepoint_enabled(pmcbpf_bench, two)) {
		fputs("LTTng's tracepoint is not enabled: there is no session for it\n", stderr);
		return 1;
	}
	return loop_serve(loops, 1);
}
