/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of classes. */
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
};

const struct event_class *class_of(uint32_t class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].class == class)
			return classes[i].ops;
	return &class_hardware;
}
