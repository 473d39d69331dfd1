/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of operations. */
#include <signal.h>
#include <string.h>

#include <sys/pmc.h>

#include "clock.h"
#include "file.h"
#include "logbook.h"
#include "trace.h"

/* Always by name: numbers of hardware events mean something to one machine only. */
void logbook_allocate(const struct pmc *p)
{
	struct pmclog_ev ev;

	if (!p->owner->log)
		return;
	ev.pl_type = PMCLOG_TYPE_PMCALLOCATEDYN;
	ev.pl_u.pl_ad.pl_pmcid = p->id;
	ev.pl_u.pl_ad.pl_event = p->event;
	ev.pl_u.pl_ad.pl_flags = p->flags;
	memcpy(ev.pl_u.pl_ad.pl_evname, p->event_name, sizeof(ev.pl_u.pl_ad.pl_evname));
	(void)logfile_put(p->owner->log, clock_ns(), &ev);
}

static void attached(struct logfile *log, const struct pmc *p, pid_t tgid)
{
	static const char unknown[] = "unknown";
	struct pmclog_ev ev;

	ev.pl_type = PMCLOG_TYPE_PMCATTACH;
	ev.pl_u.pl_t.pl_pmcid = p->id;
	ev.pl_u.pl_t.pl_pid = tgid;
	if (!file_executable(tgid, ev.pl_u.pl_t.pl_pathname, sizeof(ev.pl_u.pl_t.pl_pathname)))
		memcpy(ev.pl_u.pl_t.pl_pathname, unknown, sizeof(unknown));
	(void)logfile_put(log, clock_ns(), &ev);
}

static void detached(struct logfile *log, const struct pmc *p, pid_t tgid)
{
	struct pmclog_ev ev;

	ev.pl_type = PMCLOG_TYPE_PMCDETACH;
	ev.pl_u.pl_d.pl_pmcid = p->id;
	ev.pl_u.pl_d.pl_pid = tgid;
	(void)logfile_put(log, clock_ns(), &ev);
}

static void leave(struct pmc *p, pid_t tgid, bool exec)
{
	if (p->tracer)
		tracer_left(p->tracer, tgid, exec);
}

struct each {
	struct daemon *d;
	struct pmc *p;
};

static void tell_new(void *arg, pid_t tgid)
{
	struct each *e = arg;

	if (lifelog_follows(e->d->life, e->p, tgid))
		return;
	attached(e->p->owner->log, e->p, tgid);
	lifelog_attach(e->d->life, e->p, tgid);
}

static void tell_gone(void *arg, pid_t tgid)
{
	struct each *e = arg;

	/* One that has exited was not detached. */
	if (kill(tgid, 0))
		return;
	leave(e->p, tgid, false);
	detached(e->p->owner->log, e->p, tgid);
}

void logbook_targets(struct daemon *d, struct pmc *p)
{
	struct each e = { d, p };

	if (!p->owner->log || pmc_is_system(p))
		return;
	trace_drain(d->trace);
	count_each_target(p->count, tell_new, &e);
	lifelog_prune(d->life, p, tell_gone, &e);
}

static void taken_away(void *arg, struct pmc *p, pid_t tgid)
{
	if (!p->owner->log)
		return;
	leave(p, tgid, true);
	detached(p->owner->log, p, tgid);
}

void logbook_secure(struct daemon *d, pid_t tgid)
{
	if (!lifelog_followed(d->life, tgid))
		return;
	/* Threads that the exec has ended may not have been switched out for good. */
	trace_flush(d->trace);
	lifelog_secure(d->life, tgid, taken_away, NULL);
}

int logbook_begin(struct daemon *d, struct owner *o, struct why *why)
{
	int err = lifelog_listen(d->life, o, why);
	struct pmc *p;

	if (err)
		return err;
	trace_listen(d->trace, true);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		logbook_allocate(p);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		logbook_targets(d, p);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->state == PMC_STATE_RUNNING)
			lifelog_start(d->life, p);
	return 0;
}

static bool needs_log(const struct pmc *p)
{
	return p->state == PMC_STATE_RUNNING && p->flags & PMC_F_NEEDS_LOGFILE;
}

void logbook_end(struct daemon *d, struct owner *o)
{
	struct pmc *p;

	if (!o->log)
		return;
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (needs_log(p))
			(void)count_stop(p->count, &(struct why){ "" });
	trace_drain(d->trace);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (needs_log(p))
			p->state = PMC_STATE_STOPPED;
	if (!lifelog_leave(d->life, o))
		return;
	trace_listen(d->trace, false);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		lifelog_forget(p);
}
