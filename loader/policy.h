/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may do what: rules over credentials, free of I/O; and how credentials are read from /proc. */
#ifndef PMCBPF_POLICY_H
#define PMCBPF_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"

enum { ID_REAL, ID_EFFECTIVE, ID_SAVED, IDS };

/* A process, as seen at one moment.  Pids are those of the daemon's pid namespace. */
struct cred {
	pid_t pid;
	uid_t uid[IDS];
	gid_t gid[IDS];
	uint64_t permitted, effective;	/* capabilities, in its own user namespace */
	uint64_t user_ns, pid_ns;	/* inode numbers */
	uint64_t start;			/* clock ticks since boot */
	pid_t inner_pid;		/* in its own pid namespace */
	bool leader;			/* pid names a process, not a thread */
	bool dumpable;
};

/* -ESRCH: there is no such process. */
int policy_read_cred(pid_t pid, struct cred *cred);

/* The process behind a pidfd in the daemon's numbers; -ESRCH: gone or unseen; -EBADF: no pidfd. */
pid_t policy_pidfd_pid(int pidfd);

/* CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace: hwpmc's non-jailed super-user. */
bool policy_privileged(const struct cred *c);

/* In a container: what FreeBSD calls a jail. */
bool policy_jailed(const struct cred *c, uint64_t daemon_pid_ns);

/* May the client allocate PMCs of system scope? 0 or -EPERM. */
int policy_system(const struct config *cfg, const struct cred *client, uint64_t daemon_pid_ns,
		  bool sampling, struct why *why);

/*
 * May the client attach to the target? 0, -EPERM, or -ESRCH when the client cannot see it.
 * `visible`: the target is in the client's pid namespace or below.
 */
int policy_attach(const struct config *cfg, const struct cred *client, const struct cred *target,
		  bool visible, struct why *why);

/* Is the process in pid namespace `pid_ns` or in one below? */
bool policy_visible(const struct cred *target, uint64_t pid_ns);

/* May the client be told who holds a row? */
bool policy_may_know(const struct cred *client, uid_t holder);

#endif
