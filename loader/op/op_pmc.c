/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on a handle: release, start, stop, read, write. */
#include <errno.h>
#include <signal.h>

#include <sys/pmc.h>

#include "logbook.h"
#include "refusal.h"
#include "loader/pmc/sample_log.h"

int op_pmcrelease(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	bool alone;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (err)
		return err;
	/* The second: its last target has gone so lately that nobody was told. */
	alone = !count_ntargets(p->count) && !count_orphaned(p->count);
	pmc_release(&rq->d->rows, p);
	if (!alone)
		rq->d->raise(rq->s->owner, SIGIO);
	return 0;
}

/* CPUs come and go; a PMC of one that went keeps its state. */
static int check_cpu(struct request *rq, const struct pmc *p)
{
	if (!pmc_is_system(p))
		return 0;
	DEBUG(&rq->d->debug, CPU, SELECT, "CPU %u for PMC 0x%08x", p->cpu, p->id);
	if (perf_cpu_online(p->cpu))
		return 0;
	return deny(&rq->r->why, -ENXIO, "CPU %u, which this PMC counts, is offline; "
		    "bring it up, or release the PMC", p->cpu);
}

/* A process-scope PMC that nobody attached measures its owner, who needs no permission. */
static int attach_to_owner(struct request *rq, struct pmc *p)
{
	const struct owner *o = p->owner;
	int err;

	if (pmc_is_system(p) || count_ntargets(p->count))
		return 0;
	if (p->flags & PMC_F_ATTACH_DONE)
		return deny(&rq->r->why, -ESRCH, "all processes this PMC was attached to are gone; "
			    "attach it again");
	err = attach_process(rq, p, o->pidfd, &o->cred, o->cred.inner_pid, false);
	if (err)
		return err;
	p->flags |= PMC_F_ATTACH_DONE | PMC_F_ATTACHED_TO_OWNER;
	logbook_targets(rq->d, p);
	return 0;
}

static int begin(struct request *rq, struct pmc *p)
{
	int err;

	if (p->state == PMC_STATE_RUNNING)
		return 0;
	if (p->flags & PMC_F_NEEDS_LOGFILE && !p->owner->log)
		return deny(&rq->r->why, -EDOOFUS, "this PMC writes to a log (PMC_F_LOG_PROCCSW, "
			    "PMC_F_LOG_PROCEXIT, sampling), and none is configured");
	if (pmc_is_sampling(p) && !p->reload)
		return deny(&rq->r->why, -EINVAL,
			    "a sampling PMC needs a period: pmc_set() it first");
	if (pmc_is_sampling(p)) {
		err = count_set_period(p->count, p->reload, &rq->r->why);
		err = err ?: tracer_start(p->tracer, &rq->r->why);
		if (err)
			return err;
	}
	err = attach_to_owner(rq, p);
	if (!err && p->owner->log)
		trace_drain(rq->d->trace);
	if (!err && !(p->flags & PMC_F_KGMON))	/* whose samples are in no log */
		lifelog_start(rq->d->life, p);
	if (!err)
		err = check_cpu(rq, p);
	if (!err)
		err = count_start(p->count, &rq->r->why);
	if (!err)
		p->state = PMC_STATE_RUNNING;
	else if (p->tracer)
		tracer_stop(p->tracer);
	return err;
}

int op_pmcstart(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct wire_start_rep *rep;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (!err)
		err = begin(rq, p);
	if (err)
		return err;
	DEBUG(&rq->d->debug, PMC, START, "pid %d PMC 0x%08x row %u", p->owner->cred.pid, p->id,
	      p->row);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->nfds = count_read_fds(p->count, rq->r->fds, WIRE_MAX_FDS, &rep->generation);
	rq->r->nfds = rep->nfds;
	return 0;
}

int op_pmcstop(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (err || p->state == PMC_STATE_STOPPED)
		return err;
	if (p->state != PMC_STATE_RUNNING)
		return deny(&rq->r->why, -EINVAL, "this PMC was never started");
	DEBUG(&rq->d->debug, PMC, STOP, "pid %d PMC 0x%08x row %u", p->owner->cred.pid, p->id,
	      p->row);
	/* It has stopped even where that failed: on an offline CPU nothing counts. */
	err = check_cpu(rq, p);
	if (!err)
		err = count_stop(p->count, &rq->r->why);
	else
		(void)count_stop(p->count, &(struct why){ "" });
	/* What it has left on its way here is still its own. */
	if (p->tracer) {
		tracer_drain(p->tracer);
		tracer_stop(p->tracer);
	}
	p->state = PMC_STATE_STOPPED;
	return err;
}

/* Writing the TSC succeeds and does nothing. */
static int write_value(struct request *rq, struct pmc *p, uint64_t value)
{
	if (PMC_ID_TO_CLASS(p->id) == PMC_CLASS_TSC)
		return 0;
	return count_write(p->count, value, &rq->r->why);
}

static int check_idle(struct request *rq, const struct pmc *p)
{
	if (p->state == PMC_STATE_RUNNING)
		return deny(&rq->r->why, -EBUSY,
			    "this PMC is running: stop it before writing to it");
	return 0;
}

int op_pmcrw(struct request *rq)
{
	const struct wire_rw_req *a = rq->arg;
	uint32_t known = PMC_F_OLDVALUE | PMC_F_NEWVALUE;
	struct wire_rw_rep *rep;
	uint64_t old = 0;
	struct pmc *p;
	int err;

	if (!(a->flags & known) || a->flags & ~known)
		return deny(&rq->r->why, -EINVAL,
			    "illegal flags 0x%x: PMC_F_OLDVALUE, PMC_F_NEWVALUE or "
			    "both",
			    a->flags);
	err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);
	if (!err && a->flags & PMC_F_NEWVALUE)
		err = check_idle(rq, p);
	if (!err)
		err = check_cpu(rq, p);
	if (!err && pmc_is_sampling(p))
		err = deny(&rq->r->why, -EINVAL, "a sampling PMC has no count");
	if (!err && a->flags & PMC_F_OLDVALUE)
		err = count_read(p->count, &old, &rq->r->why);
	if (!err && a->flags & PMC_F_NEWVALUE)
		err = write_value(rq, p, a->value);
	if (err)
		return err;
	if (a->flags & PMC_F_OLDVALUE)
		DEBUG(&rq->d->debug, PMC, READ, "pid %d PMC 0x%08x is %llu", p->owner->cred.pid,
		      p->id, (unsigned long long)old);
	if (a->flags & PMC_F_NEWVALUE)
		DEBUG(&rq->d->debug, PMC, WRITE, "pid %d PMC 0x%08x becomes %llu",
		      p->owner->cred.pid, p->id, (unsigned long long)a->value);
	if (!pmc_is_system(p) && !count_ntargets(p->count))
		rq->d->raise(p->owner, SIGIO);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->value = old;
	return 0;
}

/*
 * hwpmc's conditions, in its order; what the register is the client has found out.  From then on
 * the PMC stays its owner's.
 */
int op_pmcgetmsr(struct request *rq)
{
	const struct wire_getmsr_req *a = rq->arg;
	struct why *why = &rq->r->why;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, why);

	if (err)
		return err;
	if (pmc_is_system(p) || p->flags & PMC_F_DESCENDANTS)
		return deny(why, -EINVAL, "only a process-scope PMC without PMC_F_DESCENDANTS is "
			    "read from a register");
	if (count_ntargets(p->count) != 1 || !(p->flags & PMC_F_ATTACHED_TO_OWNER))
		return deny(why, -EINVAL, "this PMC is not attached to its owner alone; start it, "
			    "or attach it to process 0");
	if (row_class_find(&rq->d->rows, PMC_ID_TO_CLASS(p->id))->kind != COUNT_HARDWARE)
		return deny(why, -ENOSYS, "counters of class %s have no register that programs "
			    "read; use pmc_read()",
			    row_class_find(&rq->d->rows, PMC_ID_TO_CLASS(p->id))->prefix);
	if (a->missing == EAGAIN || a->missing == EBUSY)
		return deny(why, -(int)a->missing, "this PMC is on no register now");
	if (a->missing)
		return deny(why, -ENOSYS, "this PMC is not read from a register");
	p->msr = true;
	DEBUG(&rq->d->debug, PMC, OPS, "pid %d PMC 0x%08x: register told", p->owner->cred.pid,
	      p->id);
	return 0;
}

int op_pmcsetcount(struct request *rq)
{
	const struct wire_setcount_req *a = rq->arg;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (!err)
		err = check_idle(rq, p);
	if (err)
		return err;
	DEBUG(&rq->d->debug, PMC, WRITE, "pid %d PMC 0x%08x is set to %llu", p->owner->cred.pid,
	      p->id, (unsigned long long)a->count);
	if (!pmc_is_sampling(p))
		return write_value(rq, p, a->count);
	if (p->reload == a->count)
		return 0;
	p->reload = a->count;
	/* Samples from here on stand for so many events. */
	logbook_allocate(p);
	return 0;
}
