/* SPDX-License-Identifier: BSD-2-Clause */
/* KTR: information on the kernel's trace rings, and their control by the super-user. */
#include <errno.h>
#include <string.h>

#include "loader/ktr/ktr.h"
#include "request.h"

static int ktr_may_open(struct request *rq, bool *whole)
{
	const struct setting_question q = { 0 };
	struct cred me;
	int err = request_cred(rq, &me);

	if (err)
		return err;
	*whole = policy_privileged(&me);
	if (*whole)
		return 0;
	if (policy_jailed(&me, rq->d->pid_ns))
		return deny(&rq->r->why, -EPERM, "the kernel's trace rings are not for processes "
			    "in a container; read them on the host");
	return request_judge(rq, POINT_TRACE, &me, &q);
}

static int ktr_command(struct request *rq, const struct session_ktr *c)
{
	const struct ktr_asker by = { .pid = (uint32_t)rq->s->owner->cred.pid,
				      .program = rq->s->owner->program };
	struct ktr *k = rq->d->ktr;
	struct reason *why = &rq->r->why;
	int fd;

	switch (c->what) {
	case WIRE_KTR_FREEZE:
		return ktr_freeze(k, &by, why);
	case WIRE_KTR_THAW:
		return ktr_thaw(k, &by, why);
	case WIRE_KTR_CLEAR:
		return ktr_clear(k, why);
	case WIRE_KTR_MARK:
		return ktr_mark(k, &by, c->text, why);
	case WIRE_KTR_OPEN:
		fd = ktr_open(k, c->whole, why);
		if (fd < 0)
			return fd;
		rq->r->own_fd = fd;
		rq->r->fds[rq->r->nfds++] = fd;
		return 0;
	default:
		return 0;
	}
}

int op_ktr(struct request *rq)
{
	const struct wire_ktr_req *a = rq->arg;
	struct session_ktr *c = &rq->s->later.ktr;
	bool whole = false;
	int err = 0;

	if (a->what > WIRE_KTR_OPEN)
		return deny(&rq->r->why, -EINVAL, "trace rings have no operation %u", a->what);
	if (!memchr(a->text, '\0', sizeof(a->text)))
		return deny(&rq->r->why, -EINVAL, "a mark has at most %zu characters",
			    sizeof(a->text) - 1);
	if (a->what == WIRE_KTR_OPEN)
		err = ktr_may_open(rq, &whole);
	else if (a->what != WIRE_KTR_INFO)
		err = request_privileged(rq, "controlling trace rings");
	if (err)
		return err;
	*c = (struct session_ktr){ .what = a->what, .whole = whole };
	memcpy(c->text, a->text, sizeof(c->text));
	rq->s->later.ticket = ktr_ticket(rq->d->ktr);
	return op_ktr_later(rq);
}

/*
 * Waits for earlier changes of the rings, then carries out the command; after a thaw also waits
 * until the programs are attached again.
 */
int op_ktr_later(struct request *rq)
{
	struct session_ktr *c = &rq->s->later.ktr;
	struct ktr *k = rq->d->ktr;
	struct wire_ktr *rep;
	struct reason unused;
	int err;

	if (ktr_result(k, rq->s->later.ticket, &unused) == KTR_LATER)
		return OP_LATER;
	if (!c->done) {
		err = ktr_command(rq, c);
		if (err)
			return err;
		c->done = true;
		if (c->what == WIRE_KTR_THAW) {
			rq->s->later.ticket = ktr_ticket(k);
			return op_ktr_later(rq);
		}
	}
	rep = reply_room(rq->r, sizeof(*rep));
	ktr_info(k, rep);
	return 0;
}
