/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * KGMON: starts, stops, resets and dumps the kernel profile.  The profile shows addresses of the
 * kernel and the activity of all users in it, as system-scope samples do, and requires the same
 * privilege.
 */
#include <errno.h>

#include "request.h"
#include "loader/pmc/sample_log.h"

static int profile_start(struct request *rq)
{
	struct daemon *d = rq->d;
	bool was_on;
	int err;

	(void)sample_log_prepare(d->samples, false, rq->s->owner->user);
	was_on = kgmon_is_on(d->kgmon);
	err = kgmon_start(d->kgmon, &rq->r->why);
	if (err)
		return err;
	err = sample_log_clock(d->samples, kgmon_takes_clock(d->kgmon), &rq->r->why);
	if (err)
		kgmon_stop(d->kgmon);
	else if (!was_on)
		messages_put(&d->messages, LOG_NOTICE,
			     "kernel profiling is on: started by process %d",
			rq->s->owner->cred.pid);
	return err;
}

static void profile_stop(struct request *rq)
{
	struct daemon *d = rq->d;

	if (kgmon_is_on(d->kgmon))
		messages_put(&d->messages, LOG_NOTICE,
			     "kernel profiling is off: stopped by process %d",
			rq->s->owner->cred.pid);
	(void)sample_log_clock(d->samples, false, &rq->r->why);
	kgmon_stop(d->kgmon);
}

static int profile_dump(struct request *rq)
{
	int fd = kgmon_dump(rq->d->kgmon, &rq->r->why);

	if (fd < 0)
		return fd;
	rq->r->own_fd = fd;
	rq->r->fds[rq->r->nfds++] = fd;
	return 0;
}

int op_kgmon(struct request *rq)
{
	const struct wire_kgmon_req *a = rq->arg;
	struct wire_kgmon *rep;
	int err = 0;

	if (a->what > WIRE_KGMON_DUMP)
		return deny(&rq->r->why, -EINVAL, "the kernel profile has no operation %u",
			    a->what);
	if (a->what != WIRE_KGMON_STATE)
		err = request_privileged(rq, "the kernel profile");
	if (err)
		return err;
	/* Samples taken so far are counted before the change. */
	if (a->what != WIRE_KGMON_STATE)
		sample_log_complete(rq->d->samples);
	if (a->what == WIRE_KGMON_START)
		err = profile_start(rq);
	else if (a->what == WIRE_KGMON_STOP)
		profile_stop(rq);
	else if (a->what == WIRE_KGMON_RESET)
		kgmon_reset(rq->d->kgmon);
	else if (a->what == WIRE_KGMON_DUMP)
		err = profile_dump(rq);
	if (err)
		return err;
	rep = reply_room(rq->r, sizeof(*rep));
	if (a->what == WIRE_KGMON_STATE)
		rep->on = kgmon_is_on(rq->d->kgmon);
	else
		kgmon_info(rq->d->kgmon, rep);
	return 0;
}
