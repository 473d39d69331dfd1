/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver: it owns the random generator, the daemon under test, the actors and the model. */
#ifndef PMCBPF_TESTS_DRIVER_H
#define PMCBPF_TESTS_DRIVER_H

#include "actor.h"

#define TRACE	40u
#define ENDINGS 256u

/* An owner that has ended, and the length of the daemon's messages before that. */
struct ending {
	pid_t pid;
	long at;
};

struct driver {
	uint64_t random;
	struct model m;
	int ctl[M_PROCS], end[M_PROCS];	/* sockets to the actors, and their ends */
	int pidfd[M_PROCS];
	pid_t dead[8];			/* latest ones */
	unsigned int ndead;
	struct ending ending[ENDINGS];	/* since the last GETPMCINFO */
	unsigned int nending;
	pid_t daemon;
	char log[80];			/* the daemon's messages */
	unsigned int fds;		/* open descriptors of the daemon at rest */
	unsigned long steps;
	char trace[TRACE][200];
	struct actor_rep rep;
	struct actor_cmd cmd;
};

uint32_t pick(struct driver *d, uint32_t n);	/* 0 … n-1 */
bool chance(struct driver *d, unsigned int percent);
void note(struct driver *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void more(struct driver *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- driver.c ----------------------------------------------------------------------------- */

/* 0, or -1 and a difference.  d->cmd is the actor's order, d->rep its answer. */
int tell(struct driver *d, unsigned int p);
int close_link(struct driver *d, unsigned int p, unsigned int link);
int spawn(struct driver *d, unsigned int p, bool root, bool dumpable, bool reap);
int kill_actor(struct driver *d, unsigned int p);
int fork_actor(struct driver *d, unsigned int parent, unsigned int child);
int exec_actor(struct driver *d, unsigned int p, bool keep);
int connect_actor(struct driver *d, unsigned int p, unsigned int link);
/* Sends a request over a link, and shows it to the model. */
int request(struct driver *d, unsigned int p, unsigned int link, int target);
int start_daemon(struct driver *d, const char *program, bool syspmcs);
int stop_daemon(struct driver *d);
bool daemon_fds_are_back(struct driver *d);
/* Notes how many that are, when nothing is left to do. */
void daemon_rests(struct driver *d);
unsigned int daemon_fds(const struct driver *d);

/* --- random.c: one random step ------------------------------------------------------------ */

int step(struct driver *d);

/* --- storm.c: many clients at a time, and no model ---------------------------------------- */

int storm(struct driver *d, unsigned int clients, unsigned int requests);

#endif
