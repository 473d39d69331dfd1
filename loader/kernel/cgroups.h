/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PMCs of cgroups, as the programs of bpf/count/cgroup.bpf.c see them: each has a place in the
 * counts and is a member of the sets of its cgroup and of all cgroups below it that have PMCs.
 */
#ifndef PMCBPF_CGROUPS_H
#define PMCBPF_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/cgroup_abi.h"
#include "loader/base/base.h"

struct cgroups;
struct engine;
struct pmcbpf;

/* True if this kernel's programs see tasks that move between cgroups; chosen before the load. */
bool cgroups_here(const struct engine *e);
/* Sizes the maps, before the load. */
int cgroups_size(struct pmcbpf *skel, unsigned int ncpu);

int cgroups_new(const struct engine *e, struct cgroups **out, struct reason *why);
void cgroups_free(struct cgroups *g);

/* The programs are attached and must see each switch; they may be detached; they are detached. */
int cgroups_watch(struct cgroups *g);
void cgroups_unwatch(struct cgroups *g);
void cgroups_end(struct cgroups *g);

/* A user's part of the PMCs that can count one cgroup. */
struct cgroup_part {
	const void *user;		/* only compared */
	unsigned int own, all;		/* the most that this user may have, and all users */
};

/* Fills in number and level of the cgroup with this folder.  -ENOENT: it has been removed. */
int cgroup_identify(const struct cgroups *g, int folder, struct abi_cgroup_sampler *of,
		    struct reason *why);

/* Takes a place for a PMC.  Returns it, or -EAGAIN: all are in use. */
int cgroup_take(struct cgroups *g, struct reason *why);
/* It is stopped: no open slice counts for it. */
void cgroup_give(struct cgroups *g, int place);
/*
 * Makes the PMC one of the cgroup with this folder, once; it counts `source`.  -ENOENT: the cgroup
 * has been removed; -EAGAIN: as many PMCs as may count it, or one below it.
 */
int cgroup_join(struct cgroups *g, int place, int source, int folder,
		const struct cgroup_part *part, struct reason *why);

/* Whether the PMC counts from the next flush on, and whether unseen slices count as lost. */
void cgroup_activate(struct cgroups *g, int place, bool on);
void cgroup_due(struct cgroups *g, int place, bool on);

/* The sum of its counts, without those of open slices. */
uint64_t cgroup_sum(const struct cgroups *g, int place);
/* True if the slice that is open on the CPU counts for it. */
bool cgroup_is_open(const struct cgroups *g, int place, unsigned int cpu);
/* True if it has lost a slice since cgroup_forget(). */
bool cgroup_has_lost(const struct cgroups *g, int place);
void cgroup_lose(struct cgroups *g, int place);
void cgroup_forget(struct cgroups *g, int place);

#endif
