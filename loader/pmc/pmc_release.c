/* SPDX-License-Identifier: BSD-2-Clause */
/* See pmc_release.h. */
#include <stdlib.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "sample_log.h"
#include "lifetime.h"
#include "pmc_release.h"

static void release_one(struct row_table *rows, struct pmc *p)
{
	DEBUG(rows->debug, PMC, RELEASE, "pid %d PMC 0x%08x row %u", p->owner->cred.pid, p->id,
	      p->row);
	if (p->recorder && p->state == PMC_STATE_RUNNING) {
		(void)count_stop(p->count, &(struct reason){ "" });
		recorder_finish(p->recorder);
	}
	/* First: processes leave one by one, and later execs of theirs get no verdict. */
	lifetime_forget(p);
	count_let_go(p->count);
	pmc_unlink(rows, p);
	count_free(p->count);
	p->count = NULL;	/* the recorder no longer reads it */
	recorder_free(p->recorder);
	free(p);
}

/* In reverse order: members may read the source of earlier ones. */
void pmc_release(struct row_table *rows, struct pmc *p)
{
	struct pmc *list[WIRE_GROUP_MAX];
	unsigned int n = pmc_members(p->first ?: p, list);

	while (n--)
		release_one(rows, list[n]);
}

void pmc_release_all(struct row_table *rows, struct owner *o)
{
	while (!TAILQ_EMPTY(&o->pmcs))
		pmc_release(rows, TAILQ_FIRST(&o->pmcs));
}
