/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: what may join one, and READGROUP. */
#include <errno.h>

#include <sys/pmc.h>

#include "group.h"

#define FLAGS_GROUP PMC_F_DESCENDANTS

int group_deny(struct reason *why, struct pmc *const *list, unsigned int n, unsigned int failed,
	       int err)
{
	const struct reason member = *why;

	if (n < 2 || failed >= n || !*member.text)
		return err;
	return deny(why, err, "member %u (%s): %.300s", failed + 1, list[failed]->event_name,
		    member.text);
}

static unsigned int group_counts(struct pmc *const *list, unsigned int n,
				 struct count *counts[WIRE_GROUP_MAX])
{
	for (unsigned int i = 0; i < n; i++)
		counts[i] = list[i]->count;
	return n;
}

/* --- allocation ------------------------------------------------------------------------------ */

/* All members count the same processes, so they differ in their events only. */
static int group_check_next(struct request *rq, const struct allocation *p, struct pmc *first)
{
	struct reason *why = &rq->r->why;
	struct pmc *list[WIRE_GROUP_MAX];

	if (first->first != first)
		return deny(why, -EINVAL, "the PMC 0x%08x is not the first of a group", first->id);
	if (first->state != PMC_STATE_ALLOCATED || count_ntargets(first->count) ||
	    first->flags & PMC_F_ATTACH_DONE)
		return deny(why, -EBUSY, "the group is complete: it has been attached or started");
	if (pmc_members(first, list) == WIRE_GROUP_MAX)
		return deny(why, -EINVAL, "a group has at most %u members", WIRE_GROUP_MAX);
	if (p->a->mode != first->mode || (p->a->flags ^ first->flags) & FLAGS_GROUP ||
	    p->spec.follows_setid != count_follows_setid(first->count))
		return deny(why, -EINVAL, "all members of a group have one mode, the same flags "
			    "and an owner with the same rights");
	return 0;
}

int group_admit(struct request *rq, const struct allocation *p, struct pmc **first)
{
	const struct wire_allocate_req *a = p->a;
	struct reason *why = &rq->r->why;
	int err;

	*first = NULL;
	if (a->group == WIRE_GROUP_NONE)
		return a->group_first ? deny(why, -EINVAL, "a PMC in no group names 0x%08x as its "
					     "group's first", a->group_first) : 0;
	if (a->group > WIRE_GROUP_NEXT)
		return deny(why, -EINVAL, "%u is no place in a group", a->group);
	if (PMC_IS_SAMPLING_MODE(a->mode))
		return deny(why, -EOPNOTSUPP, "a group counts: each sampling PMC has a period of "
			    "its own, so that members would not be read at one instant");
	if (PMC_IS_SYSTEM_MODE(a->mode))
		return deny(why, -EOPNOTSUPP, "a group counts processes: counters of whole CPUs "
			    "are read one after another, not at one instant");
	if (a->flags & ~(uint32_t)FLAGS_GROUP)
		return deny(why, -EOPNOTSUPP, "members of a group take no flag but "
			    "PMC_F_DESCENDANTS: 0x%x", a->flags & ~(uint32_t)FLAGS_GROUP);
	if (a->group == WIRE_GROUP_FIRST)
		return 0;
	err = pmc_find(rq->s->owner, a->group_first, first, why);
	return err ?: group_check_next(rq, p, *first);
}

/* --- the whole group ------------------------------------------------------------------------- */

int group_first_of(struct request *rq, uint32_t id, struct pmc **p)
{
	int err = pmc_find(rq->s->owner, id, p, &rq->r->why);

	if (err || !(*p)->first || (*p)->first == *p)
		return err;
	return deny(&rq->r->why, -EINVAL, "this PMC is a member of the group of 0x%08x: name the "
		    "first, and the call concerns all members", (*p)->first->id);
}

int group_start(struct pmc *const *list, unsigned int n, struct reason *why)
{
	struct count *counts[WIRE_GROUP_MAX];
	unsigned int failed;
	int err;

	group_counts(list, n, counts);
	if (!count_shares_targets(counts, n))
		return deny(why, -EAGAIN, "some processes are targets of a part of the group: they "
			    "began, or changed their user, during the attachment; detach the group "
			    "and attach it again");
	err = count_start_all(counts, n, &failed, why);
	return err ? group_deny(why, list, n, failed, err) : 0;
}

void group_stop(struct pmc *const *list, unsigned int n)
{
	struct count *counts[WIRE_GROUP_MAX];

	count_stop_all(counts, group_counts(list, n, counts));
}

int op_readgroup(struct request *rq)
{
	const struct wire_readgroup_req *a = rq->arg;
	struct pmc *p, *list[WIRE_GROUP_MAX];
	struct count *counts[WIRE_GROUP_MAX];
	struct reason *why = &rq->r->why;
	uint64_t values[WIRE_GROUP_MAX];
	struct wire_readgroup_rep *rep;
	unsigned int n, failed;
	int err = group_first_of(rq, a->pmcid, &p);

	if (err)
		return err;
	if (!p->first)
		return deny(why, -EINVAL, "the PMC 0x%08x is in no group", p->id);
	n = pmc_members(p, list);
	if (a->n != n)
		return deny(why, -EINVAL, "the group has %u members, not %u", n, a->n);
	err = count_read_all(counts, group_counts(list, n, counts), values, &failed, why);
	if (err)
		return group_deny(why, list, n, failed, err);
	rep = reply_room(rq->r, sizeof(*rep));
	for (unsigned int i = 0; i < n; i++)
		rep->value[i] = values[i];
	return 0;
}
