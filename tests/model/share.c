/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the daemon's pools that ordinary processes may have; all of the game are one user's. */
#include <errno.h>

#include <sys/pmc.h>

#include "model.h"

#define SOURCES	  48u			/* of slices: hardware's and software events */
#define REGISTERS 8u			/* counted for processes */

/* As user.reserve and user.share are preset: a tenth for root, a quarter for a user. */
static bool is_full(bool root, unsigned int size, unsigned int all, unsigned int ours)
{
	unsigned int reserve = size < 10 ? 1 : size / 10;

	return root ? all >= size : ours >= size / 4 || all >= size - reserve;
}

/* The kernel's figures of a process cannot be logged, and some events have none: slices, then. */
static bool takes_source(uint32_t class, uint32_t mode, uint32_t event, uint32_t flags)
{
	if (class != PMC_CLASS_SOFT || mode != PMC_MODE_TC || model_cannot_interrupt(event))
		return false;
	return flags & (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT) || event > M_CPU_MIGRATIONS;
}

/* Each row of hardware, breakpoints included, has one of its own. */
static unsigned int software_sources(const struct model *m)
{
	unsigned int hardware = 0;

	for (unsigned int i = 0; i < m->info.nclass; i++)
		if (model_is_hardware(m, m->info.classes[i].class) ||
		    m->info.classes[i].class == PMC_CLASS_BREAKPOINT)
			hardware += m->info.classes[i].num;
	return SOURCES - (hardware < SOURCES / 2 ? hardware : SOURCES / 2);
}

static bool sources_full(const struct model *m, const struct m_call *c)
{
	unsigned int all = 0, ours = 0;

	for (unsigned int i = 0; i < M_PMCS; i++) {
		const struct m_pmc *p = &m->pmc[i];

		if (!p->used || !takes_source(PMC_ID_TO_CLASS(p->id), p->mode, p->event, p->flags))
			continue;
		all++;
		ours += !m->proc[p->owner].root;
	}
	return is_full(m->proc[c->who].root, software_sources(m), all, ours);
}

/* A register is the first owner's, then the next one's: one that root shares may be anybody's. */
static bool registers_full(const struct model *m, const struct m_call *c, unsigned int row)
{
	unsigned int all = 0, ours = 0;

	for (unsigned int r = 0; r < m->info.npmc; r++) {
		bool used = false, user = false;

		for (unsigned int i = 0; i < M_PMCS; i++) {
			const struct m_pmc *p = &m->pmc[i];

			if (!p->used || p->row != r || PMC_ID_TO_CLASS(p->id) != PMC_CLASS_MSR ||
			    model_is_system(p))
				continue;
			if (r == row)
				return false;
			used = true;
			user |= !m->proc[p->owner].root;
		}
		all += used;
		ours += user;
	}
	return is_full(m->proc[c->who].root, REGISTERS, all, ours);
}

bool model_share_used(const struct model *m, const struct m_call *c,
		      const struct wire_allocate_req *a, unsigned int row)
{
	const struct wire_dynevent *reg;

	if (takes_source(a->class, a->mode, a->event, a->flags))
		return sources_full(m, c);
	if (a->class != PMC_CLASS_MSR || a->mode != PMC_MODE_TC || c->error != EAGAIN)
		return false;
	reg = model_event(m, PMC_CLASS_MSR, a->event);
	return reg && reg->flags & WIRE_MSR_PROCESS_MODULE && registers_full(m, c, row);
}
