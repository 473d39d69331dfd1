/* SPDX-License-Identifier: BSD-2-Clause */
/* HELLO, SIGNALS, and operations that only report: versions, classes, rows, events, statistics. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "request.h"
#include "loader/pmc/sample_log.h"

_Static_assert(sizeof(((struct owner *)0)->program) ==
	       sizeof(((struct wire_hello_req *)0)->program) + 1, "the name and its NUL");

/* Messages and other users' terminals show the name: unprintable characters become "?". */
static void program_name(char *out, const char *name)
{
	size_t n = strnlen(name, sizeof(((struct wire_hello_req *)0)->program));

	for (size_t i = 0; i < n; i++)
		out[i] = name[i] < ' ' || name[i] > '~' ? '?' : name[i];
	out[n] = '\0';
}

int op_hello(struct request *rq)
{
	const struct wire_hello_req *a = rq->arg;
	struct wire_hello_rep *rep = reply_room(rq->r, sizeof(*rep));
	struct owner *o = rq->s->owner;

	rep->wire_version = WIRE_VERSION;
	snprintf(rep->daemon_version, sizeof(rep->daemon_version), "%s", PMCBPF_VERSION);
	program_name(o->program, a->program);
	rq->s->hello = true;
	rq->r->fds[rq->r->nfds++] = heartbeat_fd(rq->d->heartbeat);
	return 0;
}

int op_signals(struct request *rq)
{
	const struct wire_signals_req *a = rq->arg;
	struct owner *o = rq->s->owner;

	o->signals_known = true;
	o->signals = a->taken;
	return 0;
}

int op_getmoduleversion(struct request *rq)
{
	const struct wire_version *a = rq->arg;
	struct wire_version *rep;

	if (a->version >> 16 > PMC_VERSION >> 16)
		return deny(&rq->r->why, -EPROGMISMATCH,
			    "the program was built for interface version "
			    "%u.%u, pmcbpfd " PMCBPF_VERSION " implements %u.%u; update pmcbpf",
			    a->version >> 24, a->version >> 16 & 0xff, PMC_VERSION_MAJOR,
			    PMC_VERSION_MINOR);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->version = PMC_VERSION;
	return 0;
}

int op_getcpuinfo(struct request *rq)
{
	const struct row_table *t = &rq->d->rows;
	struct wire_cpuinfo *rep = reply_room(rq->r, sizeof(*rep));

	for (unsigned int i = 0; i < t->nclass; i++)
		rep->classes[i] = t->classes[i].info;
	rep->cputype = daemon_cputype(rq->d);
	rep->ncpu = t->ncpu;
	rep->npmc = t->nrow;
	rep->nclass = t->nclass;
	memcpy(rep->cpuid, rq->d->cpu.id, sizeof(rep->cpuid));
	return 0;
}

/* An owner with a log gets the losses of that log alone.  NULL: the totals. */
static const struct user_stats *stats_of(const struct owner *o)
{
	if (o->logged)
		return &o->stats;
	return o->user->privileged ? NULL : &o->user->stats;
}

int op_getdriverstats(struct request *rq)
{
	struct wire_driverstats *rep = reply_room(rq->r, sizeof(*rep));
	const struct user_stats *own = stats_of(rq->s->owner);

	*rep = rq->d->stats;
	sample_log_stats(rq->d->samples, rep);
	logpool_stats(rq->d->logs, &rep->buffer_requests, &rep->buffer_requests_failed);
	if (!own)
		return 0;
	rep->intr_processed = own->intr_processed;
	rep->intr_bufferfull = own->intr_bufferfull;
	rep->buffer_requests = own->buffer_requests;
	rep->buffer_requests_failed = own->buffer_requests_failed;
	return 0;
}

int op_getlosses(struct request *rq)
{
	const struct wire_losses_req *a = rq->arg;
	const struct user_stats *own = stats_of(rq->s->owner);
	struct wire_losses *rep;
	struct pmc *p = NULL;
	int err = a->pmcid == PMC_ID_INVALID ? 0 :
		  pmc_find(rq->s->owner, a->pmcid, &p, &rq->r->why);

	if (err)
		return err;
	rep = reply_room(rq->r, sizeof(*rep));
	if (p)
		*rep = p->losses;
	else
		*rep = own ? own->losses : *sample_log_losses(rq->d->samples);
	return 0;
}

/* False: there is no room left; the client asks for the rest. */
static bool dynevent_add(struct request *rq, struct wire_dynevent_rep *rep,
			 const struct class_event *ev)
{
	struct wire_dynevent *e = reply_room(rq->r, sizeof(*e));

	if (!e)
		return false;
	snprintf(e->name, sizeof(e->name), "%s%s", ev->prefix, ev->name);
	e->code = ev->code;
	e->flags = ev->flags;
	rep->count++;
	return true;
}

int op_getdyneventinfo(struct request *rq)
{
	const struct wire_class_req *a = rq->arg;
	const struct row_class *class = row_class_find(&rq->d->rows, a->class);
	const struct class_ops *ops = class ? class->ops : class_with_events(a->class);
	const struct class_machine m = daemon_machine(rq->d);
	struct wire_dynevent_rep *rep;
	struct class_event ev;
	bool room = true;
	uint32_t total = 0;

	if (!ops || !ops->event_at)
		return deny(&rq->r->why, -EINVAL, "only classes SOFT, TRACEPOINT and MSR and those "
			    "of this machine's PMUs have a list of events, not class %u",
			    a->class);
	rep = reply_room(rq->r, sizeof(*rep));
	if (ops->list && !a->first)
		ops->list(&m);
	for (unsigned int i = 0; ops->event_at(&m, class, i, &ev); i++)
		if (*ev.name && total++ >= a->first && room)
			room = dynevent_add(rq, rep, &ev);
	rep->total = total;
	return 0;
}

/* The PMC to report for a row and CPU; a process-scope row with several PMCs has none. */
static const struct pmc *row_shown_pmc(const struct row *r, unsigned int cpu)
{
	const struct pmc *first = LIST_FIRST(&r->pmcs);

	if (r->balance > 0)
		return LIST_NEXT(first, on_row) ? NULL : first;
	return r->cpu[cpu].last;
}

static void row_fill(const struct request *rq, unsigned int row, unsigned int cpu,
		     struct wire_pmcinfo *out)
{
	const struct row_table *t = &rq->d->rows;
	const struct row *r = &t->rows[row];
	const struct pmc *p = row_shown_pmc(r, cpu);

	row_name(t, row, out->name, sizeof(out->name));
	out->class = t->classes[r->class].info.class;
	out->enabled = !r->cpu[cpu].disabled;
	out->rowdisp = row_disposition(r);
	out->ownerpid = -1;
	if (!p)
		return;
	out->ownerpid = request_pid_seen(rq, &p->owner->cred);
	out->mode = p->mode;
	out->event = p->event;
	out->flags = p->flags;
	out->reloadcount = pmc_is_sampling(p) ? p->reload : 0;
	memcpy(out->event_name, p->event_name, sizeof(out->event_name));
}

int op_getpmcinfo(struct request *rq)
{
	const struct wire_cpu_req *a = rq->arg;
	const struct row_table *t = &rq->d->rows;
	struct wire_pmcinfo_rep *rep;

	if (a->cpu >= t->ncpu)
		return deny(&rq->r->why, -EINVAL, "no CPU %d; the CPUs are 0 to %u", (int)a->cpu,
			    t->ncpu - 1);
	if (!perf_cpu_online(a->cpu))
		return deny(&rq->r->why, -ENXIO, "CPU %u is offline", a->cpu);
	rep = reply_room(rq->r, sizeof(*rep));
	rep->npmc = t->nrow;
	for (unsigned int row = 0; row < t->nrow; row++) {
		struct wire_pmcinfo *out = reply_room(rq->r, sizeof(*out));

		if (!out)
			return deny(&rq->r->why, -ENOMEM, "too many rows for one reply");
		row_fill(rq, row, a->cpu, out);
	}
	return 0;
}
