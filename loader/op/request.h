/* SPDX-License-Identifier: BSD-2-Clause */
/* One request, as its operation sees it; private to this room. */
#ifndef PMCBPF_LOADER_REQUEST_H
#define PMCBPF_LOADER_REQUEST_H

#include "op.h"

struct request {
	struct daemon *d;
	struct session *s;
	const void *arg;		/* the operation's request struct, complete */
	int fd;				/* the first descriptor of the packet; -1: none */
	int proof;			/* the second one: see permit.h; -1: none */
	const struct packet *m;
	struct reply *r;
};

/* -errno and the reason if the packet's descriptor was not passed on; 0 also if it has none. */
int request_fd_refused(const struct request *rq);

/*
 * The sender's credentials now.  -EPERM if the owner has exited, or has more rights than when it
 * connected: a right holds only if the process had it then and has it now.
 */
int request_cred(const struct request *rq, struct cred *cred);
/* The same, with the refusal in `why`. */
int request_cred_now(const struct request *rq, struct cred *cred, struct reason *why);

/* -EPERM unless the sender is privileged now; `what` needs the privilege ("changing tunables"). */
int request_privileged(const struct request *rq, const char *what);

/* The tunables, and the administrator's rules for the sender. */
struct ruling request_ruling(const struct request *rq);
/* grant_check() for the sender; `cred`: its credentials now, or when it connected. */
int request_judge(const struct request *rq, enum setting_point point, const struct cred *cred,
		  const struct setting_question *q);

/* 0 if the sender may sample the PMC's event with that period. */
int request_judge_period(const struct request *rq, const struct pmc *p, uint64_t period);

/* A process's pid in the sender's pid namespace; -1: it has none there. */
pid_t request_pid_seen(const struct request *rq, const struct cred *cred);

/* -ENXIO if the PMC counts a CPU that is offline; its state stays as it is. */
int request_cpu_online(const struct request *rq, const struct pmc *p);

#endif
