/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class PERF: PMUs that count for CPUs only, as those of the uncore (loader/kernel/pmus.h).  Each
 * PMU has rows of its own; a request has the PMU's type.  The list of the class's events is the
 * list of the PMUs, whose events the client finds in sysfs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <sys/pmc.h>

#include "class.h"
#include "lib/base/cpuranges.h"
#include "loader/kernel/kernel.h"
#include "row.h"

#define CAPS_PERF (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_QUALIFIER | PMC_CAP_EDGE | \
		   PMC_CAP_THRESHOLD | PMC_CAP_INVERT)
#define PMUS_SHOWN 200u		/* bytes of a list of CPUs in a message */

static int class_perf_add_rows(struct row_table *t, const struct class_machine *m,
			       struct reason *why)
{
	struct pmus *pmus = &m->engine->pmus;
	struct row_class class = {
		.ops = &class_perf, .prefix = "PERF", .name = pmus->row,
		.info = { .class = PMC_CLASS_PERF, .caps = CAPS_PERF, .width = 64,
			  .perf_type = ~0u },
	};

	pmus_discover(pmus, ROW_MAX - t->nrow, m->debug);
	if (pmus->left_out)
		messages_put(m->messages, LOG_WARNING, "%u PMUs that count for CPUs are left out: "
			     "there are rows for %u", pmus->left_out, pmus->n);
	class.info.num = pmus->rows;
	return pmus->rows ? row_add_class(t, &class, why) : 0;
}

/* The kernel would move an event of another CPU to one of these, and so count another package. */
static int class_perf_plan_place(const struct allocation *p, const struct pmus_one *pmu,
				 struct reason *why)
{
	char cpus[4096];

	if (pmus_cpus(pmu, cpus, sizeof(cpus)))
		return deny(why, -ENXIO, "PMU %s has gone, as its module has perhaps been removed; "
			    "SIGHUP makes pmcbpfd look for PMUs again", pmu->name);
	if (!p->system)
		return deny(why, -EOPNOTSUPP, "PMU %s counts for CPUs, not for processes: use a "
			    "mode of system scope on CPU %.*s", pmu->name, PMUS_SHOWN, cpus);
	if (!cpuranges_has(cpus, p->cpu))
		return deny(why, -EINVAL, "PMU %s counts on CPU %.*s, not on CPU %u", pmu->name,
			    PMUS_SHOWN, cpus, p->cpu);
	return 0;
}

static int class_perf_plan(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const struct pmus_one *pmu = pmus_find(&p->machine->engine->pmus, a->pmu);
	int err;

	if (!pmu)
		return deny(why, -EINVAL, "no PMU of type %u counts for CPUs here; SIGHUP makes "
			    "pmcbpfd look for PMUs again", a->pmu);
	err = class_name_take(p, why) ?: class_perf_plan_place(p, pmu, why);
	if (err)
		return err;
	snprintf(p->number, sizeof(p->number), a->config1 || a->config2 ?
		 "%s/0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 : "%s/0x%" PRIx64, pmu->name,
		 a->config, a->config1, a->config2);
	p->first += pmu->first;
	p->rows = pmu->rows;
	p->spec.event = (struct perf_event_spec){
		.type = pmu->type, .pmu = pmu->type, .config = a->config, .config1 = a->config1,
		.config2 = a->config2,
	};
	return 0;
}

static bool class_perf_event_at(const struct class_machine *m, const struct row_class *class,
				unsigned int i, struct class_event *ev)
{
	if (i >= m->engine->pmus.n)
		return false;
	*ev = (struct class_event){
		.code = m->engine->pmus.one[i].type, .prefix = "",
		.name = m->engine->pmus.one[i].name,
	};
	return true;
}

const struct class_ops class_perf = {
	.events = PMC_CLASS_PERF, .separator = "", .rediscovered = true, .one_row = true,
	.refusal = "no row of this PMU is left: ",
	.unsampled = "its PMUs count for CPUs only",
	.holder = &holder_own, .add_rows = class_perf_add_rows, .plan = class_perf_plan,
	.event_at = class_perf_event_at,
};
