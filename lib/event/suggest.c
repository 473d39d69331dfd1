/* SPDX-License-Identifier: BSD-2-Clause */
/* See suggest.h. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "alias.h"
#include "pfm.h"
#include "pmu.h"
#include "suggest.h"

static int suggest_kernel(void *arg, const char *name, const char *text)
{
	nearest_offer(arg, name);
	return 0;
}

static int suggest_pfm(void *arg, const struct pfm_event *event)
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

static void suggest_hardware(const struct machine *m, const char *root, int class,
			     struct nearest *near)
{
	bool any = false;

	for (unsigned int i = 0; i < m->cpu.nclass; i++) {
		const struct wire_classinfo *info = &m->cpu.classes[i];

		if (!machine_class_is_hardware(info) ||
		    (class >= 0 && info->class != (uint32_t)class))
			continue;
		any = true;
		pmu_each(root, info->pmu, suggest_kernel, near);
	}
	if (any)
		pfm_each(suggest_pfm, near);
}

const char *suggest_event(const struct machine *m, const char *root, const char *name, int class,
			  struct nearest *near)
{
	nearest_begin(near, name);
	if (class < 0 || class == PMC_CLASS_SOFT)
		for (unsigned int i = 0; i < m->soft.n; i++)
			nearest_offer(near, m->soft.event[i].name);
	if (class < 0 || class == PMC_CLASS_TSC)
		nearest_offer(near, "TSC");
	if (class < 0)
		suggest_aliases(m, near);
	suggest_hardware(m, root, class, near);
	return nearest_hint(near, "");
}

/* The words before the first colon that name a kind of probe, not the system of a tracepoint. */
static bool name_is_probe(const char *name, size_t len)
{
	static const char *const kinds[] = {
		"uprobe", "uretprobe", "kprobe", "kretprobe", "fentry", "fexit", "usdt",
		"tracepoint", "rawtracepoint", "probe", "mem",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i]) == len && strncmp(name, kinds[i], len) == 0)
			return true;
	return false;
}

/* SYSTEM:NAME in small letters, as the kernel writes them. */
static bool name_is_tracepoint(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strspn(name, letters);

	return len > 0 && name[len] == ':' && name[len + 1] &&
	       !name[len + 1 + strspn(name + len + 1, letters)];
}

int suggest_probe(const char *spec, struct reason *why)
{
	size_t len = strcspn(spec, ":");

	if (!spec[len] || !name_is_probe(spec, len))
		return 0;
	return deny(why, -ENOENT, "\"%s\" is a probe's name: tracepoints and probes are not "
		    "PMCs here; perf(1) and bpftrace(8) count them, \"pmccontrol -L\" lists the "
		    "events that exist", spec);
}

int suggest_foreign(const char *name, struct reason *why)
{
	const char *colon = strchr(name, ':');

	if (!colon)
		return 0;
	if (colon[1] && !colon[1 + strspn(colon + 1, "ukhGHpPSDWe")])
		return deny(why, -ENOENT, "\"%s\": perf's modifiers are qualifiers here: write "
			    "\"%.*s,usr\" for :u, \"%.*s,os\" for :k", name, (int)(colon - name),
			    name, (int)(colon - name), name);
	if (name_is_tracepoint(name))
		return deny(why, -ENOENT, "\"%s\" is a tracepoint's name: tracepoints and probes "
			    "are not PMCs here; perf(1) and bpftrace(8) count them, "
			    "\"pmccontrol -L\" lists the events that exist", name);
	return 0;
}
