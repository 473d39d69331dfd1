/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCADMIN: disables and enables a row on a CPU. */
#include <errno.h>

#include <sys/pmc.h>

#include "refusal.h"

/* As in hwpmc, the privilege is checked before the request. */
int op_pmcadmin_allowed(struct request *rq)
{
	return request_privileged(rq, "enabling and disabling counters");
}

static int admin_check(struct request *rq, const struct wire_admin_req *a)
{
	const struct row_table *t = &rq->d->rows;
	struct reason *why = &rq->r->why;

	if (a->cpu < 0 || (unsigned int)a->cpu >= t->ncpu)
		return deny(why, -EINVAL,
			    "there is no CPU %d; CPUs are 0 to %u", a->cpu, t->ncpu - 1);
	if (!perf_cpu_online((unsigned int)a->cpu))
		return deny(why, -ENXIO, "CPU %d is offline", a->cpu);
	if (a->state != PMC_STATE_DISABLED && a->state != PMC_STATE_FREE)
		return deny(why, -EINVAL, "state %u is neither DISABLED nor FREE", a->state);
	if (a->pmc < 0 || (unsigned int)a->pmc >= t->nrow)
		return deny(why, -EINVAL,
			    "there is no row %d; rows are 0 to %u", a->pmc, t->nrow - 1);
	return 0;
}

int op_pmcadmin(struct request *rq)
{
	const struct wire_admin_req *a = rq->arg;
	char name[WIRE_NAME_MAX], holder[128];
	struct row *row;
	int err = admin_check(rq, a);

	if (err)
		return err;
	DEBUG(&rq->d->debug, CPU, SELECT, "CPU %d, to %s row %d", a->cpu,
	      a->state == PMC_STATE_DISABLED ? "disable" : "enable", a->pmc);
	row = &rq->d->rows.rows[a->pmc];
	err = a->state == PMC_STATE_DISABLED ? row_disable(row, (unsigned int)a->cpu) :
					       row_enable(row, (unsigned int)a->cpu);
	if (!err)
		return 0;
	row_name(&rq->d->rows, (unsigned int)a->pmc, name, sizeof(name));
	refusal_holder(rq, row->cpu[a->cpu].last ?: LIST_FIRST(&row->pmcs), holder,
			sizeof(holder));
	return deny(&rq->r->why, err,
		    "row %d (%s) is in use, %s; release that PMC first", a->pmc, name,
		    holder);
}
