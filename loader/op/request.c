/* SPDX-License-Identifier: BSD-2-Clause */
/* See request.h. */
#include <errno.h>

#include "request.h"

int request_fd_refused(const struct request *rq)
{
	const struct packet *m = rq->m;

	if (rq->fd >= 0 || !m->nfds || !m->refusal)
		return 0;
	return deny(&rq->r->why, m->passed[0], "%s", m->refusal->text);
}

int request_cred_now(const struct request *rq, struct cred *cred, struct reason *why)
{
	const struct owner *o = rq->s->owner;

	if (rq->d->read_cred(o->cred.pid, cred) || cred->start != o->cred.start)
		return deny(why, -EPERM, "the process of this connection has exited");
	/* The sender's uid must match, too: its pid alone could be another process's. */
	if (rq->m->uid != cred->uid[ID_REAL] && rq->m->uid != cred->uid[ID_EFFECTIVE] &&
	    rq->m->uid != cred->uid[ID_SAVED])
		return deny(why, -EPERM, "the sender has changed its user id meanwhile");
	if (policy_grown(&rq->s->cred, cred))
		return deny(why, -EPERM, "process %d has ids or capabilities that it did not have "
			    "when it made this connection; connect again", o->cred.inner_pid);
	return 0;
}

int request_cred(const struct request *rq, struct cred *cred)
{
	return request_cred_now(rq, cred, &rq->r->why);
}

int request_privileged(const struct request *rq, const char *what)
{
	struct cred me;
	int err = request_cred(rq, &me);

	if (err || policy_privileged(&me))
		return err;
	return deny(&rq->r->why, -EPERM, "%s takes CAP_PERFMON or CAP_SYS_ADMIN outside of a "
		    "container", what);
}

struct ruling request_ruling(const struct request *rq)
{
	return (struct ruling){ .config = &rq->d->config, .grant = &rq->s->owner->grant };
}

int request_judge(const struct request *rq, enum setting_point point, const struct cred *cred,
		  const struct setting_question *q)
{
	const struct ruling by = request_ruling(rq);

	return grant_check(&by, point, cred, q, &rq->r->why);
}

int request_judge_period(const struct request *rq, const struct pmc *p, uint64_t period)
{
	const struct setting_question q = {
		.period = period, .ticks = p->ticks, .hz = p->hz,
	};

	return request_judge(rq, POINT_PERIOD, &rq->s->owner->cred, &q);
}

pid_t request_pid_seen(const struct request *rq, const struct cred *cred)
{
	const struct cred *viewer = &rq->s->owner->cred;

	return viewer->pid_ns == rq->d->pid_ns ? cred->pid : policy_pid_in(cred, viewer);
}

int request_cpu_online(const struct request *rq, const struct pmc *p)
{
	if (!pmc_is_system(p))
		return 0;
	DEBUG(&rq->d->debug, CPU, SELECT, "CPU %u for PMC 0x%08x", p->cpu, p->id);
	if (perf_cpu_online(p->cpu))
		return 0;
	return deny(&rq->r->why, -ENXIO, "CPU %u, which this PMC counts, is offline; "
		    "bring it up, or release the PMC", p->cpu);
}
