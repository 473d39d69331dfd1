/* SPDX-License-Identifier: BSD-2-Clause */
/* See refusal.h; other users' processes are not named. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader/base/base.h"
#include "refusal.h"

#define ROOM_FOR_ROWS 250u	/* bytes, so that the remedies after them fit */
#define GROUPS	      6

struct groups {
	struct {
		char text[256];
		unsigned int rows, first;
	} group[GROUPS];
	unsigned int n, others;		/* others: rows without room for their reason */
	bool own;			/* the caller could release one */
};

void refusal_holder(const struct request *rq, const struct pmc *p, char *buf, size_t size)
{
	const struct owner *o = p ? p->owner : NULL;
	struct reason unused;
	struct cred me;
	pid_t pid = o ? request_pid_seen(rq, &o->cred) : -1;

	if (!o)
		snprintf(buf, size, "held by no process");
	else if (o == rq->s->owner)
		snprintf(buf, size, "held by this process");
	else if (pid > 0 && !request_cred_now(rq, &me, &unused) &&
		 policy_may_know(&me, o->cred.uid[ID_EFFECTIVE]))
		snprintf(buf, size, "held by pid %d (%s)", pid, o->program);
	else
		snprintf(buf, size, "held by another user's process");
}

/* The latest holder, and " and others" if there are. */
static void describe_holders(const struct request *rq, const struct row *r, char *buf, size_t size)
{
	const struct pmc *p, *latest = LIST_FIRST(&r->pmcs);
	size_t used;

	refusal_holder(rq, latest, buf, size);
	LIST_FOREACH(p, &r->pmcs, on_row) {
		if (p->owner == latest->owner)
			continue;
		used = strlen(buf);
		snprintf(buf + used, size - used, " and others");
		return;
	}
}

/* The PMC on that row that measures the process. */
static const struct pmc *row_measures(const struct row *r, pid_t tgid)
{
	const struct pmc *p;

	LIST_FOREACH(p, &r->pmcs, on_row)
		if (!pmc_is_system(p) && count_measures(p->count, tgid))
			return p;
	return NULL;
}

static void row_describe(const struct request *rq, unsigned int row, enum row_verdict v,
			 unsigned int cpu, char *buf, size_t size)
{
	const struct row *r = &rq->d->rows.rows[row];
	char holder[80], part[USER_PART_TEXT];

	describe_holders(rq, r, holder, sizeof(holder));
	switch (v) {
	case ROW_OWN:
		snprintf(buf, size, "held by this process");
		break;
	case ROW_TARGET:
		refusal_holder(rq, row_measures(r, rq->s->owner->cred.pid), holder,
				sizeof(holder));
		snprintf(buf, size, "measuring this process already, %s", holder);
		break;
	case ROW_IS_THREAD:
		snprintf(buf, size, "counting for processes, %s", holder);
		break;
	case ROW_IS_STANDALONE:
		if (!LIST_EMPTY(&r->pmcs))
			snprintf(buf, size, "counting for whole CPUs, %s", holder);
		else
			snprintf(buf, size, "disabled on some CPU (pmccontrol -e enables)");
		break;
	case ROW_SLOT_DISABLED:
		snprintf(buf, size, "disabled on CPU %u (pmccontrol -e enables)", cpu);
		break;
	case ROW_RESERVED:
		user_part_text(rq->s->owner->user, USER_RESERVE, part, sizeof(part));
		snprintf(buf, size, "kept for administrators (%s)", part);
		break;
	case ROW_NO_MORE:
		user_part_text(rq->s->owner->user, USER_SHARE, part, sizeof(part));
		snprintf(buf, size, "free, but you alone have as many as one user may (%s)", part);
		break;
	case ROW_OTHER_EVENT:
		snprintf(buf, size, "counting another address, %s", holder);
		break;
	default:
		refusal_holder(rq, r->cpu[cpu].last, holder, sizeof(holder));
		snprintf(buf, size, "in use on CPU %u, %s", cpu, holder);
	}
}

void refusals_add(struct refusals *rs, unsigned int row, enum row_verdict v)
{
	rs->row[rs->n].row = row;
	rs->row[rs->n++].verdict = v;
}

static void groups_add(struct groups *g, const struct request *rq, unsigned int row,
		      enum row_verdict v, unsigned int cpu)
{
	char text[sizeof(g->group[0].text)];
	unsigned int i = 0;

	row_describe(rq, row, v, cpu, text, sizeof(text));
	g->own |= strstr(text, "held by this process") != NULL;
	while (i < g->n && strcmp(g->group[i].text, text))
		i++;
	if (i == GROUPS) {
		g->others++;
		return;
	}
	if (i == g->n) {
		memcpy(g->group[i].text, text, sizeof(text));
		g->group[i].first = row;
		g->group[i].rows = 0;
		g->n++;
	}
	g->group[i].rows++;
}

/* "4 held by this process; ARMV8-6 disabled on CPU 1 (pmccontrol -e enables)" */
static void groups_add_rows(struct text *t, const struct groups *rs, const struct request *rq)
{
	unsigned int others = rs->others;
	char name[WIRE_NAME_MAX];

	for (unsigned int i = 0; i < rs->n; i++) {
		const char *sep = i ? "; " : "";

		if (t->used + strlen(rs->group[i].text) > ROOM_FOR_ROWS && i) {
			others += rs->group[i].rows;
			continue;
		}
		row_name(&rq->d->rows, rs->group[i].first, name, sizeof(name));
		if (rs->group[i].rows == 1)
			text_add(t, "%s%s %s", sep, name, rs->group[i].text);
		else
			text_add(t, "%s%u %s", sep, rs->group[i].rows, rs->group[i].text);
	}
	if (others)
		text_add(t, "; %u for other reasons (pmccontrol -l)", others);
}

int refusals_report(const struct refusals *rs, struct request *rq, const struct row_class *class,
		  unsigned int cpu)
{
	struct reason *why = &rq->r->why;
	struct groups g = { .n = 0 };
	char buf[WIRE_MAX_REASON + 1];
	struct text t = text_begin(buf, sizeof(buf));
	bool tried = why->text[0];

	if (tried && !rs->n)
		return -EINVAL;
	for (unsigned int i = 0; i < rs->n; i++)
		groups_add(&g, rq, rs->row[i].row, rs->row[i].verdict, cpu);
	if (tried)
		text_add(&t, "%.200s; the other rows: ", why->text);
	else if (class->ops->refusal)
		text_add(&t, "%s", class->ops->refusal);
	else
		text_add(&t, "no row of class %s (%u) is left for this: ", class->prefix,
			 class->info.num);
	groups_add_rows(&t, &g, rq);
	if (g.own)
		text_add(&t, "; release one of yours first");
	if (class->ops->counters && perf_watchdog())
		text_add(&t, "; the NMI watchdog may have one more (sysctl kernel.nmi_watchdog=0, "
		    "then SIGHUP to pmcbpfd)");
	return deny(why, -EINVAL, "%s", t.at);
}

int refusal_attach(struct request *rq, const struct pmc *p, const struct cred *target, int err)
{
	pid_t pid = request_pid_seen(rq, target);
	char name[WIRE_NAME_MAX], holder[80];
	const struct pmc *other;

	if (err == -EEXIST)
		return deny(&rq->r->why, err, "process %d is a target of this PMC already", pid);
	other = err == -EBUSY ? row_measures(&rq->d->rows.rows[p->row], target->pid) : NULL;
	if (!other)
		return err;
	row_name(&rq->d->rows, p->row, name, sizeof(name));
	refusal_holder(rq, other, holder, sizeof(holder));
	return deny(&rq->r->why, err, "row %u (%s) measures process %d for another PMC, %s; "
		    "allocate another PMC, which gets another row, or release that one",
		    p->row, name, pid, holder);
}
