/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCALLOCATE: the checks in hwpmc's order, then the search for a row. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sys/pmc.h>

#include "group.h"
#include "logbook.h"
#include "overflow.h"
#include "refusal.h"
#include "sampling.h"
#include "loader/errand/errand.h"
#include "loader/pmc/sample_log.h"

#define FLAGS_PROCESS (PMC_F_DESCENDANTS | ALLOCATION_LOGS)
#define FLAGS_ALLOWED (FLAGS_PROCESS | PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN | PMC_F_KGMON | \
		       PMC_F_THREAD | PMC_F_CGROUP | PMC_F_SIGNAL | PMC_F_WAKERS)
#define CAPS_SIDES    (PMC_CAP_USER | PMC_CAP_SYSTEM)

/* --- checks: mode and CPU, privilege, flags, class, event ------------------------------- */

static int check_scope(struct request *rq, const struct allocation *p)
{
	const struct wire_allocate_req *a = p->a;
	unsigned int ncpu = rq->d->rows.ncpu;
	struct reason *why = &rq->r->why;
	struct cred cred;
	int err;

	if (a->mode > PMC_MODE_LAST)
		return deny(why, -EINVAL, "no mode %u; modes are SS, SC, TS and TC, 0 to %u",
			    a->mode, PMC_MODE_LAST);
	if (a->cpu != (uint32_t)PMC_CPU_ANY && a->cpu >= ncpu)
		return deny(why, -EINVAL, "no CPU %u; the CPUs are 0 to %u", a->cpu, ncpu - 1);
	if (!p->system && a->cpu != (uint32_t)PMC_CPU_ANY)
		return deny(why, -EINVAL, "process-scope PMCs take no CPU but PMC_CPU_ANY");
	if (p->system && a->cpu == (uint32_t)PMC_CPU_ANY)
		return deny(why, -EINVAL, "a system-scope PMC counts on one CPU: name it; "
			    "the CPUs are 0 to %u", ncpu - 1);
	if (!p->system && !(a->flags & PMC_F_CGROUP))
		return 0;
	if (p->system && !perf_cpu_online(a->cpu))
		return deny(why, -ENXIO, "CPU %u is offline; bring it up, or count on "
			    "others", a->cpu);
	err = request_cred(rq, &cred);
	return err ? err : policy_system(p->by, &cred, rq->d->pid_ns,
					 PMC_IS_SAMPLING_MODE(a->mode), why);
}

static int check_flag_cgroup(const struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	if (!(a->flags & PMC_F_CGROUP))
		return 0;
	if (p->system)
		return deny(why, -EINVAL, "PMC_F_CGROUP is for process-scope PMCs only");
	if (a->flags & (FLAGS_PROCESS | PMC_F_THREAD))
		return deny(why, -EINVAL, "PMC_F_CGROUP: descendants, threads, and records of time "
			    "slices and exits, are of processes that are named");
	return 0;
}

static int check_flags(struct request *rq, const struct allocation *p)
{
	const struct wire_allocate_req *a = p->a;
	struct reason *why = &rq->r->why;

	if (a->flags & ~(uint32_t)FLAGS_ALLOWED)
		return deny(why, -EINVAL, "unknown flags 0x%x; pmcbpfd " PMCBPF_VERSION
			    " knows 0x%x", a->flags & ~(uint32_t)FLAGS_ALLOWED, FLAGS_ALLOWED);
	if (a->flags & PMC_F_KGMON && a->mode != PMC_MODE_SS)
		return deny(why, -EINVAL, "PMC_F_KGMON is for system-scope sampling only");
	if (a->flags & PMC_F_KGMON && (a->caps & CAPS_SIDES) == PMC_CAP_USER)
		return deny(why, -EINVAL, "PMC_F_KGMON: this PMC samples user code only, of which "
			    "a kernel profile has nothing; count both sides, or the system's");
	if (p->system && a->flags & ALLOCATION_LOGS)
		return deny(why, -EINVAL,
			    "PMC_F_LOG_PROCCSW, PMC_F_LOG_PROCEXIT and PMC_F_LOG_THREXIT are for "
			    "process-scope PMCs only");
	if (PMC_IS_SAMPLING_MODE(a->mode) && a->flags & PMC_F_LOG_THREXIT)
		return deny(why, -EINVAL, "PMC_F_LOG_THREXIT is for counts: the samples of this "
			    "PMC name their threads");
	if (p->system && a->flags & (PMC_F_DESCENDANTS | PMC_F_THREAD))
		return deny(why, -EINVAL, "%s is for process-scope PMCs only",
			    a->flags & PMC_F_THREAD ? "PMC_F_THREAD" : "PMC_F_DESCENDANTS");
	if (a->flags & PMC_F_THREAD && a->flags & FLAGS_PROCESS)
		return deny(why, -EINVAL, "PMC_F_THREAD: descendants, and records of time slices "
			    "and exits, are of whole processes");
	return check_flag_cgroup(p, why) ?: overflow_check_flags(p, why);
}

static int check_class(struct request *rq, struct allocation *p)
{
	const struct wire_allocate_req *a = p->a;
	struct reason *why = &rq->r->why;
	uint32_t caps = a->caps, missing;

	p->class = row_class_find_pmu(&rq->d->rows, a->class, a->pmu);
	if (!p->class)
		return deny(why, -EINVAL, "this machine has no counters of class %s (%u); "
			    "pmccontrol -L lists what it has, pmccontrol --doctor says why",
			    daemon_class_name(a->class), a->class);
	if (*a->filter && !p->class->ops->filters)
		return deny(why, -EINVAL, "filter: class %s has events without fields; filters are "
			    "for tracepoints", p->class->prefix);
	if (rq->m->nfds && !p->class->ops->files)
		return deny(why, -EINVAL, "class %s has no events in files; the file that came "
			    "along is for probes", p->class->prefix);
	if (request_fd_refused(rq))
		return rq->m->passed[0];
	if (PMC_IS_SAMPLING_MODE(a->mode))
		caps |= PMC_CAP_INTERRUPT;
	if (a->flags & PMC_F_THREAD && !p->class->ops->threads)
		return deny(why, -EOPNOTSUPP, "PMC_F_THREAD: class %s counts whole processes only",
			    p->class->prefix);
	if (a->flags & PMC_F_CGROUP && !p->class->ops->cgroups)
		return deny(why, -EOPNOTSUPP, "PMC_F_CGROUP: class %s counts no cgroups; SOFT, "
			    "TRACEPOINT, PROBE, BREAKPOINT and the hardware's counters do",
			    p->class->prefix);
	missing = caps & ~p->class->info.caps;
	if (missing & PMC_CAP_INTERRUPT)
		return deny(why, -EOPNOTSUPP, "class %s cannot sample: %s; use a counting mode",
			    p->class->prefix,
			    p->class->ops->unsampled ?: "nothing interrupts when it overflows");
	if (missing)
		return deny(why, -EOPNOTSUPP, "class %s lacks the capabilities 0x%x; it has 0x%x",
			    p->class->prefix, missing, p->class->info.caps);
	return 0;
}

/* The checks of a class may look for the PMC that writes a control register. */
static bool select_holder(const struct allocation *p, uint64_t select, char *holder, size_t size)
{
	const struct request *rq = p->arg;

	for (unsigned int i = 0; i < p->class->info.num; i++) {
		const struct row *r = &rq->d->rows.rows[p->class->info.first_row + i];
		const struct pmc *o;

		LIST_FOREACH(o, &r->pmcs, on_row)
			if (o->cpu == p->cpu && o->select == select) {
				refusal_holder(rq, o, holder, size);
				return true;
			}
	}
	return false;
}

/*
 * Asks the administrator's rules about the event and the mode.  To rules, "MSR-APERF" is the event
 * APERF of class MSR.
 */
static int check_policy(struct request *rq, const struct allocation *p)
{
	const char *class = daemon_class_name(p->a->class);
	const struct user *u = rq->s->owner->user;
	size_t n = strlen(class);
	struct setting_question q = {
		.mode = p->a->mode, .class = class, .uid = u->uid, .pmcs = u->pmcs,
		.event = p->named_by_client ? NULL : p->name,
		.number = *p->number ? p->number : NULL, .numberless = p->numberless,
		.kernel = p->class->info.caps & PMC_CAP_USER &&
			  (p->a->caps & CAPS_SIDES) != PMC_CAP_USER,
	};

	if (q.event && !strncasecmp(q.event, class, n) && (q.event[n] == '-' || q.event[n] == ':'))
		q.event += n + 1;
	return request_judge(rq, POINT_ALLOCATE, p->cred, &q);
}

static int make_plan(struct request *rq, struct allocation *p, struct cred *cred)
{
	int err = check_scope(rq, p);

	if (!err)
		err = request_cred(rq, cred);
	if (!err)
		err = check_flags(rq, p);
	if (!err)
		err = check_class(rq, p);
	if (err)
		return err;
	p->first = p->class->info.first_row;
	p->rows = p->class->info.num;
	p->cpu = p->system ? p->a->cpu : 0;
	p->jailed = policy_jailed(cred, rq->d->pid_ns);
	p->spec.holder = p->class->ops->holder;
	p->spec.system = p->system;
	p->spec.follows_setid = policy_follows_setid(cred);
	p->spec.passes_fd = policy_privileged(cred);
	p->spec.descendants = p->a->flags & PMC_F_DESCENDANTS;
	p->spec.thread = p->a->flags & PMC_F_THREAD;
	p->spec.cgroup = p->a->flags & PMC_F_CGROUP;
	p->spec.grouped = p->a->group;
	p->spec.sampling = PMC_IS_SAMPLING_MODE(p->a->mode);
	p->spec.period = p->a->count;
	p->spec.offcpu_wakers = p->a->flags & PMC_F_WAKERS;
	p->spec.offcpu_rate = (uint32_t)rq->d->config.value[TUN_OFFCPURATE];
	p->spec.cpu = p->cpu;
	err = p->class->ops->plan(p, &rq->r->why);
	err = err ?: sampling_admit(rq, p);
	err = err ?: overflow_plan(p, &rq->r->why);
	if (!err && p->a->flags & PMC_F_WAKERS && p->spec.from != COUNT_FROM_OFFCPU)
		err = deny(&rq->r->why, -EOPNOTSUPP, "PMC_F_WAKERS: %s has no waits that something "
			   "ends; it is for OFFCPU_TIME", p->name);
	return err ?: check_policy(rq, p);
}

static int plan_begin(struct request *rq, struct allocation *p, struct class_machine *machine,
		      struct ruling *by, struct cred *cred)
{
	const struct wire_allocate_req *a = rq->arg;

	*machine = daemon_machine(rq->d);
	*by = request_ruling(rq);
	*p = (struct allocation){
		.machine = machine, .a = a, .cred = cred, .by = by,
		.selects = select_holder, .arg = rq, .file = rq->fd,
		.system = PMC_IS_SYSTEM_MODE(a->mode),
	};
	return make_plan(rq, p, cred);
}

/*
 * Loads the programs of a sampling PMC.  True: other operations have run meanwhile, so the plan has
 * to be made anew.
 */
static bool load_programs(struct request *rq, const struct allocation *p)
{
	struct user *user = rq->s->owner->user;
	bool waited;

	if (!p->spec.sampling)
		return false;
	waited = sample_log_prepare(rq->d->samples, p->a->flags & PMC_F_WAKERS, user);
	return count_prepare(rq->d->engine, &p->spec, user) || waited;
}

/* Sampling: the client's permitted view of the kernel now. */
static enum kernel_view kernel_view(const struct allocation *p)
{
	struct kernel_settings settings;

	if (!p->spec.sampling)
		return KERNEL_HIDDEN;
	settings = policy_kernel_settings();
	return policy_kernel_view(p->cred, &settings);
}

/* --- the row ----------------------------------------------------------------------------- */

/*
 * Rows of process scope are shared by all users, so one user's PMCs block system scope only.  Where
 * ordinary users count in both scopes, each may close user.share percent of the rows to the other
 * scope.
 */
static bool may_open_none(const struct request *rq, const struct allocation *p)
{
	const struct user *u = rq->s->owner->user;
	unsigned int alone = 0;

	if (u->privileged || (!p->system && !daemon_users_count_cpus(rq->d)))
		return false;
	for (unsigned int i = 0; i < p->rows; i++)
		alone += pmc_alone_on_row(&rq->d->rows.rows[p->first + i], u);
	return alone >= user_share(u, p->rows);
}

#define ID_CPUS (PMC_ID_TO_CPU(~0u) + 1)

/*
 * A process may have many PMCs of cgroups on a row.  Where other handles have the CPU, theirs have
 * any number that makes the handle unique.  PMC_CPU_ANY comes first; ID_CPUS: none is left.
 */
static uint32_t cgroup_number(const struct owner *o, unsigned int row)
{
	bool used[ID_CPUS] = { false };
	const struct pmc *other;

	TAILQ_FOREACH(other, &o->pmcs, owned)
		if (other->row == row && !pmc_is_system(other))
			used[PMC_ID_TO_CPU(other->id)] = true;
	for (uint32_t number = ID_CPUS; number-- > 0;)
		if (!used[number])
			return number;
	return ID_CPUS;
}

static uint32_t make_id(const struct owner *o, const struct allocation *p, unsigned int row)
{
	uint32_t cpu = p->system ? p->cpu : (uint32_t)PMC_CPU_ANY;

	return PMC_ID_MAKE_ID(p->spec.cgroup ? cgroup_number(o, row) : cpu, p->a->mode,
			      p->class->info.class, row);
}

/* True if the owner has no room for another such PMC on the row. */
static bool is_own(const struct owner *o, const struct allocation *p, unsigned int row)
{
	if (p->spec.cgroup)
		return cgroup_number(o, row) == ID_CPUS;
	return pmc_own_on_row(o, row, p->system, p->cpu);
}

enum { LOAD_FREE, LOAD_PRIVILEGED, LOAD_ANY };

/*
 * A process is measured by one PMC on a row.  Where rows cost nothing, those on which others
 * measure processes come last, so that owners seldom meet on one; and last of all those that an
 * ordinary user may take, so that nobody hides a process by measuring it on every row.
 */
static unsigned int row_load(const struct owner *o, const struct allocation *p,
			     const struct row *r, unsigned int row, unsigned int reserve)
{
	const struct pmc *other;

	if (p->system || p->spec.cgroup || p->class->ops->holder != &holder_own)
		return LOAD_FREE;
	LIST_FOREACH(other, &r->pmcs, on_row)
		if (other->owner != o && !pmc_is_system(other) && count_ntargets(other->count))
			return row_is_reserved(p->class, row, reserve) ? LOAD_PRIVILEGED : LOAD_ANY;
	return LOAD_FREE;
}

/* The rows that may be taken, best first. */
static unsigned int choose_rows(struct request *rq, struct allocation *p,
				struct row_choice *choices, struct refusals *rs)
{
	const struct owner *o = rq->s->owner;
	bool shareable = p->class->ops->shared;
	bool no_more = row_class_pools(p->class) && may_open_none(rq, p);
	unsigned int n = 0, reserve = user_reserve(o->user, p->rows);
	row_mask targets = p->system ? 0 : count_target_rows(rq->d->engine, o->cred.pid);

	for (unsigned int row = p->first; row < p->first + p->rows; row++) {
		const struct row *r = &rq->d->rows.rows[row];
		struct row_request q = {
			.system = p->system, .cpu = p->cpu, .shareable = shareable,
			.own = is_own(o, p, row),
			.target = !p->spec.cgroup && row < TARGET_ROWS && targets >> row & 1,
			.reserved = !o->user->privileged && row_is_reserved(p->class, row, reserve),
			.no_more = no_more,
		};
		enum row_verdict v = row_judge(r, &q);
		int rank;

		p->spec.row = row;
		rank = v == ROW_FITS ? count_rank(rq->d->engine, &p->spec) : 0;
		if (rank < 0)
			v = ROW_OTHER_EVENT;
		if (v != ROW_FITS) {
			refusals_add(rs, row, v);
			continue;
		}
		choices[n++] = (struct row_choice){
			.row = row, .rank = rank, .shared = r->balance > 0,
			.load = row_load(o, p, r, row, reserve),
		};
	}
	row_order(choices, n);
	return n;
}

/*
 * hwpmc has one error for a row that cannot be used, after which the next row is tried.  These
 * errors, and all errors of registers, do not depend on the row.
 */
static bool is_final(const struct allocation *p, int err)
{
	return p->class->ops->one_row || err == -ENOMEM || err == -ENXIO ||
	       err == -EOPNOTSUPP || err == -EAGAIN;
}

static int take_row(struct request *rq, struct allocation *p, struct pmc *pmc)
{
	struct row_choice choices[ROW_MAX];
	struct refusals rs = { .n = 0 };
	unsigned int n = choose_rows(rq, p, choices, &rs);
	struct owner *o = rq->s->owner;
	struct reason *why = &rq->r->why;
	int err;

	if (n && !o->counts) {
		err = count_owner_new(rq->d->engine, o->cred.pid, o->user, &o->counts, why);
		if (err)
			return err;
	}
	for (unsigned int i = 0; i < n; i++) {
		p->spec.row = choices[i].row;
		p->spec.pmcid = make_id(o, p, choices[i].row);
		row_name(&rq->d->rows, choices[i].row, p->spec.row_name, sizeof(p->spec.row_name));
		err = count_new(rq->d->engine, o->counts, &p->spec, &pmc->count, why);
		DEBUG(&rq->d->debug, PMC, ALLOCATEROW, "pid %d row %u rank %d: %s", o->cred.pid,
		      p->spec.row, choices[i].rank, strerror(-err));
		if (!err || is_final(p, err))
			return err;
	}
	err = refusals_report(&rs, rq, p->class, p->cpu);
	/* Clients of groups expect an error of its own where no row is left. */
	return rs.n && p->a->group ? -ENOSPC : err;
}

/* Creates the source of records, for sampling PMCs and those with PMC_F_LOG_…. */
static int take_recorder(struct request *rq, struct allocation *p, struct pmc *pmc)
{
	uint32_t log = 0;
	int err;

	if (!p->spec.sampling && pmc->flags & PMC_F_LOG_PROCCSW)
		log |= ABI_LOG_SWITCH;
	if (!p->spec.sampling && pmc->flags & PMC_F_LOG_PROCEXIT)
		log |= ABI_LOG_EXIT;
	if (pmc->flags & PMC_F_LOG_THREXIT)
		log |= ABI_LOG_THREAD;
	if (!p->spec.sampling && !log)
		return 0;
	err = recorder_new(rq->d->samples, pmc, p->spec.rate, &pmc->recorder, &rq->r->why);
	if (!err && p->spec.from == COUNT_FROM_OFFCPU)
		err = recorder_wait(pmc->recorder, &rq->r->why);
	if (!err && p->spec.sampling) {
		p->spec.program = recorder_program(pmc->recorder);
		p->spec.tag = recorder_tag(pmc->recorder);
	} else if (!err) {
		p->spec.log = log | recorder_id(pmc->recorder);
	}
	return err;
}

/* All PMCs of one kernel profile have the same source. */
static struct profile_source profile_source(const struct allocation *p)
{
	struct profile_source s = {
		.class = p->class->info.class,
		.sides = p->a->caps & CAPS_SIDES ? p->a->caps & CAPS_SIDES : CAPS_SIDES,
		.config = { p->a->config, p->a->config1, p->a->config2 },
	};

	memcpy(s.event, p->name, sizeof(s.event));
	return s;
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

/* Replaces the reason by the kernel's explanation, if it gives one. */
static void explain_filter(struct request *rq, const struct allocation *p, int refusal)
{
	struct tracefs_filter f = { .name = "" };
	struct helper_part part;
	struct reason unused;
	struct errand *e;

	memcpy(f.name, p->name, sizeof(f.name));
	memcpy(f.filter, p->a->filter, sizeof(f.filter));
	if (errand_begin(&rq->d->errands, rq->s->owner->user, ERRAND_FILTER, &f, sizeof(f), NULL, 0,
			 ERRAND_MS, &e, &unused))
		return;
	if (errand_next(e, &part) > 0)
		deny(&rq->r->why, refusal, "%.*s", (int)part.len, (const char *)part.data);
	errand_end(e);
}

int op_pmcallocate(struct request *rq)
{
	struct class_machine machine;
	struct ruling by;
	struct cred cred;
	struct allocation p;
	struct pmc *pmc = NULL;
	int err = plan_begin(rq, &p, &machine, &by, &cred);

	if (!err && load_programs(rq, &p))
		err = plan_begin(rq, &p, &machine, &by, &cred);
	if (err && p.filter_refused)
		explain_filter(rq, &p, err);
	err = err ?: group_admit(p.a, &rq->r->why);
	if (err)
		return err;
	pmc = calloc(1, sizeof(*pmc));
	if (!pmc)
		return -ENOMEM;
	pmc->owner = rq->s->owner;
	/* At once: other requests of this user may come before the end of this one. */
	pmc->owner->user->pmcs++;
	pmc->mode = p.a->mode;
	pmc->flags = p.a->flags;
	pmc->kernel = kernel_view(&p);
	pmc->hz = p.a->rate;
	pmc->values = p.a->values;
	pmc->signal = p.a->flags & PMC_F_SIGNAL ? SIGIO : 0;
	err = take_recorder(rq, &p, pmc);
	if (!err)
		err = take_row(rq, &p, pmc);
	if (err) {
		recorder_free(pmc->recorder);
		pmc->owner->user->pmcs--;
		free(pmc);
		return err;
	}
	pmc->id = p.spec.pmcid;
	pmc->row = p.spec.row;
	pmc->cpu = p.cpu;
	pmc->mode = p.a->mode;
	pmc->state = PMC_STATE_ALLOCATED;
	pmc->event = p.a->event;
	pmc->select = p.spec.select ? p.a->config1 : 0;
	pmc->reload = p.a->count;
	pmc->first = p.a->group ? pmc : NULL;
	pmc->uncommitted = p.a->group;
	pmc->ticks = p.ticks;
	if (pmc->flags & ALLOCATION_LOGS ||
	    (pmc->mode == PMC_MODE_SS && !(pmc->flags & PMC_F_KGMON)))
		pmc->flags |= PMC_F_NEEDS_LOGFILE;
	memcpy(pmc->event_name, p.name, sizeof(pmc->event_name));
	pmc->profile = profile_source(&p);
	pmc_link(&rq->d->rows, pmc);
	if (pmc->owner->log)
		sample_log_drain(rq->d->samples);
	logbook_allocate(pmc);
	DEBUG(&rq->d->debug, PMC, ALLOCATE, "pid %d PMC 0x%08x row %u mode %u event %s",
	      pmc->owner->cred.pid, pmc->id, pmc->row, pmc->mode, pmc->event_name);
	answer(rq, pmc);
	return 0;
}
