/* SPDX-License-Identifier: BSD-2-Clause */
/* Class MSR: registers of the CPU, of the daemon's list or by number. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "class.h"
#include "lib/base/number.h"

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

static int msr_resolve(const struct machine *m, const char *root,
		       const struct wire_classinfo *info, const struct evspec *spec,
		       struct wire_allocate_req *req, struct reason *why)
{
	unsigned int i;
	int err = msr_event(m, spec, req, why);

	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	for (i = 0; i < spec->nquals && !err; i++)
		err = msr_select(&spec->quals[i], req, why);
	return err;
}

/* "for CPUs: perf; for processes: perf; needs CAP_PERFMON" */
static void msr_describe(const struct machine_event *e, char *buf, size_t size)
{
	snprintf(buf, size, "for CPUs: %s; for processes: %s%s",
		 e->flags & WIRE_MSR_SYSTEM_MODULE ? "module" :
		 e->flags & WIRE_MSR_SYSTEM_PERF ? "perf" : "not",
		 e->flags & WIRE_MSR_PROCESS_MODULE ? "module" :
		 e->flags & WIRE_MSR_PROCESS_PERF ? "perf" : "not",
		 e->flags & WIRE_MSR_ADMIN ? "; needs CAP_PERFMON" : "");
}

static int msr_each(const struct machine *m, const char *root, const struct wire_classinfo *info,
		    event_fn *fn, void *arg)
{
	char text[96];
	int err = 0;

	for (unsigned int i = 0; i < m->msr.n && !err; i++) {
		msr_describe(&m->msr.event[i], text, sizeof(text));
		err = fn(arg, &(struct event){ .name = m->msr.event[i].name, .desc = text });
	}
	return err;
}

static struct machine_events *msr_listed(struct machine *m)
{
	return &m->msr;
}

const struct event_class class_msr = {
	.interned = true, .described = true,
	.resolve = msr_resolve, .each = msr_each, .listed = msr_listed,
};
