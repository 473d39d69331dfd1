/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that are counted in slices.  If the kernel did not report a context switch, the programs
 * mark the PMC's place in its owner's counts: the count is lost until it is written.
 * bpf/count/seen.bpf.h has the model.  A slice that could not be ended in time is lost likewise.
 */
#include <errno.h>
#include <time.h>

#include "cpu_hook.h"
#include "hold_tracepoint.h"
#include "page.h"
#include "register.h"
#include "slices.h"

#define START_TRIES 32
#define WATCH_MS    250u

static __u64 *slices_missed_word(const struct count *c)
{
	return &owner_maps_owner(c->e, c->owner->counts.slot)->missed;
}

/* Only the programs write these counts, so starts and writes subtract the old sum. */
uint64_t slices_sum(const struct count *c)
{
	uint64_t sum = -c->zero;

	for (unsigned int cpu = 0; c->pos < ABI_COUNTS && cpu < c->e->ncpu; cpu++)
		sum += __atomic_load_n(&c->owner->counts.cpu[cpu].count[c->pos], __ATOMIC_RELAXED);
	return sum;
}

static bool slices_missed(const struct count *c)
{
	return __atomic_load_n(slices_missed_word(c), __ATOMIC_ACQUIRE) >> c->pos & 1;
}

void slices_forget(struct count *c)
{
	if (c->pos < ABI_COUNTS)
		__atomic_fetch_and(slices_missed_word(c), ~(1ull << c->pos), __ATOMIC_SEQ_CST);
}

static void slices_lose(struct count *c)
{
	if (c->pos < ABI_COUNTS)
		__atomic_fetch_or(slices_missed_word(c), 1ull << c->pos, __ATOMIC_SEQ_CST);
}

static int slices_deny(const struct count *c, struct reason *why)
{
	return deny(why, -EBUSY, "row %u (%s) lost a time slice: this kernel has not reported a "
		    "context switch of one of the processes (pmccontrol --doctor), or has not "
		    "ended a slice when asked; write the PMC or release it, and count again",
		    c->spec.row, c->spec.row_name);
}

void count_hidden(struct count *c)
{
	if (c->backend->missed && c->running)
		page_update(c);
}

int count_hidden_switches(struct engine *e, uint64_t *hidden, struct reason *why)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	int err = engine_need(e, NEED_SWITCH, why);

	if (err)
		return err;
	for (unsigned int ms = 0; ms < WATCH_MS && !switches_hidden(e); ms++) {
		nanosleep(&step, NULL);
		engine_breathe(e);
	}
	engine_unneed(e, NEED_SWITCH);
	*hidden = switches_hidden(e);
	return 0;
}

/*
 * Ends the open slices and begins them anew.  On a kernel that hides switches, slices may be
 * missing.
 */
static int slices_update(const struct count *c)
{
	const volatile struct abi_counts *k = c->owner->counts.cpu;
	bool all = switches_hidden(c->e);
	int err = 0;

	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++)
		if (all || __atomic_load_n(&k[cpu].open, __ATOMIC_RELAXED) >> c->pos & 1)
			err = flush_cpu(c->e->flush, cpu);
	return err;
}

/*
 * CPUs begin one after another.  A switch that is hidden meanwhile, or a CPU that does not begin,
 * may concern this PMC: then all CPUs begin once more.
 */
static int slices_start(struct count *c, struct reason *why)
{
	struct targets *ts = c->e->targets;

	hotplug_narrow(c->e->hotplug, register_narrow(c));
	hold_tracepoint_start(c);
	for (unsigned int i = 0;; i++) {
		uint64_t hidden = switches_hidden(c->e), before = slices_sum(c);
		int err;

		target_activate(ts, c, true);
		err = flush_all(c->e->flush);
		target_due(ts, c, true);
		if (!err && switches_hidden(c->e) == hidden)
			return 0;
		if (i == START_TRIES) {
			slices_lose(c);
			return 0;
		}
		target_due(ts, c, false);
		target_activate(ts, c, false);
		if (flush_all(c->e->flush))	/* open slices are added after this subtraction */
			slices_lose(c);
		c->zero += slices_sum(c) - before;
	}
}

/* Slices that the last flush ends, or finds missing, still count: `due` is cleared after it. */
static int slices_stop(struct count *c, struct reason *why)
{
	struct targets *ts = c->e->targets;

	hotplug_narrow(c->e->hotplug, -register_narrow(c));
	target_activate(ts, c, false);
	if (flush_all(c->e->flush))
		slices_lose(c);
	target_due(ts, c, false);
	c->lost |= sources_lost(c->e->sources, c->source);
	hold_tracepoint_stop(c);
	return 0;
}

static int slices_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err = c->running ? slices_update(c) : 0;

	*raw = slices_sum(c);
	if (c->lost || sources_lost(c->e->sources, c->source))
		return count_state_lost(c, -EBUSY, why);
	if (slices_missed(c))
		return slices_deny(c, why);
	return err ? flush_deny(err, why) : hold_tracepoint_check(c, why);
}

static int slices_hold(struct count *c, struct reason *why)
{
	int err = count_state_hold(c, NEED_SWITCH, why);

	return err || c->spec.from != COUNT_FROM_HOOK ? err : cpu_hook_hold(c, why);
}

/* A switch hidden before the detach is lost for this PMC; after it, no switch concerns the PMC. */
static uint64_t slices_leave_begin(struct count *c)
{
	if (flush_all(c->e->flush))
		slices_lose(c);
	return switches_hidden(c->e);
}

static void slices_leave_end(struct count *c, uint64_t hidden, bool left)
{
	if ((left && flush_all(c->e->flush)) || switches_hidden(c->e) != hidden)
		slices_lose(c);
}

static bool slices_cpu_missed(const struct count *c, unsigned int cpu, const struct cpu_state *now,
			      uint64_t missed)
{
	return c->running && c->source < ABI_SOURCE_HOOK && missed >> c->source & 1;
}

/* A process may run on one CPU all the time, so each CPU has to be flushed. */
static bool slices_fold(struct count *c)
{
	return true;
}

static enum wire_how slices_how(const struct count *c)
{
	/*
	 * An open slice may have an unseen beginning: the owner's own slice, or any.  Only the
	 * daemon knows whether the kernel has missed hits of a kprobe.
	 */
	if (switches_hidden(c->e) || c->spec.in_kernel ||
	    target_row(c->e->targets, c->owner->tgid, c->spec.row) == c)
		return WIRE_HOW_ASK;
	/* The client adds up raw counts; a clock's counts are scaled. */
	return count_state_scales(c) ? WIRE_HOW_ASK : WIRE_HOW_COUNTS;
}

static void slices_fill(struct count *c, struct wire_page_pmc *p)
{
	if (p->how == WIRE_HOW_COUNTS)
		p->base -= c->zero;	/* the client adds up the whole count */
	else if (p->how == WIRE_HOW_VALUE)
		p->base += count_state_scale(c, slices_sum(c));
}

const struct backend backend_slices = {
	.name = "slices", .sliced = true, .hold = slices_hold, .start = slices_start,
	.stop = slices_stop, .read = slices_read, .leave_begin = slices_leave_begin,
	.leave_end = slices_leave_end, .cpu_missed = slices_cpu_missed, .missed = slices_missed,
	.fold = slices_fold, .how_stopped = WIRE_HOW_VALUE, .how = slices_how,
	.fill = slices_fill,
};
