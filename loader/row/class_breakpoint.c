/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class BREAKPOINT: accesses to an address.  A row is a breakpoint register of every CPU.  Where
 * data and code have registers of their own (arm64), the rows for data come first.
 *
 * A register that watches all processes of a CPU slows down each of them that comes to that
 * address.  Privileged owners may have that, and so share one event in slices; the PMCs of others
 * are per-task events, which slow down their own targets only, and so are those that sample.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "class.h"
#include "loader/kernel/kernel.h"
#include "loader/policy/policy.h"
#include "row.h"

#define CAPS_BREAKPOINT (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM | \
			 PMC_CAP_INTERRUPT)
#define INSTRUCTION	4u	/* bytes, where executions may have short lengths */
#define USER_BITS	56u	/* no program has higher addresses, on any CPU */

static int class_breakpoint_add_rows(struct row_table *t, const struct class_machine *m,
				     struct reason *why)
{
	struct breakpoints *b = &m->engine->breakpoints;
	struct row_class class = {
		.ops = &class_breakpoint, .prefix = "BREAKPOINT", .numbered = true,
		.info = { .class = PMC_CLASS_BREAKPOINT, .caps = CAPS_BREAKPOINT, .width = 64,
			  .perf_type = ~0u },
	};

	breakpoints_discover(b);
	class.info.num = b->data + b->code;
	if (!breakpoints_reason(b))
		return row_add_class(t, &class, why);
	messages_put(m->messages, LOG_WARNING, "no breakpoints: %s (pmccontrol --doctor)",
		     breakpoints_reason(b));
	return 0;
}

/* --- the event -------------------------------------------------------------------------------- */

struct breakpoint {
	uint64_t address, length;
	uint32_t type;
	bool code, kernel;
};

static const char *breakpoint_access(uint32_t type)
{
	switch (type) {
	case HW_BREAKPOINT_R:
		return "r";
	case HW_BREAKPOINT_W:
		return "w";
	case HW_BREAKPOINT_RW:
		return "rw";
	case HW_BREAKPOINT_X:
		return "x";
	}
	return NULL;
}

static int class_breakpoint_plan_code(const struct allocation *p, struct breakpoint *b,
				      struct reason *why)
{
	const struct breakpoints *have = &p->machine->engine->breakpoints;

	if (b->length != sizeof(long) && !(have->short_code && b->length == INSTRUCTION))
		return deny(why, -EINVAL, "%s: executions are counted with length %zu%s, whatever "
			    "the instruction's", p->name, sizeof(long),
			    have->short_code ? " or 4" : "");
	if (have->short_code && b->address % INSTRUCTION)
		return deny(why, -EINVAL, "%s: instructions have addresses that 4 divides",
			    p->name);
	if (!b->kernel && p->a->caps & PMC_CAP_SYSTEM && !(p->a->caps & PMC_CAP_USER))
		return deny(why, -EINVAL, "%s: the kernel executes no code of programs: os would "
			    "count nothing", p->name);
	b->length = sizeof(long);
	return 0;
}

static int class_breakpoint_plan_data(const struct allocation *p, const struct breakpoint *b,
				      struct reason *why)
{
	const struct breakpoints *have = &p->machine->engine->breakpoints;
	uint64_t length = b->length;

	if (b->type == HW_BREAKPOINT_R && !have->reads)
		return deny(why, -EINVAL, "%s: this CPU counts no reads alone: use rw, or subtract "
			    "the writes (w)", p->name);
	if (length > 8 || (!have->any_length && (length & (length - 1))))
		return deny(why, -EINVAL, "%s: this CPU watches %s bytes at once, not %" PRIu64,
			    p->name, have->any_length ? "1 to 8" : "1, 2, 4 or 8", length);
	if (have->user_only && !b->kernel && p->a->caps & PMC_CAP_SYSTEM)
		return deny(why, -EINVAL, "%s: this CPU does not watch the kernel's accesses to a "
			    "program's memory: leave os out", p->name);
	if (have->any_length && b->address % 8 + length > 8)
		return deny(why, -EINVAL, "%s: the bytes are on both sides of an address that 8 "
			    "divides, where this CPU needs two breakpoints", p->name);
	if (!have->any_length && b->address % length)
		return deny(why, -EINVAL, "%s: %" PRIu64 " does not divide the address: use a "
			    "shorter length", p->name, length);
	return 0;
}

static int class_breakpoint_plan_place(const struct allocation *p, struct breakpoint *b,
				       struct reason *why)
{
	if (b->address > UINT64_MAX - (b->length - 1))
		return deny(why, -EINVAL, "%s: the bytes go beyond the last address", p->name);
	b->kernel = b->address >> 63;
	if (b->address >> USER_BITS != (b->kernel ? UINT64_MAX >> USER_BITS : 0))
		return deny(why, -EINVAL, "%s: neither programs nor the kernel have that address",
			    p->name);
	if (b->kernel && p->a->caps & PMC_CAP_USER && !(p->a->caps & PMC_CAP_SYSTEM))
		return deny(why, -EINVAL, "%s: programs do not come to an address of the kernel: "
			    "usr would count nothing", p->name);
	return b->code ? class_breakpoint_plan_code(p, b, why) :
			 class_breakpoint_plan_data(p, b, why);
}

static int class_breakpoint_plan_event(struct allocation *p, struct breakpoint *b,
				       struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const char *access = a->config2 <= UINT32_MAX ? breakpoint_access(a->config2) : NULL;
	int err;

	if (!access || !a->config1)
		return deny(why, -EINVAL, "a breakpoint has a length, and r, w, rw or x: not "
			    "length %" PRIu64 " and type %" PRIu64, a->config1, a->config2);
	*b = (struct breakpoint){
		.address = a->config, .length = a->config1, .type = (uint32_t)a->config2,
		.code = a->config2 == HW_BREAKPOINT_X,
	};
	snprintf(p->name, sizeof(p->name), "breakpoint:0x%" PRIx64 "/%" PRIu64 ":%s", b->address,
		 b->length, access);
	err = class_breakpoint_plan_place(p, b, why);
	snprintf(p->name, sizeof(p->name), "breakpoint:0x%" PRIx64 "/%" PRIu64 ":%s", b->address,
		 b->length, access);
	return err;
}

/* --- the allocation --------------------------------------------------------------------------- */

static void class_breakpoint_plan_rows(struct allocation *p, const struct breakpoint *b)
{
	const struct breakpoints *have = &p->machine->engine->breakpoints;

	if (!have->code)
		return;
	p->first += b->code ? have->data : 0;
	p->rows = b->code ? have->code : have->data;
}

/* Some of many thousand samples may be of a repetition; a count would be wrong. */
static int class_breakpoint_plan_kernel(const struct allocation *p, const struct breakpoint *b,
					struct reason *why)
{
	if (!p->spec.sampling && p->machine->engine->breakpoints.repeats)
		return deny(why, -EOPNOTSUPP, "%s: on 64-bit ARM an access of the kernel that an "
			    "interrupt comes before is reported twice: %s", p->name,
			    b->code ? "count kprobe:FUNCTION[+OFFSET]" :
				      "sample the CPUs (pmcstat -S)");
	if ((p->spec.sampling || p->spec.thread) && !p->system)
		return deny(why, -EOPNOTSUPP, "%s: a breakpoint in the kernel belongs to no task: "
			    "%s", p->name, p->spec.sampling ?
			    "sample the CPUs (pmcstat -S), or count it" : "count the process");
	return 0;
}

static int class_breakpoint_plan(struct allocation *p, struct reason *why)
{
	struct setting_question q = { 0 };
	struct breakpoint b = { 0 };
	int err = class_breakpoint_plan_event(p, &b, why);

	if (err)
		return err;
	q.event = p->name;
	q.admin = b.kernel || p->system || p->spec.cgroup;
	q.jailed = p->jailed;
	err = grant_check(p->by, POINT_BREAKPOINT, p->cred, &q, why);
	if (!err && b.kernel)
		err = class_breakpoint_plan_kernel(p, &b, why);
	if (err)
		return err;
	p->values = PMCLOG_VALUE_ADDR;
	p->spec.event = breakpoints_spec(b.address, b.length, b.type);
	/* There the kernel's accesses are seen only while others watch the kernel. */
	p->spec.event.user = p->a->caps & PMC_CAP_USER ||
			     (p->machine->engine->breakpoints.user_only && !b.kernel);
	p->spec.event.kernel = p->a->caps & PMC_CAP_SYSTEM;
	p->spec.in_tasks = !p->system && !p->spec.cgroup && !b.kernel &&
			   (p->spec.sampling || p->spec.thread || !policy_privileged(p->cred));
	if (p->spec.in_tasks && !p->spec.sampling && p->a->flags & ALLOCATION_LOGS)
		return deny(why, -EPERM, "%s: breakpoints of unprivileged owners belong to tasks, "
			    "without time slices that could be logged: leave the log of switches "
			    "and exits out, or get CAP_PERFMON", p->name);
	class_breakpoint_plan_rows(p, &b);
	return 0;
}

/* After a handler the instruction is executed anew, with the breakpoint in force. */
#ifdef __aarch64__
#define UNSIGNALLED "on 64-bit ARM an access whose signal is handled is made, and counted, again"
#else
#define UNSIGNALLED NULL
#endif

const struct class_ops class_breakpoint = {
	.separator = "", .rediscovered = true, .sources = true, .overflows = true, .threads = true,
	.cgroups = true,
	.holder = &holder_breakpoint, .add_rows = class_breakpoint_add_rows,
	.unsignalled = UNSIGNALLED, .plan = class_breakpoint_plan,
};
