/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of looking for an event: alias, class prefix, then SOFT, TSC and the hardware's
 * classes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PMC_NO_ARITY_MACRO
#include <pmc.h>

#include "alias.h"
#include "intern.h"
#include "lib/base/number.h"
#include "pmu_event.h"
#include "resolve.h"
#include "suggest.h"

/*
 * Looks up an event's name in the classes of one kind.  -ENOENT: unknown here, try the next class.
 */
typedef int class_fn(const struct machine *m, const char *root, const struct wire_classinfo *class,
		     const struct evspec *spec, struct wire_allocate_req *req, struct reason *why);

/* usr and os; the daemon decides whether the event distinguishes them. */
static int soft_qualifier(const struct evspec_pair *qual, struct wire_allocate_req *req,
			  struct reason *why)
{
	bool user = evspec_same(qual->key, "usr");

	if (!user && !evspec_same(qual->key, "os"))
		return deny(why, -EINVAL, "\"%s\" is no qualifier of a software event: there are "
			    "usr and os", qual->key);
	if (qual->value)
		return deny(why, -EINVAL, "%s takes no value: \"%s\"", qual->key, qual->value);
	req->caps |= user ? PMC_CAP_USER : PMC_CAP_SYSTEM;
	return 0;
}

static int soft_class(const struct machine *m, const char *root, const struct wire_classinfo *class,
		      const struct evspec *spec, struct wire_allocate_req *req, struct reason *why)
{
	const char *other = alias_soft_event(spec->event);
	struct nearest near;
	unsigned int i;
	int err = 0;

	for (i = 0; i < m->soft.n; i++)
		if (evspec_same(spec->event, m->soft.event[i].name) ||
		    (other && evspec_same(other, m->soft.event[i].name)))
			break;
	if (i == m->soft.n)
		return deny(why, -ENOENT, "no SOFT event \"%s\"%s; \"pmccontrol -L\" "
			    "lists them", spec->event,
			    suggest_event(m, root, spec->event, PMC_CLASS_SOFT, &near));
	req->event = m->soft.event[i].code;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	memcpy(req->event_name, m->soft.event[i].name, sizeof(req->event_name));
	for (i = 0; i < spec->nquals && !err; i++)
		err = soft_qualifier(&spec->quals[i], req, why);
	return err;
}

static int tsc_class(const struct machine *m, const char *root, const struct wire_classinfo *class,
		     const struct evspec *spec, struct wire_allocate_req *req, struct reason *why)
{
	if (!evspec_same(spec->event, "TSC"))
		return deny(why, -ENOENT, "no TSC event \"%s\"; its one event is TSC",
			    spec->event);
	if (spec->nquals)
		return deny(why, -EINVAL, "the TSC takes no qualifiers: \"%s\"",
			    spec->quals[0].key);
	req->event = PMC_EV_TSC_TSC;
	req->caps = PMC_CAP_READ;
	strcpy(req->event_name, "TSC");
	return 0;
}

/* select=REGISTER:VALUE; the daemon decides which registers may be written. */
static int msr_select(const struct evspec_pair *qual, struct wire_allocate_req *req,
		      struct reason *why)
{
	char reg[32];
	const char *colon = qual->value ? strchr(qual->value, ':') : NULL;
	uint64_t number;

	if (!evspec_same(qual->key, "select"))
		return deny(why, -EINVAL, "\"%s\" is no qualifier of a register: there is "
			    "select=REGISTER:VALUE", qual->key);
	if (!colon || (size_t)(colon - qual->value) >= sizeof(reg))
		return deny(why, -EINVAL, "select takes REGISTER:VALUE, as 0x186:0x4100c0, not "
			    "\"%s\"", qual->value ? qual->value : "");
	memcpy(reg, qual->value, colon - qual->value);
	reg[colon - qual->value] = '\0';
	if (number_parse(reg, 0, UINT32_MAX, &number))
		return deny(why, -EINVAL, "select: \"%s\" is not the number of a register", reg);
	if (number_parse(colon + 1, 0, UINT64_MAX, &req->config2))
		return deny(why, -EINVAL, "select: \"%s\" is not a value of 64 bits", colon + 1);
	req->config1 = WIRE_MSR_SELECT | number;
	return 0;
}

/* MSR-NAME of the daemon's list, MSR-0xNNN. */
static int msr_event(const struct machine *m, const struct evspec *spec,
		     struct wire_allocate_req *req, struct reason *why)
{
	const char *name = spec->event;
	unsigned int i;

	for (i = 0; i < m->msr.n; i++)
		if (evspec_same(name, m->msr.event[i].name + strlen("MSR-")))
			break;
	if (i < m->msr.n) {
		req->event = m->msr.event[i].code;
		memcpy(req->event_name, m->msr.event[i].name, sizeof(req->event_name));
		return 0;
	}
	if (number_parse(name, 0, UINT32_MAX, &req->config))
		return deny(why, -ENOENT, "no register \"%s\": MSR-NUMBER, as MSR-0x10, or one "
			    "that \"pmccontrol -L\" lists", name);
	req->event = PMC_EV_MSR_RAW;
	snprintf(req->event_name, sizeof(req->event_name), "MSR-0x%" PRIx64, req->config);
	return 0;
}

static int msr_class(const struct machine *m, const char *root, const struct wire_classinfo *class,
		     const struct evspec *spec, struct wire_allocate_req *req, struct reason *why)
{
	unsigned int i;
	int err = msr_event(m, spec, req, why);

	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	for (i = 0; i < spec->nquals && !err; i++)
		err = msr_select(&spec->quals[i], req, why);
	return err;
}

static int hardware_class(const struct machine *m, const char *root,
			  const struct wire_classinfo *class, const struct evspec *spec,
			  struct wire_allocate_req *req, struct reason *why)
{
	struct pmu_event event;
	int err = pmu_event_find(root, class, spec, &event, why);

	if (err)
		return err;
	req->event = intern_event(event.name, NULL);
	if (!req->event)
		return -ENOMEM;
	/*
	 * The configuration words are complete; a capability that the class lacks would be refused.
	 */
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE | (event.caps & class->caps) |
		    (event.usr ? PMC_CAP_USER : 0) | (event.os ? PMC_CAP_SYSTEM : 0);
	req->config = event.config[0];
	req->config1 = event.config[1];
	req->config2 = event.config[2];
	memcpy(req->event_name, event.name, sizeof(req->event_name));
	return 0;
}

static int resolve_in_class(const struct machine *m, const char *root,
			    const struct wire_classinfo *class, const struct evspec *spec,
			    struct wire_allocate_req *req, struct reason *why)
{
	class_fn *fn = class->class == PMC_CLASS_SOFT ? soft_class :
		       class->class == PMC_CLASS_TSC ? tsc_class :
		       class->class == PMC_CLASS_MSR ? msr_class : hardware_class;
	int err;

	if (fn == hardware_class && !machine_class_is_hardware(class))
		return -ENOENT;
	err = fn(m, root, class, spec, req, why);
	if (!err)
		req->class = class->class;
	return err;
}

/* PMU/.../ names its class by the PMU. */
static int resolve_raw(const struct machine *m, const char *root, const struct evspec *spec,
		       struct wire_allocate_req *req, struct reason *why)
{
	unsigned int i;

	for (i = 0; i < m->cpu.nclass; i++)
		if (strcmp(m->cpu.classes[i].pmu, spec->event) == 0 &&
		    machine_class_is_hardware(&m->cpu.classes[i]))
			return resolve_in_class(m, root, &m->cpu.classes[i], spec, req, why);
	return deny(why, -EINVAL,
		    "no PMU \"%s\" whose counters pmcbpfd manages; \"pmccontrol -L\" "
		    "lists the classes",
		    spec->event);
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
	return resolve_in_class(m, root, class, spec, req, why);
}

/* SOFT, TSC, then the rest in the daemon's order; the first class that knows the name decides. */
static int resolve_bare(const struct machine *m, const char *root, const struct evspec *spec,
			struct wire_allocate_req *req, struct reason *why)
{
	static const uint32_t first[] = { PMC_CLASS_SOFT, PMC_CLASS_TSC };
	struct reason hardware = { "" };
	struct nearest near;
	const char *hint;
	bool any = false;
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		const struct wire_classinfo *class = machine_class(m, first[i]);

		err = class ? resolve_in_class(m, root, class, spec, req, why) : -ENOENT;
		if (err != -ENOENT)
			return err;
	}
	for (i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *class = &m->cpu.classes[i];

		if (!machine_class_is_hardware(class))
			continue;
		any = true;
		err = resolve_in_class(m, root, class, spec, req, &hardware);
		if (err != -ENOENT) {
			*why = err ? hardware : *why;
			return err;
		}
	}
	if (suggest_foreign(spec->event, why))
		return -ENOENT;
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

	if (err)
		return err;
	if (spec.raw)
		return resolve_raw(m, root, &spec, req, why);
	if (spec.class >= 0)
		return resolve_prefixed(m, root, &spec, req, why);
	return resolve_bare(m, root, &spec, req, why);
}

int resolve_event(const struct machine *m, const char *root, const char *spec,
		  struct wire_allocate_req *req, struct reason *why)
{
	char spelling[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1];
	struct evspec_machine grammar;
	unsigned int i, n;
	int err = -ENOENT;

	if (suggest_probe(spec, why))
		return -EINVAL;
	machine_evspec(m, &grammar);
	n = alias_spell(spec, &grammar, spelling);
	for (i = 0; i < n && err == -ENOENT; i++)
		err = resolve_one(m, root, &grammar, spelling[i], req, why);
	if (n == 0)
		err = resolve_one(m, root, &grammar, spec, req, why);
	else if (err == -ENOENT)
		deny(why, err, "this machine has no event for \"%.*s\" (looked for \"%.*s\")",
		     (int)strcspn(spec, ","), spec, (int)strcspn(spelling[0], ","), spelling[0]);
	return err == -ENOENT ? -EINVAL : err;
}

int resolve_operation(const struct machine *m, const char *root, const char *spec,
		      struct pmc_op_pmcallocate *op, struct reason *why)
{
	struct wire_allocate_req req = { .caps = 0 };
	const struct wire_classinfo *class;
	int err = resolve_event(m, root, spec, &req, why);

	if (err)
		return err == -EINVAL ? -ENOENT : err;
	class = machine_class(m, req.class);
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
