/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of looking for an event: alias, class prefix, then the classes without one. */
#include <errno.h>
#include <stdio.h>
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

struct resolver {
	const struct machine *m;
	const char *root;
	const char *text;		/* the whole specifier */
	struct wire_allocate_req *req;
	struct event_kinds *kinds;	/* NULL: an event of several kinds is refused */
	struct reason *why;
};

static int resolve_in_class(const struct resolver *r, const struct wire_classinfo *class,
			    const struct evspec *spec)
{
	int err = class_of(class->class)->resolve(r->m, r->root, class, spec, r->req, r->why);

	if (!err)
		r->req->class = class->class;
	return err;
}

/* PMU/NAME/: what the PMU's driver lists comes first, then other names of its events. */
static int resolve_raw_hardware(const struct resolver *r, const struct wire_classinfo *class,
				const struct evspec *spec)
{
	struct resolver quietly = *r;
	struct evspec named = *spec;
	struct reason unused;
	int err;

	if (spec->nterms != 1 || spec->terms[0].value)
		return resolve_in_class(r, class, spec);
	named.raw = false;
	named.event = spec->terms[0].key;
	quietly.why = &unused;
	err = pmu_lists(r->root, class->pmu, named.event) ?
		      -ENOENT : resolve_in_class(&quietly, class, &named);
	return err ? resolve_in_class(r, class, spec) : 0;
}

/* perf's msr/NAME/ is MSR-NAME, where the daemon's list has that. */
static int raw_deny_msr(const struct resolver *r, const struct evspec *spec)
{
	const struct machine_events *msr = &r->m->msr;

	for (unsigned int i = 0; i < msr->n && spec->nterms; i++)
		if (evspec_same(msr->event[i].name + strlen("MSR-"), spec->terms[0].key))
			return deny(r->why, -EINVAL, "\"%.100s\": registers have names of their "
				    "own: write %s; pmc.perf(3)", r->text, msr->event[i].name);
	return deny(r->why, -EINVAL, "\"%.100s\": registers have names of their own: MSR-NAME of "
		    "those that \"pmccontrol -L\" lists, or MSR-NUMBER; pmc.perf(3)", r->text);
}

/* PMU/.../ names its class by the PMU. */
static int resolve_raw(const struct resolver *r, const struct evspec *spec)
{
	const struct machine *m = r->m;
	struct nearest near;
	unsigned int i;

	for (i = 0; i < m->cpu.nclass; i++)
		if (strcmp(m->cpu.classes[i].pmu, spec->event) == 0 &&
		    machine_class_is_hardware(&m->cpu.classes[i]))
			return resolve_raw_hardware(r, &m->cpu.classes[i], spec);
	if (machine_pmu(m, spec->event))
		return resolve_in_class(r, machine_class(m, PMC_CLASS_PERF), spec);
	if (!strcmp(spec->event, "msr"))
		return raw_deny_msr(r, spec);
	nearest_begin(&near, spec->event);
	for (i = 0; i < m->cpu.nclass; i++)
		nearest_offer(&near, m->cpu.classes[i].pmu);
	for (i = 0; i < m->pmus.n; i++)
		nearest_offer(&near, m->pmus.event[i].name);
	return deny(r->why, -EINVAL,
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

/* Appends the event as one of this class's PMU: PMU/NAME/,QUALIFIER... */
static int kinds_add(struct event_kinds *kinds, const struct wire_classinfo *class,
		     const char *event, const char *text, struct reason *why)
{
	size_t size = sizeof(kinds->spec[0]);
	int used = snprintf(kinds->spec[kinds->n++], size, "%s/%s/%s", class->pmu, event,
			    strchrnul(text, ','));

	return (size_t)used < size ? 0 : deny(why, -EINVAL, "the specifier is too long");
}

static int kinds_deny(const struct event_kinds *kinds, const struct evspec *spec,
		      struct reason *why)
{
	return deny(why, -EINVAL, "\"%s\": the CPUs are of several kinds, each with counters of "
		    "its own: count %s and %s, and add them", spec->event, kinds->spec[0],
		    kinds->spec[1]);
}

/*
 * A process runs on CPUs of all kinds, each of which has a PMU of its own.  -EXDEV: `kinds` has the
 * event of each.
 */
static int resolve_kinds_of(const struct resolver *r, const struct wire_classinfo *class,
			    const struct evspec *spec)
{
	struct event_kinds own = { .n = 0 }, *kinds = r->kinds ?: &own;
	char cpus[CPULIST_MAX];
	int err = 0;

	if (!class_is_of_kind(class, r->root, cpus, sizeof(cpus)))
		return 0;
	for (unsigned int i = 0; i < r->m->cpu.nclass && !err; i++)
		if (class_is_of_kind(&r->m->cpu.classes[i], r->root, cpus, sizeof(cpus)))
			err = kinds_add(kinds, &r->m->cpu.classes[i], spec->event, r->text,
					r->why);
	if (err || kinds->n < 2) {
		kinds->n = 0;
		return err;
	}
	return r->kinds ? -EXDEV : kinds_deny(kinds, spec, r->why);
}

/*
 * The hardware classes in the daemon's order, `number` only if it is not negative.  On a CPU the
 * event is that of the PMU that the CPU has.
 */
static int resolve_hardware(const struct resolver *r, int number, const struct evspec *spec)
{
	bool system = PMC_IS_SYSTEM_MODE(r->req->mode);
	char cpus[CPULIST_MAX];
	int err = -ENOENT;

	for (unsigned int i = 0; i < r->m->cpu.nclass && err == -ENOENT; i++) {
		const struct wire_classinfo *class = &r->m->cpu.classes[i];

		if (!machine_class_is_hardware(class) ||
		    (number >= 0 && class->class != (uint32_t)number) ||
		    (system && class_is_of_kind(class, r->root, cpus, sizeof(cpus)) &&
		     !cpuranges_has(cpus, r->req->cpu)))
			continue;
		err = resolve_in_class(r, class, spec);
		if (!err && !system)
			err = resolve_kinds_of(r, class, spec);
	}
	return err;
}

static int resolve_prefixed(const struct resolver *r, const struct evspec *spec)
{
	const struct wire_classinfo *class = machine_class(r->m, spec->class);

	/* The fixed counters without a class of their own belong to the general ones. */
	if (!class && spec->class == PMC_CLASS_IAF)
		class = machine_class(r->m, PMC_CLASS_IAP);
	if (!class)
		return deny(r->why, -EINVAL, "this machine has no counters of class %s; "
			    "\"pmccontrol -L\" lists those it has, \"pmccontrol --doctor\" "
			    "says why", pmc_name_of_class(spec->class));
	return machine_class_is_hardware(class) ?
		resolve_hardware(r, (int)class->class, spec) :
		resolve_in_class(r, class, spec);
}

static int resolve_bare_last(const struct resolver *r, const struct evspec *spec)
{
	int err = -ENOENT;

	for (unsigned int i = 0; i < r->m->cpu.nclass && err == -ENOENT; i++)
		if (class_of(r->m->cpu.classes[i].class)->bare_last)
			err = resolve_in_class(r, &r->m->cpu.classes[i], spec);
	return err;
}

/* perf's events that only carry records. */
static bool name_is_empty_event(const char *name)
{
	return evspec_same(name, "dummy") || evspec_same(name, "bpf-output");
}

/* No class knows the name; `hardware` is what the counters' class says about it. */
static int bare_deny(const struct resolver *r, const char *name, bool counters,
		     const char *hardware)
{
	const char *hint, *colon = strchr(name, ':');
	struct nearest near;

	if (name_is_empty_event(name))
		return deny(r->why, -ENOENT, "unknown event \"%s\": for perf it counts nothing, "
			    "but carries records, as pmclog(5) does here; pmc.perf(3)", name);
	hint = colon ? suggest_event(r->m, r->root, name, PMC_CLASS_TRACEPOINT, &near) : "";
	if (*hint)
		return deny(r->why, -ENOENT, "this kernel has no tracepoint \"%s\"%s", name, hint);
	if (*hardware)
		return deny(r->why, -ENOENT, "%s", hardware);
	if (colon)
		return deny(r->why, -ENOENT, "unknown event \"%s\": names with a colon are "
			    "tracepoints, of which \"pmc list-events PATTERN\" finds those that "
			    "exist%s", name, counters ? "" :
			    ", and events of hardware counters, of which there are none here "
			    "(\"pmccontrol --doctor\" says why)");
	hint = suggest_event(r->m, r->root, name, -1, &near);
	if (!counters && !*hint)
		return deny(r->why, -ENOENT, "unknown event \"%s\", and here are no hardware "
			    "counters (\"pmccontrol --doctor\" says why); \"pmccontrol -L\" "
			    "lists the events that exist", name);
	return deny(r->why, -ENOENT, "unknown event \"%s\"%s; \"pmccontrol -L\" lists those that "
		    "exist here", name, hint);
}

/*
 * Classes without a PMU, then the hardware's in the daemon's order; the first class that knows the
 * name decides.
 */
static int resolve_bare(const struct resolver *r, const struct evspec *spec)
{
	const struct machine *m = r->m;
	struct reason hardware = { "" }, *why = r->why;
	struct resolver counters = *r;
	bool any = false;
	unsigned int i;
	int err;

	for (i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *class = &m->cpu.classes[i];

		if (!class_of(class->class)->bare || machine_class_is_hardware(class))
			continue;
		err = resolve_in_class(r, class, spec);
		if (err != -ENOENT)
			return err;
	}
	counters.why = &hardware;
	err = resolve_hardware(&counters, -1, spec);
	if (err != -ENOENT) {
		*why = err ? hardware : *why;
		return err;
	}
	for (i = 0; i < m->cpu.nclass; i++)
		any |= machine_class_is_hardware(&m->cpu.classes[i]);
	err = resolve_bare_last(r, spec);
	if (err != -ENOENT)
		return err;
	return bare_deny(r, spec->event, any, hardware.text);
}

static int resolve_one(const struct resolver *from, const struct evspec_machine *grammar,
		       const char *text)
{
	struct resolver r = *from;
	struct evspec spec;
	int err = evspec_parse(text, grammar, &spec, r.why);

	err = err ?: sampling_take(&spec, r.req, r.why);
	if (err)
		return err;
	r.text = text;
	if (spec.raw)
		return resolve_raw(&r, &spec);
	if (spec.class >= 0)
		return resolve_prefixed(&r, &spec);
	return resolve_bare(&r, &spec);
}

/* An alias comes first; without an event for it the name may still be one of perf's. */
static int resolve_alias(const struct resolver *r, const char *spec)
{
	char spelling[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];
	struct evspec_machine grammar;
	unsigned int i, n;
	int err = -ENOENT;

	machine_evspec(r->m, &grammar);
	n = alias_spell(spec, &grammar, spelling);
	for (i = 0; i < n && err == -ENOENT; i++)
		err = resolve_one(r, &grammar, spelling[i]);
	if (err == -ENOENT)
		err = resolve_one(r, &grammar, spec);
	if (n && err == -ENOENT)
		deny(r->why, err, "this machine has no event for \"%.*s\" (looked for \"%.*s\")",
		     (int)strcspn(spec, ","), spec, (int)strcspn(spelling[0], ","), spelling[0]);
	return err;
}

static int resolve_any(const struct resolver *r, const char *spec)
{
	char ours[EVSPEC_MAX + 1];
	int err = -ENOENT, perf;

	if (suggest_probe(r->m, spec, r->why))
		return -EINVAL;
	if (!perf_spell_certain(spec))
		err = resolve_alias(r, spec);
	if (err != -ENOENT)
		return err;
	perf = perf_spell(r->m, spec, ours, r->why);
	if (perf > 0)
		err = resolve_alias(r, ours);
	return err == -ENOENT ? -EINVAL : err;
}

int resolve_event(const struct machine *m, const char *root, const char *spec,
		  struct wire_allocate_req *req, struct reason *why)
{
	const struct resolver r = { .m = m, .root = root, .req = req, .why = why };

	return resolve_any(&r, spec);
}

int resolve_kinds(const struct machine *m, const char *root, const char *spec, enum pmc_mode mode,
		  struct event_kinds *kinds, struct reason *why)
{
	struct wire_allocate_req req = { .mode = mode };
	const struct resolver r = { .m = m, .root = root, .req = &req, .kinds = kinds, .why = why };
	int err;

	kinds->n = 0;
	err = resolve_any(&r, spec);
	return err == -EXDEV ? 0 : err;
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
