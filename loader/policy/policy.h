/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may do what: rules over credentials, free of I/O; and how credentials are read from /proc. */
#ifndef PMCBPF_POLICY_H
#define PMCBPF_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/config/config.h"

enum { ID_REAL, ID_EFFECTIVE, ID_SAVED, IDS };

/* A process, as seen at one moment.  Pids are those of the daemon's pid namespace. */
struct cred {
	pid_t pid;
	uid_t uid[IDS];
	gid_t gid[IDS];
	uint64_t permitted, effective;	/* capabilities, in its own user namespace */
	uint64_t user_ns, pid_ns;	/* inode numbers */
	uint64_t start;			/* clock ticks since boot */
	pid_t inner_pid;		/* in its own pid namespace, */
	unsigned int depth;		/* which is so many levels below the daemon's */
	bool leader;			/* pid names a process, not a thread */
	bool dumpable;
};

/* -ESRCH: there is no such process. */
int policy_read_cred(pid_t pid, struct cred *cred);

/* The process behind a pidfd in the daemon's numbers; -ESRCH: gone or unseen; -EBADF: no pidfd. */
pid_t policy_pidfd_pid(int pidfd);

/* True once the process has exited, even while its parent does not collect it. */
bool policy_pidfd_exited(int pidfd);

/* Is the process in the middle of an exec, after its old memory has gone? */
bool policy_in_exec(pid_t pid);

/* Is this the number of the initial user namespace? */
bool policy_initial_user_ns(uint64_t number);

/* In the initial user namespace. */
bool policy_on_host(const struct cred *c);

/* CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace: hwpmc's non-jailed super-user. */
bool policy_privileged(const struct cred *c);

/*
 * Has a process more rights `now` than it could have taken on by itself `then`?  Only an exec of a
 * set-id program or of one with file capabilities, or another user namespace, can bring that about.
 */
bool policy_grown(const struct cred *then, const struct cred *now);

/* May PMCs stay on a process that takes on a set-id program?  Only the host's own root may know. */
bool policy_follows_setid(const struct cred *c);

/* The kernel shows its addresses by these settings. */
struct kernel_settings {
	int paranoid;			/* kernel.perf_event_paranoid */
	int kptr_restrict;		/* kernel.kptr_restrict */
};
/* One that cannot be read counts as the strictest. */
struct kernel_settings policy_kernel_settings(void);

/* What a client's samples show of the kernel. */
enum kernel_view {
	KERNEL_HIDDEN,			/* one placeholder frame, the same for every address */
	KERNEL_ADDRESSES,		/* addresses, without mappings and names */
	KERNEL_NAMES,			/* all of it */
};

/*
 * The kernel's own rule: perf_event_open(2) samples the kernel, and /proc/kallsyms shows addresses.
 *
 *	perf_event_paranoid	kptr_restrict	CAP_PERFMON	CAP_SYSLOG
 *	<= 1			0		either		either		NAMES
 *	<= 1			1		no		no		HIDDEN
 *	<= 1			2		no		either		HIDDEN
 *	>= 2			any		no		either		HIDDEN
 *	<= 1			1		either		yes		NAMES
 *	>= 2			<= 1		yes		yes		NAMES
 *	<= 1			1		yes		no		ADDRESSES
 *	>= 2			<= 1		yes		no		ADDRESSES
 *	any			2		yes		either		ADDRESSES
 *
 * CAP_SYS_ADMIN implies CAP_PERFMON; capabilities count on the host only.  Without them the owner
 * needs both permissions: perf alone would show addresses that kptr_restrict hides.
 */
enum kernel_view policy_kernel_view(const struct cred *client,
				    const struct kernel_settings *settings);

/* Capable of what kernel.kptr_restrict=1 takes. */
bool policy_has_syslog(const struct cred *c);

/* In a container: what FreeBSD calls a jail. */
bool policy_jailed(const struct cred *c, uint64_t daemon_pid_ns);

/* May the client allocate PMCs of system scope? 0 or -EPERM. */
int policy_system(const struct config *cfg, const struct cred *client, uint64_t daemon_pid_ns,
		  bool sampling, struct why *why);

/*
 * May the client attach to the target, which it calls `named`?  0, -EPERM, -ESRCH when the client
 * cannot see it, or POLICY_ASK: the kernel decides (access.h).
 * `visible`: the target is in the client's pid namespace or below.
 */
#define POLICY_ASK 1
int policy_attach(const struct config *cfg, const struct cred *client, const struct cred *target,
		  bool visible, pid_t named, struct why *why);

/*
 * Do ids, capabilities and dumpability let the client attach as both are now?  A proof may be
 * older.  Only the kernel knows about different user namespaces: true.
 */
bool policy_plain(const struct cred *client, const struct cred *target);

/* CAP_SYS_PTRACE where it counts for this target. */
bool policy_ptracer(const struct cred *client, const struct cred *target);

/* The kernel has said no; -EPERM with the likely reason. */
int policy_explain(const struct cred *client, const struct cred *target, pid_t named,
		   struct why *why);

/*
 * The label that a security module gives the process, "" where none does.  -ESRCH: there is no such
 * process; another -errno: it cannot be read.
 */
int policy_read_label(pid_t pid, char *label, size_t size);

/* Is the process in pid namespace `pid_ns` or in one below? */
bool policy_visible(const struct cred *target, uint64_t pid_ns);

/* The process's number in the viewer's pid namespace; -1: it has none there. */
pid_t policy_pid_in(const struct cred *c, const struct cred *viewer);

/* Is the process a child of `ancestor`, or a child's child and so on? */
bool policy_descends(pid_t pid, const struct cred *ancestor);

/* May the client be told who holds a row? */
bool policy_may_know(const struct cred *client, uid_t holder);

#endif
