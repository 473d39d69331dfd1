/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that count migrations.  A program adds each to the counts of the owner, whatever CPU it runs
 * on, so that the owner reads them at any time.
 */
#include "one_thread.h"
#include "slices.h"

/* A thread may migrate until its last switch. */
static int migrations_hold_attach(struct count *c, struct reason *why)
{
	return count_state_hold(c, NEED_MIGRATE, why) ?: count_state_hold(c, NEED_FINAL, why);
}

/* The program cannot be interrupted: a CPU that is flushed has seen the new state. */
static int migrations_set(struct count *c, bool on, struct reason *why)
{
	int err;

	target_activate(c->e->targets, c, on);
	err = flush_all(c->e->flush);
	return err ? flush_deny(err, why) : 0;
}

static int migrations_start(struct count *c, struct reason *why)
{
	int err = migrations_set(c, true, why);

	if (err)
		target_activate(c->e->targets, c, false);
	return err;
}

static int migrations_stop(struct count *c, struct reason *why)
{
	return migrations_set(c, false, why);
}

static int migrations_read(struct count *c, uint64_t *raw, struct reason *why)
{
	(void)why;
	*raw = slices_sum(c);
	return 0;
}

static enum wire_how migrations_how(const struct count *c)
{
	(void)c;
	return WIRE_HOW_COUNTS;
}

const struct backend backend_migrations = {
	.name = "migrations", .migrations = true, .hold_attach = migrations_hold_attach,
	.attach = one_thread_attach, .detach = one_thread_detach,
	.start = migrations_start, .stop = migrations_stop, .read = migrations_read,
	.how_stopped = WIRE_HOW_VALUE, .how = migrations_how, .fill = slices_fill,
};
