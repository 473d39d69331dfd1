/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ids and limits of a process, which the thread that writes its log takes on.
 *
 * The thread changes the credentials that the kernel checks when a file is written: filesystem uid
 * and gid, supplementary groups, and capabilities, of which it keeps none.  Its real, effective and
 * saved ids stay 0, on purpose:
 *	- kill(2) also takes the id of a thread, hits the whole process, and compares the sender
 *	  with the real and the saved uid;
 *	- sched_setscheduler(2), sched_setaffinity(2) and setpriority(2) compare with the effective
 *	  uid, and an owner that starves a thread with a lock would stop the daemon;
 *	- the effective uid owns the thread's files in /proc, and a write to oom_score_adj there
 *	  changes the whole process.
 *
 * A change of ids makes the process undumpable, as far as fs.suid_dumpable says.  The thread does
 * not reset that: it would open the daemon's memory while access.c's child, which shares it, has
 * the ids of a client.
 */
#ifndef PMCBPF_IDENTITY_H
#define PMCBPF_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct identity {
	uid_t uid;			/* of the file system */
	gid_t gid;
	struct ucred sender;		/* for readers of sockets: the daemon's pid, real ids */
	uint64_t file_limit;		/* RLIMIT_FSIZE; UINT64_MAX: none */
	unsigned int ngroups;
	gid_t groups[];
};

/* Reads the current ones.  -ESRCH: there is no such process; -ENOMEM. */
int identity_read(pid_t pid, struct identity **out);

/*
 * Applies to the calling thread only, and permanently.  With `sender` the thread keeps CAP_SETUID
 * and CAP_SETGID, which SCM_CREDENTIALS with id->sender needs.  On failure *call is the call that
 * returned -errno.
 */
int identity_take_on(const struct identity *id, bool sender, const char **call);

#endif
