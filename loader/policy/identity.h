/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ids and limits of a process, and how one thread of the daemon takes them on before it writes
 * for that process.
 *
 * The thread changes the ids that the kernel looks at when a file is written: its filesystem uid
 * and gid, its supplementary groups and its capabilities, of which none is left.  Its real,
 * effective and saved ids stay 0, on purpose.  kill(2) takes the id of a thread as well and hits
 * the whole process; it compares the sender with the real and the saved uid.
 * sched_setscheduler(2), sched_setaffinity(2) and setpriority(2) compare with the effective uid: a
 * thread that the owner may starve while it holds a lock would stop the daemon.  And the effective
 * uid owns the thread's files in /proc, of which oom_score_adj holds for the whole process.
 *
 * A change of ids makes a process one that cannot be dumped, as far as fs.suid_dumpable says, and
 * it stays that: to put it back from a thread would open the daemon's memory while access.c's
 * child, which shares it, has the ids of a client.
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
	struct ucred sender;		/* for the readers of sockets: the daemon's pid, real ids */
	uint64_t file_limit;		/* RLIMIT_FSIZE; UINT64_MAX: none */
	unsigned int ngroups;
	gid_t groups[];
};

/* As they are now. -ESRCH: there is no such process; -ENOMEM. */
int identity_read(pid_t pid, struct identity **out);

/*
 * For the calling thread alone, and for good.  With `sender` it keeps what is needed to send
 * id->sender along, CAP_SETUID and CAP_SETGID.  -errno of *call, which failed.
 */
int identity_take_on(const struct identity *id, bool sender, const char **call);

#endif
