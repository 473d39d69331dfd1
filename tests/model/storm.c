/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Concurrent clients that die at any moment and follow no model: every reply must be one that the
 * operation may give, the daemon must survive, and nothing of theirs may be left.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "driver.h"

#define CLIENTS 32u
#define HELD	24u			/* handles that a client remembers */
#define NOBODY	65534

struct crowd {
	pid_t pid[2 * CLIENTS];		/* clients, then a child of each */
	char diff[CLIENTS][300];
};

struct member {
	struct driver *d;
	struct crowd *crowd;
	unsigned int number;
	int link;
	uint32_t held[HELD];
};

static const struct {
	uint32_t op, len;
	int error[8];			/* errors that it may return besides success */
} table[] = {
	/* EAGAIN: the crowd of one user has that user's share. */
	{ WIRE_OP_PMCALLOCATE, sizeof(struct wire_allocate_req),
	  { EINVAL, EPERM, EOPNOTSUPP, EAGAIN } },
	{ WIRE_OP_PMCATTACH, sizeof(struct wire_attach_req),
	  { EINVAL, ESRCH, EBUSY, EPERM, EEXIST } },
	{ WIRE_OP_PMCDETACH, sizeof(struct wire_attach_req), { EINVAL, ESRCH } },
	{ WIRE_OP_PMCSTART, sizeof(struct wire_id_req), { EINVAL, ESRCH, EDOOFUS, EBUSY, EEXIST } },
	{ WIRE_OP_PMCSTOP, sizeof(struct wire_id_req), { EINVAL, ESRCH } },
	{ WIRE_OP_PMCRELEASE, sizeof(struct wire_id_req), { EINVAL, ESRCH } },
	{ WIRE_OP_PMCRW, sizeof(struct wire_rw_req), { EINVAL, ESRCH, EBUSY } },
	{ WIRE_OP_PMCSETCOUNT, sizeof(struct wire_setcount_req), { EINVAL, ESRCH, EBUSY } },
	{ WIRE_OP_PMCADMIN, sizeof(struct wire_admin_req), { EPERM, EINVAL, EBUSY } },
	{ WIRE_OP_GETPMCINFO, sizeof(struct wire_cpu_req), { EINVAL } },
	{ WIRE_OP_GETDRIVERSTATS, 0, { 0 } },
};
#define TABLE (sizeof(table) / sizeof(table[0]))

/* --- a member ----------------------------------------------------------------------------- */

static void name_register(struct wire_allocate_req *a, const struct m_events *e, unsigned int n)
{
	a->event = e->event[n].code;
	memcpy(a->event_name, e->event[n].name, sizeof(a->event_name));
}

static void fill(struct member *c, unsigned int n)
{
	struct driver *d = c->d;
	uint32_t id = chance(d, 96) ? c->held[pick(d, HELD)] : pick(d, 1u << 31);
	pid_t pid = chance(d, 30) ? 0 : c->crowd->pid[pick(d, 2 * CLIENTS)];
	const struct wire_classinfo *class = &d->m.info.classes[pick(d, d->m.info.nclass)];
	bool system = chance(d, 25) || class->class == PMC_CLASS_TSC;

	memset(&d->cmd, 0, sizeof(d->cmd));
	d->cmd.op = (uint16_t)table[n].op;
	d->cmd.len = (uint16_t)table[n].len;
	switch (table[n].op) {
	case WIRE_OP_PMCALLOCATE:
		*(struct wire_allocate_req *)d->cmd.arg = (struct wire_allocate_req){
			.mode = system ? PMC_MODE_SC : PMC_MODE_TC, .caps = PMC_CAP_READ,
			.class = class->class, .config = chance(d, 50) ? 0x08 : 0x11,
			.cpu = system ? pick(d, d->m.info.ncpu) : (uint32_t)PMC_CPU_ANY,
			.flags = !system && chance(d, 50) ? PMC_F_DESCENDANTS : 0,
			.event = class->class == PMC_CLASS_TSC ? (uint32_t)PMC_EV_TSC_TSC :
				 d->m.soft.event[pick(d, d->m.soft.n)].code,
		};
		if (class->class == PMC_CLASS_MSR)
			name_register((struct wire_allocate_req *)d->cmd.arg, &d->m.msr,
				      pick(d, d->m.msr.n));
		break;
	case WIRE_OP_PMCATTACH:
	case WIRE_OP_PMCDETACH:
		*(struct wire_attach_req *)d->cmd.arg = (struct wire_attach_req){ id, pid };
		d->cmd.pidfd = pid;
		break;
	case WIRE_OP_PMCRW:
		*(struct wire_rw_req *)d->cmd.arg = (struct wire_rw_req){
			id, chance(d, 80) ? PMC_F_OLDVALUE : PMC_F_NEWVALUE, pick(d, 1000) };
		break;
	case WIRE_OP_PMCADMIN:
		/* Only harmless requests: a disabled slot would outlive the client. */
		*(struct wire_admin_req *)d->cmd.arg = (struct wire_admin_req){
			.cpu = (int)pick(d, d->m.info.ncpu), .state = PMC_STATE_FREE,
			.pmc = (int)pick(d, d->m.info.npmc) };
		break;
	case WIRE_OP_GETPMCINFO:
		((struct wire_cpu_req *)d->cmd.arg)->cpu = pick(d, d->m.info.ncpu + 1);
		break;
	default:
		memcpy(d->cmd.arg, &id, sizeof(id));
	}
}

static bool allowed(unsigned int n, int error)
{
	bool ok = error == 0;

	for (unsigned int i = 0; i < sizeof(table[0].error) / sizeof(int); i++)
		ok |= error == table[n].error[i];
	return ok;
}

static void ask(struct member *c)
{
	/* Allocations, starts and attaches are more frequent than the rest. */
	static const uint8_t often[] = { 0, 0, 1, 1, 1, 3, 3, 6, 6 };
	struct driver *d = c->d;
	unsigned int n = chance(d, 60) ? often[pick(d, sizeof(often))] : pick(d, TABLE);

	fill(c, n);
	actor_send(c->link, &d->cmd, &d->rep);
	if (!allowed(n, d->rep.error)) {
		snprintf(c->crowd->diff[c->number], sizeof(c->crowd->diff[0]),
			 "operation %u: %s: %.*s", table[n].op,
			 d->rep.error == M_CLOSED ? "closed" : strerrorname_np(d->rep.error),
			 (int)d->rep.reason_len, (char *)d->rep.data + d->rep.len);
		_exit(1);
	}
	if (table[n].op == WIRE_OP_PMCALLOCATE && !d->rep.error)
		c->held[pick(d, HELD)] = ((struct wire_allocate_rep *)d->rep.data)->pmcid;
}

/* A child that is a target for a while. */
static void breed(struct member *c)
{
	pid_t *child = &c->crowd->pid[CLIENTS + c->number], pid;

	if (*child > 0) {
		kill(*child, SIGKILL);
		waitpid(*child, NULL, 0);
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			usleep(1000);
	}
	*child = pid;
}

static void take_part(struct member *c, unsigned int requests)
{
	struct driver *d = c->d;

	if (c->number % 2 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			      setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(2);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (actor_connect(&c->link))
		_exit(3);
	for (unsigned int i = 0; i < requests; i++) {
		if (chance(d, 2))
			breed(c);
		ask(c);
		if (pick(d, 300) == 0)
			raise(SIGKILL);
	}
	_exit(0);
}

/* --- all of them -------------------------------------------------------------------------- */

static void start(struct driver *d, struct crowd *crowd, unsigned int number, unsigned int requests)
{
	struct member c = { .d = d, .crowd = crowd, .number = number };
	pid_t pid;

	d->random += 0x632be59bd9b4e019ull;	/* every one its own sequence */
	pid = fork();
	if (pid == 0)
		take_part(&c, requests);
	crowd->pid[number] = pid;
}

/* A client that dies early is replaced; we also collect orphans. */
static int wait_for_all(struct driver *d, struct crowd *crowd, unsigned int n,
			unsigned int requests)
{
	unsigned int left = n, lives = n * 8;
	int status;
	pid_t pid;

	while (left && (pid = wait(&status)) > 0) {
		unsigned int i = 0;

		if (pid == d->daemon)
			return differ(&d->m, "the daemon has died of many clients");
		while (i < n && crowd->pid[i] != pid)
			i++;
		if (i == n)
			continue;
		if (WIFEXITED(status) && WEXITSTATUS(status))
			return differ(&d->m, "client %u: status %d %s", i, WEXITSTATUS(status),
				      crowd->diff[i]);
		if (WIFSIGNALED(status) && lives-- > n)
			start(d, crowd, i, requests);
		else
			left--;
	}
	return 0;
}

int storm(struct driver *d, unsigned int clients, unsigned int requests)
{
	struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int result;

	if (crowd == MAP_FAILED || clients > CLIENTS)
		return differ(&d->m, "no memory");
	for (unsigned int i = 0; i < clients; i++)
		start(d, crowd, i, requests);
	result = wait_for_all(d, crowd, clients, requests);
	for (unsigned int i = 0; i < clients; i++)
		if (result && crowd->pid[i] > 0)
			kill(crowd->pid[i], SIGKILL);
	munmap(crowd, sizeof(*crowd));
	return result;
}
