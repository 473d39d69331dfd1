/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocol between the daemon's side (helper.c) and the helpers' side (helper_process.c). */
#ifndef PMCBPF_BASE_HELPER_IMPL_H
#define PMCBPF_BASE_HELPER_IMPL_H

#include "helper.h"
#include "message.h"

#define HELPER_JOB_CLOSE ~0u		/* the one job of our own */

#define HELPER_END_CALL 1u		/* of the call */
#define HELPER_END_ALL	2u		/* … and of the helper, which takes no other */

/* Before the argument of a call. */
struct helper_order {
	uint32_t job;
	uint32_t reserved;
};
/* Before each part. */
struct helper_answer {
	uint32_t end;			/* HELPER_END_…; not 0: it is the last, `result` holds */
	int32_t result;
};

/* The spawner: until the daemon has gone. */
_Noreturn void helper_process_serve(int socket, const struct helpers_spec *spec);

#endif
