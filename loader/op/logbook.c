/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of operations. */
#include <signal.h>
#include <string.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "loader/kernel/kernel.h"
#include "logbook.h"
#include "loader/pmc/detachment.h"
#include "loader/pmc/mappings.h"
#include "loader/pmc/sample_log.h"
#include "loader/tables/tables.h"

#define LISTINGS 8u			/* of targets, in one go */
#define STATES	 (PMC_F_ATTACHED_TO_OWNER | PMC_F_NEEDS_LOGFILE | PMC_F_ATTACH_DONE)

_Static_assert(EVENT_FIELD_NAME == PMCLOG_FIELD_NAME, "a name's room");

static void field_log(void *arg, const struct event_field *f)
{
	const struct pmc *p = arg;
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_FIELD };
	struct pmclog_ev_field *to = &ev.pl_u.pl_fd;

	*to = (struct pmclog_ev_field){
		.pl_pmcid = p->id, .pl_offset = f->offset, .pl_size = f->size,
		.pl_element = f->element,
		.pl_flags = (f->is_signed ? PMCLOG_FIELD_SIGNED : 0) |
			    (f->is_text && !f->is_bytes ? PMCLOG_FIELD_TEXT : 0) |
			    (f->is_address ? PMCLOG_FIELD_ADDRESS : 0) |
			    (f->is_array ? PMCLOG_FIELD_ARRAY : 0) |
			    (f->elsewhere ? PMCLOG_FIELD_ELSEWHERE : 0) |
			    (f->behind ? PMCLOG_FIELD_BEHIND : 0),
	};
	memcpy(to->pl_name, f->name, sizeof(to->pl_name));
	(void)logfile_put(p->owner->log, clock_ns(), &ev);
}

/* Always by name: numbers of hardware events mean something to one machine only. */
void logbook_allocate(struct pmc *p)
{
	struct reason unused;
	struct pmclog_ev ev;

	if (!p->owner->log)
		return;
	ev.pl_type = PMCLOG_TYPE_PMCALLOCATEDYN;
	ev.pl_u.pl_ad.pl_pmcid = p->id;
	ev.pl_u.pl_ad.pl_event = p->event;
	/* The same flags, whether the log is configured before or later. */
	ev.pl_u.pl_ad.pl_flags = p->flags & ~(uint32_t)STATES;
	ev.pl_u.pl_ad.pl_rate = pmc_is_sampling(p) ? p->reload : 0;
	memcpy(ev.pl_u.pl_ad.pl_evname, p->event_name, sizeof(ev.pl_u.pl_ad.pl_evname));
	(void)logfile_put(p->owner->log, clock_ns(), &ev);
	if (pmc_is_sampling(p) && p->kernel == KERNEL_ADDRESSES)
		logfile_hide_names(p->owner->log);
	if (p->values & PMCLOG_VALUE_RAW &&
	    event_format_each(p->event_name, field_log, p, &unused))
		logfile_gap(p->owner->log);
}

/* Without the time; whether the log may have it is decided later. */
static void attach_make(struct pmclog_ev *ev, const struct pmc *p, pid_t tgid)
{
	static const char unknown[] = "unknown";
	char *path = ev->pl_u.pl_t.pl_pathname;

	ev->pl_type = PMCLOG_TYPE_PMCATTACH;
	ev->pl_u.pl_t.pl_pmcid = p->id;
	ev->pl_u.pl_t.pl_pid = tgid;
	if (!file_executable(tgid, path, sizeof(ev->pl_u.pl_t.pl_pathname)))
		memcpy(path, unknown, sizeof(unknown));
}

struct each {
	struct daemon *d;
	struct pmc *p;
	bool found;			/* a new target, since the last listing */
};

/* A target, while its mappings are read. */
struct shown {
	const struct each *each;
	uint64_t since;
};

/* Mappings of an earlier image are useless; those of the new one come with its exec. */
static bool target_still_shown(void *arg, pid_t tgid)
{
	const struct shown *s = arg;
	struct pmc *p = s->each->p;

	if (!lifetime_awaits(s->each->d->life, p, tgid, s->since))
		return false;
	if (lifetime_shows(s->each->d->life, p, tgid))
		return true;
	logfile_gap(p->owner->log);
	return false;
}

static void target_thread_named(void *arg, pid_t tid, const char *name)
{
	const struct shown *s = arg;

	lifetime_name(s->each->d->life, s->each->p, tid, name);
}

/*
 * /proc is read first; the result is written only if the log may have it.  A target in an exec is
 * tried again later.  Other fibers run while mappings are read, so the process is followed first:
 * events in between are logged.
 */
static void target_log_new(void *arg, pid_t tgid)
{
	struct each *e = arg;
	struct shown s = { .each = e, .since = clock_ns() };
	struct pmc *p = e->p;
	struct pmclog_ev ev;

	if (lifetime_follows(e->d->life, p, tgid))
		return;
	attach_make(&ev, p, tgid);
	if (!lifetime_shows(e->d->life, p, tgid)) {
		p->late = true;
		return;
	}
	(void)logfile_put(p->owner->log, clock_ns(), &ev);
	if (!lifetime_attach(e->d->life, p, tgid, s.since) || !pmc_is_sampling(p))
		return;
	e->found = true;
	tables_learn(e->d->tables, tgid);
	mappings_of_process(&e->d->errands, p->owner->user, p->owner->log, tgid, target_still_shown,
			    target_thread_named, &s);
}

static void target_log_gone(void *arg, pid_t tgid)
{
	struct each *e = arg;

	/* A process that has exited was not detached. */
	if (kill(tgid, 0))
		return;
	(void)recorder_left(e->p->recorder, tgid);
	detachment_log(e->p, tgid, clock_ns());
}

void logbook_targets(struct daemon *d, struct pmc *p)
{
	struct each e = { .d = d, .p = p, .found = true };

	if (!p->owner->log || pmc_is_system(p))
		return;
	p->late = false;
	/*
	 * While mappings are read, processes that are listed and not followed yet may have
	 * children, whose births are not logged: list again until there is nothing new.
	 */
	for (unsigned int n = 0; e.found; n++) {
		sample_log_drain(d->samples);
		e.found = false;
		if (n == LISTINGS || count_each_target(p->count, target_log_new, &e)) {
			lifetime_retry(d->life, p);
			break;
		}
	}
	lifetime_prune(d->life, p, target_log_gone, &e);
}

bool logbook_is_late(const struct owner *o)
{
	const struct pmc *p;

	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->late)
			return true;
	return false;
}

void logbook_late(struct daemon *d, struct owner *o)
{
	struct pmc *p;

	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->late)
			logbook_targets(d, p);
}

void logbook_doubt(struct daemon *d)
{
	struct owner_table *t = &d->owners;
	struct pmc *p;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			TAILQ_FOREACH(p, &o->pmcs, owned)
				if (o->log && !pmc_is_system(p))
					lifetime_retry(d->life, p);
}

void logbook_secure(struct daemon *d, pid_t tgid)
{
	/* Threads that the exec has ended may not have switched for the last time yet. */
	if (lifetime_followed(d->life, tgid))
		lifetime_secure(d->life, tgid, !sample_log_flush(d->samples));
}

int logbook_begin(struct daemon *d, struct owner *o, struct reason *why)
{
	int err = lifetime_listen(d->life, o, why);
	struct pmc *p;

	if (err)
		return err;
	sample_log_listen(d->samples, true);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		logbook_allocate(p);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		logbook_targets(d, p);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->state == PMC_STATE_RUNNING)
			lifetime_start(d->life, p);
	return 0;
}

static bool pmc_needs_log(const struct pmc *p)
{
	return p->state == PMC_STATE_RUNNING && p->flags & PMC_F_NEEDS_LOGFILE;
}

void logbook_end(struct daemon *d, struct owner *o)
{
	struct pmc *p;

	if (!o->log)
		return;
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (pmc_needs_log(p))
			(void)count_stop(p->count, &(struct reason){ "" });
	sample_log_finish(d->samples, o);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (pmc_needs_log(p))
			p->state = PMC_STATE_STOPPED;
	if (!lifetime_leave(d->life, o))
		return;
	sample_log_listen(d->samples, false);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		lifetime_forget(p);
}
