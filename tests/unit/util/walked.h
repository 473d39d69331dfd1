/* SPDX-License-Identifier: BSD-2-Clause */
/* A parser's records, one line each, for tests of a log's consumers. */
#ifndef WALKED_H
#define WALKED_H

#include <stdlib.h>

#include "cli/profile/profile.h"
#include "unit.h"

#define KERNEL 0xffffffff81000000ull

typedef int (*give)(void *to, const struct pmclog_ev *ev);

struct log {
	give give;
	void *to;
	uint64_t time;		/* ns */
	struct pmclog_ev ev;
};

static inline int put(struct log *l, enum pmclog_type type)
{
	l->ev.pl_type = type;
	l->ev.pl_ts.tv_sec = 1000 + (time_t)(l->time / 1000000000);
	l->ev.pl_ts.tv_nsec = (long)(l->time % 1000000000);
	return l->give(l->to, &l->ev);
}

static inline void begin(struct log *l)
{
	l->ev.pl_u.pl_i.pl_version = 0x0a000000;
	l->ev.pl_u.pl_i.pl_arch = 0;
	l->ev.pl_u.pl_i.pl_cpuid[0] = '\0';
	assert_int_equal(put(l, PMCLOG_TYPE_INITIALIZE), 0);
}

static inline void event(struct log *l, pmc_id_t id, const char *name)
{
	l->ev.pl_u.pl_ad.pl_pmcid = id;
	snprintf(l->ev.pl_u.pl_ad.pl_evname, PMC_NAME_MAX, "%s", name);
	assert_int_equal(put(l, PMCLOG_TYPE_PMCALLOCATEDYN), 0);
}

static inline int map(struct log *l, pid_t pid, uint64_t start, const char *path)
{
	l->ev.pl_u.pl_mi.pl_pid = pid;
	l->ev.pl_u.pl_mi.pl_start = start;
	l->ev.pl_u.pl_mi.pl_buildidlen = 0;
	snprintf(l->ev.pl_u.pl_mi.pl_pathname, PMCLOG_PATH_MAX, "%s", path);
	return put(l, PMCLOG_TYPE_MAP_IN);
}

static inline void unmap(struct log *l, pid_t pid, uint64_t start, uint64_t end)
{
	l->ev.pl_u.pl_mo.pl_pid = pid;
	l->ev.pl_u.pl_mo.pl_start = start;
	l->ev.pl_u.pl_mo.pl_end = end;
	assert_int_equal(put(l, PMCLOG_TYPE_MAP_OUT), 0);
}

static inline void exec(struct log *l, pid_t pid, const char *path)
{
	l->ev.pl_u.pl_x.pl_pid = pid;
	snprintf(l->ev.pl_u.pl_x.pl_pathname, PMCLOG_PATH_MAX, "%s", path);
	assert_int_equal(put(l, PMCLOG_TYPE_PROCEXEC), 0);
}

static inline void forked(struct log *l, pid_t parent, pid_t child)
{
	l->ev.pl_u.pl_f.pl_oldpid = parent;
	l->ev.pl_u.pl_f.pl_newpid = child;
	assert_int_equal(put(l, PMCLOG_TYPE_PROCFORK), 0);
}

static inline void gone(struct log *l, pid_t pid)
{
	l->ev.pl_u.pl_se.pl_pid = pid;
	assert_int_equal(put(l, PMCLOG_TYPE_SYSEXIT), 0);
}

struct from {
	pmc_id_t id;
	pid_t pid, tid;
	unsigned int cpu;
};

static inline int sampled(struct log *l, struct from f, size_t n, const uint64_t *pc)
{
	struct pmclog_ev_callchain *c = &l->ev.pl_u.pl_cc;

	c->pl_pid = (uint32_t)f.pid;
	c->pl_tid = (uint32_t)(f.tid ? f.tid : f.pid);
	c->pl_pmcid = f.id;
	c->pl_cpuflags = f.cpu << 16 | 1;
	c->pl_npc = (int)n;
	for (size_t i = 0; i < n; i++)
		c->pl_pc[i] = (uintptr_t)pc[i];
	return put(l, PMCLOG_TYPE_CALLCHAIN);
}

#define PCS(...) sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ }

#endif
