/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCATTACH and PMCDETACH: which process is meant, and may the caller measure it? */
#include <errno.h>
#include <poll.h>

#include <sys/pmc.h>

#include "ops.h"

struct target {
	struct cred cred;
	int pidfd;
};

static int no_process(struct request *rq)
{
	const struct wire_attach_req *a = rq->arg;

	return deny(&rq->r->why, -ESRCH, "there is no process %d", a->pid);
}

/* A process is gone once its descriptor says so, even while its parent does not collect it. */
static bool exited(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static int find_target(struct request *rq, struct target *t)
{
	const struct wire_attach_req *a = rq->arg;
	const struct owner *o = rq->s->owner;
	pid_t pid = o->cred.pid;

	t->pidfd = o->pidfd;
	if (a->pid != 0) {
		if (rq->fd < 0)
			return no_process(rq);
		t->pidfd = rq->fd;
		pid = policy_pidfd_pid(rq->fd);
		if (pid == -EBADF)
			return deny(&rq->r->why, -EFAULT,
				    "the descriptor that came along is no pidfd");
		if (pid < 0)
			return no_process(rq);
	}
	if (rq->d->read_cred(pid, &t->cred) || exited(t->pidfd))
		return no_process(rq);
	if (!t->cred.leader)
		return deny(&rq->r->why, -ESRCH, "%d is a thread; attach to its process", a->pid);
	return 0;
}

static int find_pmc(struct request *rq, struct pmc **p)
{
	const struct wire_attach_req *a = rq->arg;
	int err;

	if (a->pid < 0)
		return deny(&rq->r->why, -EINVAL, "%d is no process id", a->pid);
	err = pmc_find(rq->s->owner, a->pmcid, p, &rq->r->why);
	if (err)
		return err;
	if (pmc_is_system(*p))
		return deny(&rq->r->why, -EINVAL, "a system-scope PMC measures a CPU, no process");
	return 0;
}

static int check_permission(struct request *rq, const struct target *t)
{
	const struct cred *own = &rq->s->owner->cred;
	struct cred client;
	int err;

	if (t->cred.pid == own->pid)
		return 0;
	err = request_cred(rq, &client);
	if (err)
		return err;
	/* A process that sees the daemon's namespace sees all that the daemon does. */
	return policy_attach(&rq->d->config, &client, &t->cred,
			     client.pid_ns == rq->d->pid_ns ||
				     policy_visible(&t->cred, client.pid_ns),
			     &rq->r->why);
}

int op_pmcattach(struct request *rq)
{
	struct target t;
	struct pmc *p;
	int err = find_pmc(rq, &p);

	if (err)
		return err;
	if (p->state == PMC_STATE_RUNNING)
		return deny(&rq->r->why, -EBUSY,
			    "this PMC is running: stop it before attaching it");
	err = find_target(rq, &t);
	if (!err)
		err = check_permission(rq, &t);
	if (!err)
		err = count_attach(p->count, t.pidfd, t.cred.pid, &rq->r->why);
	if (err)
		return err;
	p->flags |= PMC_F_ATTACH_DONE;
	if (t.cred.pid == p->owner->cred.pid)
		p->flags |= PMC_F_ATTACHED_TO_OWNER;
	else if (pmc_is_sampling(p) && !(p->flags & PMC_F_ATTACHED_TO_OWNER))
		p->flags |= PMC_F_NEEDS_LOGFILE;
	return 0;
}

int op_pmcdetach(struct request *rq)
{
	struct target t;
	struct pmc *p;
	int err = find_pmc(rq, &p);

	if (!err)
		err = find_target(rq, &t);
	if (!err)
		err = count_detach(p->count, t.cred.pid, &rq->r->why);
	if (!err && t.cred.pid == p->owner->cred.pid)
		p->flags &= ~(uint32_t)PMC_F_ATTACHED_TO_OWNER;
	return err;
}
