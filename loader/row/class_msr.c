/* SPDX-License-Identifier: BSD-2-Clause */
/* Class MSR: one row for each register that the module or perf reads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "class.h"
#include "loader/base/base.h"
#include "loader/policy/policy.h"
#include "loader/machine/machine.h"
#include "row.h"

#define CAPS_MSR (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_QUALIFIER)

static int class_msr_add_rows(struct row_table *t, const struct class_machine *m,
			      struct reason *why)
{
	struct msrs *msr = m->msr;
	struct row_class class = {
		.ops = &class_msr, .prefix = "MSR", .name = msr->name,
		.info = { .class = PMC_CLASS_MSR, .caps = CAPS_MSR, .width = 64, .perf_type = ~0u },
	};

	if (msr->dev_err && msr->dev_err != -ENOENT)
		messages_put(m->messages, LOG_WARNING, "%s", msr->no_dev.text);
	msr->no_kfunc = flush_no_msr(m->engine->flush);
	msr->kfunc = !msr->no_kfunc;
	msr->counters = flush_reads_counters(m->engine->flush);
	if (msr->dev && !msr->kfunc)
		messages_put(m->messages, LOG_WARNING, "registers are counted for CPUs only: %s",
			msr->no_kfunc);
	msr_discover(msr, m->cpu, m->debug);
	class.info.num = msr->n;
	return class.info.num ? row_add_class(t, &class, why) : 0;
}

/* Finds the row that the client means, or -errno; *raw: as the bare register. */
static int class_msr_find(const struct allocation *p, bool *raw, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const struct msrs *m = p->machine->msr;
	uint32_t n = a->event - PMC_EV_MSR_FIRST, reg = (uint32_t)a->config;
	int row;

	*raw = a->event == PMC_EV_MSR_RAW;
	if (!*raw) {
		/* The list may have changed since the client read it. */
		if (n < m->n && !memcmp(a->event_name, "MSR-", 4) &&
		    !strncmp(a->event_name + 4, m->name[n], sizeof(a->event_name) - 4))
			return (int)n;
		return deny(why, -EINVAL, "no register has event 0x%x and this name now; "
			    "pmccontrol -L lists those that have one", a->event);
	}
	row = a->config > UINT32_MAX ? -1 : msr_find(m, reg);
	if (row >= 0)
		return row;
	if (a->config > UINT32_MAX || !msrlist_find(&m->list, reg))
		return deny(why, -EPERM, "register 0x%llx is not on the list %s; its administrator "
			    "may add it and send SIGHUP to pmcbpfd",
			    (unsigned long long)a->config, m->file);
	if (!m->dev)
		return deny(why, -EOPNOTSUPP, "no reader for register 0x%x: %.300s", reg,
			    m->no_dev.text);
	return deny(why, -EOPNOTSUPP, "register 0x%x is on the list %s, and this CPU lacks it, or "
		    "nothing may be read of it", reg, m->file);
}

/* Checks a control register, which no other PMC may write on that CPU. */
static int class_msr_plan_select(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	char holder[80];
	int err;

	if (!a->config1 && !a->config2)
		return 0;
	/* One number for each register: PMCs that write the same register are found by it. */
	if (a->config1 >> 32 != WIRE_MSR_SELECT >> 32)
		return deny(why, -EINVAL, "select: 0x%llx names no register; it is bit 32 and a "
			    "number of 32 bits", (unsigned long long)a->config1);
	p->spec.select = true;
	p->spec.select_reg = (uint32_t)a->config1;
	p->spec.select_value = a->config2;
	if (!p->system)
		return deny(why, -EINVAL, "select: a control register is a CPU's; use a mode of "
			    "system scope");
	err = msr_may_select(p->machine->msr, p->spec.select_reg, a->config2, why);
	if (!err && !p->spec.event.msr)
		err = deny(why, -EOPNOTSUPP, "select: %s is counted by perf, which needs nothing "
			   "selected", p->name);
	if (!err && p->selects(p, a->config1, holder, sizeof(holder)))
		err = deny(why, -EBUSY, "select: register 0x%x of CPU %u is written by a PMC %s",
			   p->spec.select_reg, p->cpu, holder);
	return err;
}

static int class_msr_plan(struct allocation *p, struct reason *why)
{
	const struct msrs *m = p->machine->msr;
	struct setting_question q = { 0 };
	const struct msr_row *r;
	bool raw = false;
	int n = class_msr_find(p, &raw, why), err = 0;

	if (n < 0)
		return n;
	r = &m->row[n];
	p->first += (unsigned int)n;
	p->rows = 1;
	if (raw)
		snprintf(p->name, sizeof(p->name), "MSR-0x%x", r->reg);
	else
		snprintf(p->name, sizeof(p->name), "MSR-%s", r->name);
	snprintf(p->number, sizeof(p->number), "0x%x", r->reg);
	q.event = p->name;
	q.admin = r->admin;
	q.jailed = p->jailed;
	err = grant_check(p->by, POINT_REGISTER, p->cred, &q, why);
	if (!err && p->a->config1 & WIRE_MSR_SELECT && !policy_privileged(p->cred))
		err = deny(why, -EPERM, "%s with select= needs CAP_PERFMON or CAP_SYS_ADMIN, "
			   "whatever the tunables say", p->name);
	if (!err)
		err = msr_provider(m, r, p->system, raw, &p->spec.event, why);
	if (!err && p->spec.event.msr && r->energy && !raw)
		p->spec.shift = r->shift;
	return err ?: class_msr_plan_select(p, why);
}

static bool class_msr_event_at(const struct class_machine *m, const struct row_class *class,
			       unsigned int i, struct class_event *ev)
{
	if (i >= m->msr->n)
		return false;
	*ev = (struct class_event){
		.code = PMC_EV_MSR_FIRST + i, .flags = msr_flags(m->msr, &m->msr->row[i]),
		.prefix = "MSR-", .name = m->msr->name[i],
	};
	return true;
}

const struct class_ops class_msr = {
	.events = PMC_CLASS_MSR, .separator = "", .shared = true, .rediscovered = true,
	.one_row = true, .holder = &holder_register,
	.refusal = "a register has one row, which takes one PMC of a process in a scope and CPU: ",
	.add_rows = class_msr_add_rows, .plan = class_msr_plan, .event_at = class_msr_event_at,
};
