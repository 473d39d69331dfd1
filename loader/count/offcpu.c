/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that sample waits, the time of threads off the CPUs.  They are sampled only: a thread that
 * waits at a reading has no count yet.  The period is the least length of a wait that is a sample.
 *
 * The programs see the PMC in its sets, or on its CPU, before its beginning is written: so a wait
 * that begins after that moment has been seen from its beginning on.
 */
#include <errno.h>

#include "cgroup.h"
#include "one_thread.h"

static volatile struct abi_offcpu *count_offcpu(const struct count *c)
{
	return offcpu_at(c->e->offcpus, c->source);
}

/* Until a process's last switch, which the program of waits may see, it is a target that waits. */
static int offcpu_hold(struct count *c, struct reason *why)
{
	bool targets = !c->spec.system && !c->spec.cgroup;
	int err = targets && !programs_offcpu_finals(c->e->programs) ?
			  count_state_hold(c, NEED_FINAL, why) : 0;

	return err ?: count_state_hold(c, NEED_OFFCPU, why);
}

/* The programs see the PMC, or do so no longer. */
static int offcpu_show(struct count *c, bool on)
{
	if (c->spec.cgroup)
		return offcpu_cgroup(c->e, c->source, on);
	if (c->spec.system)
		offcpu_system(c->e, c->spec.cpu, c->spec.row, c->source, on);
	else
		target_activate(c->e->targets, c, on);
	return 0;
}

static int offcpu_start(struct count *c, struct reason *why)
{
	volatile struct abi_offcpu *at = count_offcpu(c);
	int err = count_state_away(c, why);

	if (!err && c->spec.cgroup)
		err = cgroup_check_start(c, -1, ABI_OFFCPU_CGROUPS, "waits", why);
	if (err)
		return err;
	at->level = c->spec.cgroup ? c->cgroup->sampler.level : 0;
	at->cgroup = c->spec.cgroup ? c->cgroup->sampler.id : 0;
	at->sampler = (uint32_t)c->spec.tag;
	at->threshold = c->spec.period;
	at->rate = c->spec.offcpu_rate;
	at->wakers = c->spec.offcpu_wakers;
	err = offcpu_show(c, true);
	if (!err)
		__atomic_store_n(&at->since, clock_ns(), __ATOMIC_SEQ_CST);
	return err;
}

static int offcpu_stop(struct count *c, struct reason *why)
{
	volatile struct abi_offcpu *at = count_offcpu(c);
	struct abi_offcpu_stop stop = {
		.place = (uint32_t)c->source, .row = c->spec.row, .since = at->since,
	};

	__atomic_store_n(&at->since, ABI_OFFCPU_STOPPED, __ATOMIC_SEQ_CST);
	stop.until = clock_ns();
	/*
	 * Threads that wait now are no less of interest than those that have waited; but on which
	 * CPU their waits will end is not known.
	 */
	if (!c->spec.system && samplers_wait_open(c->e->samplers, &stop))
		at->count.unknown++;
	return offcpu_show(c, false);
}

/* All time in waits that have ended. */
static int offcpu_read(struct count *c, uint64_t *raw, struct reason *why)
{
	const volatile struct abi_offcpu_counts *n = &count_offcpu(c)->count;

	*raw = n->sampled_ns + n->below_ns + n->dropped_ns;
	return 0;
}

/* A thread of this process may have been waiting, since a time that is not known. */
static int offcpu_attach(struct count *c, pid_t tgid, struct reason *why)
{
	if (c->running)
		return deny(why, -EBUSY, "a PMC that samples time off the CPUs gets its "
			    "processes before it starts: stop it first");
	return one_thread_attach(c, tgid, why);
}

bool count_offcpu_counts(const struct count *c, struct abi_offcpu_counts *n)
{
	const volatile struct abi_offcpu_counts *now;

	if (c->backend != &backend_offcpu)
		return false;
	now = &count_offcpu(c)->count;
	*n = (struct abi_offcpu_counts){
		.sampled = now->sampled, .sampled_ns = now->sampled_ns, .below = now->below,
		.below_ns = now->below_ns, .dropped = now->dropped, .dropped_ns = now->dropped_ns,
		.unknown = now->unknown,
	};
	return true;
}

const struct backend backend_offcpu = {
	.name = "time off the CPUs", .offcpu = true, .period_at_start = true, .hold = offcpu_hold,
	.hold_attach = offcpu_hold, .start = offcpu_start, .stop = offcpu_stop,
	.read = offcpu_read, .attach = offcpu_attach, .detach = one_thread_detach,
	.how_stopped = WIRE_HOW_ASK,
};
