/* SPDX-License-Identifier: BSD-2-Clause */
/* TUNABLE: lists and reads tunables, and changes them for the super-user. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader/ktr/ktr.h"
#include "request.h"

#define CPUID "kern.hwpmc.cpuid"	/* constant, and not listed */

static int tunable_set(struct request *rq)
{
	const struct wire_tunable_req *a = rq->arg;
	char before[WIRE_TUNABLE_MAX] = "", after[WIRE_TUNABLE_MAX];
	int err = request_privileged(rq, "changing tunables"), t;

	if (err)
		return err;
	t = config_find(a->name, &rq->r->why);
	if (t < 0)
		return t;
	config_value(&rq->d->config, t, before, sizeof(before));
	err = daemon_set(rq->d, a->name, a->value, &rq->r->why);
	if (err)
		return err;
	config_value(&rq->d->config, t, after, sizeof(after));
	messages_put(&rq->d->messages, LOG_NOTICE, "%s=\"%s\", which was \"%s\": set by process %d",
		a->name, after, before, rq->s->owner->cred.pid);
	return 0;
}

static int tunable_answer(struct request *rq, struct wire_tunable_rep *rep, enum tunable t)
{
	struct wire_tunable *out = reply_room(rq->r, sizeof(*out));

	if (!out)
		return deny(&rq->r->why, -ENOMEM, "too many tunables for one reply");
	snprintf(out->name, sizeof(out->name), "%s", config_name(t));
	config_value(&rq->d->config, t, out->value, sizeof(out->value));
	out->writable = config_writable(t);
	rep->count++;
	return 0;
}

static int tunable_cpuid(struct request *rq, uint32_t what)
{
	struct wire_tunable_rep *rep;
	struct wire_tunable *out;

	if (what == WIRE_TUNABLE_SET)
		return deny(&rq->r->why, -EPERM, CPUID " is the name of this machine's processor "
			    "and cannot be set");
	rep = reply_room(rq->r, sizeof(*rep));
	out = reply_room(rq->r, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", CPUID);
	snprintf(out->value, sizeof(out->value), "%s", rq->d->cpu.id);
	rep->count = 1;
	return 0;
}

int op_tunable(struct request *rq)
{
	const struct wire_tunable_req *a = rq->arg;
	struct wire_tunable_rep *rep;
	int err, t;

	if (a->what > WIRE_TUNABLE_SET)
		return deny(&rq->r->why, -EINVAL, "tunables are listed, read and set, not %u",
			    a->what);
	if (!memchr(a->name, '\0', sizeof(a->name)) || !memchr(a->value, '\0', sizeof(a->value)))
		return deny(&rq->r->why, -EINVAL, "a tunable's name has at most %zu characters and "
			    "its value %zu", sizeof(a->name) - 1, sizeof(a->value) - 1);
	if (a->what != WIRE_TUNABLE_LIST && !strcmp(a->name, CPUID))
		return tunable_cpuid(rq, a->what);
	err = a->what == WIRE_TUNABLE_SET ? tunable_set(rq) : 0;
	if (err)
		return err;
	if (a->what == WIRE_TUNABLE_SET) {
		t = config_find(a->name, &rq->r->why);
		rq->s->later.tunable = (enum tunable)t;
		rq->s->later.ticket = config_ktr(t) ? ktr_ticket(rq->d->ktr) : 0;
		return op_tunable_later(rq);
	}
	rep = reply_room(rq->r, sizeof(*rep));
	if (a->what != WIRE_TUNABLE_LIST) {
		t = config_find(a->name, &rq->r->why);
		return t < 0 ? t : tunable_answer(rq, rep, t);
	}
	for (unsigned int i = 0; i < TUNABLES && !err; i++)
		err = tunable_answer(rq, rep, i);
	return err;
}

/* Another thread makes trace rings and loads their programs. */
int op_tunable_later(struct request *rq)
{
	int err = ktr_result(rq->d->ktr, rq->s->later.ticket, &rq->r->why);

	if (err == KTR_LATER)
		return OP_LATER;
	if (err && config_ktr(rq->s->later.tunable))
		return err;
	rq->r->why.text[0] = '\0';
	return tunable_answer(rq, reply_room(rq->r, sizeof(struct wire_tunable_rep)),
			      rq->s->later.tunable);
}
