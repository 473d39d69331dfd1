/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events of processes to the logs of their followers. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "detachment.h"
#include "follows.h"
#include "lifetime.h"
#include "process_record.h"
#include "loader/log/log.h"
#include "mappings.h"
#include "loader/kernel/kernel.h"
#include "loader/process/process.h"

#define KERNEL_PID (-1)			/* pid of the kernel's own mappings */

struct log_listener {
	LIST_ENTRY(log_listener) next;
	struct owner *owner;
	bool kernel_listed, all_listed;	/* the log has these mappings */
};

struct lifetime {
	struct engine *engine;
	struct errands *errands;
	bool hidden;			/* the log says that the kernel hides its addresses */
	struct process_events *procs;	/* NULL: there is no log */
	LIST_HEAD(, log_listener) listeners;
	struct follows follows;
	bool late;			/* the result of lifetime_late() */
};

int lifetime_new(struct engine *e, struct errands *es, struct lifetime **out, struct reason *why)
{
	struct lifetime *l = calloc(1, sizeof(*l));

	if (!l)
		return deny(why, -ENOMEM, "no memory for logs");
	l->engine = e;
	l->errands = es;
	LIST_INIT(&l->listeners);
	follows_init(&l->follows, detachment_log_late);
	*out = l;
	return 0;
}

void lifetime_free(struct lifetime *l)
{
	if (!l)
		return;
	while (!LIST_EMPTY(&l->listeners))
		lifetime_leave(l, LIST_FIRST(&l->listeners)->owner);
	follows_free(&l->follows);
	free(l);
}

int lifetime_fd(const struct lifetime *l)
{
	return l->procs ? process_events_fd(l->procs) : -1;
}

/* Opens a reader on every CPU that is online. */
static int events_watch_cpus(struct lifetime *l)
{
	int err = 0;

	for (unsigned int cpu = 0; cpu < l->engine->ncpu && !err; cpu++) {
		struct cpu_state now = cpu_bell_cpu(l->engine->cpu_bell, cpu);

		err = process_events_cpu(l->procs, cpu, now.here, now.downs);
	}
	return err;
}

void lifetime_cpus(struct lifetime *l)
{
	const struct log_listener *n;

	/* Events of a CPU without a reader are missing in every log. */
	if (l->procs && events_watch_cpus(l))
		LIST_FOREACH(n, &l->listeners, next)
			logfile_gap(n->owner->log);
}

static void events_end(struct lifetime *l)
{
	notes_watch_execs(l->engine->notes, false);
	process_events_free(l->procs);
	l->procs = NULL;
}

static int events_begin(struct lifetime *l, struct reason *why)
{
	int err = process_events_new(l->engine, &l->procs, why);

	if (err)
		return err;
	/* First, so that the programs note each exec in perf's records. */
	notes_watch_execs(l->engine->notes, true);
	err = events_watch_cpus(l);
	if (!err)
		return 0;
	events_end(l);
	return deny(why, err, "cannot watch processes: %s", strerror(-err));
}

int lifetime_listen(struct lifetime *l, struct owner *o, struct reason *why)
{
	struct log_listener *n = calloc(1, sizeof(*n));
	int err = 0;

	if (!n)
		return deny(why, -ENOMEM, "no memory for a log");
	if (!l->procs)
		err = events_begin(l, why);
	if (err) {
		free(n);
		return err;
	}
	n->owner = o;
	LIST_INSERT_HEAD(&l->listeners, n, next);
	return 0;
}

static struct log_listener *listener_of(const struct lifetime *l, const struct owner *o)
{
	struct log_listener *n;

	LIST_FOREACH(n, &l->listeners, next)
		if (n->owner == o)
			return n;
	return NULL;
}

bool lifetime_leave(struct lifetime *l, struct owner *o)
{
	struct log_listener *n = listener_of(l, o);

	if (!n)
		return false;
	LIST_REMOVE(n, next);
	free(n);
	if (LIST_EMPTY(&l->listeners))
		events_end(l);
	return true;
}

/* --- follows --------------------------------------------------------------------------------- */

static struct follow *follow_begin(struct lifetime *l, struct pmc *p, pid_t pid, uint64_t since)
{
	struct follow *f = follow_make(&l->follows, p, pid, since);

	if (!f && p->owner->log)
		logfile_gap(p->owner->log);
	return f;
}

bool lifetime_attach(struct lifetime *l, struct pmc *p, pid_t tgid, uint64_t since)
{
	return follow_begin(l, p, tgid, since) != NULL;
}

bool lifetime_follows(struct lifetime *l, const struct pmc *p, pid_t tgid)
{
	const struct follow *f = follow_find(&l->follows, p, tgid);

	return f && !f->ended;
}

bool lifetime_awaits(struct lifetime *l, const struct pmc *p, pid_t tgid, uint64_t since)
{
	const struct follow *f = follow_find(&l->follows, p, tgid);

	return f && !f->ended && f->since == since && !f->execed;
}

/*
 * /proc was read before this call.  If the process had begun an exec by then, it is still in the
 * exec, or the programs' note of it is in the ring, or the process is no longer a target.
 */
bool lifetime_shows(struct lifetime *l, const struct pmc *p, pid_t tgid)
{
	bool within;

	if (count_follows_setid(p->count))
		return true;
	within = policy_in_exec(tgid);
	if (l->procs && !process_events_execs(l->procs, tgid, within))
		return count_measures(p->count, tgid);
	l->late = true;
	return false;
}

void lifetime_name(struct lifetime *l, const struct pmc *p, pid_t tid, const char *comm)
{
	if (l->procs)
		threads_know(process_events_threads(l->procs), tid, comm,
			     count_follows_setid(p->count));
}

void lifetime_retry(struct lifetime *l, struct pmc *p)
{
	l->late = true;
	if (p)
		p->late = true;
}

bool lifetime_late(struct lifetime *l)
{
	bool late = l->late;

	l->late = false;
	return late;
}

struct prune {
	struct lifetime *l;
	struct pmc *p;
};

static void follow_see(void *arg, pid_t tgid)
{
	struct prune *a = arg;
	struct follow *f = follow_find(&a->l->follows, a->p, tgid);

	if (f)
		f->seen = true;
}

/* False: the targets could not be listed; logbook_targets() is called again. */
static bool follow_see_all(struct lifetime *l, struct pmc *p)
{
	struct prune a = { l, p };
	struct follow *f;

	LIST_FOREACH(f, &p->follows, of_pmc)
		f->seen = false;
	if (!count_each_target(p->count, follow_see, &a))
		return true;
	lifetime_retry(l, p);
	return false;
}

static void follow_until(struct follow *f, uint64_t time, bool gap)
{
	if (time < f->until)
		f->until = time;
	if (gap && f->pmc->owner->log)
		logfile_gap(f->pmc->owner->log);
}

void lifetime_parting(struct pmc *p)
{
	p->leaving = clock_ns();
}

void lifetime_parted(struct lifetime *l, struct pmc *p)
{
	struct follow *f;

	if (!LIST_EMPTY(&p->follows) && !count_follows_setid(p->count) && follow_see_all(l, p))
		LIST_FOREACH(f, &p->follows, of_pmc)
			if (!f->seen)
				follow_until(f, p->leaving, false);
	p->leaving = 0;
}

void lifetime_prune(struct lifetime *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid),
		   void *arg)
{
	struct follow *f;

	if (!follow_see_all(l, p))
		return;
	LIST_FOREACH(f, &p->follows, of_pmc) {
		if (f->seen || f->ended)
			continue;
		gone(arg, f->pid);
		follow_end(&l->follows, f, clock_ns());
	}
}

bool lifetime_followed(struct lifetime *l, pid_t tgid)
{
	const struct follow *f;

	LIST_FOREACH(f, follows_of(&l->follows, tgid), in_bucket)
		if (f->pid == tgid && !f->ended)
			return true;
	return false;
}

void lifetime_secure(struct lifetime *l, pid_t tgid, bool complete)
{
	struct follow *f;

	LIST_FOREACH(f, follows_of(&l->follows, tgid), in_bucket) {
		if (f->pid != tgid || f->ended || count_follows_setid(f->pmc->count))
			continue;
		detachment_begin(f, complete);
		follow_end(&l->follows, f, clock_ns());
	}
}

void lifetime_forget(struct pmc *p)
{
	while (!LIST_EMPTY(&p->follows))
		follow_free(LIST_FIRST(&p->follows));
}

/*
 * Applies the rules for execs without a note, at an event or a sample of the process at that time.
 *
 * A child for which the map of targets had no room is no target, so that its execs have no verdict.
 * When something happens in the child itself, its fork is over and has been counted as lost.
 *
 * While processes leave the PMC one by one, those that have left may exec without a verdict.  One
 * that has exited since then may or may not have left before.
 */
static void follow_settle(struct follow *f, uint64_t time)
{
	const struct pmc *p = f->pmc;

	if (f->born && count_lost_children(p->count) && !count_measures(p->count, f->pid))
		follow_until(f, f->since, true);
	f->born = false;
	if (p->leaving && time > p->leaving && f->until > p->leaving &&
	    !count_measures(p->count, f->pid))
		follow_until(f, p->leaving, kill(f->pid, 0));
}

/*
 * For a process without a follow, because its fork was lost or came before its parent was followed:
 * the kernel's map of targets shows whether the PMC still measures it.
 */
enum admission lifetime_admits(struct lifetime *l, struct pmc *p, pid_t tgid, uint64_t time)
{
	struct follow *f;

	if (pmc_samples_all(p) || count_follows_setid(p->count))
		return ADMITTED;
	f = follow_find(&l->follows, p, tgid);
	if (f)
		follow_settle(f, time);
	/* Without procs the log has ended. */
	if (!l->procs || (f && time > f->until))
		return NOT_ADMITTED;
	if (process_events_pending(l->procs, tgid, time))
		return ADMITTED_LATER;
	if (f)
		return ADMITTED;
	if (!count_measures(p->count, tgid))
		return NOT_ADMITTED;
	lifetime_retry(l, p);
	return ADMITTED;
}

/* Logs the kernel's mappings, or reports once that the kernel hides its addresses. */
static void kernel_log(struct lifetime *l, struct log_listener *n, enum kernel_view view)
{
	n->kernel_listed = true;
	if ((view == KERNEL_NAMES && mappings_of_kernel(n->owner->log)) || l->hidden)
		return;
	l->hidden = true;
	messages_put(l->engine->debug->messages, LOG_NOTICE,
		"the kernel hides its addresses from pmcbpfd or the owner of a log, which has no "
		"mapping of it and no names: pmccontrol --doctor says why");
}

/*
 * Events of all processes come into the log before the list of those that exist is read: a process
 * that is born meanwhile is in one of them.
 */
void lifetime_start(struct lifetime *l, struct pmc *p)
{
	struct log_listener *n = listener_of(l, p->owner);
	bool before = owner_logs_all(p->owner);

	if (!n || !pmc_is_sampling(p))
		return;
	if (p->kernel != KERNEL_HIDDEN && !n->kernel_listed)
		kernel_log(l, n, p->kernel);
	p->logs_all = pmc_samples_all(p);
	if (p->logs_all && !(before && n->all_listed)) {
		n->all_listed = true;
		if (programs_nested(l->engine->programs) || logfile_renumbers(n->owner->log))
			mappings_of_outside(n->owner->log);
		mappings_of_all(l->errands, p->owner->user, p->owner->log);
	}
}

void lifetime_stop(struct pmc *p)
{
	p->logs_all = false;
}

bool lifetime_withholds(const struct lifetime *l, const struct owner *o, uint64_t until)
{
	const struct follow *f;
	const struct pmc *p;

	if (!l->procs || owner_logs_all(o))
		return l->procs && process_events_any_pending(l->procs, until);
	TAILQ_FOREACH(p, &o->pmcs, owned)
		LIST_FOREACH(f, &p->follows, of_pmc)
			if (process_events_pending(l->procs, f->pid, until))
				return true;
	return false;
}

/* --- records --------------------------------------------------------------------------------- */

static void event_log_listeners(struct lifetime *l, const struct proc_event *e,
				 const struct pmclog_ev *ev)
{
	struct log_listener *n;

	LIST_FOREACH(n, &l->listeners, next) {
		if (e->what == PROC_LOST && !e->pid)
			logfile_gap(n->owner->log);
		else if (!owner_logs_all(n->owner) ||
			 (e->pid == KERNEL_PID && !owner_knows_kernel(n->owner)))
			continue;
		else if (e->what == PROC_LOST)
			logfile_gap(n->owner->log);
		else
			(void)logfile_put(n->owner->log, e->time, ev);
	}
}

/* /proc was read after the event, and an exec may have happened between them. */
static void event_log_copy(struct lifetime *l, const struct pmc *p, const struct proc_event *e,
			    const struct pmclog_ev *ev)
{
	struct pmclog_ev mine = *ev;

	if (e->what == PROC_EXEC) {
		mine.pl_u.pl_x.pl_pmcid = p->id;
		if (e->asked && !count_follows_setid(p->count))
			mine.pl_u.pl_x.pl_pathname[0] = '\0';
	} else if (!lifetime_shows(l, p, e->pid)) {
		mine.pl_u.pl_tc.pl_tdname[0] = '\0';
	}
	(void)logfile_put(p->owner->log, e->time, &mine);
}

/*
 * Writes the event for one PMC that follows the process.  `logged`: the owner's log has it already.
 * Returns whether the log has it now.
 */
static bool event_log_follower(struct lifetime *l, struct follow *f, const struct proc_event *e,
				struct pmclog_ev *ev, bool logged)
{
	struct pmc *p = f->pmc;
	bool sampling = pmc_is_sampling(p);

	if (!p->owner->log || owner_logs_all(p->owner))
		return false;
	if (e->what == PROC_LOST) {
		logfile_gap(p->owner->log);
		return true;
	}
	if (e->what == PROC_EXEC) {
		f->execed = true;
		event_log_copy(l, p, e, ev);
		return true;
	}
	if (logged || (e->what != PROC_FORK && (e->what == PROC_EXIT || !sampling)))
		return false;
	if (e->asked)
		event_log_copy(l, p, e, ev);
	else
		(void)logfile_put(p->owner->log, e->time, ev);
	return true;
}

/* A child becomes a target in its fork, if the map has room; it inherits its parent's `until`. */
static void follow_child(struct lifetime *l, const struct follow *parent,
			 const struct proc_event *e)
{
	struct pmc *p = parent->pmc;
	struct follow *f;

	if (lifetime_follows(l, p, e->pid))
		return;
	f = follow_begin(l, p, e->pid, e->time);
	if (!f)
		return;
	f->until = parent->until;
	f->born = !count_follows_setid(p->count);
}

/*
 * True if the event is for the follow.  Execs before the attachment have no verdict.  Children born
 * before it are targets only if the owner may debug them; their PMCATTACH records were written
 * then.
 */
static bool follow_concerns(struct follow *f, const struct proc_event *e)
{
	if (count_follows_setid(f->pmc->count))
		return true;
	follow_settle(f, e->time);
	return e->time >= f->since && e->time <= f->until;
}

static void event_log_followers(struct lifetime *l, const struct proc_event *e,
				 struct pmclog_ev *ev)
{
	/* A birth is for the PMCs on the parent. */
	pid_t pid = e->what == PROC_FORK ? e->other : e->pid;
	const struct owner *last = NULL;
	struct follow *f;

	if (e->what == PROC_FORK)
		follows_born(&l->follows, e->pid, e->time);
	LIST_FOREACH(f, follows_of(&l->follows, pid), in_bucket) {
		if (f->pid != pid || !follow_concerns(f, e) ||
		    (e->what == PROC_FORK && !(f->pmc->flags & PMC_F_DESCENDANTS)))
			continue;
		/* A counting PMC logs no mappings: a sampling PMC of the same owner does. */
		if (event_log_follower(l, f, e, ev, last == f->pmc->owner))
			last = f->pmc->owner;
		if (e->what == PROC_FORK)
			follow_child(l, f, e);
		/* The exit of the first thread has the same record, but other threads may go on. */
		else if (e->what == PROC_EXIT && !count_measures(f->pmc->count, f->pid))
			follow_end(&l->follows, f, clock_ns());
	}
}

/*
 * Ends the follows of a process, or of all in the bucket, whose PMCs may not follow a set-id exec.
 * An attachment after the verdict is not concerned: see lifetime_shows().
 */
static void bucket_close(struct follow_bucket *bucket, const struct proc_event *e)
{
	struct follow *f;

	LIST_FOREACH(f, bucket, in_bucket)
		if ((!e->pid || f->pid == e->pid) && !count_follows_setid(f->pmc->count) &&
		    (!e->time || f->since <= e->time))
			follow_until(f, e->time, !e->pid);
}

static void process_close(struct lifetime *l, const struct proc_event *e)
{
	if (e->pid) {
		bucket_close(follows_of(&l->follows, e->pid), e);
		return;
	}
	for (unsigned int b = 0; b < FOLLOW_BUCKETS; b++)
		bucket_close(&l->follows.bucket[b], e);
	messages_put(l->engine->debug->messages, LOG_WARNING,
		"notes of execs found no room: logs of unprivileged users record nothing more of "
		"the processes that they have followed so far");
}

uint64_t lifetime_collect(struct lifetime *l, uint64_t horizon)
{
	return l->procs ? process_events_collect(l->procs, horizon) : horizon;
}

static void event_log(struct lifetime *l, const struct proc_event *e)
{
	struct pmclog_ev ev;

	if (e->what == PROC_SECURE) {
		process_close(l, e);
	} else if (process_record_make(&ev, e) || e->what == PROC_LOST) {
		event_log_listeners(l, e, &ev);
		if (e->pid)
			event_log_followers(l, e, &ev);
	}
}

void lifetime_write(struct lifetime *l, uint64_t until)
{
	const struct proc_event *e;

	while (l->procs && (e = process_events_next(l->procs, until)))
		event_log(l, e);
	/* Not while the table is walked. */
	follows_sweep(&l->follows, until);
}

void lifetime_unmap(struct lifetime *l, uint64_t time, pid_t tgid, uint64_t start, uint64_t end)
{
	const struct proc_event e = {
		.what = PROC_UNMAP, .time = time, .pid = tgid, .addr = start, .len = end - start,
	};

	event_log(l, &e);
}
