/* SPDX-License-Identifier: BSD-2-Clause */
/* LTTng-UST's tracepoint with two integers, the nearest to CTR2; LTTng includes it repeatedly. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER pmcbpf_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/loops/lttng_points.h"

#if !defined(BENCH_LTTNG_POINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_POINTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(pmcbpf_bench, two,
	LTTNG_UST_TP_ARGS(int, first, int, second),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, first, first)
		lttng_ust_field_integer(int, second, second)
	)
)

#endif

#include <lttng/tracepoint-event.h>
