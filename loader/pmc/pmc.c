/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs and the lists they are on. */
#include <errno.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "pmc.h"

bool pmc_samples_all(const struct pmc *p)
{
	return pmc_is_sampling(p) && (pmc_is_system(p) || p->flags & PMC_F_CGROUP);
}

bool pmc_is_system(const struct pmc *p)
{
	return PMC_IS_SYSTEM_MODE(p->mode);
}

bool pmc_is_sampling(const struct pmc *p)
{
	return PMC_IS_SAMPLING_MODE(p->mode);
}

void pmc_link(struct row_table *rows, struct pmc *p)
{
	struct row *r = &rows->rows[p->row];

	TAILQ_INSERT_TAIL(&p->owner->pmcs, p, owned);
	p->owner->npmc++;
	LIST_INSERT_HEAD(&r->pmcs, p, on_row);
	row_take(r, pmc_is_system(p), p->cpu, p);
}

void pmc_unlink(struct row_table *rows, struct pmc *p)
{
	struct row *r = &rows->rows[p->row];
	struct pmc *latest = NULL;

	TAILQ_REMOVE(&p->owner->pmcs, p, owned);
	p->owner->npmc--;
	p->owner->user->pmcs--;
	LIST_REMOVE(p, on_row);
	/* The list has the latest first, and all PMCs on a row are of one scope. */
	if (pmc_is_system(p))
		LIST_FOREACH(latest, &r->pmcs, on_row)
			if (latest->cpu == p->cpu)
				break;
	row_give(r, pmc_is_system(p), p->cpu, latest);
}

int pmc_find(const struct owner *o, uint32_t id, struct pmc **out, struct reason *why)
{
	struct pmc *p;

	if (!o->npmc)
		return deny(why, -ESRCH, "this process owns no PMC; allocate one first");
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->id == id) {
			*out = p;
			return 0;
		}
	return deny(why, -EINVAL, "this process owns no PMC with the handle 0x%08x", id);
}

unsigned int pmc_members(struct pmc *p, struct pmc *list[WIRE_GROUP_MAX])
{
	unsigned int n = 1;
	struct pmc *q;

	list[0] = p;
	if (p->first != p)
		return 1;
	TAILQ_FOREACH(q, &p->owner->pmcs, owned)
		if (q->first == p && q != p) {
			list[q->place] = q;
			n++;
		}
	return n;
}

struct pmc *pmc_own_on_row(const struct owner *o, unsigned int row, bool system, unsigned int cpu)
{
	struct pmc *p;

	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->row == row && pmc_is_system(p) == system && (!system || p->cpu == cpu))
			break;
	return p;
}

bool pmc_alone_on_row(const struct row *r, const struct user *u)
{
	const struct pmc *p;

	LIST_FOREACH(p, &r->pmcs, on_row)
		if (p->owner->user != u)
			return false;
	return !LIST_EMPTY(&r->pmcs);
}

/* The kernel itself lowers its limit if overflows take long. */
void pmc_say_paused(const struct pmc *p, const struct messages *to)
{
	char rate[16], percent[16];

	(void)file_line("/proc/sys/kernel/perf_event_max_sample_rate", rate, sizeof(rate));
	(void)file_line("/proc/sys/kernel/perf_cpu_time_max_percent", percent, sizeof(percent));
	messages_put(to, LOG_NOTICE,
		"the kernel pauses PMC 0x%08x of process %d, which samples too often: "
		"kernel.perf_event_max_sample_rate=%s allows so many samples a second, and is "
		"lowered where they take more than kernel.perf_cpu_time_max_percent=%s; a longer "
		"period helps", p->id, p->owner->cred.pid, rate, percent);
}

void pmc_say_lost(const struct pmc *p, const struct messages *to)
{
	messages_put(to, LOG_NOTICE,
		"PMC 0x%08x of process %d has not sampled all the time: another user of the PMU "
		"took its counter (pmccontrol --doctor may name it), or a target became set-id",
		p->id, p->owner->cred.pid);
}
