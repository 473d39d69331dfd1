/* SPDX-License-Identifier: BSD-2-Clause */
/* System-scope PMCs that a program on a tracepoint counts.  Offline CPUs keep their counters. */
#include "cpu_event.h"
#include "cpu_hook.h"

int cpu_hook_hold(struct count *c, struct reason *why)
{
	switch (c->spec.hook) {
	case ABI_HOOK_LOCK:
		return count_state_hold(c, NEED_LOCK, why);
	case ABI_HOOK_FAULT_READ:
	case ABI_HOOK_FAULT_WRITE:
		return count_state_hold(c, NEED_FAULT, why);
	case ABI_HOOK_MIGRATION:
		return count_state_hold(c, NEED_CGROUP_MIGRATE, why);
	default:
		return count_state_hold(c, NEED_KIND, why);
	}
}

static uint64_t cpu_hook_now(const struct count *c)
{
	return target_map_hook(c->e, c->spec.hook, c->spec.cpu);
}

static int cpu_hook_start(struct count *c, struct reason *why)
{
	c->start = cpu_hook_now(c);
	return count_state_away(c, why);
}

static int cpu_hook_stop(struct count *c, struct reason *why)
{
	c->raw += cpu_hook_now(c) - c->start;
	return count_state_away(c, why);
}

static int cpu_hook_read(struct count *c, uint64_t *raw, struct reason *why)
{
	*raw = c->raw + (c->running ? cpu_hook_now(c) - c->start : 0);
	return count_state_away(c, why);
}

static bool cpu_hook_gauge(const struct count *c, struct gauge *g)
{
	g->source = ABI_SOURCE_HOOK + c->spec.hook;
	return true;
}

const struct backend backend_cpu_hook = {
	.name = "CPU hook", .hold = cpu_hook_hold, .start = cpu_hook_start, .stop = cpu_hook_stop,
	.read = cpu_hook_read, .gauge = cpu_hook_gauge, .how_stopped = WIRE_HOW_VALUE,
	.fill = cpu_event_fill,
};
