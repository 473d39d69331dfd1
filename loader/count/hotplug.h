/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of all PMCs, which follow the CPUs that go and come; lives as long as the engine. */
#ifndef PMCBPF_HOTPLUG_H
#define PMCBPF_HOTPLUG_H

struct engine;
struct hotplug;
struct count;

struct hotplug *hotplug_new(struct engine *e);
void hotplug_free(struct hotplug *h);

void hotplug_add(struct hotplug *h, struct count *c);
void hotplug_drop(struct count *c);

/* So many more registers run that wrap before long: count_poll() looks at them. */
void hotplug_narrow(struct hotplug *h, int more);

#endif
