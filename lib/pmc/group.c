/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc_group(3).  A group is a list of handles here until it is committed: only then the daemon
 * knows that these PMCs are one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>

#include "allocate.h"
#include "client.h"
#include "group.h"
#include "lib/base/array.h"

_Static_assert(PMC_GROUP_MAX_MEMBERS == WIRE_GROUP_MAX, "one size of groups");

/* Once the leader is released it is free for another group: a handler may release PMCs. */
struct group {
	struct group *next;
	uint32_t id;			/* 0: free */
	uint32_t n;
	pmc_id_t member[WIRE_GROUP_MAX];	/* the leader first, once there is one */
	bool led, committed;
};

/* What members of a group must have in common. */
struct group_candidate {
	pmc_id_t pmcid;
	uint32_t mode, cpu, flags;
};

/* --- PMCs for groups, under the lock of the list ---------------------------------------------- */

static struct group_candidate *candidate_find(pmc_id_t pmcid)
{
	for (unsigned int i = 0; i < pmc_lib.ncandidates; i++)
		if (pmc_lib.candidate[i].pmcid == pmcid)
			return &pmc_lib.candidate[i];
	return NULL;
}

static void candidate_drop(pmc_id_t pmcid)
{
	struct group_candidate *c = candidate_find(pmcid);

	if (c)
		*c = pmc_lib.candidate[--pmc_lib.ncandidates];
}

int group_reserve(struct reason *why)
{
	int err;

	pthread_mutex_lock(&pmc_lib.groups);
	err = array_reserve(pmc_lib.candidate, pmc_lib.candidate_room, pmc_lib.ncandidates + 1);
	pthread_mutex_unlock(&pmc_lib.groups);
	return err ? deny(why, -ENOMEM, "no memory for a list of PMCs") : 0;
}

void group_note(pmc_id_t pmcid, const struct wire_allocate_req *how)
{
	pthread_mutex_lock(&pmc_lib.groups);
	candidate_drop(pmcid);
	if (how->group)
		pmc_lib.candidate[pmc_lib.ncandidates++] = (struct group_candidate){
			.pmcid = pmcid, .mode = how->mode, .cpu = how->cpu, .flags = how->flags,
		};
	pthread_mutex_unlock(&pmc_lib.groups);
}

/* --- the list, under its lock ----------------------------------------------------------------- */

static struct group *group_find(uint32_t id)
{
	struct group *g = pmc_lib.group;

	while (g && g->id != id)
		g = g->next;
	return g;
}

static struct group *group_new(void)
{
	struct group *g = group_find(0);

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->next = pmc_lib.group;
	pmc_lib.group = g;
	return g;
}

static void group_remove(struct group *g, uint32_t at)
{
	g->led &= at != 0;
	g->n--;
	memmove(&g->member[at], &g->member[at + 1], (g->n - at) * sizeof(g->member[0]));
}

static uint32_t group_place(const struct group *g, pmc_id_t pmcid)
{
	uint32_t at = 0;

	while (at < g->n && g->member[at] != pmcid)
		at++;
	return at;
}

/* The leader of a committed group takes all members along. */
static void group_end(struct group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		candidate_drop(g->member[i]);
	*g = (struct group){ .next = g->next };
}

void group_forget(pmc_id_t pmcid)
{
	pthread_mutex_lock(&pmc_lib.groups);
	candidate_drop(pmcid);
	for (struct group *g = pmc_lib.group; g; g = g->next) {
		uint32_t place = group_place(g, pmcid);

		if (place < g->n && g->committed)
			group_end(g);
		else if (place < g->n)
			group_remove(g, place);
	}
	pthread_mutex_unlock(&pmc_lib.groups);
}

uint32_t group_members(pmc_id_t leader, pmc_id_t ids[WIRE_GROUP_MAX])
{
	const struct group *g;
	uint32_t n = 0;

	pthread_mutex_lock(&pmc_lib.groups);
	g = pmc_lib.group;
	while (g && !(g->id && g->committed && g->member[0] == leader))
		g = g->next;
	if (g) {
		n = g->n;
		memcpy(ids, g->member, n * sizeof(*ids));
	}
	pthread_mutex_unlock(&pmc_lib.groups);
	return n;
}

static int group_deny_id(uint32_t id, struct reason *why)
{
	return deny(why, -EINVAL, "%u is no group: pmc_group_create() makes one, and releasing its "
		    "leader ends it", id);
}

/* As the daemon will see it when the group is committed, with the leader first. */
static int group_check(const struct group *g, pmc_id_t pmcid, bool leader, struct reason *why)
{
	const struct group_candidate *c = candidate_find(pmcid), *other;

	if (!c)
		return deny(why, -EINVAL, "0x%08x is no PMC that pmc_allocate_group() has "
			    "allocated", pmcid);
	for (uint32_t i = 0; i < g->n; i++) {
		other = candidate_find(g->member[i]);
		if (!other)
			continue;
		if (c->mode != other->mode)
			return deny(why, -EINVAL, "all members of a group have one mode: 0x%08x "
				    "has another one than 0x%08x", pmcid, other->pmcid);
		if (PMC_IS_SYSTEM_MODE(c->mode) && c->cpu != other->cpu)
			return deny(why, -EINVAL, "all members of a group count one CPU: %u, not "
				    "%u", other->cpu, c->cpu);
		if ((leader && other->flags & ~c->flags & PMC_F_DESCENDANTS) ||
		    (!i && g->led && c->flags & ~other->flags & PMC_F_DESCENDANTS))
			return deny(why, -EINVAL, "PMC_F_DESCENDANTS of a group is a flag of its "
				    "leader, which does not have it");
	}
	return 0;
}

static int group_insert(uint32_t id, pmc_id_t pmcid, bool leader, struct reason *why)
{
	struct group *g = id ? group_find(id) : NULL;
	int err;

	if (!g)
		return group_deny_id(id, why);
	if (g->committed)
		return deny(why, -EBUSY, "group %u is committed: it takes no more members", id);
	for (const struct group *other = pmc_lib.group; other; other = other->next)
		if (group_place(other, pmcid) < other->n)
			return deny(why, -EINVAL, "the PMC 0x%08x is in group %u already", pmcid,
				    other->id);
	if (leader && g->led)
		return deny(why, -EINVAL, "group %u has a leader already: 0x%08x", id,
			    g->member[0]);
	if (g->n == WIRE_GROUP_MAX)
		return deny(why, -EINVAL, "a group has at most %u members", WIRE_GROUP_MAX);
	err = group_check(g, pmcid, leader, why);
	if (err)
		return err;
	g->member[g->n++] = pmcid;
	if (leader) {
		memmove(&g->member[1], &g->member[0], (g->n - 1) * sizeof(g->member[0]));
		g->member[0] = pmcid;
		g->led = true;
	}
	return 0;
}

/* --- making a group --------------------------------------------------------------------------- */

/* Multiplexing is permitted by a flag, and never happens: what does not fit is refused. */
static int group_allocate_request(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
				  pmc_id_t *pmcid, uint64_t count, struct reason *why)
{
	const struct wire_allocate_req how = {
		.cpu = (uint32_t)cpu, .flags = flags & ~(uint32_t)PMC_F_GROUP_MUX,
		.mode = (uint32_t)mode, .count = count == UINT64_MAX ? 0 : count, .group = 1,
	};

	return allocate_member(spec, &how, pmcid, why);
}

PMC_API_PUBLIC int pmc_allocate_group(const char *spec, enum pmc_mode mode, uint32_t flags,
				      int cpu, pmc_id_t *pmcid, uint64_t count)
{
	return call_leave(group_allocate_request(spec, mode, flags, cpu, pmcid, count,
						 call_enter()));
}

static int create_request(uint32_t *id, struct reason *why)
{
	struct group *g;

	if (!id)
		return call_missing(why, "groupid");
	pthread_mutex_lock(&pmc_lib.groups);
	g = group_new();
	if (g)
		g->id = *id = ++pmc_lib.group_ids;
	pthread_mutex_unlock(&pmc_lib.groups);
	return g ? 0 : -ENOMEM;
}

PMC_API_PUBLIC int pmc_group_create(uint32_t *groupid)
{
	return call_leave(create_request(groupid, call_enter()));
}

static int add_request(uint32_t id, pmc_id_t pmcid, bool leader, struct reason *why)
{
	int err;

	pthread_mutex_lock(&pmc_lib.groups);
	err = group_insert(id, pmcid, leader, why);
	pthread_mutex_unlock(&pmc_lib.groups);
	return err;
}

PMC_API_PUBLIC int pmc_group_add(uint32_t groupid, pmc_id_t pmcid, int leader)
{
	return call_leave(add_request(groupid, pmcid, leader, call_enter()));
}

/* 1: it is committed already. */
static int commit_prepare(uint32_t id, struct wire_commitgroup_req *req, struct reason *why)
{
	const struct group *g = id ? group_find(id) : NULL;

	if (!g)
		return group_deny_id(id, why);
	if (g->committed)
		return 1;
	if (!g->led)
		return deny(why, -EINVAL, "group %u has no leader: pmc_group_add() one", id);
	req->n = g->n;
	memcpy(req->pmcid, g->member, g->n * sizeof(g->member[0]));
	return 0;
}

static int commit_request(uint32_t id, struct reason *why)
{
	struct wire_commitgroup_req req = { .n = 0 };
	struct group *g;
	int err;

	pthread_mutex_lock(&pmc_lib.groups);
	err = commit_prepare(id, &req, why);
	pthread_mutex_unlock(&pmc_lib.groups);
	if (err)
		return err < 0 ? err : 0;
	err = client_request(&pmc_lib, WIRE_OP_COMMITGROUP, &req, sizeof(req), -1, why);
	if (err)
		return err;
	pthread_mutex_lock(&pmc_lib.groups);
	g = group_find(id);
	if (g)
		g->committed = true;
	pthread_mutex_unlock(&pmc_lib.groups);
	return 0;
}

PMC_API_PUBLIC int pmc_group_commit(uint32_t groupid)
{
	return call_leave(commit_request(groupid, call_enter()));
}

/* Members refuse to be released before their leader is, and are unknown afterwards. */
static int release_request(const pmc_id_t *ids, size_t n, struct reason *why)
{
	int err = n && !ids ? call_missing(why, "pmcids") : 0;
	bool released = false;

	for (size_t i = 0; i < n && ids; i++) {
		int one = allocate_undo(ids[i], why);

		released |= !one;
		if (one)
			err = one;
	}
	return released ? 0 : err;
}

PMC_API_PUBLIC int pmc_group_release(pmc_id_t *pmcids, size_t n)
{
	return call_leave(release_request(pmcids, n, call_enter()));
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t read_running(const struct read_group *g)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return g->ran + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - g->since;
}

/* A reading of a group: its members, and the ns that it has run. */
struct reading {
	uint32_t n;
	uint64_t running;
	struct pmc_group_member members[WIRE_GROUP_MAX];
};

/*
 * READ_ASK: only the daemon knows.  Takes no lock and defers no signal: a register's instruction
 * may raise one.
 */
static int read_here(pmc_id_t leader, struct reading *r, bool timed, struct reason *why)
{
	bool moved;
	struct read_version *v = read_share_enter(&pmc_lib.reads, &moved);
	const struct read_group *g;
	int err = read_group(&v->table, leader, r->members, &g, why);

	if (err == READ_DONE) {
		r->n = g->members;
		r->running = timed ? read_running(g) : 0;
	}
	if (read_share_leave(&pmc_lib.reads, v) || moved)
		client_table_reclaim(&pmc_lib);
	return err;
}

static int read_there(pmc_id_t leader, struct reading *r, struct reason *why)
{
	struct wire_readgroup_req req = { .pmcid = leader };
	struct wire_readgroup_rep rep;
	int err;

	sigdefer_begin();
	err = client_query(&pmc_lib, WIRE_OP_READGROUP, &req, sizeof(req), &rep, sizeof(rep), why);
	sigdefer_end();
	if (err)
		return err;
	if (!rep.n || rep.n > WIRE_GROUP_MAX)
		return deny(why, -EPROTO, "pmcbpfd answers with %u members of a group", rep.n);
	r->n = rep.n;
	r->running = rep.running;
	for (uint32_t i = 0; i < rep.n; i++)
		r->members[i] = (struct pmc_group_member){
			.pm_pmcid = rep.pmcid[i], .pm_value = rep.value[i],
		};
	return 0;
}

static int read_all(pmc_id_t leader, struct reading *r, bool timed, struct reason *why)
{
	int err = read_here(leader, r, timed, why);

	return err == READ_ASK ? read_there(leader, r, why) : err;
}

static int read_request(pmc_id_t leader, uint32_t *n, struct pmc_group_member *members,
			struct pmc_group_times *times, struct reason *why)
{
	struct reading r;
	uint32_t room = n ? *n : 0;
	int err;

	if (!n || (room && !members))
		return call_missing(why, n ? "members" : "nmembers");
	if (room > PMC_GROUP_MAX_MEMBERS)
		return deny(why, -EINVAL, "a group has at most %u members, not %u",
			    PMC_GROUP_MAX_MEMBERS, room);
	err = read_all(leader, &r, times, why);
	if (err)
		return err;
	*n = r.n;
	if (!room)
		return 0;
	if (room < r.n)
		return deny(why, -E2BIG, "the group has %u members; there is room for %u", r.n,
			    room);
	memcpy(members, r.members, r.n * sizeof(*members));
	if (times)
		*times = (struct pmc_group_times){
			.pgt_enabled = r.running, .pgt_running = r.running,
			.pgt_enabled_wall = r.running, .pgt_wall = r.running,
			.pgt_flags = PMC_GROUP_F_TIME_WALL_NS,
		};
	return 0;
}

/* A function of its own, so that the quick path has no large frame. */
static __attribute__((noinline)) int read_slow_all(pmc_id_t leader, uint32_t *n,
						   struct pmc_group_member *members,
						   struct pmc_group_times *times)
{
	struct reason why;

	why.text[0] = '\0';
	return call_end_with(read_request(leader, n, members, times, &why), &why);
}

static int read_slow_members(pmc_id_t leader, uint32_t *n, struct pmc_group_member *members)
{
	return read_slow_all(leader, n, members, NULL);
}

PMC_API_PUBLIC int pmc_group_read(pmc_id_t leader, uint32_t *nmembers,
				  struct pmc_group_member *members, struct pmc_group_times *times)
{
	if (!__libc_single_threaded || !nmembers || !members || times ||
	    *nmembers > PMC_GROUP_MAX_MEMBERS)
		return read_slow_all(leader, nmembers, members, times);
	return read_group_quick(leader, nmembers, members, &pmc_lib.reads, read_slow_members);
}

static int pair_request(pmc_id_t pmcid, pmc_value_t *value, uint64_t *enabled, uint64_t *running,
			struct reason *why)
{
	struct reading r;
	int err;

	if (!value)
		return call_missing(why, "value");
	err = read_all(pmcid, &r, enabled || running, why);
	if (err)
		return err == -ENOTTY ? -EOPNOTSUPP : err;
	*value = r.members[0].pm_value;
	if (enabled)
		*enabled = r.running;
	if (running)
		*running = r.running;
	return 0;
}

PMC_API_PUBLIC int pmc_read_pair(pmc_id_t pmcid, pmc_value_t *value, uint64_t *enabled,
				 uint64_t *running)
{
	struct reason why;

	why.text[0] = '\0';
	return call_end_with(pair_request(pmcid, value, enabled, running, &why), &why);
}
