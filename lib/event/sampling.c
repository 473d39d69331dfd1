/* SPDX-License-Identifier: BSD-2-Clause */
/* See sampling.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include <sys/pmc.h>

#include "lib/base/logvalues.h"
#include "lib/base/number.h"
#include "sampling.h"

static int sampling_number(const struct evspec_pair *qual, uint64_t least, uint64_t most,
			   uint64_t *value, struct reason *why)
{
	if (!qual->value || number_parse(qual->value, 0, most, value) || *value < least)
		return deny(why, -EINVAL, "%s takes a number from %llu to %llu: \"%s\"", qual->key,
			    (unsigned long long)least, (unsigned long long)most,
			    qual->value ? qual->value : "");
	return 1;
}

static int sampling_period(const struct evspec_pair *qual, struct wire_allocate_req *req,
			   struct reason *why)
{
	return sampling_number(qual, 1, INT64_MAX, &req->count, why);
}

/* The kernel chooses the period, and each sample says which it was. */
static int sampling_freq(const struct evspec_pair *qual, struct wire_allocate_req *req,
			 struct reason *why)
{
	int taken = sampling_number(qual, 1, UINT32_MAX, &req->rate, why);

	req->values |= PMCLOG_VALUE_PERIOD;
	return taken;
}

static int sampling_precise(const struct evspec_pair *qual, struct wire_allocate_req *req,
			    struct reason *why)
{
	uint64_t value = 0;
	int taken = sampling_number(qual, 0, 3, &value, why);

	req->precise = (uint32_t)value;
	return taken;
}

/* --- branch=KIND[+KIND...] ------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint64_t bit;
} kinds[] = {
	{ "usr", PERF_SAMPLE_BRANCH_USER }, { "os", PERF_SAMPLE_BRANCH_KERNEL },
	{ "any", PERF_SAMPLE_BRANCH_ANY }, { "any-call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any-return", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind-call", PERF_SAMPLE_BRANCH_IND_CALL }, { "abort-tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "in-tx", PERF_SAMPLE_BRANCH_IN_TX }, { "no-tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
};
#define BRANCH_SIDES (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL)

/* 0: there is no such kind. */
static uint64_t sampling_kind(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (evspec_same_n(name, n, kinds[i].name))
			return kinds[i].bit;
	return 0;
}

static int sampling_branch(const struct evspec_pair *qual, struct wire_allocate_req *req,
			   struct reason *why)
{
	const char *at = qual->value ? qual->value : "";

	do {
		size_t n = strcspn(at, "+");
		uint64_t bit = sampling_kind(at, n);

		if (evspec_same_n(at, n, "hv"))
			return deny(why, -EINVAL, "branch=hv: there is no side of a hypervisor");
		if (!bit)
			return deny(why, -EINVAL, "branch=%.*s: there are usr, os, any, any-call, "
				    "any-return, ind-call, cond, abort-tx, in-tx and no-tx, "
				    "joined by +", (int)n, at);
		req->branch |= bit;
		at += n + (at[n] == '+');
	} while (*at);
	if (!(req->branch & ~(uint64_t)BRANCH_SIDES))
		req->branch |= PERF_SAMPLE_BRANCH_ANY;
	req->values |= PMCLOG_VALUE_BRANCHES;
	return 1;
}

/* --------------------------------------------------------------------------------------------- */

static int sampling_wakers(const struct evspec_pair *qual, struct wire_allocate_req *req,
			   struct reason *why)
{
	if (qual->value)
		return deny(why, -EINVAL, "%s takes no value: \"%s\"", qual->key, qual->value);
	req->flags |= PMC_F_WAKERS;
	return 1;
}

static const struct {
	const char *key;
	int (*take)(const struct evspec_pair *qual, struct wire_allocate_req *req,
		    struct reason *why);
} settings[] = {
	{ "period", sampling_period }, { "freq", sampling_freq },
	{ "precise", sampling_precise }, { "branch", sampling_branch },
	{ "wakers", sampling_wakers },
};

/* A value that stands alone: the other names of the table. */
static int sampling_value(const struct evspec_pair *qual, struct wire_allocate_req *req,
			  struct reason *why)
{
	for (unsigned int i = 0; i < PMCLOG_VALUES; i++) {
		if (!evspec_same(qual->key, logvalues[i].name))
			continue;
		/* A cgroup is a target, and perf's other words with a value are none of ours. */
		if (qual->value)
			return deny(why, -EINVAL, "%s takes no value: \"%s\"%s", qual->key,
				    qual->value, 1u << i == PMCLOG_VALUE_CGROUP ?
				    "; to count a cgroup, attach the PMC to it "
				    "(pmcstat -t cgroup:PATH)" : "");
		req->values |= 1u << i;
		return 1;
	}
	return 0;
}

/* 1: taken; 0: it is another qualifier. */
static int sampling_take_one(const struct evspec_pair *qual, struct wire_allocate_req *req,
			     struct reason *why)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (evspec_same(qual->key, settings[i].key))
			return settings[i].take(qual, req, why);
	return sampling_value(qual, req, why);
}

int sampling_take(struct evspec *spec, struct wire_allocate_req *req, struct reason *why)
{
	unsigned int kept = 0;
	bool fixed = false;

	/* Several spellings of an event may be tried with one request. */
	req->rate = req->branch = 0;
	req->values = req->precise = 0;
	for (unsigned int i = 0; i < spec->nquals; i++) {
		int taken = sampling_take_one(&spec->quals[i], req, why);

		if (taken < 0)
			return taken;
		if (taken && !PMC_IS_SAMPLING_MODE(req->mode))
			return deny(why, -EINVAL, "%s is for samples, and this PMC counts: use a "
				    "sampling mode", spec->quals[i].key);
		fixed |= evspec_same(spec->quals[i].key, settings[0].key);
		if (!taken)
			spec->quals[kept++] = spec->quals[i];
	}
	spec->nquals = kept;
	if (fixed && req->rate)
		return deny(why, -EINVAL, "freq has the kernel choose the period: leave period "
			    "out");
	if (req->rate)
		req->count = 0;
	return 0;
}
