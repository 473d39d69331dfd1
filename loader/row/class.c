/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of classes. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "class.h"

/* The last classes take the rows that hardware has left. */
const struct class_ops *const classes[] = {
	&class_soft, &class_tsc, &class_tracepoint, &class_probe, &class_hardware,
	&class_breakpoint, &class_msr, &class_perf, NULL
};

const struct class_ops *class_with_events(uint32_t class)
{
	for (unsigned int i = 0; classes[i]; i++)
		if (classes[i]->event_at && classes[i]->events == class)
			return classes[i];
	return NULL;
}

int class_name_take(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const char *end = memchr(a->event_name, '\0', sizeof(a->event_name));

	for (const char *c = a->event_name; end && c < end; c++)
		if (!isprint((unsigned char)*c))
			end = NULL;
	if (!end)
		return deny(why, -EINVAL, "an event's name is printable and at most %u bytes long",
			    WIRE_NAME_MAX - 1);
	memcpy(p->name, a->event_name, sizeof(p->name));
	p->named_by_client = true;
	return 0;
}

/* The programs know threads by the numbers that they have on the host. */
int class_check_thread(const struct allocation *p, struct reason *why)
{
	if (p->spec.thread && programs_nested(p->machine->engine->programs))
		return deny(why, -EOPNOTSUPP, "%s: pmcbpfd runs in a PID namespace, where it is "
			    "not measured for single threads: measure the process", p->name);
	return 0;
}
