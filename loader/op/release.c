/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCRELEASE. */
#include <signal.h>

#include "loader/pmc/pmc_release.h"
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
	alone = !count_ntargets(p->count) && !count_orphaned(p->count);
	pmc_release(&rq->d->rows, p);
	if (!alone)
		rq->d->raise(rq->s->owner, SIGIO);
	return 0;
}
