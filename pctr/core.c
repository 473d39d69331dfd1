/* SPDX-License-Identifier: BSD-2-Clause */
/* PCIOCRD and PCIOCS0 … 3: see core.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "request.h"

/* --- PMCs of one counter ------------------------------------------------------------------ */

/* The P6 has one enable bit for both counters. */
static bool core_gate_open(const struct core *c)
{
	return !c->config.en0 || c->counter[0].fn & PCTR_EN;
}

/* Logged once for each setting, unless a CPU is offline or pmcbpfd has gone. */
static int pmc_failed(const struct core *c, struct core_counter *k, const char *spec,
		      unsigned int cpu, int err)
{
	if (err == -ENXIO || err == -ENOSYS)
		return err;
	if (!k->reported)
		messages_put(c->messages, LOG_WARNING, "%s on CPU %u: %s", spec, cpu,
			     c->source->reason(c->source->arg));
	k->reported = true;
	return err;
}

static int pmc_new(struct core *c, struct core_counter *k, unsigned int cpu)
{
	const struct source *s = c->source;
	char pmu[64], spec[FUNCTION_SPEC_MAX];
	uint32_t id;
	int err = c->config.soft ? 0 : s->pmu(s->arg, cpu, pmu, sizeof(pmu));

	if (err)
		return err;
	function_spec(c->config.vendor, k->fn, c->config.soft ? NULL : pmu, spec, sizeof(spec));
	err = s->allocate(s->arg, spec, cpu, &id);
	if (err)
		return pmc_failed(c, k, spec, cpu, err);
	if (core_gate_open(c))
		err = s->start(s->arg, id);
	if (err) {
		pmc_failed(c, k, spec, cpu, err);
		s->release(s->arg, id);
		return err;
	}
	k->id[cpu] = id;
	return 0;
}

static void counter_release(struct core *c, struct core_counter *k)
{
	for (unsigned int cpu = 0; cpu < c->config.ncpu; cpu++)
		if (k->id[cpu] != CORE_NO_PMC) {
			c->source->release(c->source->arg, k->id[cpu]);
			k->id[cpu] = CORE_NO_PMC;
		}
}

/* PMCs on the CPUs that have none yet.  An offline CPU gets its own when it has come. */
static int counter_cover(struct core *c, struct core_counter *k)
{
	for (unsigned int cpu = 0; function_counts(k->fn) && cpu < c->config.ncpu; cpu++) {
		int err = 0;

		if (k->id[cpu] == CORE_NO_PMC)
			err = pmc_new(c, k, cpu);
		if (err && err != -ENXIO)
			return err;
	}
	return 0;
}

/* --- the connection ----------------------------------------------------------------------- */

static void core_lost(struct core *c)
{
	if (!c->up)
		return;
	c->up = false;
	for (unsigned int n = 0; n < PCTR_NUM; n++)
		for (unsigned int cpu = 0; cpu < c->config.ncpu; cpu++)
			c->counter[n].id[cpu] = CORE_NO_PMC;
	if (core_active(c))
		messages_put(c->messages, LOG_WARNING,
			     "pmcbpfd has gone away: counters stand still, and "
			     "begin at 0 when it is back");
}

static void core_cover(struct core *c)
{
	for (unsigned int n = 0; n < PCTR_NUM && c->up; n++)
		if (counter_cover(c, &c->counter[n]) == -ENOSYS)
			core_lost(c);
}

static void core_restore(struct core *c)
{
	if (!core_active(c))
		return;
	core_cover(c);
	if (c->up)
		messages_put(c->messages, LOG_INFO,
			     "pmcbpfd is back: counters count again, from 0");
}

/* 0, or -ENXIO. */
static int core_connect(struct core *c)
{
	const struct source *s = c->source;
	int n;

	if (c->up)
		return 0;
	n = s->connect(s->arg);
	if (n < 0) {
		if (!c->reported)
			messages_put(c->messages, LOG_WARNING, "no counters for now: %s",
				     s->reason(s->arg));
		c->reported = true;
		return -ENXIO;
	}
	c->up = true;
	c->reported = false;
	c->hardware = n > 0;
	core_restore(c);
	return c->up ? 0 : -ENXIO;
}

/* --- setting ------------------------------------------------------------------------------ */

static int core_check(const struct core *c, unsigned int n, bool writes, uint32_t fn)
{
	if (!c->config.counters || (!c->hardware && !c->config.soft))
		return -ENODEV;
	if (n >= c->config.counters)
		return -EINVAL;
	if (!writes)
		return -EPERM;
	return function_check(c->config.vendor, fn);
}

/* Counter 0 has been switched: the others run if it is on. */
static int core_gate_others(struct core *c)
{
	const struct source *s = c->source;
	int (*turn)(void *arg, uint32_t id) = core_gate_open(c) ? s->start : s->stop;
	int err = 0;

	for (unsigned int n = 1; n < PCTR_NUM; n++)
		for (unsigned int cpu = 0; cpu < c->config.ncpu; cpu++)
			if (c->counter[n].id[cpu] != CORE_NO_PMC && !err)
				err = turn(s->arg, c->counter[n].id[cpu]);
	return err;
}

/* The old function's counter may be the one that the new function needs: it goes first. */
static int counter_set(struct core *c, struct core_counter *k, uint32_t fn)
{
	counter_release(c, k);
	k->fn = fn;
	k->reported = false;
	return counter_cover(c, k);
}

static int core_set(struct core *c, unsigned int n, const struct core_caller *who, uint32_t fn)
{
	struct core_counter *k = &c->counter[n];
	bool open = core_gate_open(c);
	int err = core_connect(c);

	if (!err)
		err = core_check(c, n, who->writes, fn);
	if (err || (c->config.keep_same && k->fn == fn))
		return err;
	err = counter_set(c, k, fn);
	if (err == -ENOSYS) {
		core_lost(c);
		err = core_connect(c);
		if (!err)
			err = counter_set(c, k, fn);
	}
	if (err) {
		counter_release(c, k);
		k->fn = 0;
	}
	if (core_gate_open(c) != open) {
		int failed = core_gate_others(c);

		err = err ? err : failed;
	}
	return err == -ENOSYS ? -ENXIO : err;
}

/* --- reading ------------------------------------------------------------------------------ */

static int counter_read_sum(struct core *c, const struct core_counter *k, uint64_t *sum)
{
	int err = 0;

	for (unsigned int cpu = 0; cpu < c->config.ncpu && !err; cpu++) {
		uint64_t value = 0;

		if (k->id[cpu] != CORE_NO_PMC)
			err = c->source->read(c->source->arg, k->id[cpu], &value);
		if (err == -ENXIO)
			err = 0;
		else
			*sum += value;
	}
	return err;
}

/* A counter that is off, or waits for pmcbpfd, reads as 0. */
static int counter_read(struct core *c, struct core_counter *k, unsigned int cpu, pctrval *value)
{
	uint64_t sum = 0;
	int err = 0;

	if (!c->up || !function_counts(k->fn))
		return 0;
	if (k->id[cpu] == CORE_NO_PMC)
		err = counter_cover(c, k);
	if (!err && c->config.all)
		err = counter_read_sum(c, k, &sum);
	else if (!err && k->id[cpu] == CORE_NO_PMC)
		err = -ENXIO;
	else if (!err)
		err = c->source->read(c->source->arg, k->id[cpu], &sum);
	*value = c->config.width < 64 ? sum & ((UINT64_C(1) << c->config.width) - 1) : sum;
	return err;
}

/* The time is read halfway through the counters. */
static int core_read_once(struct core *c, unsigned int cpu, struct pctrst *state)
{
	uint64_t begin = c->source->tsc(c->source->arg);
	int err = 0;

	for (unsigned int n = 0; n < PCTR_NUM && !err; n++) {
		state->pctr_fn[n] = c->counter[n].fn;
		err = counter_read(c, &c->counter[n], cpu, &state->pctr_hwc[n]);
	}
	state->pctr_tsc = begin + (c->source->tsc(c->source->arg) - begin) / 2;
	return err;
}

static int core_read_all(struct core *c, unsigned int cpu, struct pctrst *state)
{
	int err;

	if (cpu >= c->config.ncpu)
		return -EINVAL;
	if (core_active(c))
		core_connect(c);
	err = core_read_once(c, cpu, state);
	/* Tries again once, for a pmcbpfd that was restarted. */
	for (int tries = 0; err == -ENOSYS; tries++) {
		core_lost(c);
		if (tries == 0)
			core_connect(c);
		memset(state, 0, sizeof(*state));
		err = core_read_once(c, cpu, state);
	}
	return err;
}

int core_request(struct core *c, int what, const struct core_caller *who, uint32_t fn,
		 struct pctrst *state)
{
	memset(state, 0, sizeof(*state));
	return what == REQUEST_READ ? core_read_all(c, who->cpu, state) :
				      core_set(c, (unsigned int)what, who, fn);
}

/* --- time, begin and end ------------------------------------------------------------------ */

bool core_active(const struct core *c)
{
	for (unsigned int n = 0; n < PCTR_NUM; n++)
		if (function_counts(c->counter[n].fn))
			return true;
	return false;
}

/* Reading any PMC shows whether pmcbpfd still runs. */
static bool core_alive(const struct core *c)
{
	uint64_t value;

	for (unsigned int n = 0; n < PCTR_NUM; n++)
		for (unsigned int cpu = 0; cpu < c->config.ncpu; cpu++)
			if (c->counter[n].id[cpu] != CORE_NO_PMC)
				return c->source->read(c->source->arg, c->counter[n].id[cpu],
						       &value) != -ENOSYS;
	return true;
}

void core_tick(struct core *c)
{
	if (c->up && !core_alive(c))
		core_lost(c);
	if (core_active(c) && !core_connect(c))
		core_cover(c);
}

int core_init(struct core *c, const struct core_config *config, const struct source *source,
	      const struct messages *messages)
{
	*c = (struct core){ .config = *config, .source = source, .messages = messages };
	for (unsigned int n = 0; n < PCTR_NUM; n++) {
		c->counter[n].id = calloc(config->ncpu, sizeof(uint32_t));
		if (!c->counter[n].id)
			return -ENOMEM;
		for (unsigned int cpu = 0; cpu < config->ncpu; cpu++)
			c->counter[n].id[cpu] = CORE_NO_PMC;
	}
	return 0;
}

void core_free(struct core *c)
{
	for (unsigned int n = 0; n < PCTR_NUM; n++) {
		if (c->counter[n].id)
			counter_release(c, &c->counter[n]);
		free(c->counter[n].id);
		c->counter[n].id = NULL;
	}
}
