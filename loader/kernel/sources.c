/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The per-CPU events that slices are cut from.  If a CPU goes offline, its event never counts again
 * but stays in the programs' map until a new one replaces it.  A program that finds a dead event,
 * or none, marks the source as lost: reads then fail instead of returning a smaller count.  A
 * register needs no event: the program reads it on every CPU.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "sources.h"

struct cpu_event {
	int fd;				/* -1: none */
	uint32_t downs;			/* the CPU's `downs` when it was opened */
};

struct source {
	struct perf_event_spec spec;
	struct cpu_event *at;		/* per CPU; NULL: not used */
	char *filter;			/* spec.filter's memory */
};

static void source_close(struct sources *s, int source);

struct sources {
	struct sources_place place;
	struct source source[ABI_SOURCE_MSR];
};

struct sources *sources_new(const struct sources_place *place)
{
	struct sources *s = calloc(1, sizeof(*s));

	if (s)
		s->place = *place;
	return s;
}

void sources_free(struct sources *s)
{
	for (int i = 0; s && i < ABI_SOURCE_MSR; i++)
		source_close(s, i);
	free(s);
}

void sources_debug_to(struct sources *s, const struct debug *debug)
{
	s->place.debug = debug;
}

static uint32_t cpu_downs(const struct sources *s, unsigned int cpu)
{
	return __atomic_load_n(&s->place.cpus[cpu].downs, __ATOMIC_ACQUIRE);
}

/* No program has read the event yet: its value does not show whether it has counted. */
static void source_unread(const struct sources *s, int source, unsigned int cpu)
{
	__atomic_store_n(&s->place.cpus[cpu].now[source], ~0ull, __ATOMIC_RELAXED);
}

/*
 * From now on programs read the event by its counter, or by the helper.  A program that reads an
 * event which is closed meanwhile finds it unchanged: the kernel frees it after a grace period.
 */
static void source_show(const struct sources *s, int source, unsigned int cpu, int fd)
{
	uint64_t args[4] = { (uint64_t)fd, (uint64_t)source, cpu };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (s->place.counter_show >= 0 && source < ABI_DIRECT_SOURCES &&
	    s->source[source].spec.pmu)
		bpf_prog_test_run_opts(s->place.counter_show, &opts);
}

static void source_hide(const struct sources *s, int source, unsigned int cpu)
{
	if (source < ABI_DIRECT_SOURCES)
		__atomic_store_n(&s->place.cpus[cpu].event[source], 0, __ATOMIC_SEQ_CST);
}

/* The source is neither lost nor taken out on any CPU. */
static void source_begin_anew(struct sources *s, int source)
{
	uint64_t others = ~(1ull << source);

	__sync_fetch_and_and(s->place.lost, others);
	for (unsigned int cpu = 0; cpu < s->place.ncpu; cpu++) {
		__sync_fetch_and_and(&s->place.cpus[cpu].lost, others);
		s->place.cpus[cpu].out &= others;
	}
}

static bool source_counts_switches(const struct perf_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE &&
	       (spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		spec->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

/* Replaces an older event, which no program can read in between. */
static int source_open_on(struct sources *s, int source, unsigned int cpu)
{
	struct cpu_event *at = &s->source[source].at[cpu];
	uint32_t key = ABI_EVENT(cpu, (uint32_t)source);
	struct cpu_event new = { .downs = cpu_downs(s, cpu) };
	int err;

	new.fd = perf_open_cpu(&s->source[source].spec, cpu);
	if (new.fd < 0)
		return new.fd;
	source_unread(s, source, cpu);
	source_hide(s, source, cpu);
	err = bpf_map_update_elem(s->place.events, &key, &new.fd, BPF_ANY);
	if (err) {
		close(new.fd);
		return err;
	}
	source_show(s, source, cpu, new.fd);
	if (at->fd >= 0)
		close(at->fd);
	*at = new;
	return 0;
}

static int source_open_register(struct sources *s, const struct perf_event_spec *spec,
				struct reason *why)
{
	struct abi_register *r = s->place.registers;
	int i = 0;

	if (!spec->config1 || spec->config1 & (spec->config1 + 1) || spec->config > UINT32_MAX)
		return deny(why, -EINVAL, "register 0x%llx cannot be sliced: bits 0x%llx count",
			    (unsigned long long)spec->config, (unsigned long long)spec->config1);
	while (i < ABI_MSR_SOURCES && r[i].mask)
		i++;
	if (i == ABI_MSR_SOURCES)
		return deny(why, -EINVAL, "processes are measured with %d registers already, and "
			    "no more can be; release one", ABI_MSR_SOURCES);
	source_begin_anew(s, ABI_SOURCE_MSR + i);
	for (unsigned int cpu = 0; cpu < s->place.ncpu; cpu++)
		source_unread(s, ABI_SOURCE_MSR + i, cpu);
	r[i] = (struct abi_register){ .reg = (uint32_t)spec->config, .mask = spec->config1 };
	return ABI_SOURCE_MSR + i;
}

/* The source counts nothing on this CPU, which is of another kind, and loses nothing there. */
static void source_leave_out(struct sources *s, int source, unsigned int cpu)
{
	s->place.cpus[cpu].out |= 1ull << source;
	(void)sources_missed(s, cpu, 1ull << source);
}

static int source_open_all(struct sources *s, int source, struct reason *why)
{
	const struct perf_event_spec *spec = &s->source[source].spec;
	bool any = false;
	int err;

	for (unsigned int cpu = 0; cpu < s->place.ncpu; cpu++) {
		if (!perf_cpu_online(cpu))
			continue;
		err = source_open_on(s, source, cpu);
		any |= !err;
		if (perf_other_kind(spec, err))
			source_leave_out(s, source, cpu);
		else if (err && err != -ENXIO)	/* the CPU has just gone */
			return deny(why, err, "CPU %u cannot count this event: %s", cpu,
				    perf_error(err));
	}
	return any || !spec->of_kind ? 0 :
		deny(why, -ENXIO, "no CPU of the kind that has this PMU is online");
}

static int source_open(struct sources *s, const struct perf_event_spec *spec, struct reason *why)
{
	struct source *new;
	int err, source = 0;

	while (source < ABI_SOURCE_MSR && s->source[source].at)
		source++;
	if (source == ABI_SOURCE_MSR)
		return deny(why, -EINVAL, "all %d sources are in use", ABI_SOURCE_MSR);
	new = &s->source[source];
	new->filter = spec->filter ? strdup(spec->filter) : NULL;
	if (spec->filter && !new->filter)
		return -ENOMEM;
	new->at = malloc(s->place.ncpu * sizeof(*new->at));
	if (!new->at) {
		free(new->filter);
		new->filter = NULL;
		return -ENOMEM;
	}
	memset(new->at, -1, s->place.ncpu * sizeof(*new->at));
	new->spec = *spec;
	new->spec.filter = new->filter;
	source_begin_anew(s, source);
	*s->place.switches &= ~(1ull << source);
	*s->place.switches |= (__u64)source_counts_switches(spec) << source;
	err = source_open_all(s, source, why);
	if (err) {
		source_close(s, source);
		return err;
	}
	return source;
}

int sources_open(struct sources *s, const struct perf_event_spec *spec, struct reason *why)
{
	int source;

	if (spec->msr && s->place.no_msr)
		return deny(why, -EOPNOTSUPP, "%s", s->place.no_msr);
	source = spec->msr ? source_open_register(s, spec, why) : source_open(s, spec, why);
	DEBUG(s->place.debug, MD, CONFIG, "source %d: type %u config 0x%llx on every CPU: %s",
	      source, spec->type, (unsigned long long)spec->config,
	      strerror(source < 0 ? -source : 0));
	return source;
}

static void source_close_on(struct sources *s, int source, unsigned int cpu)
{
	struct cpu_event *at = &s->source[source].at[cpu];
	uint32_t key = ABI_EVENT(cpu, (uint32_t)source);

	if (at->fd < 0)
		return;
	source_hide(s, source, cpu);
	/* The map releases the event only after a grace period: give the counter back now. */
	perf_disable(at->fd);
	bpf_map_delete_elem(s->place.events, &key);
	close(at->fd);
	at->fd = -1;
}

void sources_stop_cpu(struct sources *s, int source, unsigned int cpu)
{
	s->place.cpus[cpu].out |= 1ull << source;
	if (s->source[source].at[cpu].fd >= 0)
		perf_disable(s->source[source].at[cpu].fd);
}

void sources_close_cpu(struct sources *s, int source, unsigned int cpu)
{
	source_close_on(s, source, cpu);
}

static void source_close(struct sources *s, int source)
{
	if (source >= ABI_SOURCE_MSR) {
		s->place.registers[source - ABI_SOURCE_MSR].mask = 0;
		source_begin_anew(s, source);
		return;
	}
	if (!s->source[source].at)
		return;
	for (unsigned int cpu = 0; cpu < s->place.ncpu; cpu++)
		source_close_on(s, source, cpu);
	source_begin_anew(s, source);
	free(s->source[source].at);
	free(s->source[source].filter);
	memset(&s->source[source], 0, sizeof(s->source[source]));
}

void sources_close(struct sources *s, int source)
{
	DEBUG(s->place.debug, MD, CONFIG, "source %d: none", source);
	source_close(s, source);
}

bool sources_lost(const struct sources *s, int source)
{
	return source < ABI_SOURCE_HOOK &&
	       __atomic_load_n(s->place.lost, __ATOMIC_RELAXED) >> source & 1;
}

uint64_t sources_renew(struct sources *s, unsigned int cpu)
{
	uint64_t renewed = 0;

	for (int i = 0; i < ABI_SOURCE_MSR; i++) {
		const struct cpu_event *at = s->source[i].at ? &s->source[i].at[cpu] : NULL;
		int err;

		if (!at || s->place.cpus[cpu].out >> i & 1 ||
		    (at->fd >= 0 && at->downs == cpu_downs(s, cpu)))
			continue;
		/* On failure the programs report a loss once a target runs there. */
		err = source_open_on(s, i, cpu);
		if (!err)
			renewed |= 1ull << i;
		else if (perf_other_kind(&s->source[i].spec, err))
			source_leave_out(s, i, cpu);
	}
	return renewed;
}

uint64_t sources_missed(struct sources *s, unsigned int cpu, uint64_t renewed)
{
	uint64_t missed = renewed &
			  __sync_fetch_and_and(&s->place.cpus[cpu].lost, ~renewed);
	uint64_t elsewhere = 0;

	for (unsigned int i = 0; i < s->place.ncpu; i++)
		elsewhere |= s->place.cpus[i].lost;
	__sync_fetch_and_and(s->place.lost, ~missed | elsewhere);
	return missed;
}
