/* SPDX-License-Identifier: BSD-2-Clause */
/* Class TSC: the time-stamp counter of a CPU, which clients read without the daemon. */
#include <errno.h>
#include <stdio.h>

#include <sys/pmc.h>

#include "class.h"
#include "loader/machine/machine.h"
#include "row.h"

static int class_tsc_add_rows(struct row_table *t, const struct class_machine *m,
			      struct reason *why)
{
	const struct row_class class = {
		.ops = &class_tsc, .prefix = "TSC",
		.info = { .class = PMC_CLASS_TSC, .caps = PMC_CAP_READ, .width = 64, .num = 1,
			  .perf_type = ~0u },
	};

	return m->cpu->tsc ? row_add_class(t, &class, why) : 0;
}

static int class_tsc_plan(struct allocation *p, struct reason *why)
{
	if (p->a->mode != PMC_MODE_SC || p->a->event != PMC_EV_TSC_TSC ||
	    p->a->caps != PMC_CAP_READ)
		return deny(why, -EINVAL,
			    "the TSC counts its one event, of a CPU, and is read "
			    "only: mode SC, capability READ");
	snprintf(p->name, sizeof(p->name), "TSC");
	return 0;
}

const struct class_ops class_tsc = {
	.separator = "", .shared = true, .holder = &holder_nothing,
	.add_rows = class_tsc_add_rows, .plan = class_tsc_plan,
};
