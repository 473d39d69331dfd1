/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of all PMCs, for CPU hotplug; exists as long as the engine. */
#ifndef PMCBPF_HOTPLUG_H
#define PMCBPF_HOTPLUG_H

#include <stdbool.h>

struct engine;
struct hotplug;
struct count;

struct hotplug *hotplug_new(struct engine *e);
void hotplug_free(struct hotplug *h);

void hotplug_add(struct hotplug *h, struct count *c);
void hotplug_drop(struct count *c);

/* True if fn is true for some PMC. */
bool hotplug_any(const struct hotplug *h, bool (*fn)(struct count *c, void *arg), void *arg);

/* Adds `more`, perhaps < 0, to the running registers that wrap soon: count_poll() reads those. */
void hotplug_narrow(struct hotplug *h, int more);

#endif
