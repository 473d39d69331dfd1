/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCALLOCATE: every check in its order, and the rows that may be chosen. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "model.h"

#define RINGS (PMC_CAP_USER | PMC_CAP_SYSTEM)

static bool is_system(const struct wire_allocate_req *a)
{
	return PMC_IS_SYSTEM_MODE(a->mode);
}

/* The checks before a row is chosen; 0 if none refuses. */
static int check_scope(const struct model *m, const struct m_call *c,
		       const struct wire_allocate_req *a)
{
	bool any = a->cpu == (uint32_t)PMC_CPU_ANY;

	if (a->mode > PMC_MODE_TC || (!any && a->cpu >= m->info.ncpu) || is_system(a) == any)
		return EINVAL;
	/* System counting is opened by the tunable, system sampling is not (D3). */
	if (is_system(a) && !m->proc[c->who].root && (!m->syspmcs || a->mode == PMC_MODE_SS))
		return EPERM;
	return 0;
}

static int check_flags(const struct wire_allocate_req *a)
{
	uint32_t process = PMC_F_DESCENDANTS | PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT;
	uint32_t known = process | PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN | PMC_F_KGMON;

	/* D2: DESCENDANTS has no effect on a CPU.  D9: KGMON is for system sampling. */
	if (a->flags & ~known || (is_system(a) && a->flags & process) ||
	    (a->flags & PMC_F_KGMON && a->mode != PMC_MODE_SS))
		return EINVAL;
	return a->flags & PMC_F_KGMON && (a->caps & RINGS) == PMC_CAP_USER ? EINVAL : 0;
}

/* LOCK.FAILED, PAGE_FAULT.READ and .WRITE, CONTEXT_SWITCHES.VOLUNTARY and .INVOLUNTARY */
bool model_cannot_interrupt(uint32_t event)
{
	return event == 0x20003 || event == 0x20005 || event == 0x20006 || event == 0x2000c ||
	       event == 0x2000d;
}

/* Some reveal other users' activity, and not all can be read in both scopes. */
static int check_register(const struct model *m, const struct m_call *c,
			  const struct wire_allocate_req *a)
{
	const struct wire_dynevent *reg = model_event(m, PMC_CLASS_MSR, a->event);
	uint32_t readers = is_system(a) ? WIRE_MSR_SYSTEM_MODULE | WIRE_MSR_SYSTEM_PERF :
					  WIRE_MSR_PROCESS_MODULE | WIRE_MSR_PROCESS_PERF;

	if (!reg || strcmp(reg->name, a->event_name) != 0)
		return EINVAL;
	if (reg->flags & WIRE_MSR_ADMIN && !m->proc[c->who].root)
		return EPERM;
	return reg->flags & readers ? 0 : EOPNOTSUPP;
}

static int check_class(const struct model *m, const struct m_call *c,
		       const struct wire_allocate_req *a)
{
	const struct wire_classinfo *class = model_class(m, a->class);
	uint32_t caps = a->caps | (PMC_IS_SAMPLING_MODE(a->mode) ? PMC_CAP_INTERRUPT : 0);

	if (!class)
		return EINVAL;
	if (caps & ~class->caps)
		return EOPNOTSUPP;
	if (a->class == PMC_CLASS_TSC &&
	    (a->mode != PMC_MODE_SC || a->event != PMC_EV_TSC_TSC || a->caps != PMC_CAP_READ))
		return EINVAL;
	if (a->class == PMC_CLASS_MSR)
		return check_register(m, c, a);
	if (a->class != PMC_CLASS_SOFT)
		return 0;
	if (!model_event(m, PMC_CLASS_SOFT, a->event))
		return EINVAL;
	if ((PMC_IS_SAMPLING_MODE(a->mode) && model_cannot_interrupt(a->event)) ||
	    (a->flags & (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT) && a->event == M_CPU_MIGRATIONS))
		return EOPNOTSUPP;
	return a->caps ? 0 : EINVAL;
}

/* --- rows --------------------------------------------------------------------------------- */

/* A register has its row. */
static void rows_of(const struct model *m, const struct wire_allocate_req *a, unsigned int *first,
		    unsigned int *end)
{
	const struct wire_classinfo *class = model_class(m, a->class);

	*first = class->first_row;
	*end = *first + class->num;
	if (a->class == PMC_CLASS_MSR) {
		*first += a->event - PMC_EV_MSR_FIRST;
		*end = *first + 1;
	}
}

/* Free-running counters are shared. */
static bool is_shared(uint32_t class)
{
	return class == PMC_CLASS_TSC || class == PMC_CLASS_MSR;
}

/* Default quotas: a tenth of a class, at least one row, is reserved for privileged processes. */
static bool row_reserved(const struct wire_classinfo *class, unsigned int row)
{
	unsigned int reserve = class->num / 10;

	if (class->num > 1 && !reserve)
		reserve = 1;
	return row - class->first_row + reserve >= class->num;
}

/* All unprivileged processes of the game have one user. */
static bool row_is_ours(const struct model *m, unsigned int row)
{
	bool ours = false;

	for (unsigned int i = 0; i < M_PMCS; i++) {
		if (!m->pmc[i].used || m->pmc[i].row != row)
			continue;
		if (m->proc[m->pmc[i].owner].root)
			return false;
		ours = true;
	}
	return ours;
}

/* A user may open a quarter of the rows, or one, if that excludes others from the other scope. */
static bool may_open(const struct model *m, const struct wire_allocate_req *a)
{
	const struct wire_classinfo *class = model_class(m, a->class);
	unsigned int share = class->num / 4, ours = 0;

	if (!is_system(a) && !m->syspmcs)
		return true;
	for (unsigned int r = class->first_row; r < class->first_row + class->num; r++)
		ours += row_is_ours(m, r);
	return ours < share + !share;
}

static bool quotas_allow(const struct model *m, const struct m_call *c,
			 const struct wire_allocate_req *a, unsigned int row)
{
	if (m->proc[c->who].root || is_shared(a->class))
		return true;
	return !row_reserved(model_class(m, a->class), row) &&
	       (m->row[row].balance != 0 || may_open(m, a));
}

static bool row_acceptable(struct model *m, const struct m_call *c,
			   const struct wire_allocate_req *a, unsigned int row)
{
	const struct m_row *r = &m->row[row];

	if (!quotas_allow(m, c, a, row))
		return false;
	if (is_system(a) ? r->balance > 0 || r->disabled[a->cpu] : r->balance < 0)
		return false;
	for (unsigned int i = 0; i < M_PMCS; i++) {
		const struct m_pmc *p = &m->pmc[i];

		if (!p->used || p->row != row)
			continue;
		if (!is_system(a) && p->owner == c->who)
			return false;
		/* A slot has one PMC; a shared counter has one for each process. */
		if (is_system(a) && p->cpu == a->cpu &&
		    (p->owner == c->who || !is_shared(a->class)))
			return false;
	}
	return is_system(a) || !model_holder(m, c->who, row);
}

/*
 * Counters are found by trial, and not all count every event: the armv8 unit's last one counts only
 * cycles.  Returns the number of rows that another event needs a general counter for: at least
 * (certainly held on the CPUs of the request) or at most (any row with such an event on any CPU).
 */
#define ARMV8_CYCLES 0x11u

static unsigned int general_rows(const struct model *m, const struct wire_allocate_req *a,
				 unsigned int row, bool least)
{
	const struct wire_classinfo *class = model_class(m, a->class);
	unsigned int n = 0;

	for (unsigned int r = class->first_row; r < class->first_row + class->num; r++) {
		bool general = false, cycles = false;

		for (unsigned int i = 0; i < M_PMCS && r != row; i++) {
			const struct m_pmc *p = &m->pmc[i];

			if (!p->used || p->row != r ||
			    (least && is_system(a) && model_is_system(p) && p->cpu != a->cpu) ||
			    (least && model_is_system(p) && !is_system(a)))
				continue;
			if ((p->config & 0xffff) == ARMV8_CYCLES)
				cycles = true;
			else
				general = true;
		}
		n += general && !(least && cycles);
	}
	return n;
}

bool model_is_hardware(const struct model *m, uint32_t class)
{
	const struct wire_classinfo *info = model_class(m, class);

	return info && info->perf_type != ~0u;
}

static bool logs(uint32_t flags, uint32_t mode)
{
	return !PMC_IS_SAMPLING_MODE(mode) && flags & (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT);
}

/*
 * Slices are logged on a row that counts one event and samples none.  A row that has counted
 * several, or for an owner that measures itself, may still be configured so: it is optional.
 */
static void judge_slices(const struct model *m, const struct wire_allocate_req *a,
			 unsigned int row, bool *must, bool *may)
{
	uint64_t config = a->config | (uint64_t)(a->caps & RINGS) << 32;

	for (unsigned int i = 0; i < M_PMCS; i++) {
		const struct m_pmc *p = &m->pmc[i];
		bool theirs = p->used && p->row == row && logs(p->flags, p->mode);
		bool ours = p->used && p->row == row && logs(a->flags, a->mode);

		if (!ours && !theirs)
			continue;
		if (ours || p->config != config)
			*must = false;
		if ((p->config ^ config) & 0xffff || PMC_IS_SAMPLING_MODE(a->mode) ||
		    PMC_IS_SAMPLING_MODE(p->mode))
			*must = *may = false;
	}
}

/* Whether the row must be acceptable, whether it may be. */
static void judge_row(struct model *m, const struct m_call *c, const struct wire_allocate_req *a,
		      unsigned int row, bool *must, bool *may)
{
	const struct wire_classinfo *class = model_class(m, a->class);
	bool limited = model_is_hardware(m, a->class) && a->config != ARMV8_CYCLES;

	*may = row_acceptable(m, c, a, row);
	*must = *may && (!limited || general_rows(m, a, row, false) + 1 < class->num);
	*may = *may && (!limited || general_rows(m, a, row, true) + 1 < class->num);
	if (model_is_hardware(m, a->class))
		judge_slices(m, a, row, must, may);
}

static int created(struct model *m, const struct m_call *c, const struct wire_allocate_req *a)
{
	const struct wire_allocate_rep *rep = c->reply;
	uint32_t row, id = c->reply_len == sizeof(*rep) ? rep->pmcid : PMC_ID_INVALID;
	struct m_pmc *p = m->pmc;
	unsigned int first, end;
	bool must, may = false;

	row = id & 0xff;
	rows_of(m, a, &first, &end);
	if (row >= first && row < end)
		judge_row(m, c, a, row, &must, &may);
	if (!may)
		return differ(m, "handle 0x%08x: this row may not be chosen", id);
	if (id != PMC_ID_MAKE_ID(a->cpu, a->mode, a->class, row))
		return differ(m, "handle 0x%08x: expected CPU, mode and class of the request", id);
	while (p->used)
		p++;
	*p = (struct m_pmc){
		.used = true, .owner = c->who, .row = row, .id = id, .mode = a->mode,
		.cpu = is_system(a) ? a->cpu : ~0u, .event = a->event, .flags = a->flags,
		.state = PMC_STATE_ALLOCATED, .reload = a->count, .exact = true,
		.config = a->config | (uint64_t)(a->caps & RINGS) << 32, .serial = ++m->serial,
	};
	if (a->flags & (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT) ||
	    (a->mode == PMC_MODE_SS && !(a->flags & PMC_F_KGMON)))
		p->flags |= PMC_F_NEEDS_LOGFILE;
	m->row[row].balance += is_system(a) ? -1 : 1;
	return 0;
}

/*
 * The daemon chooses among acceptable rows: rows that count this event already come first.  The
 * model follows its choice.
 */
int model_allocate(struct model *m, const struct m_call *c)
{
	const struct wire_allocate_req *a = c->arg;
	unsigned int first, end;
	bool must = false, may = false, full = false;
	int err = check_scope(m, c, a);

	if (!err)
		err = check_flags(a);
	if (!err)
		err = check_class(m, c, a);
	if (err)
		return expect(m, c, err);
	rows_of(m, a, &first, &end);
	for (unsigned int row = first; row < end; row++) {
		bool row_must, row_may;

		judge_row(m, c, a, row, &row_must, &row_may);
		must |= row_must;
		may |= row_may;
		full |= row_may && model_share_used(m, c, a, row);
	}
	if (full)
		return expect(m, c, EAGAIN);
	if (must || (may && !c->error))
		return expect(m, c, 0) ?: created(m, c, a);
	return expect(m, c, EINVAL);
}
