/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference model of hwpmc's operations: processes, connections, rows and PMCs as the manual
 * pages and the reference of operations describe them, without any code of the daemon's.  It
 * receives one request at a time with the daemon's reply, and reports a difference or follows.
 */
#ifndef PMCBPF_TESTS_MODEL_H
#define PMCBPF_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/wire.h"

#define M_PROCS	   32u		/* processes at a time; sets of them are 64-bit masks */
#define M_CONNS	   128u
#define M_LINKS	   3u		/* connections of one process: two of its own, one inherited */
#define M_INHERITED 2u
#define M_PMCS	   1024u
#define M_ROWS	   256u
#define M_CPUS	   64u
#define M_EVENTS   160u
#define M_PID_NONE (-1)
/* Counted on a CPU other than the process's: no slices. */
#define M_CPU_MIGRATIONS 0x2000eu
#define M_OFFCPU_TIME    0x20012u	/* sampled only, by rules of its own: not played */

struct m_conn {
	bool open;		/* as the daemon sees it */
	bool doubtful;		/* its owner has executed another program */
	unsigned int owner;
	uint64_t holders;	/* processes that hold a descriptor of it */
};

struct m_proc {
	bool alive;
	bool root;		/* all privileges; else uid 65534 and none */
	bool dumpable;
	int parent;		/* -1: a process outside of the game */
	pid_t pid, tid;		/* tid: of a second thread, or 0 */
	int link[M_LINKS];	/* index of the connection, or -1 */
};

struct m_pmc {
	bool used;
	unsigned int owner, row, cpu;
	uint32_t id, mode, state, flags, event;
	uint64_t config;	/* of a hardware event, with the capabilities that pick the ring */
	bool told, was_told;	/* its register: while its owner is a target; before that */
	uint64_t reload;
	uint64_t targets;	/* processes */
	bool orphaned;		/* one has died since START, and may still be on its way out */
	uint64_t floor;		/* the lowest count that it may read */
	bool missed;		/* it has lost a slice, and has not been written since */
	bool exact;		/* so is the highest: nothing has counted since it was known */
	unsigned int serial;	/* in the order of allocation */
};

struct m_row {
	unsigned int class;	/* index in cpuinfo.classes */
	int balance;
	bool disabled[M_CPUS];
};

struct m_events {
	uint32_t class;
	unsigned int n;
	struct wire_dynevent event[M_EVENTS];
};

struct model {
	struct wire_cpuinfo info;
	struct m_events soft, msr;
	bool syspmcs;		/* security.bsd.unprivileged_syspmcs */
	bool proc_debug;	/* security.bsd.unprivileged_proc_debug */
	struct m_row row[M_ROWS];
	struct m_proc proc[M_PROCS];
	struct m_conn conn[M_CONNS];
	struct m_pmc pmc[M_PMCS];
	unsigned int serial;
	uint32_t calls, errors;	/* GETDRIVERSTATS */
	uint64_t tsc;		/* latest value read */
	uint64_t ended;		/* owners, by process, since the driver last looked */
	char diff[400];		/* the difference */
};

/* One request and its answer. */
struct m_call {
	unsigned int who;	/* process */
	unsigned int link;	/* over which of its connections */
	uint16_t op;
	int target;		/* ATTACH, DETACH: the process with that pid, or M_PID_NONE */
	const void *arg;
	size_t len;
	int error;		/* reply: errno, 0 for success, or M_CLOSED */
	const void *reply;
	size_t reply_len;
	const char *reason;	/* of an error, without a NUL */
	size_t reason_len;
};
#define M_CLOSED 100000		/* the connection ended instead of a reply */

/* --- model.c: processes and connections --------------------------------------------------- */

void model_init(struct model *m, const struct wire_cpuinfo *info, bool syspmcs);

/* The caller has observed these events. */
void model_born(struct model *m, unsigned int p, pid_t pid, bool root, bool dumpable);
void model_forked(struct model *m, unsigned int parent, unsigned int child, pid_t pid);
/* `kept`: the mask of links whose descriptors stay open over it. */
void model_executed(struct model *m, unsigned int p, unsigned int kept);
void model_died(struct model *m, unsigned int p);
void model_connected(struct model *m, unsigned int p, unsigned int link);
void model_closed(struct model *m, unsigned int p, unsigned int link);
/* The process has written to so many new pages. */
void model_worked(struct model *m, unsigned int p, unsigned int pages);

unsigned int model_owned(const struct model *m, unsigned int p);
bool model_open(const struct model *m, unsigned int p, unsigned int link);

/* Shared by the files of the model. */
struct m_pmc *model_find(struct model *m, unsigned int p, uint32_t id);
void model_release(struct model *m, struct m_pmc *pmc);
/* The PMC that measures a process on a row, or NULL. */
struct m_pmc *model_holder(struct model *m, unsigned int p, unsigned int row);
/* The process and everything below it by parent. */
uint64_t model_tree(const struct model *m, unsigned int p);
bool model_is_system(const struct m_pmc *pmc);
/* The event of a class that has a list, or NULL. */
const struct wire_dynevent *model_event(const struct model *m, uint32_t class, uint32_t code);
const struct wire_classinfo *model_class(const struct model *m, uint32_t class);
bool model_is_hardware(const struct model *m, uint32_t class);
bool model_cannot_interrupt(uint32_t event);
/* Do this user's PMCs, or all, have what such a PMC takes of a pool? */
bool model_share_used(const struct model *m, const struct m_call *c,
		      const struct wire_allocate_req *a, unsigned int row);
int differ(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails unless the daemon's answer is `error`. */
int expect(struct model *m, const struct m_call *c, int error);

/* --- alloc.c, query.c, ops.c: operations; 0, or -1 and a difference ----------------------- */

int model_allocate(struct model *m, const struct m_call *c);
int model_pmcinfo(struct model *m, const struct m_call *c);
int model_stats(struct model *m, const struct m_call *c);
int model_version(struct model *m, const struct m_call *c);
int model_cpuinfo(struct model *m, const struct m_call *c);
int model_events(struct model *m, const struct m_call *c);
int model_tunable(struct model *m, const struct m_call *c);
int model_call(struct model *m, const struct m_call *c);

#endif
