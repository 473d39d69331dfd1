/* SPDX-License-Identifier: BSD-2-Clause */
/* May one process debug another?  Asked of the kernel, with the one's credentials. */
#ifndef PMCBPF_ACCESS_H
#define PMCBPF_ACCESS_H

#include "cred.h"
#include "loader/base/base.h"

struct access {
	const struct cred *client, *target;
	int client_pidfd, target_pidfd;
	pid_t named;			/* the target, in the client's numbers, for messages */
};

/*
 * 0, or -EPERM: no.  -ESRCH: the target is gone.  Anything else means that the kernel could not be
 * asked, which is no permission either.
 */
int access_debug(const struct access *a, struct why *why);

/* The client could not prove it; -EPERM with what is in the way. */
int access_explain(const struct access *a, struct why *why);

#endif
