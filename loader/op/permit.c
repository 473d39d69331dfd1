/* SPDX-License-Identifier: BSD-2-Clause */
/* See permit.h. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "permit.h"

/* True if the credentials are the same as far as the kernel's answer depends on them. */
static bool cred_same(const struct cred *a, const struct cred *b)
{
	return !memcmp(a->uid, b->uid, sizeof(a->uid)) && !memcmp(a->gid, b->gid, sizeof(a->gid)) &&
	       a->permitted == b->permitted && a->user_ns == b->user_ns &&
	       a->pid_ns == b->pid_ns && a->dumpable == b->dumpable;
}

/* The daemon's own rules: 0, POLICY_ASK or -errno. */
static int permit_rules(const struct request *rq, const struct access *a, struct reason *why)
{
	const struct ruling by = request_ruling(rq);
	/* A client in the daemon's pid namespace sees all processes that the daemon sees. */
	bool visible = a->client->pid_ns == rq->d->pid_ns ||
		       policy_visible(a->target, a->client->pid_ns);

	return policy_attach(&by, a->client, a->target, visible, a->named, why);
}

static int permit_by_maps(struct request *rq, const struct access *a)
{
	char label[PERMIT_LABEL];
	struct reason *why = &rq->r->why;

	if (!policy_ptracer(a->client, a->target))
		return access_explain(a, why);
	if (rq->d->read_label(a->client->pid, label, sizeof(label)) ||
	    (*label && strcmp(label, "unconfined")))
		return deny(why, -EPERM, "your security label asks for a proof by /proc/%d/mem, "
			    "which CAP_SYS_PTRACE alone does not open; get CAP_DAC_READ_SEARCH as "
			    "well, or CAP_PERFMON", a->named);
	return rq->d->may_debug(a, why);
}

static int permit_proven(struct request *rq, const struct access *a, enum abi_proof proof)
{
	struct reason *why = &rq->r->why;

	switch (proof) {
	case ABI_PROOF_MEM:
		return policy_plain(a->client, a->target) ? 0 : access_explain(a, why);
	case ABI_PROOF_MAPS:
		return permit_by_maps(rq, a);
	case ABI_PROOF_NONE:
		return deny(why, -EPERM, "the second descriptor is not /proc/%d/mem, opened for "
			    "reading, which proves that you may debug process %d", a->named,
			    a->named);
	case ABI_PROOF_OTHER:
		return deny(why, -EPERM, "the second descriptor is another process's "
			    "/proc/PID/mem; open that of process %d", a->named);
	case ABI_PROOF_STALE:
		return deny(why, -EBUSY, "process %d has just executed another program; try again",
			    a->named);
	case ABI_PROOF_GONE:
		if (policy_pidfd_exited(a->target_pidfd))
			return deny(why, -ESRCH, "process %d is exiting", a->named);
		return deny(why, -EPERM, "process %d has no memory to prove anything by: its main "
			    "thread has exited, or it is the kernel's; that needs CAP_PERFMON",
			    a->named);
	case ABI_PROOF_UNKNOWN:
		break;
	}
	return deny(why, -EPERM, "pmcbpfd cannot distinguish /proc/PID/mem from other files on "
		    "this kernel, or may not run BPF programs; attaching to process %d needs "
		    "CAP_PERFMON", a->named);
}

int permit_target(struct request *rq, const struct access *a)
{
	int err = permit_rules(rq, a, &rq->r->why);

	if (err != POLICY_ASK)
		return err;
	/* A second descriptor that was not passed on is no file of /proc. */
	if (rq->proof < 0 && rq->m->nfds > 1)
		return permit_proven(rq, a, ABI_PROOF_NONE);
	if (rq->proof < 0)
		return access_explain(a, &rq->r->why);
	return permit_proven(rq, a, proof_check(rq->d->engine, a->target_pidfd, rq->proof));
}

/*
 * The target may have executed a program (set-id, or with another label) after the question, and
 * before the programs knew it as a target.
 */
int permit_recheck(struct request *rq, const struct access *a)
{
	struct cred now;

	if (!rq->d->read_cred(a->target->pid, &now) && !cred_same(&now, a->target))
		return deny(&rq->r->why, -EBUSY,
			    "process %d has just changed its credentials; try again", a->named);
	if (proof_check(rq->d->engine, a->target_pidfd, rq->proof) == ABI_PROOF_STALE)
		return permit_proven(rq, a, ABI_PROOF_STALE);
	return 0;
}

/* --- trees --------------------------------------------------------------------------------- */

static bool permit_descendant(struct permit_tree *t, const struct cred *cred, int pidfd)
{
	const struct access a = {
		.client = t->root->client, .target = cred, .client_pidfd = t->root->client_pidfd,
		.target_pidfd = pidfd, .named = cred->pid,
	};
	int err = permit_rules(t->rq, &a, &t->why);

	if (err == POLICY_ASK)
		err = t->rq->d->may_debug(&a, &t->why);
	if (err && err != -EPERM && err != -ESRCH)
		t->failed = err;
	return !err;
}

static bool permit_admits(const struct count_guard *guard, pid_t tgid)
{
	struct permit_tree *t = (struct permit_tree *)guard;
	bool self = t->root->client->pid == t->root->target->pid, yes;
	char label[sizeof(t->label)];
	struct cred cred;
	int pidfd;

	if (t->failed || t->rq->d->read_cred(tgid, &cred) ||
	    t->rq->d->read_label(tgid, label, sizeof(label)) || strcmp(label, t->label))
		return false;
	if (!self && cred_same(&cred, t->root->target))
		return true;
	pidfd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (pidfd < 0)
		return false;
	yes = permit_descendant(t, &cred, pidfd);
	close(pidfd);
	return yes;
}

int permit_tree_init(struct permit_tree *t, struct request *rq, const struct access *root)
{
	int err;

	t->guard.admits = permit_admits;
	t->rq = rq;
	t->root = root;
	t->failed = 0;
	err = rq->d->read_label(root->target->pid, t->label, sizeof(t->label));
	if (err)
		return deny(&rq->r->why, err, "the security label of process %d cannot be read: %s",
			    root->named, strerror(-err));
	return 0;
}
