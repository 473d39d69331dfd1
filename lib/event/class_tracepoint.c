/* SPDX-License-Identifier: BSD-2-Clause */
/* Class TRACEPOINT: the kernel's trace events.  Only the daemon can look for them. */
#include <errno.h>
#include <string.h>

#include "alias.h"
#include "class.h"
#include "intern.h"
#include "perf_spell.h"

static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

/* SYSTEM:NAME, without what follows perf's second colon. */
static bool name_is_pair(const char *name, const char *letters)
{
	size_t len = strspn(name, letters), rest;

	if (!len || name[len] != ':')
		return false;
	rest = strspn(name + len + 1, letters);
	return rest && (!name[len + 1 + rest] || name[len + 1 + rest] == ':');
}

/* Without a prefix, capitals are a unit mask's, and "cycles:u" is an event with perf's modifier. */
static bool name_is_tracepoint(const char *name)
{
	const char *rest;

	if (!name_is_pair(name, small))
		return false;
	rest = strchr(name, ':') + 1;
	return rest[strspn(rest, PERF_MODIFIERS)] != '\0';
}

/* os adds nothing, because a tracepoint is a place in the kernel. */
static int tracepoint_qualifier(const struct evspec_pair *qual, const char *name,
				struct wire_allocate_req *req, struct reason *why)
{
	if (evspec_same(qual->key, "usr"))
		return deny(why, -EINVAL, "%s is a place in the kernel: usr would count nothing",
			    name);
	if (evspec_same(qual->key, "os") && !qual->value) {
		req->caps |= PMC_CAP_SYSTEM;
		return 0;
	}
	if (!evspec_same(qual->key, "filter"))
		return deny(why, -EINVAL, "\"%s\" is no qualifier of a tracepoint: there are os "
			    "and filter=EXPRESSION" CLASS_SAMPLES, qual->key);
	if (!qual->value || !*qual->value)
		return deny(why, -EINVAL, "filter takes an expression over the tracepoint's "
			    "fields, as \"filter=count > 4096\"");
	if (strlen(qual->value) >= sizeof(req->filter))
		return deny(why, -EINVAL, "filter: it has at most %zu characters",
			    sizeof(req->filter) - 1);
	req->caps |= PMC_CAP_QUALIFIER;
	strcpy(req->filter, qual->value);
	return 0;
}

static int tracepoint_resolve(const struct machine *m, const char *root,
			      const struct wire_classinfo *info, const struct evspec *spec,
			      struct wire_allocate_req *req, struct reason *why)
{
	const char *name = spec->event, *second;
	int err = 0;

	if (spec->class < 0 && !name_is_tracepoint(name))
		return -ENOENT;
	if (!name_is_pair(name, all))
		return deny(why, -EINVAL, "\"%s\" is no tracepoint's name: write SYSTEM:NAME, as "
			    "syscalls:sys_enter_openat", name);
	second = strchr(strchr(name, ':') + 1, ':');
	if (second)
		return deny(why, -EINVAL, "\"%s\": perf's modifiers have no meaning for a "
			    "tracepoint, which is a place in the kernel: leave \"%s\" out", name,
			    second);
	if (strlen(name) >= sizeof(req->event_name))
		return deny(why, -EINVAL, "\"%.40s\"... has more than %zu characters, more than "
			    "any PMC's event can have", name, sizeof(req->event_name) - 1);
	strcpy(req->event_name, name);
	req->event = intern_event(name, NULL);
	if (!req->event)
		return -ENOMEM;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	for (unsigned int i = 0; i < spec->nquals && !err; i++)
		err = tracepoint_qualifier(&spec->quals[i], name, req, why);
	return err;
}

static int tracepoint_each(const struct machine *m, const char *root,
			   const struct wire_classinfo *info, event_fn *fn, void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < m->tracepoint.n && !err; i++)
		err = fn(arg, &(struct event){
			.name = m->tracepoint.event[i].name,
			.desc = m->tracepoint.event[i].flags & WIRE_TRACEPOINT_ADMIN ?
				"needs CAP_PERFMON" : "of one's own processes",
		});
	return err;
}

static struct machine_events *tracepoint_listed(struct machine *m)
{
	return &m->tracepoint;
}

const struct event_class class_tracepoint = {
	.bare = true, .interned = true, .described = true, .late = true,
	.resolve = tracepoint_resolve, .each = tracepoint_each, .listed = tracepoint_listed,
};
