/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out whether one process may debug another: a child with its credentials asks the kernel. */
#ifndef PMCBPF_ACCESS_H
#define PMCBPF_ACCESS_H

#include "cred.h"
#include "loader/base/base.h"

struct access {
	const struct cred *client, *target;
	int client_pidfd, target_pidfd;
	pid_t named;			/* the target's number for the client, for refusals */
};

/*
 * 0; -EPERM: no; -ESRCH: the target has exited.  Other errors: the kernel could not be asked, which
 * is no permission either.
 */
int access_debug(const struct access *a, struct reason *why);

/* After a missing proof: -EPERM with the obstacle. */
int access_explain(const struct access *a, struct reason *why);

#endif
