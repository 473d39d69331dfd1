/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PMC's hold on the kernel, from its allocation to its release, and the PMCs that share it.  A
 * class of PMCs names one of these tables; the table chooses the backend (backend.h).
 *
 * begin_system() or begin_process() is called once, and end() only if that succeeded.  On failure
 * the caller gives back what count_pay() took.
 */
#ifndef PMCBPF_HOLDER_H
#define PMCBPF_HOLDER_H

#include "count_state.h"

/* The usual way to lose a counter. */
#define HOLDER_LOST " lost its counter to another user of the PMU (pmccontrol --doctor may name " \
	"it); release the PMC and allocate again"

struct count_holder {
	/* Follows "row 3 (IAP-3)" in messages: how the counter was lost, and the remedy. */
	const char *lost;
	/* See count_rank(); for process scope; NULL: 0. */
	int (*rank)(const struct engine *e, const struct count_spec *spec);
	int (*begin_system)(struct count *c, struct reason *why);
	int (*begin_process)(struct count *c, struct reason *why);
	void (*end)(struct count *c);
	/* Called before the PMC starts. */
	int (*prepare)(struct count *c, struct reason *why);
};

/* The holders are declared in count.h, because classes name them. */

#endif
