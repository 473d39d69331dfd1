/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of looking for an event: alias, class prefix, then the classes without one. */
#include <errno.h>
#include <string.h>

#define PMC_NO_ARITY_MACRO
#include <pmc.h>

#include "alias.h"
#include "class.h"
#include "lib/base/cpuranges.h"
#include "perf_spell.h"
#include "pmu.h"
#include "resolve.h"
#include "sampling.h"
#include "suggest.h"

#define CPULIST_MAX 512u

static int resolve_in_class(const struct machine *m, const char *root,
			    const struct wire_classinfo *class, const struct evspec *spec,
			    struct wire_allocate_req *req, struct reason *why)
{
	int err = class_of(class->class)->resolve(m, root, class, spec, req, why);

	if (!err)
		req->class = class->class;
	return err;
}

/* PMU/.../ names its class by the PMU. */
static int resolve_raw(const struct machine *m, const char *root, const struct evspec *spec,
		       struct wire_allocate_req *req, struct reason *why)
{
	struct nearest near;
	unsigned int i;

	for (i = 0; i < m->cpu.nclass; i++)
		if (strcmp(m->cpu.classes[i].pmu, spec->event) == 0 &&
		    machine_class_is_hardware(&m->cpu.classes[i]))
			return resolve_in_class(m, root, &m->cpu.classes[i], spec, req, why);
	if (machine_pmu(m, spec->event))
		return resolve_in_class(m, root, machine_class(m, PMC_CLASS_PERF), spec, req, why);
	nearest_begin(&near, spec->event);
	for (i = 0; i < m->cpu.nclass; i++)
		nearest_offer(&near, m->cpu.classes[i].pmu);
	for (i = 0; i < m->pmus.n; i++)
		nearest_offer(&near, m->pmus.event[i].name);
	return deny(why, -EINVAL,
		    "no PMU \"%s\" whose counters pmcbpfd manages%s; \"pmccontrol -L\" "
		    "lists the classes",
		    spec->event, nearest_hint(&near, ""));
}

/* The PMU is one of several kinds of CPUs, and has a list of those that are its own. */
static bool class_is_of_kind(const struct wire_classinfo *class, const char *root, char *cpus,
			     size_t size)
{
	*cpus = '\0';
	if (machine_class_is_hardware(class))
		pmu_cpus(root, class->pmu, cpus, size);
	return *cpus;
}

/* A process runs on CPUs of all kinds, each of which has a PMU of its own. */
static int resolve_refuse_kinds(const struct machine *m, const char *root,
				const struct wire_classinfo *class, const struct evspec *spec,
				struct reason *why)
{
	char cpus[CPULIST_MAX];

	if (!class_is_of_kind(class, root, cpus, sizeof(cpus)))
		return 0;
	for (unsigned int i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *other = &m->cpu.classes[i];

		if (other != class && class_is_of_kind(other, root, cpus, sizeof(cpus)))
			return deny(why, -EINVAL, "\"%s\": the CPUs are of several kinds, each "
				    "with counters of its own: count %s/%s/ and %s/%s/, and add "
				    "them", spec->event, class->pmu, spec->event, other->pmu,
				    spec->event);
	}
	return 0;
}

/*
 * The hardware classes in the daemon's order, `number` only if it is not negative.  On a CPU the
 * event is that of the PMU that the CPU has.
 */
static int resolve_hardware(const struct machine *m, const char *root, int number,
			    const struct evspec *spec, struct wire_allocate_req *req,
			    struct reason *why)
{
	bool system = PMC_IS_SYSTEM_MODE(req->mode);
	char cpus[CPULIST_MAX];
	int err = -ENOENT;

	for (unsigned int i = 0; i < m->cpu.nclass && err == -ENOENT; i++) {
		const struct wire_classinfo *class = &m->cpu.classes[i];

		if (!machine_class_is_hardware(class) ||
		    (number >= 0 && class->class != (uint32_t)number) ||
		    (system && class_is_of_kind(class, root, cpus, sizeof(cpus)) &&
		     !cpuranges_has(cpus, req->cpu)))
			continue;
		err = resolve_in_class(m, root, class, spec, req, why);
		if (!err && !system)
			err = resolve_refuse_kinds(m, root, class, spec, why);
	}
	return err;
}

static int resolve_prefixed(const struct machine *m, const char *root, const struct evspec *spec,
			    struct wire_allocate_req *req, struct reason *why)
{
	const struct wire_classinfo *class = machine_class(m, spec->class);

	/* The fixed counters without a class of their own belong to the general ones. */
	if (!class && spec->class == PMC_CLASS_IAF)
		class = machine_class(m, PMC_CLASS_IAP);
	if (!class)
		return deny(why, -EINVAL, "this machine has no counters of class %s; "
			    "\"pmccontrol -L\" lists those it has, \"pmccontrol --doctor\" "
			    "says why", pmc_name_of_class(spec->class));
	return machine_class_is_hardware(class) ?
		resolve_hardware(m, root, (int)class->class, spec, req, why) :
		resolve_in_class(m, root, class, spec, req, why);
}

static int resolve_bare_last(const struct machine *m, const char *root, const struct evspec *spec,
			     struct wire_allocate_req *req, struct reason *why)
{
	int err = -ENOENT;

	for (unsigned int i = 0; i < m->cpu.nclass && err == -ENOENT; i++)
		if (class_of(m->cpu.classes[i].class)->bare_last)
			err = resolve_in_class(m, root, &m->cpu.classes[i], spec, req, why);
	return err;
}

/*
 * Classes without a PMU, then the hardware's in the daemon's order; the first class that knows the
 * name decides.
 */
static int resolve_bare(const struct machine *m, const char *root, const struct evspec *spec,
			struct wire_allocate_req *req, struct reason *why)
{
	struct reason hardware = { "" };
	struct nearest near;
	const char *hint;
	bool any = false;
	unsigned int i;
	int err;

	for (i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *class = &m->cpu.classes[i];

		if (!class_of(class->class)->bare || machine_class_is_hardware(class))
			continue;
		err = resolve_in_class(m, root, class, spec, req, why);
		if (err != -ENOENT)
			return err;
	}
	err = resolve_hardware(m, root, -1, spec, req, &hardware);
	if (err != -ENOENT) {
		*why = err ? hardware : *why;
		return err;
	}
	for (i = 0; i < m->cpu.nclass; i++)
		any |= machine_class_is_hardware(&m->cpu.classes[i]);
	err = resolve_bare_last(m, root, spec, req, why);
	if (err != -ENOENT)
		return err;
	if (hardware.text[0])
		return deny(why, -ENOENT, "%s", hardware.text);
	hint = suggest_event(m, root, spec->event, -1, &near);
	if (!any && !*hint)
		return deny(why, -ENOENT, "unknown event \"%s\", and here are no hardware "
			    "counters (\"pmccontrol --doctor\" says why); \"pmccontrol -L\" "
			    "lists the events that exist", spec->event);
	return deny(why, -ENOENT,
		    "unknown event \"%s\"%s; \"pmccontrol -L\" lists those that exist here",
		    spec->event, hint);
}

static int resolve_one(const struct machine *m, const char *root,
		       const struct evspec_machine *grammar, const char *text,
		       struct wire_allocate_req *req, struct reason *why)
{
	struct evspec spec;
	int err = evspec_parse(text, grammar, &spec, why);

	err = err ?: sampling_take(&spec, req, why);
	if (err)
		return err;
	if (spec.raw)
		return resolve_raw(m, root, &spec, req, why);
	if (spec.class >= 0)
		return resolve_prefixed(m, root, &spec, req, why);
	return resolve_bare(m, root, &spec, req, why);
}

/* An alias comes first; without an event for it the name may still be one of perf's. */
static int resolve_alias(const struct machine *m, const char *root, const char *spec,
			 struct wire_allocate_req *req, struct reason *why)
{
	char spelling[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];
	struct evspec_machine grammar;
	unsigned int i, n;
	int err = -ENOENT;

	machine_evspec(m, &grammar);
	n = alias_spell(spec, &grammar, spelling);
	for (i = 0; i < n && err == -ENOENT; i++)
		err = resolve_one(m, root, &grammar, spelling[i], req, why);
	if (err == -ENOENT)
		err = resolve_one(m, root, &grammar, spec, req, why);
	if (n && err == -ENOENT)
		deny(why, err, "this machine has no event for \"%.*s\" (looked for \"%.*s\")",
		     (int)strcspn(spec, ","), spec, (int)strcspn(spelling[0], ","), spelling[0]);
	return err;
}

int resolve_event(const struct machine *m, const char *root, const char *spec,
		  struct wire_allocate_req *req, struct reason *why)
{
	char ours[EVSPEC_MAX + 1];
	int err = -ENOENT, perf;

	if (suggest_probe(m, spec, why))
		return -EINVAL;
	if (!perf_spell_certain(spec))
		err = resolve_alias(m, root, spec, req, why);
	if (err != -ENOENT)
		return err;
	perf = perf_spell(m, spec, ours, why);
	if (perf > 0)
		err = resolve_alias(m, root, ours, req, why);
	return err == -ENOENT ? -EINVAL : err;
}

int resolve_operation(const struct machine *m, const char *root, const char *spec,
		      struct pmc_op_pmcallocate *op, struct reason *why)
{
	struct wire_allocate_req req = { .mode = op->pm_mode, .cpu = op->pm_cpu };
	const struct wire_classinfo *class;
	int err = resolve_event(m, root, spec, &req, why);

	if (err)
		return err == -EINVAL ? -ENOENT : err;
	if (req.rate || req.values || req.precise)
		return deny(why, -ENOENT, "%.100s: struct pmc_op_pmcallocate has no room for freq, "
			    "precise, branch and values of samples: use pmc_allocate()", spec);
	class = machine_class_of(m, req.class, req.pmu);
	if (!class || !machine_class_is_hardware(class))
		return deny(why, -ENOENT, "%.100s is not an event of the hardware counters",
			    spec);
	op->pm_caps |= req.caps;
	op->pm_class = (enum pmc_class)req.class;
	op->pm_ev = (enum pmc_event)req.event;
	op->pm_flags |= PMC_F_EV_PMU;
	memset(&op->pm_md, 0, sizeof(op->pm_md));
	op->pm_md.pm_perf.pm_type = class->perf_type;
	op->pm_md.pm_perf.pm_config = req.config;
	op->pm_md.pm_perf.pm_config1 = req.config1;
	op->pm_md.pm_perf.pm_config2 = req.config2;
	return 0;
}
