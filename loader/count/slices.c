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
#include "one_thread.h"
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

static void slices_activate(struct count *const *list, unsigned int n, bool on)
{
	target_activate_all(list[0]->e->targets, list, n, on);
}

static void slices_due(struct count *const *list, unsigned int n, bool on)
{
	for (unsigned int i = 0; i < n; i++)
		target_due(list[i]->e->targets, list[i], on);
}

static void slices_lose_all(struct count *const *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		slices_lose(list[i]);
}

/* Takes a start back: what was counted since `before` is left out. */
static void slices_start_undo(struct count *const *list, unsigned int n, const uint64_t *before)
{
	slices_due(list, n, false);
	slices_activate(list, n, false);
	if (flush_all(list[0]->e->flush))	/* open slices are added after this subtraction */
		slices_lose_all(list, n);
	for (unsigned int i = 0; i < n; i++)
		list[i]->zero += slices_sum(list[i]) - before[i];
}

/*
 * CPUs begin one after another.  A switch that is hidden meanwhile, or a CPU that does not begin,
 * may concern these PMCs: then all CPUs begin once more.
 */
void slices_start_all(struct count *const *list, unsigned int n)
{
	struct engine *e = list[0]->e;
	uint64_t before[ABI_MAX_MEMBERS];

	for (unsigned int i = 0; i < n; i++) {
		hotplug_narrow(e->hotplug, register_narrow(list[i]));
		hold_tracepoint_start(list[i]);
	}
	for (unsigned int tries = 0;; tries++) {
		uint64_t hidden = switches_hidden(e);
		int err;

		for (unsigned int i = 0; i < n; i++)
			before[i] = slices_sum(list[i]);
		slices_activate(list, n, true);
		err = flush_all(e->flush);
		slices_due(list, n, true);
		if (!err && switches_hidden(e) == hidden)
			return;
		if (tries == START_TRIES)
			break;
		slices_start_undo(list, n, before);
	}
	slices_lose_all(list, n);
}

static int slices_start(struct count *c, struct reason *why)
{
	slices_start_all(&c, 1);
	return 0;
}

/* Slices that the last flush ends, or finds missing, still count: `due` is cleared after it. */
void slices_stop_all(struct count *const *list, unsigned int n)
{
	struct engine *e = list[0]->e;

	for (unsigned int i = 0; i < n; i++)
		hotplug_narrow(e->hotplug, -register_narrow(list[i]));
	slices_activate(list, n, false);
	if (flush_all(e->flush))
		slices_lose_all(list, n);
	slices_due(list, n, false);
	for (unsigned int i = 0; i < n; i++) {
		list[i]->lost |= sources_lost(e->sources, slices_source(list[i]));
		hold_tracepoint_stop(list[i]);
	}
}

static int slices_stop(struct count *c, struct reason *why)
{
	slices_stop_all(&c, 1);
	return 0;
}

static int slices_check(struct count *c, int err, struct reason *why)
{
	if (c->lost || sources_lost(c->e->sources, slices_source(c)))
		return count_state_lost(c, -EBUSY, why);
	if (slices_missed(c))
		return slices_deny(c, why);
	return err ? flush_deny(err, why) : hold_tracepoint_check(c, why);
}

static int slices_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err = c->running ? slices_update(c) : 0;

	*raw = slices_sum(c);
	return slices_check(c, err, why);
}

/* Each CPU's counts are of one instant, so that equal members have equal sums. */
int slices_read_all(struct count *const *list, unsigned int n, uint64_t *raw,
		    unsigned int *failed, struct reason *why)
{
	const struct owner_counts *counts = &list[0]->owner->counts;
	const struct engine *e = list[0]->e;
	uint64_t sum[ABI_COUNTS] = { 0 };
	int err = 0, checked = 0;

	for (unsigned int cpu = 0; cpu < e->ncpu && !err; cpu++)
		err = flush_snapshot(e->flush, cpu, counts->slot, &counts->cpu[cpu], sum);
	for (unsigned int i = 0; i < n && !checked; i++) {
		raw[i] = sum[list[i]->pos] - list[i]->zero;
		*failed = i;
		checked = slices_check(list[i], err, why);
	}
	return checked;
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
	int source = slices_source(c);

	return c->running && source < ABI_SOURCE_HOOK && missed >> source & 1;
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
	if (switches_hidden(c->e) || c->spec.in_kernel || c->spec.sampling ||
	    target_row(c->e->targets, c->owner->tgid, c->spec.row) == c)
		return WIRE_HOW_ASK;
	/* The client adds up raw counts; a clock's counts are scaled. */
	return count_state_scales(c) ? WIRE_HOW_ASK : WIRE_HOW_COUNTS;
}

void slices_fill(struct count *c, struct wire_page_pmc *p)
{
	if (p->how == WIRE_HOW_COUNTS)
		p->base -= c->zero;	/* the client adds up the whole count */
	else if (p->how == WIRE_HOW_VALUE)
		p->base += count_state_scale(c, slices_sum(c));
}

const struct backend backend_slices = {
	.name = "slices", .sliced = true, .hold = slices_hold, .start = slices_start,
	.stop = slices_stop, .read = slices_read,
	.attach = one_thread_attach, .detach = one_thread_detach, .leave_begin = slices_leave_begin,
	.leave_end = slices_leave_end, .cpu_missed = slices_cpu_missed, .missed = slices_missed,
	.forget = slices_forget, .fold = slices_fold, .how_stopped = WIRE_HOW_VALUE,
	.how = slices_how, .fill = slices_fill,
};
