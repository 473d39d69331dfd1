/* SPDX-License-Identifier: BSD-2-Clause */
/* The page by which clients see that the daemon still runs (struct wire_alive). */
#ifndef PMCBPF_HEARTBEAT_H
#define PMCBPF_HEARTBEAT_H

#include "loader/base/base.h"

struct heartbeat;

/* To be called by the thread that lives as long as the daemon. */
int heartbeat_new(struct heartbeat **out, struct why *why);
/* Marks the page as a death would, and frees. */
void heartbeat_free(struct heartbeat *a);
/* A read-only descriptor of the page, to be passed to clients. */
int heartbeat_fd(const struct heartbeat *a);

#endif
