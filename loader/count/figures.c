/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs fed by the figures the kernel keeps per task (design: nothing runs at a switch).  The
 * figures of live targets are summed by a walk when somebody asks; an exiting target hands its own
 * over itself.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "count_impl.h"

#define READ_TRIES 32	/* exits that may disturb one read before it takes what it has */

static void visit_args(const struct count *c, struct abi_visit_args *args, enum abi_visit op,
		       pid_t tgid)
{
	memset(args, 0, sizeof(*args));
	args->op = op;
	args->row = c->spec.row;
	args->owner = c->owner->counts.slot;
	args->pos = c->pos;
	args->tgid = (uint32_t)(tgid ? tgid : c->only);
}

/* The kernel's clock of a process, which brings its running threads' figures up to this moment. */
static int process_clock(pid_t tgid, uint64_t *ns)
{
	clockid_t id = (clockid_t)(~(unsigned int)tgid << 3 | 2);
	struct timespec ts;

	if (clock_gettime(id, &ts))
		return -errno;
	*ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return 0;
}

/* A running thread's CPU time is as of its last tick; asking for its process's clock updates it. */
static int refresh(struct count *c, pid_t tgid)
{
	struct abi_visit_args args;
	uint64_t unused;
	int err;

	if (c->spec.soft->quantity != WIRE_Q_CPU_NS)
		return 0;
	tgid = tgid ? tgid : c->only;
	if (tgid) {
		(void)process_clock(tgid, &unused);
		return 0;
	}
	visit_args(c, &args, ABI_VISIT_RUNNING, 0);
	err = engine_visit(c->e, &args);
	for (uint32_t i = 0; !err && i < args.nrunning; i++)
		(void)process_clock((pid_t)args.running[i], &unused);	/* gone is fine */
	return err;
}

/* The owner's own figure at START, negated: the page lets the client add what it is then. */
static void self_figure(struct count *c, uint64_t raw_before, uint64_t visited)
{
	uint64_t ns = 0;

	if (c->spec.soft->quantity == WIRE_Q_CPU_NS && !process_clock(c->owner->tgid, &ns))
		c->self_start = raw_before - ns;
	else
		c->self_start = raw_before - visited;
}

int figures_start(struct count *c, struct why *why)
{
	struct abi_visit_args args;
	uint64_t sum = 0, before = c->raw + count_slices(c);
	int err = refresh(c, 0);

	target_activate(engine_targets(c->e), c, true);
	/* Until a walk finds nobody new: a child may have been born behind the first one's back. */
	do {
		visit_args(c, &args, ABI_VISIT_START, 0);
		err = err ?: engine_visit(c->e, &args);
		sum += args.sum;
		engine_breathe(c->e);
	} while (!err && args.visited);
	if (err) {
		target_activate(engine_targets(c->e), c, false);
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	}
	c->raw -= sum;
	self_figure(c, before, sum);
	return 0;
}

int figures_stop(struct count *c, struct why *why)
{
	struct abi_visit_args args;
	int err = refresh(c, 0);

	target_activate(engine_targets(c->e), c, false);
	visit_args(c, &args, ABI_VISIT_STOP, 0);
	err = err ?: engine_visit(c->e, &args);
	if (err)
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	c->raw += args.sum;
	return 0;
}

int figures_detach(struct count *c, pid_t tgid)
{
	struct abi_visit_args args;
	int err = refresh(c, tgid);

	visit_args(c, &args, ABI_VISIT_STOP, tgid);
	err = err ?: engine_visit(c->e, &args);
	if (!err)
		c->raw += args.sum;
	return err;
}

int figures_read(struct count *c, uint64_t *raw, struct why *why)
{
	struct abi_visit_args args;
	int err;

	if (!c->running) {
		*raw = c->raw + count_slices(c);
		return 0;
	}
	err = refresh(c, 0);
	/* A target that exits during the walk is in both sums or in neither: walk again. */
	for (unsigned int i = 0; !err && i < READ_TRIES; i++) {
		uint64_t exits = engine_exits(c->e);

		visit_args(c, &args, ABI_VISIT_READ, 0);
		err = engine_visit(c->e, &args);
		*raw = c->raw + args.sum + count_slices(c);
		if (!(exits & 1) && exits == engine_exits(c->e))
			return 0;
	}
	if (err)
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	return deny(why, -EAGAIN,
		    "targets exit faster than they can be summed; stop the PMC and read it");
}
