/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is told what about processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <sys/pmc.h>

#include "debug.h"
#include "engine.h"
#include "lifelog.h"
#include "logfile.h"
#include "mappings.h"

#define BUCKETS 1024u

/* One PMC on one process. */
struct follow {
	LIST_ENTRY(follow) in_bucket;	/* of its pid */
	LIST_ENTRY(follow) of_pmc;
	struct pmc *pmc;
	pid_t pid;
	bool seen;			/* of lifelog_prune() */
};

struct listener {
	LIST_ENTRY(listener) next;
	struct owner *owner;
	bool kernel_told, all_told;	/* mappings that a log gets once */
};

struct lifelog {
	struct engine *engine;
	struct errands *errands;
	bool hidden;			/* the kernel's addresses, and that has been said */
	struct procs *procs;		/* NULL: nobody listens */
	LIST_HEAD(, listener) listeners;
	LIST_HEAD(bucket, follow) bucket[BUCKETS];
};

int lifelog_new(struct engine *e, struct errands *es, struct lifelog **out, struct why *why)
{
	struct lifelog *l = calloc(1, sizeof(*l));

	if (!l)
		return deny(why, -ENOMEM, "no memory for logs");
	l->engine = e;
	l->errands = es;
	LIST_INIT(&l->listeners);
	*out = l;
	return 0;
}

void lifelog_free(struct lifelog *l)
{
	if (!l)
		return;
	while (!LIST_EMPTY(&l->listeners))
		lifelog_leave(l, LIST_FIRST(&l->listeners)->owner);
	for (unsigned int b = 0; b < BUCKETS; b++)
		while (!LIST_EMPTY(&l->bucket[b])) {
			struct follow *f = LIST_FIRST(&l->bucket[b]);

			LIST_REMOVE(f, in_bucket);
			free(f);
		}
	free(l);
}

int lifelog_fd(const struct lifelog *l)
{
	return l->procs ? procs_fd(l->procs) : -1;
}

/* Every CPU that is here is watched. */
static int watch_cpus(struct lifelog *l)
{
	int err = 0;

	for (unsigned int cpu = 0; cpu < engine_ncpu(l->engine) && !err; cpu++) {
		struct engine_cpu now = engine_cpu(l->engine, cpu);

		err = procs_cpu(l->procs, cpu, now.here, now.downs);
	}
	return err;
}

void lifelog_cpus(struct lifelog *l)
{
	const struct listener *n;

	/* What a CPU's processes do that cannot be watched is missing everywhere. */
	if (l->procs && watch_cpus(l))
		LIST_FOREACH(n, &l->listeners, next)
			logfile_gap(n->owner->log);
}

static int make_procs(struct lifelog *l, struct why *why)
{
	int err = procs_new(engine_ncpu(l->engine), &l->procs, why);

	if (err)
		return err;
	err = watch_cpus(l);
	if (!err)
		return 0;
	procs_free(l->procs);
	l->procs = NULL;
	return deny(why, err, "cannot watch what processes do: %s", strerror(-err));
}

int lifelog_listen(struct lifelog *l, struct owner *o, struct why *why)
{
	struct listener *n = calloc(1, sizeof(*n));
	int err = 0;

	if (!n)
		return deny(why, -ENOMEM, "no memory for a log");
	if (!l->procs)
		err = make_procs(l, why);
	if (err) {
		free(n);
		return err;
	}
	n->owner = o;
	LIST_INSERT_HEAD(&l->listeners, n, next);
	return 0;
}

static struct listener *listener_of(const struct lifelog *l, const struct owner *o)
{
	struct listener *n;

	LIST_FOREACH(n, &l->listeners, next)
		if (n->owner == o)
			return n;
	return NULL;
}

bool lifelog_leave(struct lifelog *l, struct owner *o)
{
	struct listener *n = listener_of(l, o);

	if (!n)
		return false;
	LIST_REMOVE(n, next);
	free(n);
	if (LIST_EMPTY(&l->listeners)) {
		procs_free(l->procs);
		l->procs = NULL;
	}
	return true;
}

/* --- who is followed ------------------------------------------------------------------------- */

static struct bucket *bucket_of(struct lifelog *l, pid_t pid)
{
	return &l->bucket[(unsigned int)pid % BUCKETS];
}

static struct follow *follow_find(struct lifelog *l, const struct pmc *p, pid_t pid)
{
	struct follow *f;

	LIST_FOREACH(f, bucket_of(l, pid), in_bucket)
		if (f->pid == pid && f->pmc == p)
			return f;
	return NULL;
}

static bool follow(struct lifelog *l, struct pmc *p, pid_t pid)
{
	struct follow *f;

	if (follow_find(l, p, pid))
		return false;
	f = calloc(1, sizeof(*f));
	if (!f) {
		if (p->owner->log)
			logfile_gap(p->owner->log);
		return false;
	}
	f->pmc = p;
	f->pid = pid;
	LIST_INSERT_HEAD(bucket_of(l, pid), f, in_bucket);
	LIST_INSERT_HEAD(&p->follows, f, of_pmc);
	return true;
}

static void unfollow(struct follow *f)
{
	LIST_REMOVE(f, in_bucket);
	LIST_REMOVE(f, of_pmc);
	free(f);
}

void lifelog_attach(struct lifelog *l, struct pmc *p, pid_t tgid)
{
	if (!follow(l, p, tgid))
		return;
	if (p->owner->log && pmc_is_sampling(p))
		mappings_of_process(l->errands, p->owner->user, p->owner->log, tgid);
}

bool lifelog_follows(struct lifelog *l, const struct pmc *p, pid_t tgid)
{
	return follow_find(l, p, tgid) != NULL;
}

struct prune {
	struct lifelog *l;
	struct pmc *p;
};

static void still_there(void *arg, pid_t tgid)
{
	struct prune *a = arg;
	struct follow *f = follow_find(a->l, a->p, tgid);

	if (f)
		f->seen = true;
}

void lifelog_prune(struct lifelog *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid), void *arg)
{
	struct prune a = { l, p };
	struct follow *f, *next;

	LIST_FOREACH(f, &p->follows, of_pmc)
		f->seen = false;
	count_each_target(p->count, still_there, &a);
	for (f = LIST_FIRST(&p->follows); f; f = next) {
		next = LIST_NEXT(f, of_pmc);
		if (f->seen)
			continue;
		gone(arg, f->pid);
		unfollow(f);
	}
}

bool lifelog_followed(struct lifelog *l, pid_t tgid)
{
	const struct follow *f;

	LIST_FOREACH(f, bucket_of(l, tgid), in_bucket)
		if (f->pid == tgid)
			return true;
	return false;
}

void lifelog_secure(struct lifelog *l, pid_t tgid,
		    void (*left)(void *arg, struct pmc *p, pid_t tgid), void *arg)
{
	struct follow *f, *next;

	for (f = LIST_FIRST(bucket_of(l, tgid)); f; f = next) {
		next = LIST_NEXT(f, in_bucket);
		if (f->pid != tgid || count_follows_setid(f->pmc->count))
			continue;
		left(arg, f->pmc, tgid);
		unfollow(f);
	}
}

void lifelog_forget(struct pmc *p)
{
	struct follow *f, *next;

	for (f = LIST_FIRST(&p->follows); f; f = next) {
		next = LIST_NEXT(f, of_pmc);
		unfollow(f);
	}
}

void lifelog_start(struct lifelog *l, const struct pmc *p)
{
	struct listener *n = listener_of(l, p->owner);

	if (!n || !pmc_is_sampling(p))
		return;
	if (!n->kernel_told && !mappings_of_kernel(p->owner->log) && !l->hidden) {
		l->hidden = true;
		log_msg(engine_debug(l->engine)->log, LOG_NOTICE,
			"the kernel hides its addresses (kernel.kptr_restrict, lockdown): logs "
			"have no mapping of it, and its samples no names");
	}
	n->kernel_told = true;
	if (pmc_is_system(p) && !n->all_told) {
		mappings_of_all(l->errands, p->owner->user, p->owner->log);
		n->all_told = true;
	}
}

/* --- records --------------------------------------------------------------------------------- */

/* Hears of everybody. */
static bool samples_system(const struct owner *o)
{
	const struct pmc *p;

	TAILQ_FOREACH(p, &o->pmcs, owned)
		if (p->mode == PMC_MODE_SS && p->state == PMC_STATE_RUNNING)
			return true;
	return false;
}

static void put_path(char *to, const char *text)
{
	size_t len = strnlen(text, LOGREC_PATH - 1);

	memcpy(to, text, len);
	to[len] = '\0';
}

/* The record of an event, but for the PMC. */
static bool make_record(struct pmclog_ev *ev, const struct proc_event *e)
{
	switch (e->what) {
	case PROC_FORK:
		ev->pl_type = PMCLOG_TYPE_PROCFORK;
		ev->pl_u.pl_f.pl_oldpid = e->other;
		ev->pl_u.pl_f.pl_newpid = e->pid;
		return true;
	case PROC_EXIT:
		ev->pl_type = PMCLOG_TYPE_SYSEXIT;
		ev->pl_u.pl_se.pl_pid = e->pid;
		return true;
	case PROC_EXEC:
		ev->pl_type = PMCLOG_TYPE_PROCEXEC;
		ev->pl_u.pl_x.pl_pid = e->pid;
		ev->pl_u.pl_x.pl_pmcid = PMC_ID_INVALID;
		ev->pl_u.pl_x.pl_baseaddr = e->addr;
		ev->pl_u.pl_x.pl_entryaddr = e->len;
		ev->pl_u.pl_x.pl_dynaddr = e->len;
		put_path(ev->pl_u.pl_x.pl_pathname, e->text);
		return true;
	case PROC_MAP:
		ev->pl_type = PMCLOG_TYPE_MAP_IN;
		ev->pl_u.pl_mi.pl_pid = e->pid;
		ev->pl_u.pl_mi.pl_start = e->addr;
		put_path(ev->pl_u.pl_mi.pl_pathname, e->text);
		ev->pl_u.pl_mi.pl_buildidlen = e->id.len;
		memcpy(ev->pl_u.pl_mi.pl_buildid, e->id.id, e->id.len);
		return true;
	case PROC_UNMAP:
		ev->pl_type = PMCLOG_TYPE_MAP_OUT;
		ev->pl_u.pl_mo.pl_pid = e->pid;
		ev->pl_u.pl_mo.pl_start = e->addr;
		ev->pl_u.pl_mo.pl_end = e->addr + e->len;
		return true;
	case PROC_THREAD:
		ev->pl_type = PMCLOG_TYPE_THR_CREATE;
		ev->pl_u.pl_tc.pl_tid = e->tid;
		ev->pl_u.pl_tc.pl_pid = e->pid;
		ev->pl_u.pl_tc.pl_flags = 0;
		memset(ev->pl_u.pl_tc.pl_tdname, 0, sizeof(ev->pl_u.pl_tc.pl_tdname));
		return true;
	case PROC_THREAD_EXIT:
		ev->pl_type = PMCLOG_TYPE_THR_EXIT;
		ev->pl_u.pl_te.pl_tid = e->tid;
		return true;
	case PROC_LOST:
	case PROC_NOTHING:
		break;
	}
	return false;
}

static void tell_everybody(struct lifelog *l, const struct proc_event *e,
			   const struct pmclog_ev *ev)
{
	struct listener *n;

	LIST_FOREACH(n, &l->listeners, next) {
		if (e->what == PROC_LOST)
			logfile_gap(n->owner->log);
		else if (samples_system(n->owner))
			(void)logfile_put(n->owner->log, e->time, ev);
	}
}

/*
 * One PMC on the process that the event is about; `heard`: its owner has had such a record.  True:
 * now it has.
 */
static bool tell_follower(struct lifelog *l, struct follow *f, const struct proc_event *e,
			  struct pmclog_ev *ev, bool heard)
{
	struct pmc *p = f->pmc;
	bool sampling = pmc_is_sampling(p);

	if (!p->owner->log || samples_system(p->owner))
		return false;
	if (e->what == PROC_EXEC) {
		ev->pl_u.pl_x.pl_pmcid = p->id;
		(void)logfile_put(p->owner->log, e->time, ev);
		ev->pl_u.pl_x.pl_pmcid = PMC_ID_INVALID;
		return true;
	}
	if (heard || (e->what != PROC_FORK && (e->what == PROC_EXIT || !sampling)))
		return false;
	(void)logfile_put(p->owner->log, e->time, ev);
	return true;
}

static void tell_followers(struct lifelog *l, const struct proc_event *e, struct pmclog_ev *ev)
{
	/* A birth concerns who measures the parent. */
	pid_t pid = e->what == PROC_FORK ? e->other : e->pid;
	struct follow *f, *next;
	const struct owner *last = NULL;

	for (f = LIST_FIRST(bucket_of(l, pid)); f; f = next) {
		bool relevant = f->pid == pid &&
				(e->what != PROC_FORK || f->pmc->flags & PMC_F_DESCENDANTS);

		next = LIST_NEXT(f, in_bucket);
		if (!relevant)
			continue;
		/* One that counts tells of no mappings: that is left to one that samples. */
		if (tell_follower(l, f, e, ev, last == f->pmc->owner))
			last = f->pmc->owner;
		if (e->what == PROC_FORK)
			(void)follow(l, f->pmc, e->pid);
		else if (e->what == PROC_EXIT)
			unfollow(f);
	}
}

uint64_t lifelog_collect(struct lifelog *l, uint64_t horizon)
{
	return l->procs ? procs_collect(l->procs, horizon) : horizon;
}

static void tell(struct lifelog *l, const struct proc_event *e)
{
	struct pmclog_ev ev;
	bool record = make_record(&ev, e);

	if (record || e->what == PROC_LOST)
		tell_everybody(l, e, &ev);
	if (record)
		tell_followers(l, e, &ev);
}

void lifelog_tell(struct lifelog *l, uint64_t until)
{
	const struct proc_event *e;

	while (l->procs && (e = procs_next(l->procs, until)))
		tell(l, e);
}

void lifelog_unmap(struct lifelog *l, uint64_t time, pid_t tgid, uint64_t start, uint64_t end)
{
	const struct proc_event e = {
		.what = PROC_UNMAP, .time = time, .pid = tgid, .addr = start, .len = end - start,
	};

	tell(l, &e);
}
