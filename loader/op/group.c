/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: what may be in one, COMMITGROUP and READGROUP. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "group.h"

/* Those of chains say nothing about counts. */
#define FLAGS_GROUP (PMC_F_DESCENDANTS | PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN)

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

/* --- making ---------------------------------------------------------------------------------- */

int group_admit(const struct wire_allocate_req *a, struct reason *why)
{
	if (!a->group)
		return 0;
	if (a->group > 1)
		return deny(why, -EINVAL, "a PMC is for a group or not: 1 or 0, not %u", a->group);
	if (PMC_IS_SAMPLING_MODE(a->mode))
		return deny(why, -EOPNOTSUPP, "a group counts: each sampling PMC has a period of "
			    "its own, so that members would not be read at one instant");
	if (a->flags & PMC_F_CGROUP)
		return deny(why, -EOPNOTSUPP, "a group counts processes, and no cgroup "
			    "(PMC_F_CGROUP): count the cgroup's events one by one");
	if (a->flags & PMC_F_THREAD)
		return deny(why, -EOPNOTSUPP, "a group counts whole processes, and no single "
			    "thread (PMC_F_THREAD): count the thread's events one by one");
	if (a->flags & ~(uint32_t)FLAGS_GROUP)
		return deny(why, -EOPNOTSUPP, "a group is not logged process by process "
			    "(PMC_F_LOG_PROCCSW, PMC_F_LOG_PROCEXIT): log its events one by one");
	return 0;
}

/* All members count the same processes, or the same CPU: they differ in their events only. */
static int group_check_member(struct pmc *const *list, unsigned int i, struct reason *why)
{
	const struct pmc *p = list[i], *first = list[0];

	if (!p->first)
		return deny(why, -EINVAL, "the PMC 0x%08x was not allocated for a group "
			    "(pmc_allocate_group())", p->id);
	if (!p->uncommitted)
		return deny(why, -EBUSY, "the PMC 0x%08x is in a group that is complete", p->id);
	for (unsigned int j = 0; j < i; j++)
		if (list[j] == p)
			return deny(why, -EINVAL, "the PMC 0x%08x is in the group twice", p->id);
	if (p->mode != first->mode ||
	    count_follows_setid(p->count) != count_follows_setid(first->count))
		return deny(why, -EINVAL, "all members of a group have one mode, and an owner with "
			    "the same rights");
	if (p->cpu != first->cpu)
		return deny(why, -EINVAL, "all members of a group count one CPU: %u, not %u",
			    first->cpu, p->cpu);
	if (p->flags & ~first->flags & PMC_F_DESCENDANTS)
		return deny(why, -EINVAL, "PMC_F_DESCENDANTS of a group is a flag of its first "
			    "PMC, which does not have it");
	return 0;
}

int op_commitgroup(struct request *rq)
{
	const struct wire_commitgroup_req *a = rq->arg;
	struct pmc *list[WIRE_GROUP_MAX];
	struct count *counts[WIRE_GROUP_MAX];
	struct reason *why = &rq->r->why;
	int err = 0;

	if (!a->n || a->n > WIRE_GROUP_MAX)
		return deny(why, -EINVAL, "a group has 1 to %u members, not %u", WIRE_GROUP_MAX,
			    a->n);
	for (unsigned int i = 0; i < a->n && !err; i++) {
		err = pmc_find(rq->s->owner, a->pmcid[i], &list[i], why);
		err = err ?: group_check_member(list, i, why);
	}
	if (err)
		return err;
	for (unsigned int i = 0; i < a->n; i++) {
		list[i]->first = list[0];
		list[i]->place = i;
		list[i]->uncommitted = false;
		list[i]->flags |= list[0]->flags & PMC_F_DESCENDANTS;
	}
	count_form_group(counts, group_counts(list, a->n, counts),
			 list[0]->flags & PMC_F_DESCENDANTS);
	return 0;
}

/* --- the whole group ------------------------------------------------------------------------- */

int group_first_of(struct request *rq, uint32_t id, struct pmc **p)
{
	struct reason *why = &rq->r->why;
	int err = pmc_find(rq->s->owner, id, p, why);

	if (err || !(*p)->first || (*p)->first == *p)
		return err;
	return deny(why, -ENOTTY, "this PMC is a member of the group of 0x%08x: name the first, "
		    "and the call concerns all members", (*p)->first->id);
}

int group_complete_of(struct request *rq, uint32_t id, struct pmc **p)
{
	int err = group_first_of(rq, id, p);

	if (err || !(*p)->uncommitted)
		return err;
	return deny(&rq->r->why, -EDOOFUS, "this PMC is for a group, which is not complete: add it "
		    "to one, and pmc_group_commit() that");
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
	if (err)
		return group_deny(why, list, n, failed, err);
	list[0]->since = clock_ns();
	return 0;
}

void group_stop(struct pmc *const *list, unsigned int n)
{
	struct count *counts[WIRE_GROUP_MAX];

	count_stop_all(counts, group_counts(list, n, counts));
	list[0]->ran += clock_ns() - list[0]->since;
}

void group_read_fds(struct reply *r, struct pmc *first, struct wire_start_rep *rep)
{
	struct pmc *list[WIRE_GROUP_MAX];
	struct count *counts[WIRE_GROUP_MAX];
	struct count_places places;
	unsigned int n = pmc_members(first, list);

	rep->nfds = count_read_fds_all(counts, group_counts(list, n, counts), r->fds, WIRE_MAX_FDS,
				       &rep->generation, &places);
	r->nfds = rep->nfds;
	if (!rep->nfds)
		return;
	rep->members = n;
	rep->places = places.places;
	memcpy(rep->place, places.place, n);
	rep->ran = first->ran;
	rep->since = first->since;
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
	int err = group_complete_of(rq, a->pmcid, &p);

	if (err)
		return err;
	if (!p->first)
		return deny(why, -ENOTTY, "the PMC 0x%08x is in no group", p->id);
	n = pmc_members(p, list);
	err = count_read_all(counts, group_counts(list, n, counts), values, &failed, why);
	if (err)
		return group_deny(why, list, n, failed, err);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->n = n;
	rep->running = p->ran + (p->state == PMC_STATE_RUNNING ? clock_ns() - p->since : 0);
	for (unsigned int i = 0; i < n; i++) {
		rep->pmcid[i] = list[i]->id;
		rep->value[i] = values[i];
	}
	return 0;
}
