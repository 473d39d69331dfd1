/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon itself: its one context, and its signs of life.
 *
 *	daemon.c	sets up the context, and changes tunables and classes at run time
 *	heartbeat.c	the page by which clients see that the daemon lives
 *	rules_read.c	reads the administrator's rules, and gives them to connected processes
 *	watchdog.c	how long each piece of work held up the event loop
 *	notify.c	readiness, for the service manager
 *	raise.c		signals to owners
 *
 * struct daemon has all of the daemon's state: there is one, main.c makes it, and the rooms above
 * (op/, server/) get it as an argument.  The rooms below know only their own part of it, passed as
 * an argument.  It belongs to the event loop's thread.  Parts with threads of their own (the
 * writers of logs behind `logs`, the trace rings' thread behind `ktr`) lock what they share.
 *
 * Order of the start: errands fork before there is anything to inherit; the engine loads the
 * programs; daemon_init() makes classes and rows, then owners, logs, rings of samples and trace
 * rings; the heartbeat comes last, so that it promises a daemon that can serve.  daemon_free() goes
 * backwards, and clients see the heartbeat's end before their PMCs go.
 */
#ifndef PMCBPF_DAEMON_H
#define PMCBPF_DAEMON_H

#include "loader/policy/policy.h"
#include "heartbeat.h"
#include "loader/config/config.h"
#include "loader/machine/cpu.h"
#include "loader/errand/errand.h"
#include "loader/pmc/kgmon.h"
#include "loader/base/base.h"
#include "loader/log/log.h"
#include "loader/machine/msr.h"
#include "loader/pmc/pmc.h"
#include "loader/row/row.h"
#include "watchdog.h"

struct daemon {
	struct config config;
	const char *config_file;	/* from which it was read, even if there is no such file */
	struct messages messages;
	struct debug debug;
	struct cpu cpu;
	struct msrs msr;
	struct heartbeat *heartbeat;
	struct logpool *logs;
	struct sample_log *samples;
	struct tables *tables;
	struct lifetime *life;
	struct kgmon *kgmon;
	struct ktr *ktr;
	int log_event;			/* readable: see logpool_new() */
	struct engine *engine;
	struct row_table rows;
	struct owner_table owners;
	struct user_table users;
	struct site_rules *site;	/* the administrator's rules … */
	uint32_t site_generation;	/* … and how many times they have been replaced */
	struct watchdog watchdog;
	struct errands errands;		/* made before all else */
	struct wire_driverstats stats;
	uint64_t pid_ns;		/* the daemon's own */
	/* policy_read_cred, policy_read_label, identity_read, access_debug; tests have their own */
	int (*read_cred)(pid_t pid, struct cred *cred);
	int (*read_label)(pid_t pid, char *label, size_t size);
	int (*read_identity)(pid_t pid, struct identity **id);
	int (*may_debug)(const struct access *a, struct reason *why);
	void (*raise)(const struct owner *o, int signo);	/* raise_signal */
	/* Reads the tunables as at the start; NULL: there is nothing to read. */
	int (*reread)(void *arg, struct config *config, struct reason *why);
	void *reread_arg;
};

/* Creates everything but errands and the engine, which exist already. */
int daemon_init(struct daemon *d, struct reason *why);
void daemon_free(struct daemon *d);

/* The machine as classes see it. */
struct class_machine daemon_machine(struct daemon *d);

/* Looks for hardware counters and registers again; -EBUSY while PMCs are on such rows. */
int daemon_rediscover(struct daemon *d, struct reason *why);

/* Reads file and command line again, and takes over the tunables that may change at run time. */
int daemon_reread(struct daemon *d, struct reason *why);
/*
 * Changes one tunable; those of trace rings take effect later.  -EINVAL: there is no such tunable,
 * or it has no such value; -EPERM: it cannot change at run time.
 */
int daemon_set(struct daemon *d, const char *name, const char *value, struct reason *why);

/*
 * The administrator's rules (rules_read.c).  daemon_read_rules() reads all files, or none if there
 * is an error in one of them, which `why` names with file and line.  A fiber waits while helpers
 * look up users and groups; requests go on under the rules in use.
 */
int daemon_read_rules(struct daemon *d, struct site_rules **out, struct reason *why);
/* Replaces the rules in use, which stay on failure.  Takes the new ones over. */
int daemon_use_rules(struct daemon *d, struct site_rules *rules, struct reason *why);
/* The grant of a process that is charged to the user. */
int daemon_grant(const struct daemon *d, const struct site_rules *rules, const struct cred *cred,
		 const struct user *u, struct grant *g, struct reason *why);
/* True if some unprivileged user may count whole CPUs. */
bool daemon_users_count_cpus(const struct daemon *d);

/* After a step of the trace rings' thread: logs its notes, and reverts tunables that failed. */
void daemon_ktr_done(struct daemon *d);

/* enum pmc_cputype for clients and logs: generic if there are no hardware counters. */
uint32_t daemon_cputype(const struct daemon *d);

/* "SOFT"; "?" for a number without a class. */
const char *daemon_class_name(uint32_t class);

/* "SOFT/16/64/0x66<USR,SYS,REA,WRI> …" */
void daemon_announcement(const struct daemon *d, char *buf, size_t size);

#endif
