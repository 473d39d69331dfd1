/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that sample the hits of a tracepoint or probe in a cgroup.  The program that samples them
 * looks at the cgroup of the task that runs, and keeps the count of hits.
 */
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "cgroup.h"
#include "cgroup_hits.h"
#include "hold_tracepoint.h"
#include "hotplug.h"

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

/* --- places ----------------------------------------------------------------------------------- */

struct places {
	const struct count *c;
	unsigned int own, all;
};

static bool place_note(struct count *other, void *arg)
{
	struct places *p = arg;

	if (other != p->c && other->backend == &backend_cgroup_hits && other->running &&
	    other->source == p->c->source) {
		p->all++;
		p->own += other->owner->user == p->c->owner->user;
	}
	return false;
}

/* Of the PMCs that sample one tracepoint in cgroups, an unprivileged user may have a share. */
static int places_check(const struct count *c, struct reason *why)
{
	const struct user *u = c->owner->user;
	struct places p = { .c = c };
	unsigned int own, all;

	user_parts(u, ABI_CGROUP_SAMPLERS, &own, &all);
	(void)hotplug_any(c->e->hotplug, place_note, &p);
	return p.own < own && p.all < all ? 0 :
	       deny(why, -EAGAIN, "%u PMCs sample the hits of row %u (%s) in cgroups, %u of them "
		    "this user's.  This user may have %u, and all users together %u of %d "
		    "(user.share, user.reserve); stop some", p.all, c->spec.row, c->spec.row_name,
		    p.own, own, all, ABI_CGROUP_SAMPLERS);
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint64_t cgroup_hits_now(const struct count *c)
{
	return sampler_hits(c->e->samplers, (uint32_t)c->spec.tag);
}

static int cgroup_hits_start(struct count *c, struct reason *why)
{
	int err = places_check(c, why);

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
