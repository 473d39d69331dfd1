/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a PMC holds in the kernel from its allocation to its release, and which PMCs share it.
 * A class of PMCs names one of these tables; the table chooses the backend (backend.h).
 *
 * begin_system() or begin_process() is called once, and end() only if that succeeded.  On failure
 * the caller gives back what count_pay() took.
 */
#ifndef PMCBPF_HOLDER_H
#define PMCBPF_HOLDER_H

#include "count_state.h"

struct count_holder {
	/* Follows "row 3 (IAP-3)": how the counter was lost, and the remedy. */
	const char *lost;
	/* As count_rank(), for process scope; NULL: 0. */
	int (*rank)(const struct engine *e, const struct count_spec *spec);
	int (*begin_system)(struct count *c, struct reason *why);
	int (*begin_process)(struct count *c, struct reason *why);
	void (*end)(struct count *c);
	/* The PMC is about to start. */
	int (*prepare)(struct count *c, struct reason *why);
};

/* The holders themselves are declared in count.h, for classes to name. */

#endif
