/* SPDX-License-Identifier: BSD-2-Clause */
/* See sampling.h. */
#include <errno.h>
#include <linux/perf_event.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "lib/base/logvalues.h"
#include "sampling.h"

#define CLOCK_RATE_MAX 100000u		/* perf's software clocks take 10 us at least */
/* The kernel's own data, or addresses that say where memory is. */
#define VALUES_OF_KERNEL (PMCLOG_VALUE_PHYS_ADDR | PMCLOG_VALUE_RAW)

/* Each value: the kernel's word for it, and the reason if an event has none. */
static const struct {
	uint64_t sample_type;
	bool collected;			/* by the kernel before the program runs: Linux 6.3 */
	const char *missing;
} values[PMCLOG_VALUES] = {
	{ 0, false, NULL },
	{ PERF_SAMPLE_ADDR, false, "it accesses no data whose address is known; page faults do, "
	  "and hardware that samples precisely (precise=1)" },
	{ PERF_SAMPLE_PHYS_ADDR, true, "only hardware that samples precisely (precise=1) has "
	  "addresses of data whose page is there" },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, true, "only hardware that samples precisely (precise=1) has "
	  "addresses of data whose page is there" },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, true, NULL },
	{ 0, false, NULL },
	{ PERF_SAMPLE_WEIGHT, false, "weights come from hardware that samples precisely "
	  "(precise=1)" },
	{ PERF_SAMPLE_DATA_SRC, false, "data sources come from hardware that samples precisely "
	  "(precise=1)" },
	{ PERF_SAMPLE_TRANSACTION, false, "transactions are those of hardware that samples "
	  "precisely (precise=1)" },
	{ 0, false, NULL },
	{ 0, false, NULL },
	{ PERF_SAMPLE_BRANCH_STACK, false, "branches are recorded by hardware" },
	{ 0, false, "only tracepoints have records of their hits" },
};

static int sampling_deny_rate(uint64_t rate, uint64_t most, const char *limit, struct reason *why)
{
	return deny(why, -EINVAL, "freq=%llu: the kernel takes at most %llu samples a second (%s)",
		    (unsigned long long)rate, (unsigned long long)most, limit);
}

static int sampling_check_rate(const struct allocation *p, struct reason *why)
{
	uint64_t rate = p->a->rate, most = rate ? sampler_max_rate() : 0;

	if (!rate)
		return 0;
	if (p->a->count)
		return deny(why, -EINVAL, "the kernel steers the period of a PMC with a rate "
			    "(freq=): pass none");
	if (!(p->a->values & PMCLOG_VALUE_PERIOD))
		return deny(why, -EINVAL, "samples at a rate (freq=) need their periods");
	if (most && rate > most)
		return sampling_deny_rate(rate, most, "kernel.perf_event_max_sample_rate", why);
	if (p->spec.timer && rate > CLOCK_RATE_MAX)
		return sampling_deny_rate(rate, CLOCK_RATE_MAX, "of a software clock", why);
	return 0;
}

static int sampling_check_precise(const struct allocation *p, struct reason *why)
{
	unsigned int most = p->class->ops->counters ? perf_max_precise(p->class->info.pmu) : 0;

	if (!p->a->precise || p->a->precise <= most)
		return 0;
	if (p->a->precise > 3)
		return deny(why, -EINVAL, "precise=%u: 3 is the most precise", p->a->precise);
	if (most)
		return deny(why, -EOPNOTSUPP, "precise=%u: PMU %s has precise=%u at most",
			    p->a->precise, p->class->info.pmu, most);
	if (p->class->ops->counters)
		return deny(why, -EOPNOTSUPP, "precise=%u: PMU %s samples where the interrupt "
			    "comes (sysfs: no caps/max_precise); leave precise, or perf's p, out",
			    p->a->precise, p->class->info.pmu);
	return deny(why, -EOPNOTSUPP, "precise=%u: class %s has no precise samples, which are "
		    "those of hardware's counters; leave precise, or perf's p, out",
		    p->a->precise, p->class->prefix);
}

static int sampling_check_value(const struct allocation *p, unsigned int i, struct reason *why)
{
	const char *name = logvalues[i].name;

	if (values[i].missing && !(p->values >> i & 1))
		return deny(why, -EOPNOTSUPP, "%s: %s cannot have it: %s", name, p->name,
			    values[i].missing);
	if (values[i].collected && !sampler_collects())
		return deny(why, -EOPNOTSUPP, "%s: this kernel collects it after the sampling "
			    "program has run; Linux 6.3 and newer before", name);
	if (VALUES_OF_KERNEL >> i & 1 && !policy_privileged(p->cred))
		return deny(why, -EPERM, "%s: it needs CAP_PERFMON", name);
	return 0;
}

/* Of an owner that may not see the kernel, no branch of the kernel is recorded. */
static int sampling_plan_branch(struct allocation *p, struct reason *why)
{
	const uint64_t sides = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL;
	struct perf_event_spec event = p->spec.event;
	struct count_samples *s = &p->spec.samples;
	int err;

	s->branch = p->a->branch;
	if (!(s->branch & sides))
		s->branch |= p->spec.event.user == p->spec.event.kernel ? sides :
			     p->spec.event.user ? PERF_SAMPLE_BRANCH_USER :
						  PERF_SAMPLE_BRANCH_KERNEL;
	if (s->branch & PERF_SAMPLE_BRANCH_KERNEL && !policy_privileged(p->cred))
		return deny(why, -EPERM, "branch: branches in the kernel need CAP_PERFMON; use "
			    "branch=usr");
	event.hz = 1;
	event.sample_type = s->sample_type;
	event.branch = s->branch;
	event.precise = s->precise;
	err = perf_takes(p->class->info.pmu, &event);
	return err == -EOPNOTSUPP || err == -EINVAL ?
		       deny(why, -EOPNOTSUPP, "branch: PMU %s does not record such branches",
			    p->class->info.pmu) :
		       err ? deny(why, err, "branch: %s", perf_error(err)) : 0;
}

int sampling_admit(struct request *rq, struct allocation *p)
{
	const struct wire_allocate_req *a = p->a;
	struct reason *why = &rq->r->why;
	int err;

	if (!a->rate && !a->values && !a->precise && !a->branch)
		return 0;
	if (!p->spec.sampling)
		return deny(why, -EINVAL, "rates, precision and values are for sampling modes");
	if (a->values >> PMCLOG_VALUES)
		return deny(why, -EINVAL, "values 0x%x; the values of samples are 0x%x", a->values,
			    (1u << PMCLOG_VALUES) - 1);
	if (!p->class->ops->overflows &&
	    (a->rate || a->precise || a->branch || a->values & ~p->class->ops->values))
		return deny(why, -EOPNOTSUPP, "class %s has no rates and no values of samples%s: "
			    "they are those of overflows", p->class->prefix,
			    p->class->ops->values ? " but raw" : "");
	if (a->values && a->flags & PMC_F_KGMON)
		return deny(why, -EINVAL, "PMC_F_KGMON: a kernel profile has addresses only, at "
			    "one period");
	if (!a->branch != !(a->values & PMCLOG_VALUE_BRANCHES))
		return deny(why, -EINVAL, "branch: branches are recorded by kinds, which are "
			    "missing, or of no sample");
	err = sampling_check_rate(p, why);
	err = err ?: sampling_check_precise(p, why);
	if (!err && p->class->ops->counters)
		p->values |= PMCLOG_VALUE_BRANCHES;
	if (!err && a->precise)
		p->values |= ((1u << PMCLOG_VALUES) - 1) & ~(uint32_t)PMCLOG_VALUE_RAW;
	for (unsigned int i = 0; i < PMCLOG_VALUES && !err; i++)
		if (a->values >> i & 1) {
			err = sampling_check_value(p, i, why);
			p->spec.samples.sample_type |= values[i].sample_type;
		}
	p->spec.samples.hz = a->rate;
	p->spec.samples.precise = a->precise;
	if (!err && a->branch)
		err = sampling_plan_branch(p, why);
	return err;
}
