/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCSTART, PMCSTOP. */
#include <errno.h>

#include <sys/pmc.h>

#include "attach.h"
#include "logbook.h"
#include "loader/pmc/sample_log.h"

/* A process-scope PMC without an attachment measures its owner, which needs no permission. */
static int start_attach_owner(struct request *rq, struct pmc *p)
{
	const struct owner *o = p->owner;
	int err;

	if (pmc_is_system(p) || count_ntargets(p->count) || count_has_cgroup(p->count))
		return 0;
	if (p->flags & PMC_F_CGROUP)
		return deny(&rq->r->why, -ESRCH, "this PMC counts a cgroup (PMC_F_CGROUP): name "
			    "it by pmc_attach_cgroup()");
	if (p->flags & PMC_F_ATTACH_DONE)
		return deny(&rq->r->why, -ESRCH, "all processes this PMC was attached to are gone; "
			    "attach it again");
	if (p->flags & PMC_F_THREAD)
		return deny(&rq->r->why, -ESRCH, "this PMC counts one thread (PMC_F_THREAD): name "
			    "it by pmc_attach_thread()");
	err = attach_process(rq, p, o->pidfd, &o->cred, o->cred.inner_pid, false);
	if (err)
		return err;
	p->flags |= PMC_F_ATTACH_DONE | PMC_F_ATTACHED_TO_OWNER;
	logbook_targets(rq->d, p);
	return 0;
}

static void start_undo(struct pmc *p)
{
	lifetime_stop(p);
	if (p->recorder)
		recorder_stop(p->recorder);
}

static int start_pmc(struct request *rq, struct pmc *p)
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
		err = request_judge_period(rq, p, p->reload);
		err = err ?: count_set_period(p->count, p->reload, &rq->r->why);
		err = err ?: recorder_start(p->recorder, &rq->r->why);
		if (err)
			return err;
	}
	err = start_attach_owner(rq, p);
	if (!err && p->owner->log)
		sample_log_drain(rq->d->samples);
	if (!err && !(p->flags & PMC_F_KGMON))	/* a kernel profile is in no log */
		lifetime_start(rq->d->life, p);
	if (!err)
		err = request_cpu_online(rq, p);
	if (!err)
		err = count_start(p->count, &rq->r->why);
	if (!err)
		p->state = PMC_STATE_RUNNING;
	else
		start_undo(p);
	return err;
}

int op_pmcstart(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct wire_start_rep *rep;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (!err)
		err = start_pmc(rq, p);
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
	/* On an offline CPU the PMC stops although the request fails. */
	err = request_cpu_online(rq, p);
	if (!err)
		err = count_stop(p->count, &rq->r->why);
	else
		(void)count_stop(p->count, &(struct reason){ "" });
	/* Its samples that are still in the rings count. */
	if (p->recorder) {
		recorder_drain(p->recorder);
		recorder_stop(p->recorder);
	}
	lifetime_stop(p);
	p->state = PMC_STATE_STOPPED;
	return err;
}
