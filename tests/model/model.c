/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes, their connections, and the effects on PMCs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "model.h"

#define BIT(n) (1ull << (n))

int differ(struct model *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->diff, sizeof(m->diff), fmt, ap);
	va_end(ap);
	return -1;
}

static const char *error_name(int error)
{
	if (error == M_CLOSED)
		return "the connection's end";
	return error ? strerrorname_np(error) : "success";
}

int expect(struct model *m, const struct m_call *c, int error)
{
	if (c->error == error)
		return 0;
	return differ(m, "expected %s, got %s", error_name(error), error_name(c->error));
}

void model_init(struct model *m, const struct wire_cpuinfo *info, bool syspmcs)
{
	memset(m, 0, sizeof(*m));
	m->info = *info;
	m->syspmcs = syspmcs;
	m->proc_debug = true;
	for (unsigned int i = 0; i < info->nclass; i++)
		for (unsigned int r = 0; r < info->classes[i].num; r++)
			m->row[info->classes[i].first_row + r].class = i;
}

const struct wire_classinfo *model_class(const struct model *m, uint32_t class)
{
	for (unsigned int i = 0; i < m->info.nclass; i++)
		if (m->info.classes[i].class == class)
			return &m->info.classes[i];
	return NULL;
}

bool model_is_system(const struct m_pmc *pmc)
{
	return PMC_IS_SYSTEM_MODE(pmc->mode);
}

/* --- PMCs --------------------------------------------------------------------------------- */

unsigned int model_owned(const struct model *m, unsigned int p)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < M_PMCS; i++)
		n += m->pmc[i].used && m->pmc[i].owner == p;
	return n;
}

struct m_pmc *model_find(struct model *m, unsigned int p, uint32_t id)
{
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].owner == p && m->pmc[i].id == id)
			return &m->pmc[i];
	return NULL;
}

void model_release(struct model *m, struct m_pmc *pmc)
{
	m->row[pmc->row].balance += model_is_system(pmc) ? 1 : -1;
	memset(pmc, 0, sizeof(*pmc));
}

static void release_all(struct model *m, unsigned int p)
{
	if (model_owned(m, p))
		m->ended |= BIT(p);
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].owner == p)
			model_release(m, &m->pmc[i]);
}

struct m_pmc *model_holder(struct model *m, unsigned int p, unsigned int row)
{
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].used && m->pmc[i].row == row && m->pmc[i].targets & BIT(p))
			return &m->pmc[i];
	return NULL;
}

/* --- connections -------------------------------------------------------------------------- */

bool model_open(const struct model *m, unsigned int p, unsigned int link)
{
	int c = m->proc[p].link[link];

	return c >= 0 && m->conn[c].open;
}

void model_connected(struct model *m, unsigned int p, unsigned int link)
{
	int c = 0;

	while (m->conn[c].open || m->conn[c].holders)
		c++;
	m->conn[c] = (struct m_conn){ .open = true, .owner = p, .holders = BIT(p) };
	m->proc[p].link[link] = c;
}

static bool connected(const struct model *m, unsigned int p)
{
	for (unsigned int i = 0; i < M_CONNS; i++)
		if (m->conn[i].open && m->conn[i].owner == p)
			return true;
	return false;
}

/* An owner of PMCs is a process with a connection: the end of its last one releases all of them. */
void model_closed(struct model *m, unsigned int p, unsigned int link)
{
	int i = m->proc[p].link[link];
	struct m_conn *c;

	m->proc[p].link[link] = -1;
	if (i < 0)
		return;
	c = &m->conn[i];
	c->holders &= ~BIT(p);
	if (c->holders || !c->open)
		return;
	c->open = false;
	if (!connected(m, c->owner))
		release_all(m, c->owner);
}

/* --- processes ---------------------------------------------------------------------------- */

void model_born(struct model *m, unsigned int p, pid_t pid, bool root, bool dumpable)
{
	m->proc[p] = (struct m_proc){ .alive = true, .root = root, .dumpable = dumpable,
				      .parent = -1, .pid = pid, .link = { -1, -1, -1 } };
}

/* A child is a target of the PMCs with DESCENDANTS; it owns none. */
void model_forked(struct model *m, unsigned int parent, unsigned int child, pid_t pid)
{
	int inherited = m->proc[parent].link[0];

	model_born(m, child, pid, m->proc[parent].root, m->proc[parent].dumpable);
	m->proc[child].parent = (int)parent;
	m->proc[child].link[M_INHERITED] = inherited;
	if (inherited >= 0)
		m->conn[inherited].holders |= BIT(child);
	for (unsigned int i = 0; i < M_PMCS; i++)
		if (m->pmc[i].targets & BIT(parent) && m->pmc[i].flags & PMC_F_DESCENDANTS)
			m->pmc[i].targets |= BIT(child);
}

/*
 * A process that execs another program owns nothing any more, but stays a target.  hwpmc has no
 * connections: the next request shows whether one still serves.
 */
void model_executed(struct model *m, unsigned int p, unsigned int kept)
{
	for (unsigned int link = 0; link < M_LINKS; link++)
		if (!(kept >> link & 1))
			model_closed(m, p, link);
	for (unsigned int i = 0; i < M_CONNS; i++)
		m->conn[i].doubtful |= m->conn[i].open && m->conn[i].owner == p;
	release_all(m, p);
	m->proc[p].dumpable = true;
	m->proc[p].tid = 0;
}

void model_died(struct model *m, unsigned int p)
{
	m->proc[p].alive = false;
	for (unsigned int i = 0; i < M_CONNS; i++)
		if (m->conn[i].owner == p)
			m->conn[i].open = false;
	release_all(m, p);
	for (unsigned int link = 0; link < M_LINKS; link++)
		model_closed(m, p, link);
	for (unsigned int i = 0; i < M_PMCS; i++) {
		m->pmc[i].orphaned |= m->pmc[i].targets >> p & 1;
		m->pmc[i].targets &= ~BIT(p);
	}
	for (unsigned int i = 0; i < M_PROCS; i++)
		if (m->proc[i].parent == (int)p)
			m->proc[i].parent = -1;
}

uint64_t model_tree(const struct model *m, unsigned int p)
{
	uint64_t tree = BIT(p), before = 0;

	while (tree != before) {
		before = tree;
		for (unsigned int i = 0; i < M_PROCS; i++)
			if (m->proc[i].alive && m->proc[i].parent >= 0 &&
			    tree >> m->proc[i].parent & 1)
				tree |= BIT(i);
	}
	return tree;
}

const struct wire_dynevent *model_event(const struct model *m, uint32_t class, uint32_t code)
{
	const struct m_events *e = class == PMC_CLASS_SOFT ? &m->soft :
				   class == PMC_CLASS_MSR ? &m->msr : NULL;

	for (unsigned int i = 0; e && i < e->n; i++)
		if (e->event[i].code == code)
			return &e->event[i];
	return NULL;
}

/* Every page is a fault in the counts of this process's PMCs. */
void model_worked(struct model *m, unsigned int p, unsigned int pages)
{
	for (unsigned int i = 0; i < M_PMCS; i++) {
		struct m_pmc *pmc = &m->pmc[i];
		const struct wire_dynevent *event;

		if (!pmc->used || pmc->state != PMC_STATE_RUNNING || !(pmc->targets & BIT(p)))
			continue;
		event = model_event(m, PMC_ID_TO_CLASS(pmc->id), pmc->event);
		if (event && (!strcmp(event->name, "PAGE_FAULT.ALL") ||
			      !strcmp(event->name, "PAGE_FAULT.MINOR")))
			pmc->floor += pages;
	}
}
