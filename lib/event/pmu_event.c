/* SPDX-License-Identifier: BSD-2-Clause */
/* From a parsed specifier to an event of one hardware PMU, qualifiers included. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "alias.h"
#include "class.h"
#include "pfm.h"
#include "pmu_event.h"

#include <sys/pmc.h>

/* FreeBSD's qualifiers, whatever the class, and the field of the PMU that stands behind each. */
struct qualifier {
	const char *key, *field;
	bool number;		/* needs a value; the others take none */
	uint32_t cap;
};

static const struct qualifier qualifiers[] = {
	{ "cmask", "cmask", true, PMC_CAP_THRESHOLD },
	{ "count", "cmask", true, PMC_CAP_THRESHOLD },
	{ "edge", "edge", false, PMC_CAP_EDGE },
	{ "inv", "inv", false, PMC_CAP_INVERT },
	{ "umask", "umask", true, PMC_CAP_QUALIFIER },
	{ "mask", "umask", true, PMC_CAP_QUALIFIER },
	{ "unitmask", "umask", true, PMC_CAP_QUALIFIER },
	{ "anythread", "any", false, 0 },
};

static int qualifier_no_value(const struct evspec_pair *q, struct reason *why)
{
	if (q->value)
		return deny(why, -EINVAL, "qualifier \"%s\" takes no value", q->key);
	return 0;
}

static const struct qualifier *qualifier_known(const char *key)
{
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
		if (strcasecmp(key, qualifiers[i].key) == 0)
			return &qualifiers[i];
	return NULL;
}

/* Two keys of one field, as cmask and count: their values would be mixed. */
static int qualifier_check(const struct evspec_pair *quals, unsigned int last, struct reason *why)
{
	const struct qualifier *known = qualifier_known(quals[last].key), *other;

	for (unsigned int i = 0; i < last && known && known->number; i++) {
		other = qualifier_known(quals[i].key);
		if (other && !strcmp(other->field, known->field))
			return deny(why, -EINVAL, "%s and %s are one qualifier: leave one out",
				    quals[i].key, quals[last].key);
	}
	return 0;
}

static int qualifier_apply(const char *root, const char *pmu, const struct evspec_pair *q,
			   struct pmu_event *event, struct reason *why)
{
	const struct qualifier *known = qualifier_known(q->key);
	struct evspec_pair term = { .value = q->value };
	struct pmu_field field;
	int err;

	if (strcasecmp(q->key, "usr") == 0) {
		event->usr = true;
		return qualifier_no_value(q, why);
	}
	if (strcasecmp(q->key, "os") == 0) {
		event->os = true;
		return qualifier_no_value(q, why);
	}
	if (!known && evspec_same(q->key, "precise"))
		return class_qualifier_deny(q, "", "", why);
	if (!known)
		return deny(why, -EINVAL,
			    "unknown qualifier \"%s\"; known are usr, os, and where the "
			    "hardware has them cmask, edge, inv, umask, anythread",
			    q->key);
	if (!known->number && qualifier_no_value(q, why) < 0)
		return -EINVAL;
	if (known->number && !q->value)
		return deny(why, -EINVAL, "qualifier \"%s\" needs a value: %s=N", q->key, q->key);
	if (pmu_field_find(root, pmu, known->field, &field, why) < 0)
		return deny(why, -EINVAL,
			    "qualifier \"%s\": the hardware of PMU %s has no such field", q->key,
			    pmu);
	term.key = known->field;
	err = pmu_term(root, pmu, &term, event->config, why);
	event->caps |= known->cap;
	return err;
}

/* PMU/a=1,b/ : a term is a field, or the name of an event that sets several. */
static int pmu_event_raw(const char *root, const char *pmu, const struct evspec *spec,
			 struct pmu_event *event, struct reason *why)
{
	size_t used = snprintf(event->name, sizeof(event->name), "%s/", pmu);
	unsigned int i;
	int err;

	for (i = 0; i < spec->nterms; i++) {
		const struct evspec_pair *term = &spec->terms[i];
		struct pmu_event named = { .usr = false };

		err = -ENOENT;
		if (!term->value)
			err = pmu_sysfs_event(root, pmu, term->key, &named, why);
		if (err == 0) {
			event->config[0] |= named.config[0];
			event->config[1] |= named.config[1];
			event->config[2] |= named.config[2];
		} else if (err == -ENOENT) {
			err = pmu_term(root, pmu, term, event->config, why);
		}
		if (err)
			return err;
		if (used < sizeof(event->name))
			used += snprintf(event->name + used, sizeof(event->name) - used, "%s%s%s%s",
					 i ? "," : "", term->key, term->value ? "=" : "",
					 term->value ? term->value : "");
	}
	if (used < sizeof(event->name))
		snprintf(event->name + used, sizeof(event->name) - used, "/");
	return 0;
}

static int pmu_event_named(const char *root, const struct wire_classinfo *class,
			   const struct evspec *spec, struct pmu_event *event, struct reason *why)
{
	const char *name = spec->event;
	int err;

	if (spec->class == PMC_CLASS_IAF && class->class != PMC_CLASS_IAF)
		name = alias_iaf_event(spec->event);
	if (!name)
		return deny(why, -ENOENT, "\"%s\" is not an event of the fixed counters",
			    spec->event);
	err = pmu_sysfs_event(root, class->pmu, name, event, why);
	if (err != -ENOENT)
		return err;
	err = pfm_event(name, class->perf_type, event, why);
	if (err == -ENOSYS) {
		char missing[160];

		snprintf(missing, sizeof(missing), "%.150s", why->text);
		return deny(why, -ENOENT, "PMU %s has no event \"%s\", and %s", class->pmu, name,
			    missing);
	}
	if (err == -ENOENT)
		deny(why, err, "neither PMU %s nor libpfm4 knows an event \"%s\"; "
		     "\"pmccontrol -L\" lists those that exist", class->pmu, name);
	return err;
}

int pmu_event_find(const char *root, const struct wire_classinfo *class, const struct evspec *spec,
		   struct pmu_event *event, struct reason *why)
{
	unsigned int i;
	int err;

	memset(event, 0, sizeof(*event));
	if (spec->raw)
		err = pmu_event_raw(root, class->pmu, spec, event, why);
	else
		err = pmu_event_named(root, class, spec, event, why);
	for (i = 0; i < spec->nquals && !err; i++)
		err = qualifier_check(spec->quals, i, why) ?:
		      qualifier_apply(root, class->pmu, &spec->quals[i], event, why);
	return err;
}
