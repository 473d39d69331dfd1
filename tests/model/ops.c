/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on PMCs and rows, and the table of all operations. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "model.h"

#define BIT(n) (1ull << (n))

static bool is_sampling(const struct m_pmc *p)
{
	return PMC_IS_SAMPLING_MODE(p->mode);
}

static bool is_tsc(const struct m_pmc *p)
{
	return PMC_ID_TO_CLASS(p->id) == PMC_CLASS_TSC;
}

/* ESRCH for a process without any PMC, EINVAL if another PMC, or none, is on the row. */
static int find(struct model *m, const struct m_call *c, uint32_t id, struct m_pmc **p)
{
	*p = model_find(m, c->who, id);
	if (*p)
		return 0;
	return model_owned(m, c->who) ? EINVAL : ESRCH;
}

/* --- attaching ---------------------------------------------------------------------------- */

/* Ids, dumpable, privilege: the rules of ptrace(2), and the tunable that closes it. */
static bool may_attach(const struct model *m, unsigned int who, unsigned int target)
{
	const struct m_proc *p = &m->proc[who], *t = &m->proc[target];

	return who == target || p->root || (m->proc_debug && !t->root && t->dumpable);
}

/*
 * The processes that would join: the process, with DESCENDANTS also those below that have not
 * joined yet, if the owner may attach to them.  Whether a refusal for a taken row comes first is
 * open.
 */
static int joining(struct model *m, const struct m_call *c, const struct m_pmc *p,
		   unsigned int target, uint64_t *join)
{
	uint64_t tree = p->flags & PMC_F_DESCENDANTS ? model_tree(m, target) : BIT(target);
	int err = 0;

	if (p->targets & BIT(target))
		return EEXIST;
	*join = 0;
	for (unsigned int i = 0; i < M_PROCS; i++) {
		bool may = i == target || may_attach(m, p->owner, i);

		if (!(tree & ~p->targets & BIT(i)))
			continue;
		if (model_holder(m, i, p->row) && (may || c->error == EBUSY))
			err = EBUSY;
		*join |= may ? BIT(i) : 0;
	}
	return err;
}

static void attached(struct m_pmc *p, uint64_t join)
{
	p->targets |= join;
	p->flags |= PMC_F_ATTACH_DONE;
	if (p->targets & BIT(p->owner))
		p->flags |= PMC_F_ATTACHED_TO_OWNER;
	else if (is_sampling(p))
		p->flags |= PMC_F_NEEDS_LOGFILE;
}

static int check_attach(struct model *m, const struct m_call *c, struct m_pmc **p, uint64_t *join)
{
	const struct wire_attach_req *a = c->arg;
	int err;

	if (a->pid < 0)
		return EINVAL;
	err = find(m, c, a->pmcid, p);
	if (err)
		return err;
	if (model_is_system(*p))
		return EINVAL;
	if ((*p)->state == PMC_STATE_RUNNING)
		return EBUSY;
	if (c->target == M_PID_NONE)
		return ESRCH;
	/*
	 * Whether a PMC whose owner is no longer a target still counts as one with a reported
	 * register: unspecified.
	 */
	if (!may_attach(m, c->who, (unsigned int)c->target) || (*p)->told ||
	    ((*p)->was_told && c->error == EPERM))
		return EPERM;
	return joining(m, c, *p, (unsigned int)c->target, join);
}

static int op_attach(struct model *m, const struct m_call *c)
{
	struct m_pmc *p = NULL;
	uint64_t join = 0;
	int err = check_attach(m, c, &p, &join);

	if (expect(m, c, err))
		return -1;
	if (!err)
		attached(p, join);
	return 0;
}

static bool monitored(const struct model *m, unsigned int p)
{
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].targets & BIT(p))
			return true;
	return false;
}

static int check_detach(struct model *m, const struct m_call *c, struct m_pmc **p)
{
	const struct wire_attach_req *a = c->arg;
	int err;

	if (a->pid < 0)
		return EINVAL;
	err = find(m, c, a->pmcid, p);
	if (err)
		return err;
	if (model_is_system(*p))
		return EINVAL;
	if (c->target == M_PID_NONE || !monitored(m, (unsigned int)c->target))
		return ESRCH;
	return (*p)->targets & BIT(c->target) ? 0 : EINVAL;
}

static int op_detach(struct model *m, const struct m_call *c)
{
	struct m_pmc *p = NULL;
	int err = check_detach(m, c, &p);

	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	p->targets &= ~(p->flags & PMC_F_DESCENDANTS ? model_tree(m, (unsigned int)c->target) :
						       BIT(c->target));
	if (p->targets & BIT(p->owner))
		return 0;
	p->flags &= ~(uint32_t)PMC_F_ATTACHED_TO_OWNER;
	p->was_told |= p->told;
	p->told = false;
	return 0;
}

/* --- running ------------------------------------------------------------------------------ */

/* Samples of different PMCs cannot be added up in one kernel profile. */
static bool profiles_differ(const struct model *m, const struct m_pmc *p)
{
	uint64_t sides = (uint64_t)(PMC_CAP_USER | PMC_CAP_SYSTEM) << 32;

	for (unsigned int i = 0; p->flags & PMC_F_KGMON && i < M_PMCS; i++) {
		const struct m_pmc *o = &m->pmc[i];
		uint64_t ours = p->config & sides ? p->config : p->config | sides;
		uint64_t theirs = o->config & sides ? o->config : o->config | sides;

		if (o->used && o->state == PMC_STATE_RUNNING && o->flags & PMC_F_KGMON &&
		    (PMC_ID_TO_CLASS(o->id) != PMC_ID_TO_CLASS(p->id) || ours != theirs ||
		     o->reload != p->reload ||
		     (PMC_ID_TO_CLASS(o->id) == PMC_CLASS_SOFT && o->event != p->event)))
			return true;
	}
	return false;
}

/* CPU_CLOCK and TASK_CLOCK count nanoseconds, and the kernel's timers have a minimum. */
static uint64_t least_period(const struct m_pmc *p)
{
	bool timer = PMC_ID_TO_CLASS(p->id) == PMC_CLASS_SOFT &&
		     (p->event == 0x20009 || p->event == 0x2000a);

	return timer ? 10000 : 1;
}

static int check_start(struct model *m, const struct m_call *c, struct m_pmc *p, uint64_t *join)
{
	if (p->flags & PMC_F_NEEDS_LOGFILE)
		return EDOOFUS;
	if (is_sampling(p) && p->reload < least_period(p))
		return EINVAL;
	if (profiles_differ(m, p))
		return EBUSY;
	if (model_is_system(p) || p->targets)
		return 0;
	/* Never attached: it measures its owner, which needs no permission. */
	return p->flags & PMC_F_ATTACH_DONE ? ESRCH : joining(m, c, p, p->owner, join);
}

static int op_start(struct model *m, const struct m_call *c)
{
	const struct wire_id_req *a = c->arg;
	uint64_t join = 0;
	struct m_pmc *p;
	int err = find(m, c, a->pmcid, &p);

	if (!err && p->state == PMC_STATE_RUNNING)
		return expect(m, c, 0);
	if (!err)
		err = check_start(m, c, p, &join);
	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	if (join)
		attached(p, join);
	p->state = PMC_STATE_RUNNING;
	p->exact = p->orphaned = false;
	return 0;
}

static int op_stop(struct model *m, const struct m_call *c)
{
	const struct wire_id_req *a = c->arg;
	struct m_pmc *p;
	int err = find(m, c, a->pmcid, &p);

	if (!err && p->state == PMC_STATE_ALLOCATED)
		err = EINVAL;
	if (expect(m, c, err))
		return -1;
	if (!err)
		p->state = PMC_STATE_STOPPED;
	return 0;
}

static int op_release(struct model *m, const struct m_call *c)
{
	const struct wire_id_req *a = c->arg;
	struct m_pmc *p;
	int err = find(m, c, a->pmcid, &p);

	if (expect(m, c, err))
		return -1;
	if (!err)
		model_release(m, p);
	return 0;
}

/* The client finds the register itself, and reports it. */
static int op_getmsr(struct model *m, const struct m_call *c)
{
	const struct wire_getmsr_req *a = c->arg;
	struct m_pmc *p;
	int err = find(m, c, a->pmcid, &p);

	if (!err && (model_is_system(p) || p->flags & PMC_F_DESCENDANTS ||
		     p->targets != BIT(p->owner)))
		err = EINVAL;
	else if (!err && (PMC_ID_TO_CLASS(p->id) == PMC_CLASS_SOFT ||
			  PMC_ID_TO_CLASS(p->id) == PMC_CLASS_MSR))
		err = ENOSYS;
	else if (!err)
		err = (int)a->missing;
	if (expect(m, c, err))
		return -1;
	if (!err)
		p->told = true;
	return 0;
}

/* --- values ------------------------------------------------------------------------------- */

/*
 * A written value is read until something counts; from then on the value never falls, and rests
 * once the PMC is stopped or has no target left.
 */
static int check_value(struct model *m, struct m_pmc *p, uint64_t value)
{
	uint64_t *floor = is_tsc(p) ? &m->tsc : &p->floor;

	if (!is_tsc(p) && p->exact && value != *floor)
		return differ(m, "handle 0x%08x reads %llu, expected exactly %llu", p->id,
			      (unsigned long long)value, (unsigned long long)*floor);
	if ((int64_t)(value - *floor) < 0)
		return differ(m, "handle 0x%08x reads %llu after %llu", p->id,
			      (unsigned long long)value, (unsigned long long)*floor);
	*floor = value;
	if (p->state != PMC_STATE_RUNNING ||
	    (!model_is_system(p) && !p->targets && !p->orphaned))
		p->exact = true;
	return 0;
}

static void written(struct m_pmc *p, uint64_t value)
{
	if (is_tsc(p))
		return;
	p->floor = value;
	p->exact = true;
	p->missed = false;
}

/*
 * The kernel may hide a switch at any time, and the daemon finds the slices that were lost.  From
 * then on the count is refused until it is written.
 */
static bool has_missed(const struct m_call *c, const struct m_pmc *p)
{
	static const char words[] = "lost a time slice";

	return c->error == EBUSY && !model_is_system(p) && !is_tsc(p) &&
	       memmem(c->reason, c->reason_len, words, sizeof(words) - 1);
}

static int check_rw(struct model *m, const struct m_call *c, struct m_pmc **p)
{
	const struct wire_rw_req *a = c->arg;
	uint32_t known = PMC_F_OLDVALUE | PMC_F_NEWVALUE;
	int err;

	if (!(a->flags & known) || a->flags & ~known)
		return EINVAL;
	err = find(m, c, a->pmcid, p);
	if (err)
		return err;
	if ((*p)->state == PMC_STATE_RUNNING && a->flags & PMC_F_NEWVALUE)
		return EBUSY;
	return is_sampling(*p) ? EINVAL : 0;
}

static int op_rw(struct model *m, const struct m_call *c)
{
	const struct wire_rw_req *a = c->arg;
	const struct wire_rw_rep *rep = c->reply;
	struct m_pmc *p = NULL;
	int err = check_rw(m, c, &p);

	if (!err && a->flags & PMC_F_OLDVALUE) {
		p->missed |= has_missed(c, p);
		err = p->missed ? EBUSY : 0;
	}
	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	if (c->reply_len != sizeof(*rep))
		return differ(m, "a reply of %zu bytes", c->reply_len);
	if (a->flags & PMC_F_OLDVALUE && check_value(m, p, rep->value))
		return -1;
	if (a->flags & PMC_F_NEWVALUE)
		written(p, a->value);
	return 0;
}

static int op_setcount(struct model *m, const struct m_call *c)
{
	const struct wire_setcount_req *a = c->arg;
	struct m_pmc *p;
	int err = find(m, c, a->pmcid, &p);

	if (!err && p->state == PMC_STATE_RUNNING)
		err = EBUSY;
	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	if (is_sampling(p))
		p->reload = a->count;
	else
		written(p, a->count);
	return 0;
}

/* --- administration ----------------------------------------------------------------------- */

static bool slot_used(const struct model *m, unsigned int row, unsigned int cpu)
{
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].row == row && model_is_system(&m->pmc[i]) &&
		    m->pmc[i].cpu == cpu)
			return true;
	return false;
}

/* A process-scope PMC may be on a CPU at any moment. */
static bool row_runs(const struct model *m, unsigned int row)
{
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].row == row && m->pmc[i].targets &&
		    m->pmc[i].state == PMC_STATE_RUNNING)
			return true;
	return false;
}

static int check_admin(const struct model *m, const struct m_call *c)
{
	const struct wire_admin_req *a = c->arg;

	if (!m->proc[c->who].root)
		return EPERM;
	if (c->len != sizeof(*a))
		return EFAULT;
	if (a->cpu < 0 || (uint32_t)a->cpu >= m->info.ncpu)
		return EINVAL;
	if (a->state != PMC_STATE_DISABLED && a->state != PMC_STATE_FREE)
		return EINVAL;
	if (a->pmc < 0 || (uint32_t)a->pmc >= m->info.npmc)
		return EINVAL;
	if (a->state == PMC_STATE_DISABLED && m->row[a->pmc].balance > 0)
		return EBUSY;
	return slot_used(m, (unsigned int)a->pmc, (unsigned int)a->cpu) ? EBUSY : 0;
}

static int op_admin(struct model *m, const struct m_call *c)
{
	const struct wire_admin_req *a = c->arg;
	int err = check_admin(m, c);
	bool disable;

	/*
	 * Enabling a row in process scope changes nothing, or finds one of the processes on the
	 * CPU.
	 */
	if (!err && c->error == EBUSY && row_runs(m, (unsigned int)a->pmc))
		return 0;
	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	disable = a->state == PMC_STATE_DISABLED;
	if (m->row[a->pmc].disabled[a->cpu] == disable)
		return 0;
	m->row[a->pmc].disabled[a->cpu] = disable;
	m->row[a->pmc].balance += disable ? -1 : 1;
	return 0;
}

/* --- all of them -------------------------------------------------------------------------- */

static const struct {
	int (*check)(struct model *m, const struct m_call *c);
	size_t len;			/* of the argument */
} ops[] = {
	[WIRE_OP_GETCPUINFO] = { model_cpuinfo, 0 },
	[WIRE_OP_GETDRIVERSTATS] = { model_stats, 0 },
	[WIRE_OP_GETMODULEVERSION] = { model_version, sizeof(struct wire_version) },
	[WIRE_OP_GETPMCINFO] = { model_pmcinfo, sizeof(struct wire_cpu_req) },
	[WIRE_OP_PMCADMIN] = { op_admin, sizeof(struct wire_admin_req) },
	[WIRE_OP_PMCALLOCATE] = { model_allocate, sizeof(struct wire_allocate_req) },
	[WIRE_OP_PMCATTACH] = { op_attach, sizeof(struct wire_attach_req) },
	[WIRE_OP_PMCDETACH] = { op_detach, sizeof(struct wire_attach_req) },
	[WIRE_OP_PMCGETMSR] = { op_getmsr, sizeof(struct wire_getmsr_req) },
	[WIRE_OP_PMCRELEASE] = { op_release, sizeof(struct wire_id_req) },
	[WIRE_OP_PMCRW] = { op_rw, sizeof(struct wire_rw_req) },
	[WIRE_OP_PMCSETCOUNT] = { op_setcount, sizeof(struct wire_setcount_req) },
	[WIRE_OP_PMCSTART] = { op_start, sizeof(struct wire_id_req) },
	[WIRE_OP_PMCSTOP] = { op_stop, sizeof(struct wire_id_req) },
	[WIRE_OP_GETDYNEVENTINFO] = { model_events, sizeof(struct wire_class_req) },
	[WIRE_OP_TUNABLE] = { model_tunable, sizeof(struct wire_tunable_req) },
};

int model_call(struct model *m, const struct m_call *c)
{
	bool known = c->op < sizeof(ops) / sizeof(ops[0]) && ops[c->op].check;
	struct m_conn *conn;
	int result;

	if (!model_open(m, c->who, c->link))
		return expect(m, c, M_CLOSED);
	conn = &m->conn[m->proc[c->who].link[c->link]];
	if (conn->doubtful && c->error == M_CLOSED) {
		conn->open = false;
		return 0;
	}
	conn->doubtful = false;
	/*
	 * A forked child owns nothing, and its parent's connection does not serve it: no operation.
	 */
	if (conn->owner != c->who)
		return expect(m, c, EPERM);
	/* Every operation counts, known or not, failed or not, including the query itself. */
	m->calls++;
	if (!known)
		result = expect(m, c, EINVAL);
	else if (c->op != WIRE_OP_PMCADMIN && c->len != ops[c->op].len)
		result = expect(m, c, EFAULT);
	else
		result = ops[c->op].check(m, c);
	m->errors += c->error != 0;
	return result;
}
