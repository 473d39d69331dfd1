/* SPDX-License-Identifier: BSD-2-Clause */
/* POLICY: lists the administrator's rules, or the caller's settings and where each comes from. */
#include <errno.h>
#include <stdio.h>

#include "request.h"

/* False: there is no room left. */
static bool policy_add(struct request *rq, const char *text, const char *origin, unsigned int line)
{
	struct wire_policy *out = reply_room(rq->r, sizeof(*out));

	if (!out)
		return false;
	snprintf(out->text, sizeof(out->text), "%s", text);
	snprintf(out->origin, sizeof(out->origin), "%s", origin);
	out->line = line;
	return true;
}

static bool policy_add_setting(struct request *rq, const struct ruling *by, enum setting s)
{
	const struct site_rule *r = by->grant->rule[s];
	char value[64], text[sizeof(((struct wire_policy *)0)->text)];
	const char *tunable = NULL;

	if (!r)
		setting_preset(s, by->config, value, sizeof(value), &tunable);
	snprintf(text, sizeof(text), "%s=\"%s\"", setting_name(s), r ? r->value[s] : value);
	if (r)
		return policy_add(rq, text, r->file, r->line);
	return policy_add(rq, text, tunable ? tunable : "", 0);
}

static void policy_list_own(struct request *rq, struct wire_policy_rep *rep, unsigned int first)
{
	const struct ruling by = request_ruling(rq);

	rep->total = SETTINGS;
	for (unsigned int s = first; s < SETTINGS && policy_add_setting(rq, &by, s); s++)
		rep->count++;
}

static void policy_list_rules(struct request *rq, struct wire_policy_rep *rep, unsigned int first)
{
	const struct site_rules *all = rq->d->site;

	rep->total = all->n;
	for (unsigned int i = first; i < all->n; i++) {
		const struct site_rule *r = &all->rule[i];

		if (!policy_add(rq, r->text, r->file, r->line))
			return;
		rep->count++;
	}
}

int op_policy(struct request *rq)
{
	const struct wire_policy_req *a = rq->arg;
	struct wire_policy_rep *rep;
	struct cred me;
	int err;

	if (a->what > WIRE_POLICY_RULES)
		return deny(&rq->r->why, -EINVAL, "there is no list %u of rules", a->what);
	err = a->what == WIRE_POLICY_RULES ? request_privileged(rq, "listing all rules") :
					     request_cred(rq, &me);
	if (err)
		return err;
	rep = reply_room(rq->r, sizeof(*rep));
	rep->generation = rq->d->site_generation;
	if (a->what == WIRE_POLICY_RULES)
		policy_list_rules(rq, rep, a->first);
	else if (!policy_privileged(&me))
		policy_list_own(rq, rep, a->first);
	return 0;
}
