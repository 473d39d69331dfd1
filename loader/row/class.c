/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of classes. */
#include <stddef.h>

#include "class.h"

/* Registers come last: they take the class numbers that hardware has left. */
const struct class_ops *const classes[] = {
	&class_soft, &class_tsc, &class_tracepoint, &class_probe, &class_hardware,
	&class_breakpoint, &class_msr, NULL
};

const struct class_ops *class_with_events(uint32_t class)
{
	for (unsigned int i = 0; classes[i]; i++)
		if (classes[i]->event_at && classes[i]->events == class)
			return classes[i];
	return NULL;
}
