/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCSTART, PMCSTOP. */
#include <errno.h>

#include <sys/pmc.h>

#include "attach.h"
#include "group.h"
#include "logbook.h"
#include "overflow.h"
#include "loader/pmc/sample_log.h"

/* A process-scope PMC without an attachment measures its owner, which needs no permission. */
static int start_attach_owner(struct request *rq, struct pmc *p)
{
	const struct owner *o = p->owner;

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
	return attach_members(rq, p, o->pidfd, &o->cred, o->cred.inner_pid, false);
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
			    "PMC_F_LOG_PROCEXIT, PMC_F_LOG_THREXIT, sampling), and none is "
			    "configured");
	if (p->flags & PMC_F_LOG_THREXIT && !logfile_has(p->owner->log, PMCLOG_TYPE_THR_VALUE))
		return deny(&rq->r->why, -EOPNOTSUPP, "PMC_F_LOG_THREXIT: logs of FreeBSD 10.4 "
			    "(kern.hwpmc.logversion=3) have no records of threads");
	if (pmc_is_sampling(p) && !p->reload && !p->hz)
		return deny(&rq->r->why, -EINVAL,
			    "a sampling PMC needs a period: pmc_set() it first");
	err = overflow_check_start(rq, p);
	if (err)
		return err;
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

static int start_group(struct request *rq, struct pmc *p)
{
	struct pmc *list[WIRE_GROUP_MAX];
	unsigned int n = pmc_members(p, list);
	int err;

	if (p->state == PMC_STATE_RUNNING)
		return 0;
	err = start_attach_owner(rq, p);
	if (!err && p->owner->log)
		sample_log_drain(rq->d->samples);
	for (unsigned int i = 0; i < n && !err; i++)
		lifetime_start(rq->d->life, list[i]);
	err = err ?: request_cpu_online(rq, p);
	err = err ?: group_start(list, n, &rq->r->why);
	for (unsigned int i = 0; i < n; i++) {
		if (!err)
			list[i]->state = PMC_STATE_RUNNING;
		else
			start_undo(list[i]);
	}
	return err;
}

int op_pmcstart(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct wire_start_rep *rep;
	struct pmc *p;
	int err = group_complete_of(rq, a->pmcid, &p);

	if (!err)
		err = p->first ? start_group(rq, p) : start_pmc(rq, p);
	if (err)
		return err;
	DEBUG(&rq->d->debug, PMC, START, "pid %d PMC 0x%08x row %u", p->owner->cred.pid, p->id,
	      p->row);
	rep = reply_room(rq->r, sizeof(*rep));
	if (p->first) {
		group_read_fds(rq->r, p, rep);
		return 0;
	}
	rep->nfds = count_read_fds(p->count, rq->r->fds, WIRE_MAX_FDS, &rep->generation);
	rq->r->nfds = rep->nfds;
	return 0;
}

/* On an offline CPU the group stops although the request fails. */
static int stop_group(struct request *rq, struct pmc *p)
{
	struct pmc *list[WIRE_GROUP_MAX];
	unsigned int n = pmc_members(p, list);
	int err = request_cpu_online(rq, p);

	group_stop(list, n);
	for (unsigned int i = 0; i < n; i++) {
		lifetime_stop(list[i]);
		list[i]->state = PMC_STATE_STOPPED;
	}
	return err;
}

int op_pmcstop(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct pmc *p;
	int err = group_complete_of(rq, a->pmcid, &p);

	if (err || p->state == PMC_STATE_STOPPED)
		return err;
	if (p->state != PMC_STATE_RUNNING)
		return deny(&rq->r->why, -EINVAL, "this PMC was never started");
	DEBUG(&rq->d->debug, PMC, STOP, "pid %d PMC 0x%08x row %u", p->owner->cred.pid, p->id,
	      p->row);
	if (p->first)
		return stop_group(rq, p);
	/* On an offline CPU the PMC stops although the request fails. */
	err = request_cpu_online(rq, p);
	if (!err)
		err = count_stop(p->count, &rq->r->why);
	else
		(void)count_stop(p->count, &(struct reason){ "" });
	/* Its samples that are still in the rings count. */
	if (p->recorder) {
		recorder_finish(p->recorder);
		recorder_stop(p->recorder);
	}
	lifetime_stop(p);
	p->state = PMC_STATE_STOPPED;
	return err;
}
