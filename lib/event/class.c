/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of classes, and the qualifiers that several classes have. */
#include <errno.h>

#include "class.h"

static const struct {
	uint32_t class;
	const struct event_class *ops;
} classes[] = {
	{ PMC_CLASS_SOFT, &class_soft },
	{ PMC_CLASS_TSC, &class_tsc },
	{ PMC_CLASS_TRACEPOINT, &class_tracepoint },
	{ PMC_CLASS_PROBE, &class_probe },
	{ PMC_CLASS_BREAKPOINT, &class_breakpoint },
	{ PMC_CLASS_MSR, &class_msr },
	{ PMC_CLASS_PERF, &class_perf },
};

const struct event_class *class_of(uint32_t class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].class == class)
			return classes[i].ops;
	return &class_hardware;
}

int class_side_take(const struct evspec_pair *qual, struct wire_allocate_req *req,
		    struct reason *why)
{
	bool user = evspec_same(qual->key, "usr");

	if (!user && !evspec_same(qual->key, "os"))
		return 0;
	if (qual->value)
		return deny(why, -EINVAL, "%s takes no value: \"%s\"", qual->key, qual->value);
	req->caps |= user ? PMC_CAP_USER : PMC_CAP_SYSTEM;
	return 1;
}

int class_qualifier_deny(const struct evspec_pair *qual, const char *what, const char *known,
			 struct reason *why)
{
	return deny(why, -EINVAL, "\"%s\" is no qualifier of %s: there are %s", qual->key, what,
		    known);
}
