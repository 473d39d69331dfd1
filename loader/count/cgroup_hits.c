/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that sample the hits of a tracepoint or probe in a cgroup.  The program that samples them
 * looks at the cgroup of the task that runs, and keeps the count of hits.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "cgroup.h"
#include "cgroup_hits.h"
#include "hold_tracepoint.h"

bool cgroup_hits_has(const struct count_spec *spec)
{
	return spec->sampling &&
	       (spec->from == COUNT_FROM_TRACEPOINT || spec->from == COUNT_FROM_PROBE);
}

void cgroup_hits_new(struct count *c)
{
	c->backend = &backend_cgroup_hits;
}

int cgroup_hits_attach(struct count *c, int folder, struct reason *why)
{
	struct abi_cgroup_sampler *of = &c->cgroup->sampler;
	struct statfs fs;

	if (fstatfs(folder, &fs))
		return deny(why, -errno, "cannot look at the cgroup: %m");
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return deny(why, -EOPNOTSUPP, "hits are sampled in cgroups of version 2; in this "
			    "one they are counted");
	of->tag = (uint32_t)c->spec.tag;
	return cgroup_identify(c->e->cgroups, folder, of, why);
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint64_t cgroup_hits_now(const struct count *c)
{
	return sampler_hits(c->e->samplers, (uint32_t)c->spec.tag);
}

static int cgroup_hits_start(struct count *c, struct reason *why)
{
	char hits[128];
	int err;

	snprintf(hits, sizeof(hits), "the hits of row %u (%s)", c->spec.row, c->spec.row_name);
	err = cgroup_check_start(c, c->source, ABI_CGROUP_SAMPLERS, hits, why);
	if (err)
		return err;
	hold_tracepoint_start(c);
	c->start = cgroup_hits_now(c);
	err = tracepoints_sample_cgroup(c->e->tracepoints, c->source, &c->cgroup->sampler);
	return err ? deny(why, err, "row %u (%s): the program takes no more cgroups: %s",
			  c->spec.row, c->spec.row_name, strerror(-err)) : 0;
}

static int cgroup_hits_stop(struct count *c, struct reason *why)
{
	(void)why;
	tracepoints_sample_cgroup_end(c->e->tracepoints, c->source, (uint32_t)c->spec.tag);
	hold_tracepoint_stop(c);
	c->raw += cgroup_hits_now(c) - c->start;
	return 0;
}

static int cgroup_hits_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err = c->lost ? count_state_lost(c, -EBUSY, why) : hold_tracepoint_check(c, why);

	*raw = c->raw + (c->running ? cgroup_hits_now(c) - c->start : 0);
	return err;
}

const struct backend backend_cgroup_hits = {
	.name = "cgroup hits", .start = cgroup_hits_start, .stop = cgroup_hits_stop,
	.read = cgroup_hits_read, .deny_lost = cgroup_deny_lost, .how_stopped = WIRE_HOW_ASK,
};
