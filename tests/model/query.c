/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries: rows, statistics, versions, events, tunables. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "model.h"

/* The owner that a row shows on a CPU: the latest system PMC's there, or the only process PMC's. */
static const struct m_pmc *shown(const struct model *m, unsigned int row, unsigned int cpu)
{
	const struct m_pmc *best = NULL;

	for (unsigned int i = 0; i < M_PMCS; i++) {
		const struct m_pmc *p = &m->pmc[i];

		if (!p->used || p->row != row || (model_is_system(p) && p->cpu != cpu))
			continue;
		if (best && !model_is_system(p))
			return NULL;
		if (!best || p->serial > best->serial)
			best = p;
	}
	return best;
}

static const char *event_name(const struct model *m, const struct m_pmc *p)
{
	const struct wire_dynevent *event = model_event(m, PMC_ID_TO_CLASS(p->id), p->event);

	return event ? event->name : PMC_ID_TO_CLASS(p->id) == PMC_CLASS_TSC ? "TSC" : "";
}

static int check_row(struct model *m, unsigned int row, unsigned int cpu,
		     const struct wire_pmcinfo *i)
{
	const struct m_row *r = &m->row[row];
	const struct m_pmc *p = shown(m, row, cpu);
	uint32_t disp = r->balance > 0 ? PMC_DISP_THREAD :
			r->balance < 0 ? PMC_DISP_STANDALONE : PMC_DISP_FREE;
	int pid = p ? m->proc[p->owner].pid : -1;
	static const struct m_pmc nobody;

	if (i->class != m->info.classes[r->class].class || i->enabled != !r->disabled[cpu])
		return differ(m, "row %u on CPU %u: class %u, enabled %u", row, cpu, i->class,
			      i->enabled);
	if (i->rowdisp != disp)
		return differ(m, "row %u: disposition %u, expected %u (balance %d)", row,
			      i->rowdisp, disp, r->balance);
	if (i->ownerpid != pid)
		return differ(m, "row %u on CPU %u: owner %d, expected %d", row, cpu, i->ownerpid,
			      pid);
	p = p ? p : &nobody;
	if (i->mode != p->mode || i->event != p->event || i->flags != p->flags ||
	    i->reloadcount != (PMC_IS_SAMPLING_MODE(p->mode) ? p->reload : 0))
		return differ(m, "row %u on CPU %u: mode %u event 0x%x flags 0x%x reload %llu, "
			      "expected mode %u event 0x%x flags 0x%x", row, cpu, i->mode,
			      i->event, i->flags, (unsigned long long)i->reloadcount, p->mode,
			      p->event, p->flags);
	if (p->used && strcmp(i->event_name, event_name(m, p)) != 0)
		return differ(m, "row %u on CPU %u: event %s, expected %s", row, cpu,
			      i->event_name, event_name(m, p));
	return 0;
}

int model_pmcinfo(struct model *m, const struct m_call *c)
{
	const struct wire_cpu_req *a = c->arg;
	const struct wire_pmcinfo_rep *rep = c->reply;
	const struct wire_pmcinfo *rows = (const struct wire_pmcinfo *)(rep + 1);
	int err = a->cpu < m->info.ncpu ? 0 : EINVAL;

	if (expect(m, c, err))
		return -1;
	if (err)
		return 0;
	if (c->reply_len != sizeof(*rep) + m->info.npmc * sizeof(*rows) ||
	    rep->npmc != m->info.npmc)
		return differ(m, "%zu bytes of rows", c->reply_len);
	for (unsigned int row = 0; row < m->info.npmc; row++)
		if (check_row(m, row, a->cpu, &rows[row]))
			return -1;
	return 0;
}

int model_stats(struct model *m, const struct m_call *c)
{
	const struct wire_driverstats *s = c->reply;

	if (expect(m, c, 0))
		return -1;
	if (c->reply_len != sizeof(*s) || s->syscalls != m->calls || s->syscall_errors != m->errors)
		return differ(m, "%u calls and %u errors, expected %u and %u", s->syscalls,
			      s->syscall_errors, m->calls, m->errors);
	return 0;
}

int model_version(struct model *m, const struct m_call *c)
{
	const struct wire_version *a = c->arg, *rep = c->reply;
	int err = a->version >> 16 > PMC_VERSION >> 16 ? EPROGMISMATCH : 0;

	if (expect(m, c, err))
		return -1;
	return err || rep->version == PMC_VERSION ? 0 : differ(m, "version 0x%x", rep->version);
}

int model_cpuinfo(struct model *m, const struct m_call *c)
{
	if (expect(m, c, 0))
		return -1;
	if (c->reply_len != sizeof(m->info) || memcmp(c->reply, &m->info, sizeof(m->info)) != 0)
		return differ(m, "the machine's description has changed");
	return 0;
}

int model_events(struct model *m, const struct m_call *c)
{
	const struct wire_class_req *a = c->arg;
	const struct wire_dynevent_rep *rep = c->reply;
	const struct m_events *e = a->class == m->msr.class ? &m->msr : &m->soft;
	int err = a->class == e->class ? 0 : EINVAL;

	if (expect(m, c, err))
		return -1;
	if (!err && (rep->count != e->n ||
		     memcmp(rep + 1, e->event, e->n * sizeof(e->event[0])) != 0))
		return differ(m, "the list of events has changed");
	return 0;
}

/*
 * TUNABLE: any user may read, the super-user may change writable ones, EPERM for the rest, as in
 * FreeBSD's sysctl(3).
 */
static bool *writable(struct model *m, const char *name)
{
	if (!strcmp(name, "security.bsd.unprivileged_syspmcs"))
		return &m->syspmcs;
	return strcmp(name, "security.bsd.unprivileged_proc_debug") ? NULL : &m->proc_debug;
}

int model_tunable(struct model *m, const struct m_call *c)
{
	const struct wire_tunable_req *a = c->arg;
	const struct wire_tunable_rep *rep = c->reply;
	const struct wire_tunable *t = (const struct wire_tunable *)(rep + 1);
	bool known = !strncmp(a->name, "kern.hwpmc.", 11) || writable(m, a->name);
	bool *value = writable(m, a->name);
	int err = 0;

	if (a->what == WIRE_TUNABLE_SET && !m->proc[c->who].root)
		err = EPERM;
	else if (a->what > WIRE_TUNABLE_SET || (a->what != WIRE_TUNABLE_LIST && !known))
		err = EINVAL;
	else if (a->what == WIRE_TUNABLE_SET && !value)
		err = EPERM;
	else if (a->what == WIRE_TUNABLE_SET && a->value[0] != '0' && a->value[0] != '1')
		err = EINVAL;
	if (expect(m, c, err))
		return -1;
	if (!err && a->what == WIRE_TUNABLE_SET)
		*value = a->value[0] == '1';
	if (!err && value && strcmp(t->value, *value ? "1" : "0") != 0)
		return differ(m, "%s is %s", a->name, t->value);
	return 0;
}
