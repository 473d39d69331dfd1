/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample_chain.h. */
#include <sys/pmc.h>

#include "chain.h"
#include "pmc.h"
#include "sample_chain.h"

void sample_chain_count(struct sample_chains *cs, struct pmc *p, uint32_t cpuflags)
{
	chain_count(&cs->losses, cpuflags);
	chain_count(&p->losses, cpuflags);
	chain_count(&p->owner->stats.losses, cpuflags);
	chain_count(&p->owner->user->stats.losses, cpuflags);
}

static void chain_write(struct sample_chains *cs, struct pmc *p, uint64_t ns,
			const struct abi_rec *rec, const uint64_t *data)
{
	struct pmclog_ev_callchain c;

	c.pl_pid = rec->pid;
	c.pl_tid = rec->tid;
	c.pl_pmcid = p->id;
	chain_take(&c, rec, data, logfile_chain_room(p->owner->log), p->kernel == KERNEL_HIDDEN);
	if (!logfile_callchain(p->owner->log, ns, &c, data) && p->flags & PMC_F_CALLCHAIN)
		sample_chain_count(cs, p, c.pl_cpuflags);
}

static void late_write(struct late_sample *s, uint64_t ns)
{
	struct pmc *p = s->pmc;

	chain_late(&s->chains->losses, s->rec.end);
	chain_late(&p->losses, s->rec.end);
	chain_late(&p->owner->stats.losses, s->rec.end);
	chain_late(&p->owner->user->stats.losses, s->rec.end);
	chain_write(s->chains, p, ns, &s->rec, s->pc);
	late_sample_free(s);
}

static bool late_try(struct log_late *late, bool now)
{
	struct late_sample *s = (struct late_sample *)late;

	if (!late_sample_complete(s, now))
		return false;
	late_write(s, late->ns);
	return true;
}

void sample_chain_put(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data)
{
	struct late_sample *s = late_sample_new(cs->kept, cs->unwinder, p, rec, data);

	if (!s) {
		struct abi_rec merged = *rec;

		data = sample_python_merge(cs->python, p->owner->log, &merged, data);
		chain_write(cs, p, rec->time, &merged, data);
		return;
	}
	s->chains = cs;
	s->late.write = late_try;
	if (late_sample_complete(s, false) || !logfile_defer(p->owner->log, rec->time, &s->late))
		late_write(s, rec->time);
}
