/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sets of cgroups.  A cgroup with PMCs has a set, which lists them and those of the cgroups
 * above it; the hierarchy itself never changes.  A set is made with its members' states before the
 * programs can find it, and its number is used again once no CPU has it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cgroups.h"
#include "engine.h"
#include "pmcbpf.skel.h"

#define TABLE_SIZE (ABI_CGROUPS * sizeof(struct abi_cgroup))

struct cgroup_set {
	struct abi_cgroup_path path;	/* path.id[0]: of this cgroup */
	uint64_t used;			/* bit i: member i is a PMC */
	unsigned int pmcs;		/* of this cgroup itself; 0: the set is free */
	bool stuck;			/* a CPU may still have it: not used again */
};

struct cgroup_pmc {
	bool used, active, due;
	uint16_t source;
	unsigned int set;		/* of its cgroup; 0: none yet */
	const void *user;
};

struct cgroups {
	const struct engine *e;
	volatile struct abi_cgroup *table;
	volatile struct abi_cgroup_cpu *cpus;
	volatile struct abi_cgroup_counts *counts;
	unsigned int top;		/* sets from here on have never been used */
	struct cgroup_set set[ABI_CGROUPS];
	struct cgroup_pmc pmc[ABI_CGROUP_PMCS];
};

/* --- maps ------------------------------------------------------------------------------------- */

bool cgroups_here(const struct engine *e)
{
	return e->skel->rodata->cgroups_here;
}

int cgroups_size(struct pmcbpf *skel, unsigned int ncpu)
{
	int err = bpf_map__set_max_entries(skel->maps.cgroup_cpus, ncpu);

	return err ?: bpf_map__set_max_entries(skel->maps.cgroup_counts, ncpu);
}

/* NULL: errno has the reason. */
static void *cgroups_map(size_t size, const struct bpf_map *map)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static size_t cgroups_cpus_size(const struct cgroups *g)
{
	return g->e->ncpu * sizeof(*g->cpus);
}

static size_t cgroups_counts_size(const struct cgroups *g)
{
	return g->e->ncpu * sizeof(*g->counts);
}

int cgroups_new(const struct engine *e, struct cgroups **out, struct reason *why)
{
	struct cgroups *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	*out = g;
	g->e = e;
	g->top = 1;
	g->table = cgroups_map(TABLE_SIZE, e->skel->maps.cgroups);
	if (g->table)
		g->cpus = cgroups_map(cgroups_cpus_size(g), e->skel->maps.cgroup_cpus);
	if (g->cpus)
		g->counts = cgroups_map(cgroups_counts_size(g), e->skel->maps.cgroup_counts);
	return g->counts ? 0 : deny(why, -errno, "cannot map the counts of cgroups: %m");
}

void cgroups_free(struct cgroups *g)
{
	if (!g)
		return;
	if (g->table)
		munmap((void *)g->table, TABLE_SIZE);
	if (g->cpus)
		munmap((void *)g->cpus, cgroups_cpus_size(g));
	if (g->counts)
		munmap((void *)g->counts, cgroups_counts_size(g));
	free(g);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Each CPU has been flushed at the end: every later switch on it has to be seen. */
int cgroups_watch(struct cgroups *g)
{
	struct pmcbpf__bss *bss = g->e->skel->bss;

	for (unsigned int cpu = 0; cpu < g->e->ncpu; cpu++)
		__atomic_store_n(&bss->open_cgroup[cpu].seen, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&bss->cgroups_watched, 1, __ATOMIC_SEQ_CST);
	return flush_all(g->e->flush);
}

void cgroups_unwatch(struct cgroups *g)
{
	__atomic_store_n(&g->e->skel->bss->cgroups_watched, 0, __ATOMIC_SEQ_CST);
}

void cgroups_end(struct cgroups *g)
{
	for (unsigned int cpu = 0; cpu < g->e->ncpu; cpu++) {
		g->e->skel->bss->open_cgroup[cpu].set = 0;
		g->cpus[cpu].members = 0;
	}
}

/* --- sets ------------------------------------------------------------------------------------- */

/* True if the set is of this cgroup, or of one below it. */
static bool cgroup_set_is_below(const struct cgroup_set *s, uint64_t id)
{
	for (unsigned int i = 0; s->pmcs && i < s->path.n; i++)
		if (s->path.id[i] == id)
			return true;
	return false;
}

static uint64_t cgroup_of_pmc(const struct cgroups *g, int place)
{
	return g->set[g->pmc[place].set].path.id[0];
}

/* Bit of the PMC in the set, 0: it is no member. */
static uint64_t cgroup_set_member(const struct cgroups *g, unsigned int set, int place)
{
	for (unsigned int i = 0; i < ABI_CGROUP_MEMBERS; i++)
		if (g->set[set].used >> i & 1 && g->table[set].member[i].place == place)
			return 1ull << i;
	return 0;
}

static void cgroup_bits_set(volatile __u64 *word, uint64_t bits, bool on)
{
	if (on)
		__atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST);
}

static void cgroup_set_add(struct cgroups *g, unsigned int set, int place)
{
	volatile struct abi_cgroup *at = &g->table[set];
	const struct cgroup_pmc *pmc = &g->pmc[place];
	unsigned int i = (unsigned int)__builtin_ctzll(~g->set[set].used);
	uint64_t bit = 1ull << i;

	g->set[set].used |= bit;
	at->member[i].source = pmc->source;
	at->member[i].place = (uint16_t)place;
	cgroup_bits_set(&at->hits, bit, pmc->source >= ABI_SOURCE_HOOK);
	cgroup_bits_set(&at->due, bit, pmc->due);
	cgroup_bits_set(&at->active, bit, pmc->active);
}

/* A set for the cgroup, which has the PMCs of the cgroups above it. */
static int cgroup_set_new(struct cgroups *g, const struct abi_cgroup_path *path, struct reason *why)
{
	unsigned int set = 1;
	struct cgroup_set *s;

	while (set < g->top && (g->set[set].pmcs || g->set[set].stuck))
		set++;
	if (set == ABI_CGROUPS)
		return deny(why, -EAGAIN, "%u cgroups are counted, and no more can be; release "
			    "some PMCs", ABI_CGROUPS - 1);
	if (set == g->top)
		g->top++;
	s = &g->set[set];
	s->path = *path;
	s->used = 0;
	g->table[set].active = g->table[set].due = g->table[set].hits = 0;
	for (int place = 0; place < (int)ABI_CGROUP_PMCS; place++) {
		const struct cgroup_pmc *pmc = &g->pmc[place];

		if (!pmc->used || !pmc->set || pmc->set == set)
			continue;
		for (unsigned int i = 1; i < path->n; i++)
			if (path->id[i] == cgroup_of_pmc(g, place))
				cgroup_set_add(g, set, place);
	}
	return (int)set;
}

/* The CPUs forget which set each cgroup has. */
static void cgroup_sets_changed(const struct cgroups *g)
{
	__atomic_fetch_add(&g->e->skel->bss->cgroup_epoch, 1, __ATOMIC_SEQ_CST);
}

static int cgroup_set_show(struct cgroups *g, unsigned int set)
{
	int err = bpf_map__update_elem(g->e->skel->maps.cgroup_index, &g->set[set].path.id[0],
				       sizeof(uint64_t), &set, sizeof(set), BPF_ANY);

	cgroup_sets_changed(g);
	return err;
}

static void cgroup_set_hide(struct cgroups *g, unsigned int set)
{
	(void)bpf_map__delete_elem(g->e->skel->maps.cgroup_index, &g->set[set].path.id[0],
				   sizeof(uint64_t), 0);
	cgroup_sets_changed(g);
	g->set[set].stuck = flush_all(g->e->flush) != 0;
}

/* The set of the cgroup, or a new one that the programs do not find yet. */
static int cgroup_set_find(struct cgroups *g, const struct abi_cgroup_path *path,
			   struct reason *why)
{
	for (unsigned int set = 1; set < g->top; set++)
		if (g->set[set].pmcs && g->set[set].path.id[0] == path->id[0])
			return (int)set;
	return cgroup_set_new(g, path, why);
}

/* The members of a set, and how many of them are the user's. */
static unsigned int cgroup_set_members(const struct cgroups *g, unsigned int set, const void *user,
				       unsigned int *own)
{
	unsigned int n = 0;

	*own = 0;
	for (unsigned int i = 0; i < ABI_CGROUP_MEMBERS; i++) {
		if (!(g->set[set].used >> i & 1))
			continue;
		*own += g->pmc[g->table[set].member[i].place].user == user;
		n++;
	}
	return n;
}

/* Members have room in the set of this cgroup, which may be new, and in those of cgroups below. */
static int cgroup_sets_have_room(const struct cgroups *g, const struct abi_cgroup_path *path,
				 unsigned int set, const struct cgroup_part *part,
				 struct reason *why)
{
	for (unsigned int i = 1; i < g->top; i++) {
		unsigned int n, own;

		if (i != set && !cgroup_set_is_below(&g->set[i], path->id[0]))
			continue;
		n = cgroup_set_members(g, i, part->user, &own);
		if (n < part->all && own < part->own)
			continue;
		return deny(why, -EAGAIN, "%u PMCs count this cgroup or one below it, together "
			    "with those above; %u of them are this user's.  This user may have "
			    "%u, and all users together %u of %d (user.share, user.reserve); "
			    "release some", n, own, part->own, part->all, ABI_CGROUP_MEMBERS);
	}
	return 0;
}

static int cgroup_path_learn(const struct cgroups *g, int folder, struct abi_cgroup_path *path,
			     struct reason *why)
{
	const struct pmcbpf *skel = g->e->skel;
	uint64_t args[1] = { (uint64_t)folder };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.cgroup_learn), &opts);

	err = err ?: (int)opts.retval;
	if (err == -ENOENT)
		return deny(why, err, "the cgroup has been removed");
	if (err)
		return deny(why, err, "the kernel did not report the cgroup's number: %s",
			    strerror(-err));
	*path = skel->bss->cgroup_path;
	return path->n <= ABI_CGROUP_DEPTH ? 0 :
		deny(why, -E2BIG, "this cgroup is %u levels deep; cgroups are counted down to "
		     "level %d", path->n, ABI_CGROUP_DEPTH);
}

int cgroup_identify(const struct cgroups *g, int folder, struct abi_cgroup_sampler *of,
		    struct reason *why)
{
	struct abi_cgroup_path path = { .n = 0 };
	int err = cgroup_path_learn(g, folder, &path, why);

	if (err)
		return err;
	of->id = path.id[0];
	of->level = path.n - 1;
	return 0;
}

/* --- PMCs ------------------------------------------------------------------------------------- */

int cgroup_take(struct cgroups *g, struct reason *why)
{
	for (int place = 0; place < (int)ABI_CGROUP_PMCS; place++) {
		if (g->pmc[place].used)
			continue;
		g->pmc[place] = (struct cgroup_pmc){ .used = true };
		return place;
	}
	return deny(why, -EAGAIN, "%u PMCs count cgroups, as many as can; release some",
		    ABI_CGROUP_PMCS);
}

static void cgroup_set_drop(struct cgroups *g, unsigned int set, int place)
{
	uint64_t bit = cgroup_set_member(g, set, place);

	cgroup_bits_set(&g->table[set].active, bit, false);
	g->set[set].used &= ~bit;
}

void cgroup_give(struct cgroups *g, int place)
{
	struct cgroup_pmc *pmc = &g->pmc[place];
	const uint64_t id = cgroup_of_pmc(g, place);

	for (unsigned int set = 1; pmc->set && set < g->top; set++)
		if (cgroup_set_is_below(&g->set[set], id))
			cgroup_set_drop(g, set, place);
	if (pmc->set && !--g->set[pmc->set].pmcs)
		cgroup_set_hide(g, pmc->set);
	pmc->used = false;
}

int cgroup_join(struct cgroups *g, int place, int source, int folder,
		const struct cgroup_part *part, struct reason *why)
{
	struct abi_cgroup_path path;
	int err = cgroup_path_learn(g, folder, &path, why), set;

	if (err)
		return err;
	set = cgroup_set_find(g, &path, why);
	if (set < 0)
		return set;
	err = cgroup_sets_have_room(g, &path, (unsigned int)set, part, why);
	if (err)
		return err;
	g->pmc[place].source = (uint16_t)source;
	g->pmc[place].user = part->user;
	g->pmc[place].set = (unsigned int)set;
	if (!g->set[set].pmcs++)
		err = cgroup_set_show(g, (unsigned int)set);
	for (unsigned int i = 1; i < g->top; i++)
		if (cgroup_set_is_below(&g->set[i], path.id[0]))
			cgroup_set_add(g, i, place);
	return err ? deny(why, err, "the cgroup finds no room among those that are counted: %s",
			  strerror(-err)) : 0;
}

/* Changes the PMC's bit in `active` or `due` of each set that it is a member of. */
static void cgroup_mark(struct cgroups *g, int place, bool due, bool on)
{
	const uint64_t id = cgroup_of_pmc(g, place);

	for (unsigned int set = 1; set < g->top; set++) {
		volatile struct abi_cgroup *at = &g->table[set];

		if (cgroup_set_is_below(&g->set[set], id))
			cgroup_bits_set(due ? &at->due : &at->active,
					cgroup_set_member(g, set, place), on);
	}
}

void cgroup_activate(struct cgroups *g, int place, bool on)
{
	g->pmc[place].active = on;
	cgroup_mark(g, place, false, on);
}

void cgroup_due(struct cgroups *g, int place, bool on)
{
	g->pmc[place].due = on;
	cgroup_mark(g, place, true, on);
}

/* --- counts ----------------------------------------------------------------------------------- */

uint64_t cgroup_sum(const struct cgroups *g, int place)
{
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < g->e->ncpu; cpu++)
		sum += __atomic_load_n(&g->counts[cpu].count[place], __ATOMIC_RELAXED);
	return sum;
}

bool cgroup_is_open(const struct cgroups *g, int place, unsigned int cpu)
{
	uint32_t set = __atomic_load_n(&g->e->skel->bss->open_cgroup[cpu].set, __ATOMIC_ACQUIRE);

	return set && set < ABI_CGROUPS && cgroup_set_member(g, set, place);
}

static __u64 *cgroup_lost_word(const struct cgroups *g, int place)
{
	return &g->e->skel->bss->cgroup_lost[place / 64];
}

bool cgroup_has_lost(const struct cgroups *g, int place)
{
	return __atomic_load_n(cgroup_lost_word(g, place), __ATOMIC_ACQUIRE) >> place % 64 & 1;
}

void cgroup_lose(struct cgroups *g, int place)
{
	__atomic_fetch_or(cgroup_lost_word(g, place), 1ull << place % 64, __ATOMIC_SEQ_CST);
}

void cgroup_forget(struct cgroups *g, int place)
{
	__atomic_fetch_and(cgroup_lost_word(g, place), ~(1ull << place % 64), __ATOMIC_SEQ_CST);
}
