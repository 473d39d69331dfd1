/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCALLOCATE: the checks in hwpmc's order, then the search for a row. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>

#include "ops.h"

#define FLAGS_PROCESS (PMC_F_DESCENDANTS | PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT)
#define FLAGS_ALLOWED (FLAGS_PROCESS | PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN | PMC_F_KGMON)
#define FLAGS_LOG     (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT)

/* What an allocation works with once the request has passed the checks. */
struct plan {
	const struct wire_allocate_req *a;
	const struct row_class *class;
	bool system;
	unsigned int cpu;
	struct count_spec spec;
	char name[WIRE_NAME_MAX];
};

/* --- checks: mode and CPU, privilege, flags, class, event ------------------------------- */

static int check_scope(struct request *rq, const struct plan *p)
{
	const struct wire_allocate_req *a = p->a;
	unsigned int ncpu = rq->d->rows.ncpu;
	struct why *why = &rq->r->why;
	struct cred cred;
	int err;

	if (a->mode > PMC_MODE_LAST)
		return deny(why, -EINVAL, "no mode %u", a->mode);
	if (a->cpu != (uint32_t)PMC_CPU_ANY && a->cpu >= ncpu)
		return deny(why, -EINVAL, "no CPU %u; the CPUs are 0 to %u", a->cpu, ncpu - 1);
	if (!p->system && a->cpu != (uint32_t)PMC_CPU_ANY)
		return deny(why, -EINVAL, "process-scope PMCs take no CPU but PMC_CPU_ANY");
	if (p->system && a->cpu == (uint32_t)PMC_CPU_ANY)
		return deny(why, -EINVAL, "a system-scope PMC counts on one CPU: name it");
	if (!p->system)
		return 0;
	if (!perf_cpu_online(a->cpu))
		return deny(why, -ENXIO, "CPU %u is offline", a->cpu);
	err = request_cred(rq, &cred);
	return err ? err : policy_system(&rq->d->config, &cred, rq->d->pid_ns,
					 PMC_IS_SAMPLING_MODE(a->mode), why);
}

static int check_flags(struct request *rq, const struct plan *p)
{
	const struct wire_allocate_req *a = p->a;
	struct why *why = &rq->r->why;

	if (a->flags & ~(uint32_t)FLAGS_ALLOWED)
		return deny(why, -EINVAL, "unknown flags 0x%x",
			    a->flags & ~(uint32_t)FLAGS_ALLOWED);
	if (a->flags & PMC_F_KGMON && a->mode != PMC_MODE_SS)
		return deny(why, -EINVAL, "PMC_F_KGMON is for system-scope sampling only");
	if (p->system && a->flags & FLAGS_LOG)
		return deny(why, -EINVAL,
			    "PMC_F_LOG_PROCCSW and PMC_F_LOG_PROCEXIT are for process-scope "
			    "PMCs only");
	if (p->system && a->flags & PMC_F_DESCENDANTS)
		return deny(why, -EINVAL, "PMC_F_DESCENDANTS is for process-scope PMCs only");
	return 0;
}

static int check_class(struct request *rq, struct plan *p)
{
	const struct wire_allocate_req *a = p->a;
	struct why *why = &rq->r->why;
	uint32_t caps = a->caps, missing;

	p->class = row_class_find(&rq->d->rows, a->class);
	if (!p->class)
		return deny(why, -EINVAL,
			    "this machine has no counters of class %u; GETCPUINFO lists "
			    "what it has",
			    a->class);
	if (PMC_IS_SAMPLING_MODE(a->mode))
		caps |= PMC_CAP_INTERRUPT;
	missing = caps & ~p->class->info.caps;
	if (missing & PMC_CAP_INTERRUPT)
		return deny(why, -EOPNOTSUPP, "class %s cannot sample with pmcbpfd " PMCBPF_VERSION
			    "; use a counting mode", p->class->prefix);
	if (missing)
		return deny(why, -EOPNOTSUPP, "class %s lacks the capabilities 0x%x; it has 0x%x",
			    p->class->prefix, missing, p->class->info.caps);
	return 0;
}

static int plan_tsc(struct request *rq, struct plan *p)
{
	if (p->a->mode != PMC_MODE_SC || p->a->event != PMC_EV_TSC_TSC ||
	    p->a->caps != PMC_CAP_READ)
		return deny(&rq->r->why, -EINVAL,
			    "the TSC counts its one event, of a CPU, and is read "
			    "only: mode SC, capability READ");
	snprintf(p->name, sizeof(p->name), "TSC");
	return 0;
}

static int plan_soft(struct request *rq, struct plan *p)
{
	p->spec.soft = soft_by_code(p->a->event);
	if (!p->spec.soft || !engine_has_soft(rq->d->engine, p->a->event))
		return deny(&rq->r->why, -EINVAL, "this kernel has no software event 0x%x; "
			    "GETDYNEVENTINFO lists what it has", p->a->event);
	if (!p->a->caps)
		return deny(&rq->r->why, -EINVAL,
			    "a software event needs a capability, such as READ");
	snprintf(p->name, sizeof(p->name), "%s", p->spec.soft->name);
	return 0;
}

static int plan_hardware(struct request *rq, struct plan *p)
{
	const struct wire_allocate_req *a = p->a;
	const char *end = memchr(a->event_name, '\0', sizeof(a->event_name));

	for (const char *c = a->event_name; end && c < end; c++)
		if (!isprint((unsigned char)*c))
			end = NULL;
	if (!end)
		return deny(&rq->r->why, -EINVAL,
			    "an event's name is printable and at most %u bytes "
			    "long",
			    WIRE_NAME_MAX - 1);
	memcpy(p->name, a->event_name, sizeof(p->name));
	p->spec.event = (struct perf_event_spec){
		.type = p->class->info.perf_type,
		.config = a->config, .config1 = a->config1, .config2 = a->config2,
		.user = a->caps & PMC_CAP_USER, .kernel = a->caps & PMC_CAP_SYSTEM,
	};
	return 0;
}

static int make_plan(struct request *rq, struct plan *p)
{
	static int (*const plans[])(struct request *rq, struct plan *p) = {
		[COUNT_TSC] = plan_tsc, [COUNT_SOFT] = plan_soft, [COUNT_HARDWARE] = plan_hardware,
	};
	int err = check_scope(rq, p);

	if (!err)
		err = check_flags(rq, p);
	if (!err)
		err = check_class(rq, p);
	if (err)
		return err;
	p->cpu = p->system ? p->a->cpu : 0;
	p->spec.kind = p->class->kind;
	p->spec.system = p->system;
	p->spec.descendants = p->a->flags & PMC_F_DESCENDANTS;
	p->spec.cpu = p->cpu;
	return plans[p->class->kind](rq, p);
}

/* --- the row ----------------------------------------------------------------------------- */

static int refuse_row(struct request *rq, const struct plan *p, unsigned int row,
		      enum row_verdict v)
{
	static const char *const what[] = {
		[ROW_OWN] = "this process has a PMC there already; release it first",
		[ROW_TARGET] = "this process is being measured there",
		[ROW_IS_THREAD] = "it counts for processes",
		[ROW_IS_STANDALONE] = "it counts for whole CPUs, or is disabled",
		[ROW_SLOT_DISABLED] = "it is disabled on this CPU; pmccontrol -e enables it",
		[ROW_SLOT_USED] = "it is in use on this CPU",
	};
	const struct row *r = &rq->d->rows.rows[row];
	char name[WIRE_NAME_MAX], holder[80] = "";

	row_name(&rq->d->rows, row, name, sizeof(name));
	if (v == ROW_SLOT_USED)
		describe_holder(rq, r->cpu[p->cpu].last, holder, sizeof(holder));
	else if ((v == ROW_IS_THREAD || v == ROW_IS_STANDALONE) && r->pmcs)
		describe_holder(rq, r->pmcs, holder, sizeof(holder));
	return deny(&rq->r->why, -EINVAL,
		    "no row of class %s (%u) is left for this; the last one, %s: "
		    "%s%s%s",
		    p->class->prefix, p->class->info.num, name, what[v], *holder ? ", " : "",
		    holder);
}

/* The rows that may be taken, best first; 0 leaves the reason in the reply. */
static unsigned int choose_rows(struct request *rq, struct plan *p, struct row_choice *choices)
{
	const struct owner *o = rq->s->owner;
	unsigned int first = p->class->info.first_row, n = 0;

	for (unsigned int row = first; row < first + p->class->info.num; row++) {
		const struct row *r = &rq->d->rows.rows[row];
		struct row_request q = {
			.system = p->system, .cpu = p->cpu, .shareable = p->spec.kind == COUNT_TSC,
			.own = pmc_own_on_row(r, o, p->system, p->cpu),
			.target = !p->system && count_row_targets(rq->d->engine, row, o->cred.pid),
		};
		enum row_verdict v = row_judge(r, &q);

		if (v != ROW_FITS) {
			refuse_row(rq, p, row, v);
			continue;
		}
		p->spec.row = row;
		choices[n++] = (struct row_choice){
			.row = row, .rank = count_rank(rq->d->engine, &p->spec),
			.shared = r->balance > 0,
		};
	}
	row_order(choices, n);
	return n;
}

static uint32_t make_id(const struct plan *p, unsigned int row)
{
	return PMC_ID_MAKE_ID(p->system ? p->cpu : (uint32_t)PMC_CPU_ANY, p->a->mode,
			      p->class->info.class, row);
}

/* hwpmc knows one answer to a row that does not work out; these three are about something else. */
static bool is_final(int err)
{
	return err == -ENOMEM || err == -ENXIO || err == -EOPNOTSUPP;
}

static int take_row(struct request *rq, struct plan *p, struct pmc *pmc)
{
	struct row_choice choices[ROW_MAX];
	unsigned int n = choose_rows(rq, p, choices);
	struct owner *o = rq->s->owner;
	struct why *why = &rq->r->why;
	int err = -EINVAL;

	if (n && !o->counts) {
		int e = count_owner_new(rq->d->engine, o->cred.pid, &o->counts, why);

		if (e)
			return e;
	}
	for (unsigned int i = 0; i < n; i++) {
		p->spec.row = choices[i].row;
		p->spec.pmcid = make_id(p, choices[i].row);
		err = count_new(rq->d->engine, o->counts, &p->spec, &pmc->count, why);
		if (!err || is_final(err))
			return err;
	}
	return -EINVAL;
}

/* --- the reply --------------------------------------------------------------------------- */

static void answer(struct request *rq, const struct pmc *pmc)
{
	struct wire_allocate_rep *rep = reply_room(rq->r, sizeof(*rep));

	rep->pmcid = pmc->id;
	rep->pos = count_pos(pmc->count);
	rep->ncpu = rq->d->rows.ncpu;
	if (rep->pos != ~0u && !rq->s->pages) {
		count_owner_fds(rq->s->owner->counts, rq->r->fds);
		rq->r->nfds = rep->nfds = 2;
		rq->s->pages = true;
	}
}

int op_pmcallocate(struct request *rq)
{
	struct plan p = { .a = rq->arg };
	struct pmc *pmc = NULL;
	int err;

	p.system = PMC_IS_SYSTEM_MODE(p.a->mode);
	err = make_plan(rq, &p);
	if (err)
		return err;
	pmc = calloc(1, sizeof(*pmc));
	if (!pmc)
		return -ENOMEM;
	err = take_row(rq, &p, pmc);
	if (err) {
		free(pmc);
		return err;
	}
	pmc->owner = rq->s->owner;
	pmc->id = p.spec.pmcid;
	pmc->row = p.spec.row;
	pmc->cpu = p.cpu;
	pmc->mode = p.a->mode;
	pmc->state = PMC_STATE_ALLOCATED;
	pmc->event = p.a->event;
	pmc->flags = p.a->flags;
	pmc->reload = p.a->count;
	if (pmc->flags & FLAGS_LOG || pmc->mode == PMC_MODE_SS)
		pmc->flags |= PMC_F_NEEDS_LOGFILE;
	memcpy(pmc->event_name, p.name, sizeof(pmc->event_name));
	pmc_link(&rq->d->rows, pmc);
	answer(rq, pmc);
	return 0;
}
