/* SPDX-License-Identifier: BSD-2-Clause */
/* One random step: an event in a process's life, or one of its requests. */
#include <errno.h>
#include <string.h>

#include <sys/pmc.h>

#include "driver.h"

#define ACTORS 14u			/* processes alive at a time, as a rule */

/* --- choices ------------------------------------------------------------------------------ */

/* A random member of a set of processes. */
static int pick_bit(struct driver *d, uint64_t set)
{
	unsigned int n = (unsigned int)__builtin_popcountll(set), k;

	if (!n)
		return -1;
	k = pick(d, n);
	for (unsigned int i = 0; i < M_PROCS; i++)
		if (set >> i & 1 && k-- == 0)
			return (int)i;
	return -1;
}

static uint64_t alive(const struct driver *d)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < M_PROCS; i++)
		if (d->m.proc[i].alive)
			set |= 1ull << i;
	return set;
}

static int unused(const struct driver *d)
{
	for (unsigned int i = 0; i < M_PROCS; i++)
		if (!d->m.proc[i].alive)
			return (int)i;
	return -1;
}

static const struct m_pmc *pick_pmc(struct driver *d, unsigned int owner, bool own)
{
	const struct m_pmc *list[M_PMCS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < M_PMCS; i++)
		if (d->m.pmc[i].used && (d->m.pmc[i].owner == owner) == own)
			list[n++] = &d->m.pmc[i];
	return n ? list[pick(d, n)] : NULL;
}

/* Mostly its own handle; sometimes another's, a damaged one, or nonsense. */
static uint32_t pick_id(struct driver *d, unsigned int p)
{
	const struct m_pmc *pmc = pick_pmc(d, p, !chance(d, 4));

	if (!pmc || chance(d, 2))
		return pick(d, 4) ? pick(d, 1u << 31) : PMC_ID_INVALID;
	return chance(d, 2) ? pmc->id ^ 1u << pick(d, 32) : pmc->id;
}

static uint64_t pick_value(struct driver *d)
{
	static const uint64_t odd[] = { 0, 1, 1ull << 32, 1ull << 48, 1ull << 63, ~0ull,
					~0ull - 999 };

	return chance(d, 20) ? odd[pick(d, sizeof(odd) / sizeof(odd[0]))] : pick(d, 1000000);
}

static uint32_t pick_cpu(struct driver *d)
{
	if (chance(d, 95))
		return pick(d, d->m.info.ncpu);
	return d->m.info.ncpu + pick(d, 2) * 1000;
}

/* --- requests ----------------------------------------------------------------------------- */

#define ARG(d, type) ((d)->cmd.len = sizeof(struct type), (struct type *)(d)->cmd.arg)

static void make_hardware(struct driver *d, struct wire_allocate_req *a)
{
	/* Events of the armv8 unit: instructions, cycles, speculative instructions, accesses. */
	static const uint64_t config[] = { 0x08, 0x08, 0x11, 0x1b, 0x13 };
	static const uint32_t ring[] = { 0, 0, PMC_CAP_USER, PMC_CAP_SYSTEM,
					 PMC_CAP_USER | PMC_CAP_SYSTEM };

	a->config = config[pick(d, sizeof(config) / sizeof(config[0]))];
	a->event = PMC_EV_PMU_FIRST + (uint32_t)a->config;
	a->caps = PMC_CAP_READ | ring[pick(d, sizeof(ring) / sizeof(ring[0]))];
}

/* An event has a number and a name: either may be another event's. */
static void make_register(struct driver *d, struct wire_allocate_req *a)
{
	const struct m_events *e = &d->m.msr;
	unsigned int n = pick(d, e->n);

	a->event = e->event[n].code + chance(d, 3);
	memcpy(a->event_name, e->event[chance(d, 3) ? 0 : n].name, sizeof(a->event_name));
}

static void make_class(struct driver *d, struct wire_allocate_req *a)
{
	static const uint32_t caps[] = { PMC_CAP_READ, PMC_CAP_READ | PMC_CAP_WRITE,
					 PMC_CAP_READ | PMC_CAP_USER | PMC_CAP_SYSTEM, 0,
					 PMC_CAP_READ | PMC_CAP_EDGE, PMC_CAP_WRITE };
	const struct wire_classinfo *c = &d->m.info.classes[pick(d, d->m.info.nclass)];

	/* tests/e2e/tracepoint.bats, probe.bats and breakpoint.bats count the events with names. */
	if (chance(d, 60) || c->class == PMC_CLASS_TRACEPOINT || c->class == PMC_CLASS_PROBE ||
	    c->class == PMC_CLASS_BREAKPOINT)
		c = &d->m.info.classes[0];
	a->class = chance(d, 3) ? 0x80 + pick(d, 8) : c->class;
	a->caps = chance(d, 80) ? PMC_CAP_READ : caps[pick(d, sizeof(caps) / sizeof(caps[0]))];
	if (a->class == PMC_CLASS_TSC) {
		a->mode = chance(d, 80) ? (uint32_t)PMC_MODE_SC : a->mode;
		a->event = chance(d, 95) ? PMC_EV_TSC_TSC : PMC_EV_TSC_TSC + 1;
	} else if (a->class == PMC_CLASS_SOFT) {
		do
			a->event = d->m.soft.event[pick(d, d->m.soft.n)].code;
		while (a->event == M_OFFCPU_TIME);
		if (chance(d, 3))
			a->event += 0x100;
	} else if (a->class == PMC_CLASS_MSR) {
		make_register(d, a);
	} else {
		make_hardware(d, a);
	}
}

static void make_allocate(struct driver *d)
{
	static const uint32_t flags[] = { PMC_F_LOG_PROCCSW, PMC_F_LOG_PROCEXIT, PMC_F_CALLCHAIN,
					  PMC_F_KGMON, PMC_F_FORCE, 1u << 20, PMC_F_USERCALLCHAIN };
	struct wire_allocate_req *a = ARG(d, wire_allocate_req);

	memset(a, 0, sizeof(*a));
	a->mode = chance(d, 75) ? PMC_MODE_TC : PMC_MODE_SC;
	if (chance(d, 8))
		a->mode = pick(d, 5);
	make_class(d, a);
	a->cpu = PMC_IS_SYSTEM_MODE(a->mode) != chance(d, 3) ? pick_cpu(d) : (uint32_t)PMC_CPU_ANY;
	if (!PMC_IS_SYSTEM_MODE(a->mode) != chance(d, 2) && chance(d, 40))
		a->flags |= PMC_F_DESCENDANTS;
	if (chance(d, 12))
		a->flags |= flags[pick(d, sizeof(flags) / sizeof(flags[0]))];
	a->count = chance(d, 10) ? pick_value(d) : 0;
	more(d, " ALLOCATE mode %u class %u event 0x%x config 0x%llx caps 0x%x cpu %d flags 0x%x",
	     a->mode, a->class, a->event, (unsigned long long)a->config, a->caps, (int)a->cpu,
	     a->flags);
}

/* A pid and the process with that pid. */
static int pick_target(struct driver *d, unsigned int p, int32_t *pid)
{
	uint32_t n = pick(d, 100);
	int t = pick_bit(d, alive(d));

	if (n < 15) {
		*pid = 0;
		return (int)p;
	}
	if (n < 90) {
		t = n < 25 ? (int)p : t;
		*pid = d->m.proc[t].pid;
		return t;
	}
	if (n < 93)
		*pid = d->m.proc[t].tid ?: 4194303;
	else if (n < 96)
		*pid = d->dead[pick(d, 8)] ?: 4194303;
	else
		*pid = n < 98 ? -(int32_t)pick(d, 100) - 1 : 4194303;
	return M_PID_NONE;
}

static int make_attach(struct driver *d, unsigned int p)
{
	struct wire_attach_req *a = ARG(d, wire_attach_req);
	const struct m_pmc *pmc;
	int target;

	d->cmd.op = chance(d, 70) ? WIRE_OP_PMCATTACH : WIRE_OP_PMCDETACH;
	a->pmcid = pick_id(d, p);
	target = pick_target(d, p, &a->pid);
	pmc = model_find(&d->m, p, a->pmcid);
	/* To be detached, a process must have been attached. */
	if (d->cmd.op == WIRE_OP_PMCDETACH && pmc && pmc->targets && chance(d, 70)) {
		target = pick_bit(d, pmc->targets);
		a->pid = d->m.proc[target].pid;
	}
	d->cmd.pidfd = a->pid > 0 ? a->pid : 0;
	more(d, " %s 0x%08x pid %d (p%d)", d->cmd.op == WIRE_OP_PMCATTACH ? "ATTACH" : "DETACH",
	     a->pmcid, a->pid, target);
	return target;
}

static void make_simple(struct driver *d, unsigned int p, uint16_t op, const char *name)
{
	struct wire_id_req *a = ARG(d, wire_id_req);

	d->cmd.op = op;
	*a = (struct wire_id_req){ .pmcid = pick_id(d, p) };
	more(d, " %s 0x%08x", name, a->pmcid);
}

static void make_rw(struct driver *d, unsigned int p)
{
	struct wire_rw_req *a = ARG(d, wire_rw_req);

	a->pmcid = pick_id(d, p);
	a->value = pick_value(d);
	a->flags = PMC_F_OLDVALUE;
	if (chance(d, 25))
		a->flags = chance(d, 50) ? PMC_F_NEWVALUE : PMC_F_NEWVALUE | PMC_F_OLDVALUE;
	if (chance(d, 4))
		a->flags = chance(d, 50) ? 0 : a->flags | 1u << pick(d, 32);
	more(d, " RW 0x%08x flags 0x%x value %llu", a->pmcid, a->flags,
	     (unsigned long long)a->value);
}

static void make_getmsr(struct driver *d, unsigned int p)
{
	static const uint32_t missing[] = { 0, 0, 0, EAGAIN, ENOSYS };
	struct wire_getmsr_req *a = ARG(d, wire_getmsr_req);

	a->pmcid = pick_id(d, p);
	a->missing = missing[pick(d, sizeof(missing) / sizeof(missing[0]))];
	more(d, " GETMSR 0x%08x missing %u", a->pmcid, a->missing);
}

static void make_setcount(struct driver *d, unsigned int p)
{
	struct wire_setcount_req *a = ARG(d, wire_setcount_req);

	*a = (struct wire_setcount_req){ .pmcid = pick_id(d, p), .count = pick_value(d) };
	more(d, " SETCOUNT 0x%08x %llu", a->pmcid, (unsigned long long)a->count);
}

static void make_admin(struct driver *d)
{
	struct wire_admin_req *a = ARG(d, wire_admin_req);

	*a = (struct wire_admin_req){
		.cpu = (int32_t)pick_cpu(d), .pmc = (int32_t)pick(d, d->m.info.npmc),
		.state = chance(d, 30) ? PMC_STATE_DISABLED : PMC_STATE_FREE,
	};
	if (chance(d, 6))
		a->state = pick(d, 8);
	if (chance(d, 4))
		a->pmc = chance(d, 50) ? -1 : (int32_t)d->m.info.npmc;
	if (chance(d, 3))
		a->cpu = -1;
	more(d, " ADMIN cpu %d row %d state %u", a->cpu, a->pmc, a->state);
}

static void make_query(struct driver *d)
{
	static const uint16_t queries[] = { WIRE_OP_GETCPUINFO, WIRE_OP_GETDRIVERSTATS,
					    WIRE_OP_GETDRIVERSTATS, WIRE_OP_GETMODULEVERSION,
					    WIRE_OP_GETDYNEVENTINFO };

	d->cmd.op = queries[pick(d, sizeof(queries) / sizeof(queries[0]))];
	d->cmd.len = 0;
	if (d->cmd.op == WIRE_OP_GETMODULEVERSION)
		ARG(d, wire_version)->version = PMC_VERSION + pick(d, 3) * 0x10000 - 0x10000;
	if (d->cmd.op == WIRE_OP_GETDYNEVENTINFO)
		*ARG(d, wire_class_req) = (struct wire_class_req){
			.class = chance(d, 40) ? PMC_CLASS_SOFT :
				 chance(d, 70) ? PMC_CLASS_MSR : PMC_CLASS_IAP };
	more(d, " query %u", d->cmd.op);
}

static void make_rows(struct driver *d)
{
	d->cmd.op = WIRE_OP_GETPMCINFO;
	*ARG(d, wire_cpu_req) = (struct wire_cpu_req){ .cpu = pick_cpu(d) };
	more(d, " GETPMCINFO cpu %u", ((struct wire_cpu_req *)d->cmd.arg)->cpu);
}

static void make_tunable(struct driver *d)
{
	static const char *const name[] = {
		"security.bsd.unprivileged_syspmcs", "security.bsd.unprivileged_syspmcs",
		"security.bsd.unprivileged_proc_debug", "kern.hwpmc.hashsize", "kern.hwpmc",
	};
	struct wire_tunable_req *a = ARG(d, wire_tunable_req);

	a->what = chance(d, 60) ? WIRE_TUNABLE_SET : pick(d, 4);
	if (a->what != WIRE_TUNABLE_LIST)
		strcpy(a->name, name[pick(d, sizeof(name) / sizeof(name[0]))]);
	if (a->what == WIRE_TUNABLE_SET)
		strcpy(a->value, chance(d, 95) ? (chance(d, 50) ? "1" : "0") : "x");
	more(d, " TUNABLE %u %s %s", a->what, a->name, a->value);
}

/* Invalid operations, and wrong lengths. */
static void make_garbage(struct driver *d)
{
	if (chance(d, 50))
		d->cmd.op = (uint16_t)(200 + pick(d, 65000));
	else
		d->cmd.len = (uint16_t)(chance(d, 50) ? d->cmd.len + 8 : d->cmd.len / 2);
	more(d, " garbled: op %u, %u bytes", d->cmd.op, d->cmd.len);
}

static int make_request(struct driver *d, unsigned int p)
{
	uint32_t n = pick(d, 100);
	int target = M_PID_NONE;

	memset(&d->cmd, 0, sizeof(d->cmd));
	if (n < 20) {
		d->cmd.op = WIRE_OP_PMCALLOCATE;
		make_allocate(d);
	} else if (n < 40) {
		target = make_attach(d, p);
	} else if (n < 54) {
		make_simple(d, p, WIRE_OP_PMCSTART, "START");
	} else if (n < 63) {
		make_simple(d, p, WIRE_OP_PMCSTOP, "STOP");
	} else if (n < 70) {
		make_simple(d, p, WIRE_OP_PMCRELEASE, "RELEASE");
	} else if (n < 84) {
		d->cmd.op = WIRE_OP_PMCRW;
		make_rw(d, p);
	} else if (n < 85) {
		d->cmd.op = WIRE_OP_PMCGETMSR;
		make_getmsr(d, p);
	} else if (n < 88) {
		d->cmd.op = WIRE_OP_PMCSETCOUNT;
		make_setcount(d, p);
	} else if (n < 92) {
		d->cmd.op = WIRE_OP_PMCADMIN;
		make_admin(d);
	} else if (n < 96) {
		make_rows(d);
	} else if (n < 99) {
		make_query(d);
	} else {
		d->cmd.op = WIRE_OP_TUNABLE;
		make_tunable(d);
	}
	if (chance(d, 1))
		make_garbage(d);
	return target;
}

static int step_request(struct driver *d, unsigned int p)
{
	unsigned int link = model_open(&d->m, p, 1) && chance(d, 30) ? 1 : 0;
	int target;

	if (d->m.proc[p].link[M_INHERITED] >= 0 && chance(d, 4))
		link = M_INHERITED;
	/* A process that has ended is tried again, then given up. */
	if (d->m.proc[p].link[link] >= 0 && !model_open(&d->m, p, link) && chance(d, 30))
		return close_link(d, p, link);
	if (d->m.proc[p].link[link] < 0) {
		note(d, "p%u %s connects", p, d->m.proc[p].root ? "root" : "nobody");
		return connect_actor(d, p, link);
	}
	note(d, "p%u:%u", p, link);
	target = make_request(d, p);
	return request(d, p, link, target);
}

/* --- events of processes ------------------------------------------------------------------ */

static int step_close(struct driver *d, unsigned int p)
{
	unsigned int link = pick(d, M_LINKS);

	if (d->m.proc[p].link[link] < 0) {
		link = link == M_INHERITED ? 0 : link;
		if (d->m.proc[p].link[link] >= 0)
			return 0;
		note(d, "p%u connects as %u", p, link);
		return connect_actor(d, p, link);
	}
	return close_link(d, p, link);
}

static int step_thread(struct driver *d, unsigned int p)
{
	if (d->m.proc[p].tid)
		return 0;
	note(d, "p%u makes a thread", p);
	d->cmd = (struct actor_cmd){ .what = DO_THREAD };
	if (tell(d, p))
		return -1;
	d->m.proc[p].tid = d->rep.number;
	return 0;
}

static int step_work(struct driver *d, unsigned int p)
{
	unsigned int pages = 1 + pick(d, 64);

	note(d, "p%u writes to %u pages", p, pages);
	d->cmd = (struct actor_cmd){ .what = DO_WORK, .number = (int)pages };
	if (tell(d, p))
		return -1;
	model_worked(&d->m, p, pages);
	return d->rep.error ? differ(&d->m, "work failed") : 0;
}

static int step_spawn(struct driver *d)
{
	unsigned int p = (unsigned int)unused(d);
	bool root = chance(d, 60), dumpable = chance(d, 75);

	note(d, "p%u is born: %s%s", p, root ? "root" : "nobody", dumpable ? "" : ", closed");
	return spawn(d, p, root, dumpable, chance(d, 50));
}

static int step_fork(struct driver *d, unsigned int p)
{
	unsigned int child = (unsigned int)unused(d);

	note(d, "p%u forks p%u", p, child);
	return fork_actor(d, p, child);
}

static int step_exec(struct driver *d, unsigned int p)
{
	bool keep = chance(d, 50);

	note(d, "p%u becomes another program, %s", p, keep ? "descriptors and all" : "clean");
	return exec_actor(d, p, keep);
}

static int step_kill(struct driver *d, unsigned int p)
{
	note(d, "p%u (%d) is killed", p, d->m.proc[p].pid);
	return kill_actor(d, p);
}

int step(struct driver *d)
{
	unsigned int n = (unsigned int)__builtin_popcountll(alive(d));
	uint32_t what = pick(d, 1000);
	unsigned int p = 0;

	if (n < 4 || (n < ACTORS && what < 25))
		return step_spawn(d);
	p = (unsigned int)pick_bit(d, alive(d)) % M_PROCS;
	if (what < 45)
		return n < M_PROCS - 2 ? step_fork(d, p) : step_kill(d, p);
	if (what < (n > ACTORS ? 95u : 70u))
		return step_kill(d, p);
	if (what < 110)
		return step_exec(d, p);
	if (what < 120)
		return step_close(d, p);
	if (what < 125)
		return step_thread(d, p);
	if (what < 165)
		return step_work(d, p);
	return step_request(d, p);
}
