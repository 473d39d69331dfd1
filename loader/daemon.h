/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything the daemon knows: there is one of these, and no other state. */
#ifndef PMCBPF_DAEMON_H
#define PMCBPF_DAEMON_H

#include "loader/policy/access.h"
#include "loader/server/heartbeat.h"
#include "loader/config/config.h"
#include "loader/row/cpu.h"
#include "loader/helper/errand.h"
#include "loader/pmc/kgmon.h"
#include "loader/base/messages.h"
#include "loader/log/logfile.h"
#include "loader/row/msr.h"
#include "loader/pmc/owner.h"
#include "loader/row/row.h"
#include "loader/policy/user.h"
#include "loader/server/watchdog.h"

struct daemon {
	struct config config;
	const char *config_file;	/* that it was read from, or would be */
	struct log log;
	struct debug debug;
	struct cpu cpu;
	struct msrs msr;
	struct alive *alive;
	struct logpool *logs;
	struct trace *trace;
	struct lifelog *life;
	struct kgmon *kgmon;
	struct ktr *ktr;
	int log_event;			/* readable: see logpool_new() */
	struct engine *engine;
	struct row_table rows;
	struct owner_table owners;
	struct user_table users;
	struct watchdog watchdog;
	struct errands errands;		/* made before all else: errands_new() */
	struct wire_driverstats stats;
	uint64_t pid_ns;		/* the daemon's own */
	/* policy_read_cred, policy_read_label, identity_read and access_debug, but for tests */
	int (*read_cred)(pid_t pid, struct cred *cred);
	int (*read_label)(pid_t pid, char *label, size_t size);
	int (*read_identity)(pid_t pid, struct identity **id);
	int (*may_debug)(const struct access *a, struct why *why);
	void (*raise)(const struct owner *o, int signo);	/* raise_signal, but for tests */
	/* Reads the tunables as the start did; NULL: there is nothing to read. */
	int (*reread)(void *arg, struct config *config, struct why *why);
	void *reread_arg;
};

/* Rows, owners and the page that says the daemon lives; the engine stands already. */
int daemon_init(struct daemon *d, struct why *why);
void daemon_free(struct daemon *d);

/* Looks for hardware counters and registers again; -EBUSY while PMCs are on such rows. */
int daemon_rediscover(struct daemon *d, struct why *why);

/* Takes over what may change at run time, from the file and the command line. */
int daemon_reread(struct daemon *d, struct why *why);
/*
 * Changes one tunable; those of trace rings take effect later. -EINVAL: no such one or no such
 * value; -EPERM: it holds from the start.
 */
int daemon_set(struct daemon *d, const char *name, const char *value, struct why *why);

/* The thread of the trace rings has done something: tells of it, and puts back what cannot be. */
void daemon_ktr_done(struct daemon *d);

/* enum pmc_cputype for clients and logs: a CPU whose counters are out of reach is a generic one. */
uint32_t daemon_cputype(const struct daemon *d);

/* "SOFT", "?" of a number that is none. */
const char *daemon_class_name(uint32_t class);

/* "SOFT/16/64/0x66<USR,SYS,REA,WRI> …" */
void daemon_announcement(const struct daemon *d, char *buf, size_t size);

#endif
