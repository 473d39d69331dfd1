/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample_chain.h. */
#include <sys/pmc.h>

#include "chain.h"
#include "pmc.h"
#include "sample_chain.h"

static void chain_counted(struct sample_chains *cs, struct pmc *p, uint32_t cpuflags)
{
	if (!(p->flags & PMC_F_CALLCHAIN))
		return;
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
	if (!logfile_callchain(p->owner->log, ns, &c, data))
		chain_counted(cs, p, c.pl_cpuflags);
}

static void wait_write(struct sample_chains *cs, struct offcpu_log *o, struct pmc *p,
		       const struct abi_rec *rec, const uint64_t *data,
		       const struct pmclog_ev *waker)
{
	struct pmclog_ev_callchain c;

	if (offcpu_log_wait(o, cs->python, p, rec, data, waker, &c))
		chain_counted(cs, p, c.pl_cpuflags);
}

/* --- those that are completed later ----------------------------------------------------------- */

static void late_write(struct late_sample *s)
{
	struct pmc *p = s->pmc;

	chain_late(&s->chains->losses, s->rec.end);
	chain_late(&p->losses, s->rec.end);
	chain_late(&p->owner->stats.losses, s->rec.end);
	chain_late(&p->owner->user->stats.losses, s->rec.end);
	if (s->offcpu)
		wait_write(s->chains, s->offcpu, p, &s->rec, s->data, s->waker);
	else
		chain_write(s->chains, p, s->rec.time, &s->rec, s->data);
	late_sample_free(s);
}

static bool late_try(struct log_late *late, bool now)
{
	struct late_sample *s = (struct late_sample *)late;

	if (!late_sample_complete(s, now))
		return false;
	s->rec.time = late->ns;
	late_write(s);
	return true;
}

static void late_put(struct sample_chains *cs, struct late_sample *s)
{
	s->chains = cs;
	s->late.write = late_try;
	if (late_sample_complete(s, false) ||
	    !logfile_defer(s->pmc->owner->log, s->rec.time, &s->late))
		late_write(s);
}

void sample_chain_put(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data)
{
	struct late_sample *s = late_sample_new(cs->kept, cs->unwinder, p, rec, data);
	struct abi_rec merged = *rec;

	if (s) {
		late_put(cs, s);
		return;
	}
	data = sample_python_merge(cs->python, p->owner->log, &merged, data);
	chain_write(cs, p, rec->time, &merged, data);
}

void sample_chain_put_wait(struct sample_chains *cs, struct offcpu_log *o, struct pmc *p,
			   const struct abi_rec *rec, const uint64_t *data,
			   const struct pmclog_ev *waker)
{
	struct late_sample *s = late_sample_new(cs->kept, cs->unwinder, p, rec, data);

	if (s && waker && late_sample_keep(s, waker)) {
		late_sample_free(s);
		s = NULL;
	}
	if (!s) {
		wait_write(cs, o, p, rec, data, waker);
		return;
	}
	/* Later waits are written behind this one, and expect the names before them. */
	offcpu_log_names(o, p, rec, data);
	s->offcpu = o;
	late_put(cs, s);
}
