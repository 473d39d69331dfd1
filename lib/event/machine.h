/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine as the daemon has reported it: classes, and the lists of events that it has sent. */
#ifndef PMCBPF_EVENT_MACHINE_H
#define PMCBPF_EVENT_MACHINE_H

#include <stdbool.h>

#include "evspec.h"
#include "lib/base/wire.h"

struct machine_event {
	char name[WIRE_NAME_MAX];
	uint32_t code;
	uint32_t flags;			/* enum wire_msr */
};
struct machine_events {
	struct machine_event *event;
	unsigned int n;
};

struct machine {
	struct wire_cpuinfo cpu;
	struct machine_events soft, msr, tracepoint;
	struct machine_events pmus;	/* PMUs that count for CPUs; code: attr.type */
	struct machine_events generic;	/* perf's own events that the PMU has */
};

/* NULL if the machine has no such class. */
const struct wire_classinfo *machine_class(const struct machine *m, uint32_t class);

/* Of several PMUs of a class, that of the perf type. */
const struct wire_classinfo *machine_class_of(const struct machine *m, uint32_t class,
					      uint32_t pmu);

/* The rows of the class are counters of a PMU. */
bool machine_class_is_hardware(const struct wire_classinfo *class);

/* The PMU of class PERF of that name, or NULL. */
const struct machine_event *machine_pmu(const struct machine *m, const char *name);

/* The part that the grammar of event specifiers depends on. */
void machine_evspec(const struct machine *m, struct evspec_machine *out);

#endif
