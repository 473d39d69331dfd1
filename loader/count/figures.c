/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs fed by the kernel's figures per task: nothing runs at a context switch.  A walk sums the
 * figures of live targets when a value is needed; an exiting target's figures are added by its exit
 * program.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "slices.h"

#define READ_TRIES   64	/* disturbed reads before the last result is returned */
#define SETTLE_TRIES 2000	/* looks at running programs: each takes microseconds … */
#define SETTLE_FAST  100	/* … the first of them … */
#define SETTLE_NS    20000	/* … or a nap: a hypervisor may have stopped their CPU */
#define LEAVE_TRIES  8		/* naps until exited threads have switched for the last time */

static void figures_args(const struct count *c, struct abi_visit_args *args, enum abi_visit op,
			 pid_t tgid)
{
	memset(args, 0, sizeof(*args));
	args->op = op;
	args->row = c->spec.row;
	args->owner = c->owner->counts.slot;
	args->pos = c->pos;
	args->tgid = (uint32_t)(tgid ? tgid : c->only);
}

/* The kernel's clock of a process; reading it brings the figures of running threads up to date. */
static int process_clock(pid_t tgid, uint64_t *ns)
{
	clockid_t id = (clockid_t)(~(unsigned int)tgid << 3 | 2);
	struct timespec ts;

	if (clock_gettime(id, &ts))
		return -errno;
	*ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return 0;
}

/* A running thread's CPU time is as old as its last tick: reads its process's clock first. */
static int figures_refresh(struct count *c, pid_t tgid)
{
	struct abi_visit_args args;
	uint64_t unused;
	int err;

	if (c->spec.quantity != WIRE_Q_CPU_NS)
		return 0;
	tgid = tgid ? tgid : c->only;
	if (tgid) {
		(void)process_clock(tgid, &unused);
		return 0;
	}
	figures_args(c, &args, ABI_VISIT_RUNNING, 0);
	err = visit_run(c->e, &args);
	for (uint32_t i = 0; !err && i < args.nrunning; i++)
		(void)process_clock((pid_t)args.running[i], &unused);	/* exited: no error */
	return err;
}

/* The owner's own figure at START, negated: the client adds its current figure to it. */
static void figures_note_self(struct count *c, uint64_t raw_before, uint64_t visited)
{
	uint64_t ns = 0;

	if (c->spec.quantity == WIRE_Q_CPU_NS && !process_clock(c->owner->tgid, &ns))
		c->self_start = raw_before - ns;
	else
		c->self_start = raw_before - visited;
}

static int figures_start(struct count *c, struct reason *why)
{
	struct abi_visit_args args;
	uint64_t sum = 0, before = c->raw + slices_sum(c);
	int err = figures_refresh(c, 0);

	target_activate(c->e->targets, c, true);
	/* Walk until no new process is found: a child may be born during a walk. */
	do {
		figures_args(c, &args, ABI_VISIT_START, 0);
		err = err ?: visit_run(c->e, &args);
		sum += args.sum;
		engine_breathe(c->e);
	} while (!err && args.visited);
	if (err) {
		target_activate(c->e->targets, c, false);
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	}
	c->raw -= sum;
	figures_note_self(c, before, sum);
	return 0;
}

/* After this, programs that found the PMC running at a process's exit have added its figures. */
static void figures_settle(const struct count *c)
{
	const struct timespec nap = { .tv_nsec = SETTLE_NS };

	for (unsigned int i = 0; i < SETTLE_TRIES && visit_exits(c->e) & 1; i++) {
		if (i < SETTLE_FAST)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

static int figures_stop(struct count *c, struct reason *why)
{
	struct abi_visit_args args;
	int err = figures_refresh(c, 0);

	target_activate(c->e->targets, c, false);
	figures_args(c, &args, ABI_VISIT_STOP, 0);
	err = err ?: visit_run(c->e, &args);
	if (err)
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	figures_settle(c);
	c->raw += args.sum;
	return 0;
}

static int figures_collect(struct count *c, pid_t tgid)
{
	struct abi_visit_args args;
	int err = figures_refresh(c, tgid);

	figures_args(c, &args, ABI_VISIT_STOP, tgid);
	err = err ?: visit_run(c->e, &args);
	if (err)
		return err;
	figures_settle(c);
	c->raw += args.sum;
	return 0;
}

static bool figures_are_switches(const struct count *c)
{
	return c->spec.quantity == WIRE_Q_NVCSW || c->spec.quantity == WIRE_Q_NIVCSW ||
	       c->spec.quantity == WIRE_Q_CSW;
}

/*
 * A process can be waited for some microseconds before its last switch, which is to be in the
 * count.  False: that takes too long, or the kernel has hidden the switch.
 */
static bool figures_leave(const struct count *c, const struct abi_visit_args *args,
			  unsigned int tries)
{
	const struct timespec nap = { .tv_nsec = SETTLE_NS };

	if (!args->leaving || !figures_are_switches(c) || tries >= LEAVE_TRIES)
		return false;
	nanosleep(&nap, NULL);
	return true;
}

static int figures_read(struct count *c, uint64_t *raw, struct reason *why)
{
	struct abi_visit_args args;
	unsigned int leaves = 0;
	int err;

	if (!c->running) {
		*raw = c->raw + slices_sum(c);
		return 0;
	}
	err = figures_refresh(c, 0);
	/* A target that exits during the walk may be in one sum only: walk again. */
	for (unsigned int i = 0; !err && i < READ_TRIES; i++) {
		uint64_t exits = visit_exits(c->e);

		figures_args(c, &args, ABI_VISIT_READ, 0);
		err = visit_run(c->e, &args);
		*raw = c->raw + args.sum + slices_sum(c);
		if (!err && figures_leave(c, &args, leaves))
			leaves++;
		else if (!(exits & 1) && exits == visit_exits(c->e))
			return 0;
		figures_settle(c);
	}
	if (err)
		return deny(why, err, "cannot read the targets' figures: %s", strerror(-err));
	return deny(why, -EAGAIN,
		    "targets exit faster than they can be summed; stop the PMC and read it");
}

/* These are complete only after a thread's last switch. */
static int figures_hold_attach(struct count *c, struct reason *why)
{
	bool ends = c->spec.quantity == WIRE_Q_CPU_NS || figures_are_switches(c);

	return ends ? count_state_hold(c, NEED_FINAL, why) : 0;
}

static enum wire_how figures_how(const struct count *c)
{
	return count_state_self_only(c) ? WIRE_HOW_RUSAGE : WIRE_HOW_ASK;
}

static void figures_fill(struct count *c, struct wire_page_pmc *p)
{
	p->quantity = c->spec.quantity;
	p->rate = c->spec.rate;
	p->raw = c->self_start;
	if (p->how == WIRE_HOW_VALUE)
		p->base += count_state_scale(c, c->raw + slices_sum(c));
}

const struct backend backend_figures = {
	.name = "figures", .figures = true, .hold_attach = figures_hold_attach,
	.start = figures_start, .stop = figures_stop, .read = figures_read,
	.collect = figures_collect, .how_stopped = WIRE_HOW_VALUE, .how = figures_how,
	.fill = figures_fill,
};
