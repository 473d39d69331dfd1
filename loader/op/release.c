/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCRELEASE. */
#include <signal.h>

#include "loader/pmc/pmc_release.h"
#include "loader/pmc/sample_log.h"
#include "group.h"

int op_pmcrelease(struct request *rq)
{
	const struct wire_id_req *a = rq->arg;
	bool alone;
	struct pmc *p;
	int err = group_first_of(rq, a->pmcid, &p);

	if (err)
		return err;
	/* The second condition: its last target has exited, and the signal is still to come. */
	if (p->owner->log && !LIST_EMPTY(&p->follows))
		sample_log_finish(rq->d->samples, p->owner);
	alone = !count_ntargets(p->count) && !count_orphaned(p->count);
	pmc_release(&rq->d->rows, p);
	if (!alone)
		rq->d->raise(rq->s->owner, SIGIO);
	return 0;
}
