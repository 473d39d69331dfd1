/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on a handle: release, start, stop, read, write. */
#include <errno.h>

#include <sys/pmc.h>

#include "ops.h"

int op_pmcrelease(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (!err)
		pmc_release(&rq->d->rows, p);
	return err;
}

/* CPUs come and go; a PMC of one that went keeps its state. */
static int check_cpu(struct request *rq, const struct pmc *p)
{
	if (!pmc_is_system(p) || perf_cpu_online(p->cpu))
		return 0;
	return deny(&rq->r->why, -ENXIO, "CPU %u is offline", p->cpu);
}

/* A process-scope PMC that nobody attached measures its owner; no permission is needed for that. */
static int attach_to_owner(struct request *rq, struct pmc *p)
{
	const struct owner *o = p->owner;
	int err;

	if (pmc_is_system(p) || count_ntargets(p->count))
		return 0;
	if (p->flags & PMC_F_ATTACH_DONE)
		return deny(&rq->r->why, -ESRCH, "all processes this PMC was attached to are gone; "
			    "attach it again");
	err = count_attach(p->count, o->pidfd, o->cred.pid, &rq->r->why);
	if (!err)
		p->flags |= PMC_F_ATTACH_DONE | PMC_F_ATTACHED_TO_OWNER;
	return err;
}

static int begin(struct request *rq, struct pmc *p)
{
	int err;

	if (p->state == PMC_STATE_RUNNING)
		return 0;
	/* The log is configured by an operation that this version does not have. */
	if (p->flags & PMC_F_NEEDS_LOGFILE)
		return deny(&rq->r->why, -EDOOFUS, "this PMC writes to a log (PMC_F_LOG_PROCCSW, "
			    "PMC_F_LOG_PROCEXIT, sampling), and none is configured");
	if (pmc_is_sampling(p) && !p->reload)
		return deny(&rq->r->why, -EINVAL,
			    "a sampling PMC needs a period: pmc_set() it first");
	err = attach_to_owner(rq, p);
	if (!err)
		err = check_cpu(rq, p);
	if (!err)
		err = count_start(p->count, &rq->r->why);
	if (!err)
		p->state = PMC_STATE_RUNNING;
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
	rep = reply_room(rq->r, sizeof(*rep));
	rep->nfds = count_self_fds(p->count, rq->r->fds, WIRE_MAX_FDS, &rep->generation);
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
	/* It has stopped even where that failed: on an offline CPU nothing counts. */
	err = check_cpu(rq, p);
	p->state = PMC_STATE_STOPPED;
	if (!err)
		return count_stop(p->count, &rq->r->why);
	(void)count_stop(p->count, &(struct why){ "" });
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
	rep = reply_room(rq->r, sizeof(*rep));
	rep->value = old;
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
	if (!pmc_is_sampling(p))
		return write_value(rq, p, a->count);
	p->reload = a->count;
	return 0;
}
