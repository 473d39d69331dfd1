/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts that all ways to count a cgroup share. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroup_events.h"
#include "cgroup_hits.h"
#include "cgroup_slices.h"
#include "count_pay.h"
#include "hold_breakpoint.h"
#include "holder.h"
#include "hotplug.h"

/*
 * Samples are overflows of perf's events; and where the kernel hides switches, perf sees them.  Two
 * events happen in the switch itself, and perf counts them right before it switches: switches of
 * cgroups, and hits of sched_switch that a filter admits.
 */
bool count_slices_cgroup(const struct engine *e, const struct count_spec *spec)
{
	const struct perf_event_spec *event = &spec->event;

	if (spec->sampling || !cgroups_here(e) || switches_hidden(e))
		return false;
	if (spec->tracepoint && !strcmp(spec->tracepoint, "sched:sched_switch"))
		return !event->filter;
	return event->type != PERF_TYPE_SOFTWARE || event->config != PERF_COUNT_SW_CGROUP_SWITCHES;
}

int cgroup_new(struct count *c, struct reason *why)
{
	struct cgroup_state *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->folder = g->place = -1;
	c->cgroup = g;
	if (c->spec.from == COUNT_FROM_OFFCPU) {
		err = count_pay(c, 1, 0, why);
	} else if (cgroup_hits_has(&c->spec)) {
		cgroup_hits_new(c);
		err = count_pay(c, 1, 0, why);
	} else if (count_slices_cgroup(c->e, &c->spec)) {
		err = count_pay(c, 1, 0, why) ?: cgroup_slices_new(c, why);
	} else {
		err = count_pay(c, c->e->ncpu + 1, 0, why) ?: cgroup_events_new(c);
	}
	if (err)
		cgroup_free(c);
	return err;
}

void cgroup_free(struct count *c)
{
	struct cgroup_state *g = c->cgroup;

	if (!g)
		return;
	cgroup_events_free(c);
	cgroup_slices_free(c);
	if (g->folder >= 0)
		close(g->folder);
	free(g);
	c->cgroup = NULL;
}

bool count_has_cgroup(const struct count *c)
{
	return c->cgroup && c->cgroup->folder >= 0;
}

/* A breakpoint's register may be on its way back. */
int cgroup_open_event(const struct count *c, const struct perf_event_spec *spec, int folder,
		      unsigned int cpu)
{
	uint64_t since = 0;
	int fd;

	do
		fd = perf_open_cgroup(spec, folder, cpu);
	while (hold_breakpoint_comes(c, fd, &since));
	return fd;
}

int cgroup_refused(const struct count *c, int folder, int err, struct reason *why)
{
	if (faccessat(folder, "cgroup.procs", F_OK, 0))
		return deny(why, -ENOENT, "the cgroup has been removed");
	if (err == -EBADF)
		return deny(why, -EOPNOTSUPP, "perf does not count by this hierarchy of cgroups: "
			    "name a cgroup of version 2, or of the perf_event controller where "
			    "that is mounted as version 1");
	if (err == -ENOENT)
		return deny(why, -EOPNOTSUPP, "the kernel does not count by this cgroup, or has no "
			    "such event; before any controller is enabled in version 2's root, "
			    "write \"+pids\" to its cgroup.subtree_control");
	return deny(why, err, "cannot count row %u (%s) for a cgroup: %s", c->spec.row,
		    c->spec.row_name, perf_error(err));
}

/* --- places of sampling PMCs ------------------------------------------------------------------ */

struct places {
	const struct count *c;
	int source;
	unsigned int own, all;
};

static bool place_note(struct count *other, void *arg)
{
	struct places *p = arg;

	if (other != p->c && other->cgroup && other->running && other->backend == p->c->backend &&
	    (p->source < 0 || other->source == p->source)) {
		p->all++;
		p->own += other->owner->user == p->c->owner->user;
	}
	return false;
}

int cgroup_check_start(const struct count *c, int source, unsigned int places, const char *what,
		       struct reason *why)
{
	const struct user *u = c->owner->user;
	struct places p = { .c = c, .source = source };
	unsigned int own, all;

	if (faccessat(c->cgroup->folder, "cgroup.procs", F_OK, 0))
		return cgroup_refused(c, c->cgroup->folder, -ENOENT, why);
	user_parts(u, places, &own, &all);
	(void)hotplug_any(c->e->hotplug, place_note, &p);
	return p.own < own && p.all < all ? 0 :
	       deny(why, -EAGAIN, "%u PMCs sample %s in cgroups, %u of them this user's.  This "
		    "user may have %u, and all users together %u of %u (user.share, "
		    "user.reserve); stop some", p.all, what, p.own, own, all, places);
}

/* --- attaching -------------------------------------------------------------------------------- */

int cgroup_deny_lost(const struct count *c, int err, struct reason *why)
{
	if (c->lost_cpu >= 0)
		return deny(why, err, "CPU %d came online while this PMC counted a cgroup: what "
			    "ran there before the counter was open is missing; stop, release and "
			    "allocate again", c->lost_cpu);
	return deny(why, err, "row %u (%s)%s", c->spec.row, c->spec.row_name, c->spec.holder->lost);
}

/*
 * Opens the event on the first CPU that is online, to learn whether the kernel counts by this
 * cgroup: only then does it interrupt CPUs whose task is moved.  Slices have a source already.
 */
static int cgroup_try(const struct count *c, int folder, struct reason *why)
{
	const struct perf_event_spec any = { .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_DUMMY };
	const struct perf_event_spec spec = c->cgroup->fds ? count_state_event(c) : any;
	int fd = -ENXIO;

	for (unsigned int cpu = 0; cpu < c->e->ncpu; cpu++) {
		fd = cgroup_open_event(c, &spec, folder, cpu);
		if (fd != -ENXIO && !perf_other_kind(&spec, fd))
			break;
	}
	if (fd < 0)
		return cgroup_refused(c, folder, fd, why);
	if (c->cgroup->fds)
		count_state_close_event(c, fd);
	else
		close(fd);
	return 0;
}

/* Of the PMCs that can count one cgroup, an unprivileged user may have a share. */
static struct cgroup_part cgroup_part_of(const struct user *u)
{
	struct cgroup_part part = { .user = u };

	user_parts(u, ABI_CGROUP_MEMBERS, &part.own, &part.all);
	return part;
}

int count_attach_cgroup(struct count *c, int folder, struct reason *why)
{
	const struct cgroup_part part = cgroup_part_of(c->owner->user);
	struct cgroup_state *g = c->cgroup;
	int fd, err;

	if (count_has_cgroup(c))
		return deny(why, -EBUSY, "this PMC counts a cgroup already; allocate another PMC");
	err = cgroup_hits_has(&c->spec) ? cgroup_hits_attach(c, folder, why) :
					  cgroup_try(c, folder, why);
	if (!err && c->spec.from == COUNT_FROM_OFFCPU)
		err = cgroup_identify(c->e->cgroups, folder, &g->sampler, why);
	if (err)
		return err;
	fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return deny(why, -errno, "no descriptor is left for the cgroup: %m");
	err = g->place < 0 ? 0 :
		cgroup_join(c->e->cgroups, g->place, c->source, fd, &part, why);
	if (err)
		close(fd);
	else
		g->folder = fd;
	return err;
}
