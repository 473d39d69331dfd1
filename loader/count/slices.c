/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that are counted in slices.  Where the kernel has not reported a context switch, the
 * programs mark the PMC at its owner's position: its count is lost until it is written.
 * bpf/count/seen.bpf.h has the model.
 */
#include <errno.h>
#include <time.h>

#include "count_impl.h"

#define START_TRIES 32
#define WATCH_MS    250u

static __u64 *missed_word(const struct count *c)
{
	return &engine_owner(c->e, c->owner->counts.slot)->missed;
}

bool slices_missed(const struct count *c)
{
	return c->backend == BACKEND_SLICED &&
	       __atomic_load_n(missed_word(c), __ATOMIC_ACQUIRE) >> c->pos & 1;
}

void slices_forget(struct count *c)
{
	if (c->pos < ABI_COUNTS)
		__atomic_fetch_and(missed_word(c), ~(1ull << c->pos), __ATOMIC_SEQ_CST);
}

void slices_lose(struct count *c)
{
	if (c->pos < ABI_COUNTS)
		__atomic_fetch_or(missed_word(c), 1ull << c->pos, __ATOMIC_SEQ_CST);
}

int slices_deny(const struct count *c, struct why *why)
{
	return deny(why, -EBUSY, "row %u (%s) lost a time slice: this kernel has not reported a "
		    "context switch of one of the processes (pmccontrol --doctor); write the PMC "
		    "or release it, and count again", c->spec.row, c->spec.row_name);
}

void count_hidden(struct count *c)
{
	if (c->backend == BACKEND_SLICED && c->running)
		page_update(c);
}

int count_hidden_switches(struct engine *e, uint64_t *hidden, struct why *why)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	int err = engine_need(e, NEED_SWITCH, why);

	if (err)
		return err;
	for (unsigned int ms = 0; ms < WATCH_MS && !engine_hidden(e); ms++) {
		nanosleep(&step, NULL);
		engine_breathe(e);
	}
	engine_unneed(e, NEED_SWITCH);
	*hidden = engine_hidden(e);
	return 0;
}

/*
 * Ends the slices that are open now and opens them anew.  Where a kernel hides switches, one may be
 * missing among them.
 */
void slices_update(const struct count *c)
{
	const volatile struct abi_counts *k = c->owner->counts.cpu;
	bool all = engine_hidden(c->e);

	for (unsigned int cpu = 0; cpu < engine_ncpu(c->e); cpu++)
		if (all || __atomic_load_n(&k[cpu].open, __ATOMIC_RELAXED) >> c->pos & 1)
			engine_flush(c->e, cpu);
}

/*
 * The CPUs begin one after another.  If a switch is hidden meanwhile, it is not known whether it
 * concerns this PMC, and all begin once more.
 */
void slices_start(struct count *c)
{
	struct targets *ts = engine_targets(c->e);

	for (unsigned int i = 0;; i++) {
		uint64_t hidden = engine_hidden(c->e), before = count_slices(c);

		target_activate(ts, c, true);
		engine_flush_all(c->e);
		target_due(ts, c, true);
		if (engine_hidden(c->e) == hidden)
			return;
		if (i == START_TRIES) {
			slices_lose(c);
			return;
		}
		target_due(ts, c, false);
		target_activate(ts, c, false);
		engine_flush_all(c->e);
		c->zero += count_slices(c) - before;
	}
}

/* Slices that the last flush ends, or finds missing, are still due. */
void slices_stop(struct count *c)
{
	struct targets *ts = engine_targets(c->e);

	target_activate(ts, c, false);
	engine_flush_all(c->e);
	target_due(ts, c, false);
}
