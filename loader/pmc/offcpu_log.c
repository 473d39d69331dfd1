/* SPDX-License-Identifier: BSD-2-Clause */
/* See offcpu_log.h. */
#include <stdio.h>
#include <string.h>

#include <pmclog.h>

#include "chain.h"
#include "loader/base/base.h"
#include "loader/log/log.h"
#include "offcpu_log.h"
#include "pmc.h"
#include "sample_python.h"

_Static_assert((int)ABI_WAIT_SLEEP == (int)PMCLOG_WAIT_SLEEP &&
	       (int)ABI_WAIT_PREEMPTED == (int)PMCLOG_WAIT_PREEMPTED, "the log's reasons");

#define CHAIN_MAX (1 + ABI_OFFCPU_KERNEL + ABI_CHAIN_MAX)

static const char *const reasons[] = {
	[PMCLOG_WAIT_SLEEP] = "[sleep]", [PMCLOG_WAIT_DISK] = "[disk]",
	[PMCLOG_WAIT_LOCK] = "[lock]", [PMCLOG_WAIT_RUN_QUEUE] = "[run queue]",
	[PMCLOG_WAIT_PREEMPTED] = "[preempted]",
};

/* Names a reason's address as functions of the kernel are named. */
static void reason_name(struct offcpu_log *o, struct logfile *log, uint64_t ns, unsigned int reason)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_MAP_IN };

	if (o->log != log)
		o->named = 0;
	o->log = log;
	if (o->named >> reason & 1)
		return;
	ev.pl_u.pl_mi.pl_pid = -1;
	ev.pl_u.pl_mi.pl_start = PMCLOG_PC_WAIT + reason;
	snprintf(ev.pl_u.pl_mi.pl_pathname, sizeof(ev.pl_u.pl_mi.pl_pathname), "[off-CPU]%s",
		 reasons[reason]);
	if (!logfile_put(log, ns, &ev))
		o->named |= 1u << reason;
}

static bool wait_part_put(const struct pmc *p, const struct abi_rec *rec,
			  const struct pmclog_ev_callchain *c, uint64_t *pc, unsigned int reason,
			  uint64_t ns, const struct pmclog_ev *waker)
{
	struct logfile *log = p->owner->log;
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_VALUES };

	ev.pl_u.pl_v.pl_pmcid = p->id;
	ev.pl_u.pl_v.pl_values = PMCLOG_VALUE_PERIOD;
	ev.pl_u.pl_v.pl_nwords = 1;
	ev.pl_u.pl_v.pl_word[0] = ns;
	pc[0] = PMCLOG_PC_WAIT + reason;
	return !logfile_put(log, rec->time, &ev) &&
	       (!waker || !logfile_put(log, rec->time, waker)) &&
	       !logfile_callchain(log, rec->time, c, pc);
}

static bool wait_check(const struct abi_rec *rec, const uint64_t *data)
{
	return rec->n > ABI_OFFCPU_WORDS && rec->n < ABI_OFFCPU_WORDS + CHAIN_MAX &&
	       data[ABI_OFFCPU_REASON] >= PMCLOG_WAIT_SLEEP &&
	       data[ABI_OFFCPU_REASON] <= PMCLOG_WAIT_PREEMPTED &&
	       data[ABI_OFFCPU_RUN] <= data[ABI_OFFCPU_NS];
}

void offcpu_log_names(struct offcpu_log *o, const struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data)
{
	struct logfile *log = p->owner->log;

	if (!wait_check(rec, data))
		return;
	if (data[ABI_OFFCPU_RUN] < data[ABI_OFFCPU_NS])
		reason_name(o, log, rec->time, (unsigned int)data[ABI_OFFCPU_REASON]);
	if (data[ABI_OFFCPU_RUN])
		reason_name(o, log, rec->time, PMCLOG_WAIT_RUN_QUEUE);
}

const struct abi_python *offcpu_log_frames(struct sample_python *python, const struct abi_rec *rec)
{
	struct abi_rec chain = *rec;

	if (rec->n < ABI_OFFCPU_WORDS)
		return NULL;
	chain.n -= ABI_OFFCPU_WORDS;
	return sample_python_frames(python, &chain);
}

bool offcpu_log_wait(struct offcpu_log *o, struct sample_python *python, const struct pmc *p,
		     const struct abi_rec *rec, const uint64_t *data,
		     const struct abi_python *frames, const struct pmclog_ev *waker,
		     struct pmclog_ev_callchain *c)
{
	unsigned int room = logfile_chain_room(p->owner->log) - 1;
	unsigned int reason;
	uint64_t ns, run;
	uint64_t pc[CHAIN_MAX];
	struct abi_rec chain = *rec;
	bool there = false;

	if (!wait_check(rec, data))
		return false;
	offcpu_log_names(o, p, rec, data);
	ns = data[ABI_OFFCPU_NS];
	run = data[ABI_OFFCPU_RUN];
	reason = (unsigned int)data[ABI_OFFCPU_REASON];
	chain.n -= ABI_OFFCPU_WORDS;
	data = sample_python_merge(python, p->owner->log, &chain, data + ABI_OFFCPU_WORDS, frames);
	c->pl_pid = rec->pid;
	c->pl_tid = rec->tid;
	c->pl_pmcid = p->id;
	chain_take(c, &chain, data, room, p->kernel == KERNEL_HIDDEN);
	memcpy(pc + 1, data, (size_t)c->pl_npc * sizeof(*pc));
	c->pl_npc++;
	if (run < ns)
		there |= wait_part_put(p, rec, c, pc, reason, ns - run,
				       reason == PMCLOG_WAIT_PREEMPTED ? NULL : waker);
	if (run)
		there |= wait_part_put(p, rec, c, pc, PMCLOG_WAIT_RUN_QUEUE, run, NULL);
	return there;
}

void offcpu_log_counts(struct offcpu_log *o, const struct pmc *p)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_WAITS };
	struct abi_offcpu_counts now;

	if (!p->count || !p->owner->log || !count_offcpu_counts(p->count, &now))
		return;
	if (now.below == o->counts.below && now.dropped == o->counts.dropped &&
	    now.unknown == o->counts.unknown)
		return;
	ev.pl_u.pl_w = (struct pmclog_ev_waits){
		.pl_pmcid = p->id, .pl_below = now.below - o->counts.below,
		.pl_below_ns = now.below_ns - o->counts.below_ns,
		.pl_dropped = now.dropped - o->counts.dropped,
		.pl_dropped_ns = now.dropped_ns - o->counts.dropped_ns,
		.pl_unknown = now.unknown - o->counts.unknown,
	};
	if (!logfile_put(p->owner->log, clock_ns(), &ev))
		o->counts = now;
}
