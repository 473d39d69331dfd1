/* SPDX-License-Identifier: BSD-2-Clause */
/* Class TSC: the time-stamp counter, one event. */
#include <errno.h>
#include <string.h>

#define PMC_NO_ARITY_MACRO
#include <pmc.h>

#include "class.h"

static int tsc_resolve(const struct machine *m, const char *root,
		       const struct wire_classinfo *info, const struct evspec *spec,
		       struct wire_allocate_req *req, struct reason *why)
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

static int tsc_each(const struct machine *m, const char *root, const struct wire_classinfo *info,
		    event_fn *fn, void *arg)
{
	return fn(arg, &(struct event){ .name = "TSC" });
}

const struct event_class class_tsc = {
	.bare = true, .resolve = tsc_resolve, .each = tsc_each,
};
