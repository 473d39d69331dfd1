/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCRW, PMCSETCOUNT, PMCGETMSR: the value of a PMC. */
#include <errno.h>
#include <signal.h>

#include <sys/pmc.h>

#include "logbook.h"
#include "request.h"

static int value_check_idle(struct request *rq, const struct pmc *p)
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
		err = value_check_idle(rq, p);
	if (!err)
		err = request_cpu_online(rq, p);
	if (!err && pmc_is_sampling(p))
		err = deny(&rq->r->why, -EINVAL, "a sampling PMC has no count");
	if (!err && a->flags & PMC_F_OLDVALUE)
		err = count_read(p->count, &old, &rq->r->why);
	if (!err && a->flags & PMC_F_NEWVALUE)
		err = count_write(p->count, a->value, &rq->r->why);
	if (err)
		return err;
	if (a->flags & PMC_F_OLDVALUE)
		DEBUG(&rq->d->debug, PMC, READ, "pid %d PMC 0x%08x is %llu", p->owner->cred.pid,
		      p->id, (unsigned long long)old);
	if (a->flags & PMC_F_NEWVALUE)
		DEBUG(&rq->d->debug, PMC, WRITE, "pid %d PMC 0x%08x becomes %llu",
		      p->owner->cred.pid, p->id, (unsigned long long)a->value);
	if (!pmc_is_system(p) && !(p->flags & PMC_F_CGROUP) && !count_ntargets(p->count))
		rq->d->raise(p->owner, SIGIO);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->value = old;
	return 0;
}

/*
 * hwpmc's conditions, in its order.  The client has found the register itself, or reports by
 * `missing` that there is none.  From then on the PMC can measure its owner only.
 */
int op_pmcgetmsr(struct request *rq)
{
	const struct wire_getmsr_req *a = rq->arg;
	struct reason *why = &rq->r->why;
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
	if (!row_class_find(&rq->d->rows, PMC_ID_TO_CLASS(p->id))->ops->counters)
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
		err = value_check_idle(rq, p);
	if (err)
		return err;
	DEBUG(&rq->d->debug, PMC, WRITE, "pid %d PMC 0x%08x is set to %llu", p->owner->cred.pid,
	      p->id, (unsigned long long)a->count);
	if (!pmc_is_sampling(p))
		return count_write(p->count, a->count, &rq->r->why);
	if (p->hz)
		return deny(&rq->r->why, -EINVAL, "the kernel steers the period of this PMC "
			    "(freq=%llu)", (unsigned long long)p->hz);
	if (p->reload == a->count)
		return 0;
	err = request_judge_period(rq, p, a->count);
	if (err)
		return err;
	p->reload = a->count;
	/* The log must have the period of samples from here on. */
	logbook_allocate(p);
	return 0;
}
