/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCATTACH, ATTACHEXEC, ATTACHTHREAD, ATTACHCGROUP, PMCDETACH. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <sys/pmc.h>

#include "attach.h"
#include "group.h"
#include "logbook.h"
#include "permit.h"
#include "refusal.h"

struct target {
	struct cred cred;
	int pidfd;
};

static int target_missing(struct request *rq)
{
	const struct wire_attach_req *a = rq->arg;

	return deny(&rq->r->why, -ESRCH, "there is no process %d", a->pid);
}

static int target_find(struct request *rq, struct target *t)
{
	const struct wire_attach_req *a = rq->arg;
	const struct owner *o = rq->s->owner;
	pid_t pid = o->cred.pid;

	t->pidfd = o->pidfd;
	if (a->pid != 0) {
		int err = request_fd_refused(rq);

		if (err || rq->fd < 0)
			return err ?: target_missing(rq);
		t->pidfd = rq->fd;
		pid = policy_pidfd_pid(rq->fd);
		if (pid == -EBADF)
			return deny(&rq->r->why, -EFAULT,
				    "the descriptor that came along is no pidfd");
		if (pid < 0)
			return target_missing(rq);
	}
	if (rq->d->read_cred(pid, &t->cred) || policy_pidfd_exited(t->pidfd))
		return target_missing(rq);
	if (!t->cred.leader)
		return deny(&rq->r->why, -ESRCH, "%d is a thread; attach to its process", a->pid);
	return 0;
}

static int attach_find_pmc(struct request *rq, struct pmc **p)
{
	const struct wire_attach_req *a = rq->arg;
	int err;

	if (a->pid < 0)
		return deny(&rq->r->why, -EINVAL, "%d is no process id", a->pid);
	err = group_complete_of(rq, a->pmcid, p);
	if (err)
		return err;
	if (pmc_is_system(*p))
		return deny(&rq->r->why, -EINVAL, "a system-scope PMC measures a CPU, no process");
	if ((*p)->flags & PMC_F_CGROUP)
		return deny(&rq->r->why, -EINVAL, "this PMC counts a cgroup (PMC_F_CGROUP), no "
			    "single processes: attach it by pmc_attach_cgroup()");
	return 0;
}

/* Records from before the detachment belong in the log; later ones do not. */
static int detach_process(struct daemon *d, struct pmc *p, pid_t pid, struct reason *why)
{
	int err;

	lifetime_parting(p);
	err = count_detach(p->count, pid, why);
	lifetime_parted(d->life, p);
	if (!err)
		logbook_targets(d, p);
	return err;
}

/* Detaches again after a failure; returns err. */
static int attach_undo(struct request *rq, struct pmc *p, const struct cred *target, int err)
{
	struct reason unused;

	(void)detach_process(rq->d, p, target->pid, &unused);
	return err;
}

static int attach_process(struct request *rq, struct pmc *p, int pidfd,
			  const struct cred *target, pid_t named, bool waits)
{
	const struct owner *o = rq->s->owner;
	bool self = target->pid == o->cred.pid;
	struct cred client;
	const struct access a = { .client = &client, .target = target, .client_pidfd = o->pidfd,
				  .target_pidfd = pidfd, .named = named };
	struct permit_tree tree;
	struct reason *why = &rq->r->why;
	bool alone = !(p->flags & PMC_F_DESCENDANTS), privileged, guarded;
	int err;

	if (p->flags & PMC_F_SIGNAL && !self)
		return deny(why, -EPERM, "PMC_F_SIGNAL: only the owner's threads get signals: "
			    "attach this PMC to 0 or to none");
	if (self && alone && waits)
		return deny(why, -EINVAL, "an exec takes all PMCs from their owner, so that this "
			    "one would count nothing: allocate it with PMC_F_DESCENDANTS, or "
			    "attach it to another process");
	if (self && alone && !p->msr)
		return refusal_attach(rq, p, target, count_attach(p->count, pidfd, target->pid,
								  false, NULL, why));
	err = request_cred(rq, &client);
	if (!err && !self)
		err = permit_target(rq, &a);
	if (err)
		return err;
	if (p->msr)
		return deny(why, -EPERM, "pmc_get_msr() has returned the register of this PMC, "
			    "which now measures its owner only; allocate another PMC");
	privileged = policy_privileged(&client);
	guarded = !privileged && !alone;
	err = guarded ? permit_tree_init(&tree, rq, &a) : 0;
	if (err)
		return err;
	err = count_attach(p->count, pidfd, target->pid, waits, guarded ? &tree.guard : NULL, why);
	if (err || privileged)
		return refusal_attach(rq, p, target, err);
	if (guarded && tree.failed) {
		*why = tree.why;
		return attach_undo(rq, p, target, tree.failed);
	}
	err = self ? 0 : permit_recheck(rq, &a);
	return err ? attach_undo(rq, p, target, err) : 0;
}

/* The owner may be a descendant of the process that was named. */
static void attach_note_owner(struct pmc *p)
{
	p->flags &= ~(uint32_t)PMC_F_ATTACHED_TO_OWNER;
	if (count_measures(p->count, p->owner->cred.pid))
		p->flags |= PMC_F_ATTACHED_TO_OWNER;
}

int attach_members(struct request *rq, struct pmc *p, int pidfd, const struct cred *target,
		   pid_t named, bool waits)
{
	struct pmc *list[WIRE_GROUP_MAX];
	unsigned int n = pmc_members(p, list), i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = attach_process(rq, list[i], pidfd, target, named, waits);
	if (err) {
		for (unsigned int done = 0; done + 1 < i; done++)
			(void)attach_undo(rq, list[done], target, err);
		return group_deny(&rq->r->why, list, n, i - 1, err);
	}
	for (i = 0; i < n; i++) {
		logbook_targets(rq->d, list[i]);
		list[i]->flags |= PMC_F_ATTACH_DONE;
		attach_note_owner(list[i]);
	}
	return 0;
}

/* PMCs of single threads, and no others, are attached to a thread; 0: to a process. */
static int attach_check_thread(struct request *rq, const struct pmc *p, pid_t tid)
{
	struct reason *why = &rq->r->why;

	if (tid && !(p->flags & PMC_F_THREAD))
		return deny(why, -EINVAL, "this PMC counts whole processes: allocate it with "
			    "PMC_F_THREAD to count a thread");
	if (!tid && p->flags & PMC_F_THREAD)
		return deny(why, -EINVAL, "this PMC counts one thread (PMC_F_THREAD): attach it by "
			    "pmc_attach_thread()");
	return 0;
}

/* Its process is attached, under the same rules; of that the PMC counts this thread. */
static int attach_choose_thread(struct request *rq, struct pmc *p, const struct cred *target,
				pid_t tid)
{
	const struct wire_attach_req *a = rq->arg;
	struct cred client;
	int err = request_cred(rq, &client);
	pid_t found = err ? err : policy_thread(target, tid, &client);

	if (found == -ESRCH)
		return deny(&rq->r->why, -ESRCH, "process %d has no thread %d", a->pid, tid);
	return found < 0 ? found : count_choose_thread(p->count, found, &rq->r->why);
}

static int attach_named(struct request *rq, pid_t tid, bool waits)
{
	const struct wire_attach_req *a = rq->arg;
	struct target t;
	struct pmc *p;
	int err = attach_find_pmc(rq, &p);

	if (err)
		return err;
	if (p->state == PMC_STATE_RUNNING)
		return deny(&rq->r->why, -EBUSY,
			    "this PMC is running: stop it before attaching it");
	err = attach_check_thread(rq, p, tid);
	err = err ?: target_find(rq, &t);
	if (!err && tid)
		err = attach_choose_thread(rq, p, &t.cred, tid);
	if (!err)
		err = attach_members(rq, p, t.pidfd, &t.cred, a->pid, waits);
	if (err)
		return err;
	DEBUG(&rq->d->debug, PMC, ATTACH, "pid %d PMC 0x%08x to process %d", p->owner->cred.pid,
	      p->id, t.cred.pid);
	DEBUG(&rq->d->debug, PROCESS, ATTACH, "process %d, PMC 0x%08x of pid %d", t.cred.pid, p->id,
	      p->owner->cred.pid);
	if (pmc_is_sampling(p) && !(p->flags & PMC_F_ATTACHED_TO_OWNER))
		p->flags |= PMC_F_NEEDS_LOGFILE;
	return 0;
}

int op_pmcattach(struct request *rq)
{
	return attach_named(rq, 0, false);
}

int op_attachexec(struct request *rq)
{
	return attach_named(rq, 0, true);
}

int op_attachthread(struct request *rq)
{
	const struct wire_thread_req *a = rq->arg;

	if (a->tid <= 0)
		return deny(&rq->r->why, -EINVAL, "%d is no thread id", a->tid);
	return attach_named(rq, a->tid, false);
}

int op_attachcgroup(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	struct pmc *p;
	int err = pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (err)
		return err;
	if (!(p->flags & PMC_F_CGROUP))
		return deny(&rq->r->why, -EINVAL, "this PMC counts no cgroup: allocate it with "
			    "PMC_F_CGROUP");
	err = request_fd_refused(rq);
	if (err)
		return err;
	if (rq->fd < 0)
		return deny(&rq->r->why, -EBADF, "no descriptor of a cgroup's folder came along");
	err = count_attach_cgroup(p->count, rq->fd, &rq->r->why);
	if (err)
		return err;
	p->flags |= PMC_F_ATTACH_DONE;
	DEBUG(&rq->d->debug, PMC, ATTACH, "pid %d PMC 0x%08x to a cgroup", p->owner->cred.pid,
	      p->id);
	return 0;
}

/* While a group runs its members would leave the process one after another. */
static int detach_members(struct request *rq, struct pmc *p, pid_t pid)
{
	struct pmc *list[WIRE_GROUP_MAX];
	unsigned int n = pmc_members(p, list), failed = n;
	struct reason *why = &rq->r->why;
	int err = 0;

	if (p->first && p->state == PMC_STATE_RUNNING)
		return deny(why, -EBUSY, "this group is running: stop it before detaching it");
	/* The first has the counts of all, see loader/count/task_group.c. */
	for (unsigned int i = n; i-- && !err; ) {
		err = detach_process(rq->d, list[i], pid, why);
		if (!err)
			attach_note_owner(list[i]);
		else
			failed = i;
	}
	return group_deny(why, list, n, failed, err);
}

int op_pmcdetach(struct request *rq)
{
	struct target t;
	struct pmc *p;
	int err = attach_find_pmc(rq, &p);

	if (!err)
		err = target_find(rq, &t);
	if (!err)
		err = detach_members(rq, p, t.cred.pid);
	if (!err) {
		DEBUG(&rq->d->debug, PMC, ATTACH, "pid %d PMC 0x%08x from process %d",
		      p->owner->cred.pid, p->id, t.cred.pid);
	}
	if (!err && !count_ntargets(p->count))
		rq->d->raise(p->owner, SIGIO);
	return err;
}
