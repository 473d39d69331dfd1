/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class BREAKPOINT: accesses to an address.  An event is ADDRESS[/LENGTH][:rwx] or
 * kernel:SYMBOL[+OFFSET][/LENGTH][:rwx].  The daemon knows which of them the CPU can count.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>

#include "class.h"
#include "intern.h"
#include "kernel_symbol.h"
#include "lib/base/number.h"

#define KERNEL "kernel:"

#define LENGTH_DATA 4u		/* as perf has it */

struct breakpoint {
	const char *text;		/* the event, for messages */
	uint64_t address, length;
	uint32_t type;			/* HW_BREAKPOINT_…; 0: not given */
	bool code;			/* the symbol is a function */
};

static int breakpoint_deny(const struct breakpoint *b, struct reason *why)
{
	return deny(why, -EINVAL, "\"%.80s\" is no breakpoint: write ADDRESS[/LENGTH][:r|w|rw|x], "
		    "as breakpoint:0x404028/4:w", b->text);
}

static int breakpoint_find_symbol(struct breakpoint *b, const char **at, struct reason *why)
{
	bool kernel = !strncmp(*at, KERNEL, strlen(KERNEL));
	const char *name = kernel ? *at + strlen(KERNEL) : *at;
	size_t len = strcspn(name, "+/:");
	char copy[256];

	if (!len || len >= sizeof(copy))
		return breakpoint_deny(b, why);
	memcpy(copy, name, len);
	copy[len] = '\0';
	*at = name + len;
	if (!kernel)
		return deny(why, -EINVAL, "\"%s\" is a symbol, which has an address in a process "
			    "only: pmcstat(8) and pmc(8) look it up in their command and in "
			    "processes of -t; else write the address, or kernel:%s for the "
			    "kernel's", copy, copy);
	return kernel_symbol_find(copy, &b->address, &b->code, why);
}

static int breakpoint_read_offset(struct breakpoint *b, const char **at, struct reason *why)
{
	uint64_t offset;

	if (**at != '+')
		return 0;
	++*at;
	if (number_read(at, 0, UINT64_MAX - b->address, &offset))
		return deny(why, -EINVAL, "\"%.80s\": a number follows the \"+\"", b->text);
	b->address += offset;
	return 0;
}

static int breakpoint_read_address(struct breakpoint *b, const char **at, struct reason *why)
{
	int err;

	if (**at < '0' || **at > '9') {
		err = breakpoint_find_symbol(b, at, why);
	} else {
		err = number_read(at, 0, UINT64_MAX, &b->address);
		if (err)
			err = deny(why, -EINVAL, "\"%.80s\": an address has at most 64 bits",
				   b->text);
	}
	return err ?: breakpoint_read_offset(b, at, why);
}

static int breakpoint_read_length(struct breakpoint *b, const char **at, struct reason *why)
{
	if (**at != '/')
		return 0;
	++*at;
	if (!number_read(at, 0, UINT32_MAX, &b->length) && b->length)
		return 0;
	return deny(why, -EINVAL, "\"%.80s\": the \"/\" is followed by the number of bytes, mostly "
		    "1, 2, 4 or 8", b->text);
}

/* r, w, rw (or wr) and x.  -ENOENT: the letters may be perf's modifiers. */
static int breakpoint_read_access(struct breakpoint *b, const char **at, struct reason *why)
{
	static const char letters[] = "rwx";
	static const uint32_t types[] = { HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_X };

	if (**at != ':')
		return 0;
	while (*++*at && **at != ':') {
		const char *letter = strchr(letters, **at);

		if (!letter || b->type & types[letter - letters])
			return breakpoint_deny(b, why), -ENOENT;
		b->type |= types[letter - letters];
	}
	if (**at == ':')
		return breakpoint_deny(b, why), -ENOENT;
	if (!b->type)
		return deny(why, -EINVAL, "\"%.80s\": the second \":\" is followed by the kind of "
			    "access: r, w, rw or x", b->text);
	if (b->type & HW_BREAKPOINT_X && b->type != HW_BREAKPOINT_X)
		return deny(why, -EINVAL, "\"%.80s\": a breakpoint counts executions, or reads and "
			    "writes, not both: use two", b->text);
	return 0;
}

static int breakpoint_parse(struct breakpoint *b, const char *text, struct reason *why)
{
	const char *at = text;
	int err;

	*b = (struct breakpoint){ .text = text };
	err = breakpoint_read_address(b, &at, why);
	err = err ?: breakpoint_read_length(b, &at, why);
	err = err ?: breakpoint_read_access(b, &at, why);
	if (!err && *at)
		err = breakpoint_deny(b, why);
	if (!b->type)
		b->type = b->code ? HW_BREAKPOINT_X : HW_BREAKPOINT_RW;
	if (!b->length)
		b->length = b->type == HW_BREAKPOINT_X ? sizeof(long) : LENGTH_DATA;
	return err;
}

static int breakpoint_qualifier(const struct evspec_pair *qual, struct wire_allocate_req *req,
				struct reason *why)
{
	int taken = class_side_take(qual, req, why);

	return taken < 0 ? taken : taken ? 0 :
	       class_qualifier_deny(qual, "a breakpoint", "usr and os" CLASS_SAMPLES, why);
}

static const char *breakpoint_access(uint32_t type)
{
	static const char *const names[] = {
		[HW_BREAKPOINT_R] = "r", [HW_BREAKPOINT_W] = "w", [HW_BREAKPOINT_RW] = "rw",
		[HW_BREAKPOINT_X] = "x",
	};

	return names[type];
}

static int breakpoint_resolve(const struct machine *m, const char *root,
			      const struct wire_classinfo *info, const struct evspec *spec,
			      struct wire_allocate_req *req, struct reason *why)
{
	struct breakpoint b;
	int err = breakpoint_parse(&b, spec->event, why);

	if (err)
		return err;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	for (unsigned int i = 0; i < spec->nquals && !err; i++)
		err = breakpoint_qualifier(&spec->quals[i], req, why);
	if (err)
		return err;
	req->config = b.address;
	req->config1 = b.length;
	req->config2 = b.type;
	snprintf(req->event_name, sizeof(req->event_name), "breakpoint:0x%" PRIx64 "/%" PRIu64
		 ":%s", b.address, b.length, breakpoint_access(b.type));
	req->event = intern_event(req->event_name, NULL);
	return req->event ? 0 : -ENOMEM;
}

/* There are as many events as addresses: the list has the form of one. */
static int breakpoint_each(const struct machine *m, const char *root,
			   const struct wire_classinfo *info, event_fn *fn, void *arg)
{
	return fn(arg, &(struct event){ .name = "breakpoint:ADDRESS" });
}

const struct event_class class_breakpoint = {
	.interned = true, .resolve = breakpoint_resolve, .each = breakpoint_each,
};
