/* SPDX-License-Identifier: BSD-2-Clause */
/* See suggest.h. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include <sys/pmc.h>

#include "alias.h"
#include "class.h"
#include "probe_name.h"
#include "suggest.h"

static int suggest_offer(void *arg, const struct event *event)
{
	nearest_offer(arg, event->name);
	return 0;
}

static void suggest_aliases(const struct machine *m, struct nearest *near)
{
	struct evspec_machine grammar;
	const char *name;

	machine_evspec(m, &grammar);
	for (unsigned int i = 0; (name = alias_name(i, &grammar)); i++)
		nearest_offer(near, name);
}

/* Offers the events of one class, or of all of one kind in which bare names are looked up. */
static void suggest_classes(const struct machine *m, const char *root, int class, bool hardware,
			    struct nearest *near)
{
	for (unsigned int i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *info = &m->cpu.classes[i];
		const struct event_class *ops = class_of(info->class);

		if (ops->hardware == hardware &&
		    (class < 0 ? ops->bare : info->class == (uint32_t)class))
			ops->each(m, root, info, suggest_offer, near);
	}
}

const char *suggest_event(const struct machine *m, const char *root, const char *name, int class,
			  struct nearest *near)
{
	nearest_begin(near, name);
	suggest_classes(m, root, class, false, near);
	if (class < 0)
		suggest_aliases(m, near);
	suggest_classes(m, root, class, true, near);
	return nearest_hint(near, "");
}

/* The words before the first colon that name a kind of probe, not the system of a tracepoint. */
static bool name_is_probe(const char *name, size_t len)
{
	static const char *const kinds[] = {
		"uprobe", "uretprobe", "kprobe", "kretprobe", "fentry", "fexit", "usdt",
		"rawtracepoint", "probe",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i]) == len && strncasecmp(name, kinds[i], len) == 0)
			return true;
	return false;
}

int suggest_probe(const struct machine *m, const char *spec, struct reason *why)
{
	size_t len = strcspn(spec, ":");

	if (!spec[len] || !name_is_probe(spec, len))
		return 0;
	if (probe_name_is(spec))
		return machine_class(m, PMC_CLASS_PROBE) ? 0 :
		       deny(why, -ENOENT, "\"%s\": this kernel has no probes; it takes "
			    "CONFIG_UPROBE_EVENTS for user code and CONFIG_KPROBE_EVENTS for "
			    "itself", spec);
	return deny(why, -ENOENT, "\"%s\" is a probe's name: probes are not PMCs here, except for "
		    "tracepoints, uprobe:, uretprobe:, usdt:, kprobe: and kretprobe:; perf(1) and "
		    "bpftrace(8) count others", spec);
}
