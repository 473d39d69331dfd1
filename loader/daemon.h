/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything the daemon knows: there is one of these, and no other state. */
#ifndef PMCBPF_DAEMON_H
#define PMCBPF_DAEMON_H

#include "alive.h"
#include "config.h"
#include "cpu.h"
#include "log.h"
#include "owner.h"
#include "row.h"

struct daemon {
	struct config config;
	struct log log;
	struct cpu cpu;
	struct alive *alive;
	struct engine *engine;
	struct row_table rows;
	struct owner_table owners;
	struct wire_driverstats stats;
	uint64_t pid_ns;		/* the daemon's own */
	int (*read_cred)(pid_t pid, struct cred *cred);	/* policy_read_cred, but for tests */
	/* Reads the tunables as the start did; NULL: there is nothing to read. */
	int (*reread)(void *arg, struct config *config, struct why *why);
	void *reread_arg;
};

/* Rows, owners and the page that says the daemon lives; the engine stands already. */
int daemon_init(struct daemon *d, struct why *why);
void daemon_free(struct daemon *d);

/* Looks for hardware counters again; -EBUSY while PMCs hold some. */
int daemon_rediscover(struct daemon *d, struct why *why);

/* Takes over what may change at run time: the security.bsd.* tunables. */
int daemon_reread(struct daemon *d, struct why *why);

/* "SOFT/16/64/0x66<USR,SYS,REA,WRI> …" */
void daemon_announcement(const struct daemon *d, char *buf, size_t size);

#endif
