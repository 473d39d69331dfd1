/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs of a register, which no PMC holds.  In system scope each PMC reads it by itself, or has a
 * perf event; in process scope PMCs share it as the source of their slices.
 */
#include <errno.h>

#include "count_pay.h"
#include "count_row.h"
#include "cpu_event.h"
#include "holder.h"
#include "register.h"

static int hold_register_system(struct count *c, struct reason *why)
{
	int err = count_pay(c, 1, 0, why);

	if (err)
		return err;
	return c->spec.event.msr ? register_new(c, why) : cpu_event_new(c, why);
}

/* All PMCs of the row have the same register, but its reader may have changed since. */
static int hold_register_process(struct count *c, struct reason *why)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);
	const struct perf_event_spec spec = count_state_event(c);
	int err = LIST_EMPTY(&row->users) ? count_row_begin(c, &spec, why) : 0;

	if (err)
		return err;
	if (!perf_spec_same(&row->spec, &spec))
		return deny(why, -EINVAL, "row %u (%s) is read in another way for PMCs from "
			    "before; release them", c->spec.row, c->spec.row_name);
	c->backend = &backend_slices;
	c->source = row->source;
	count_row_add(c);
	return 0;
}

static void hold_register_end(struct count *c)
{
	if (!c->spec.system)
		count_row_leave(c);
}

const struct count_holder holder_register = {
	.lost = ": the register could not be read on some CPU: it is not there, or not on the list "
		"any more; release the PMC",
	.begin_system = hold_register_system, .begin_process = hold_register_process,
	.end = hold_register_end,
};
