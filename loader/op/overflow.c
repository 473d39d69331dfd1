/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OVERFLOWS: signals of sampling PMCs with PMC_F_SIGNAL, and how many there were.
 *
 * The program that takes a sample sends the signal to the thread that runs (bpf/log/signal.bpf.h).
 * Only an owner's own threads get any, because a signal ends a process that is not ready for it,
 * and no descendants, because they may execute programs that are not.
 */
#include <errno.h>
#include <signal.h>

#include <sys/pmc.h>

#include "overflow.h"
#include "reply.h"
#include "loader/daemon/raise.h"
#include "loader/pmc/sample_log.h"

#define SIGNAL_MAX 64
/* The C library's own. */
#define SIGNAL_LIBRARY_FIRST 32
#define SIGNAL_LIBRARY_LAST  33

int overflow_check_flags(const struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	if (!(a->flags & PMC_F_SIGNAL))
		return 0;
	if (a->mode != PMC_MODE_TS)
		return deny(why, -EINVAL, "PMC_F_SIGNAL is for process-scope sampling only");
	if (a->flags & PMC_F_CGROUP)
		return deny(why, -EINVAL, "PMC_F_SIGNAL: only the owner's threads get signals, not "
			    "those of a cgroup");
	if (a->flags & PMC_F_DESCENDANTS)
		return deny(why, -EINVAL, "PMC_F_SIGNAL: only the owner's threads get signals, "
			    "which would end a child that does not handle them: leave "
			    "PMC_F_DESCENDANTS out");
	return 0;
}

int overflow_plan(struct allocation *p, struct reason *why)
{
	if (!(p->a->flags & PMC_F_SIGNAL))
		return 0;
	if (!p->class->ops->overflows || p->spec.from == COUNT_FROM_OFFCPU)
		return deny(why, -EOPNOTSUPP, "PMC_F_SIGNAL: %s has no overflows: signals come "
			    "from software events, breakpoints and the hardware's counters",
			    p->name);
	if (p->class->ops->unsignalled)
		return deny(why, -EOPNOTSUPP, "PMC_F_SIGNAL: %s: %s", p->name,
			    p->class->ops->unsignalled);
	p->spec.samples.until_exec = true;
	return 0;
}

static int overflow_check_signal(struct request *rq, int signal, bool handled)
{
	const struct owner *o = rq->s->owner;
	struct reason *why = &rq->r->why;

	if (signal < 1 || signal > SIGNAL_MAX || signal == SIGKILL || signal == SIGSTOP ||
	    (signal >= SIGNAL_LIBRARY_FIRST && signal <= SIGNAL_LIBRARY_LAST))
		return deny(why, -EINVAL, "no program handles signal %d", signal);
	if (handled ? raise_handled(o->cred.pid, signal) : raise_wanted(o->cred.pid, signal))
		return 0;
	return deny(why, -EINVAL, "signal %d would end this process, or is ignored: give it a "
		    "handler first, or block it in all threads and wait for it", signal);
}

int overflow_check_start(struct request *rq, const struct pmc *p)
{
	if (!(p->flags & PMC_F_SIGNAL))
		return 0;
	return overflow_check_signal(rq, p->signal, p->handled);
}

static int overflow_find(struct request *rq, uint32_t pmcid, struct pmc **p)
{
	int err = pmc_find(rq->s->owner, pmcid, p, &rq->r->why);

	if (err)
		return err;
	return (*p)->flags & PMC_F_SIGNAL ? 0 :
	       deny(&rq->r->why, -EINVAL, "this PMC sends no signals: allocate it with "
		    "PMC_F_SIGNAL");
}

static int overflow_set(struct request *rq, struct pmc *p)
{
	const struct wire_overflows_req *a = rq->arg;
	bool handled = a->set == WIRE_SIGNAL_HANDLED;
	int err = overflow_check_signal(rq, a->signal > SIGNAL_MAX ? 0 : (int)a->signal, handled);

	err = err ?: recorder_set_signal(p->recorder, (int)a->signal, !handled, a->n);
	if (err == -ERANGE)
		return deny(&rq->r->why, -EINVAL, "%u further overflows are more than %u at once",
			    a->n, SAMPLER_LEFT_MAX);
	if (!err) {
		p->signal = (int)a->signal;
		p->handled = handled;
	}
	return err;
}

int op_overflows(struct request *rq)
{
	const struct wire_overflows_req *a = rq->arg;
	struct sampler_signals signals;
	struct wire_overflows *rep;
	struct pmc *p;
	int err = overflow_find(rq, a->pmcid, &p);

	if (!err && a->set)
		err = overflow_set(rq, p);
	if (err)
		return err;
	rep = reply_room(rq->r, sizeof(*rep));
	rep->overflows = recorder_overflows(p->recorder, &signals);
	rep->unsent = signals.unsent;
	rep->left = signals.limited ? signals.left : ~0ull;
	return 0;
}
