/* SPDX-License-Identifier: BSD-2-Clause */
/* Credentials and other properties of processes, read from /proc. */
#ifndef PMCBPF_CRED_H
#define PMCBPF_CRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ID_REAL, ID_EFFECTIVE, ID_SAVED, IDS };

/* A process at one moment.  Pids are those of the daemon's pid namespace. */
struct cred {
	pid_t pid;
	uid_t uid[IDS];
	gid_t gid[IDS];
	uint64_t permitted, effective;	/* capabilities, in its own user namespace */
	uint64_t user_ns, pid_ns;	/* inode numbers */
	uint64_t start;			/* clock ticks since boot */
	pid_t inner_pid;		/* in its own pid namespace … */
	unsigned int depth;		/* … which is so many levels below the daemon's */
	bool leader;			/* pid is a process, not a thread */
	bool dumpable;
};

/* -ESRCH: there is no such process. */
int policy_read_cred(pid_t pid, struct cred *cred);

/*
 * The label that a security module gives the process; "" without such a module.  -ESRCH: there is
 * no such process; another -errno: the label cannot be read.
 */
int policy_read_label(pid_t pid, char *label, size_t size);

/* The process of a pidfd, in the daemon's numbers; -ESRCH: gone or unseen; -EBADF: no pidfd. */
pid_t policy_pidfd_pid(int pidfd);

/* True once the process has exited, even before its parent collects it. */
bool policy_pidfd_exited(int pidfd);

/* True if the process is in the middle of an exec, after its old memory has gone. */
bool policy_in_exec(pid_t pid);

/* The kernel's settings that restrict access to its addresses. */
struct kernel_settings {
	int paranoid;			/* kernel.perf_event_paranoid */
	int kptr_restrict;		/* kernel.kptr_restrict */
};
/* A setting that cannot be read counts as the strictest. */
struct kernel_settings policy_kernel_settings(void);

/* True if the process is in pid namespace `pid_ns` or in one below it. */
bool policy_visible(const struct cred *target, uint64_t pid_ns);

/* The process's number in the viewer's pid namespace; -1: it has none there. */
pid_t policy_pid_in(const struct cred *c, const struct cred *viewer);

/*
 * The number in the daemon's PID namespace of a thread of the process, by its number in the
 * viewer's; -ESRCH: it has no such thread.
 */
pid_t policy_thread(const struct cred *process, pid_t tid, const struct cred *viewer);

/* True if `ancestor` is the parent of the process, or its parent's parent, and so on. */
bool policy_descends(pid_t pid, const struct cred *ancestor);

#endif
