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

static void sample_write(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
			 const uint64_t *data, const struct abi_python *python)
{
	struct logfile *log = p->owner->log;
	struct pmclog_ev_callchain c;
	struct abi_rec chain = *rec;

	data = sample_python_merge(cs->python, log, &chain, data, python);
	c.pl_pid = rec->pid;
	c.pl_tid = rec->tid;
	c.pl_pmcid = p->id;
	chain_take(&c, &chain, data, logfile_chain_room(log), p->kernel == KERNEL_HIDDEN);
	if (!logfile_callchain(log, rec->time, &c, data))
		chain_counted(cs, p, c.pl_cpuflags);
}

static void wait_write(struct sample_chains *cs, struct offcpu_log *o, struct pmc *p,
		       const struct abi_rec *rec, const uint64_t *data,
		       const struct abi_python *python, const struct pmclog_ev *waker)
{
	struct pmclog_ev_callchain c;

	if (offcpu_log_wait(o, cs->python, p, rec, data, python, waker, &c))
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
		wait_write(s->chains, s->offcpu, p, &s->rec, s->data, s->python, s->waker);
	else
		sample_write(s->chains, p, &s->rec, s->data, s->python);
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

/* False: it can be written now. */
static bool late_put(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
		     const uint64_t *data, const struct abi_python *python,
		     const struct pmclog_ev *waker, struct offcpu_log *o)
{
	struct late_sample *s = late_sample_new(cs->kept, cs->unwinder, p, rec, data);
	struct logfile *log = p->owner->log;

	if (!s)
		return false;
	if (late_sample_keep(s, python, waker)) {
		late_sample_free(s);
		return false;
	}
	/* Later samples are written behind this one, and expect the names before them. */
	if (o)
		offcpu_log_names(o, p, rec, data);
	if (python)
		sample_python_names(cs->python, log, rec->time, python);
	s->chains = cs;
	s->offcpu = o;
	s->late.write = late_try;
	if (late_sample_complete(s, false) || !logfile_defer(log, rec->time, &s->late))
		late_write(s);
	return true;
}

void sample_chain_put(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data)
{
	const struct abi_python *python = sample_python_frames(cs->python, rec);

	if (!late_put(cs, p, rec, data, python, NULL, NULL))
		sample_write(cs, p, rec, data, python);
}

void sample_chain_put_wait(struct sample_chains *cs, struct offcpu_log *o, struct pmc *p,
			   const struct abi_rec *rec, const uint64_t *data,
			   const struct pmclog_ev *waker)
{
	const struct abi_python *python = offcpu_log_frames(cs->python, rec);

	if (!late_put(cs, p, rec, data, python, waker, o))
		wait_write(cs, o, p, rec, data, python, waker);
}
