/* SPDX-License-Identifier: BSD-2-Clause */
/* The page by which clients see that the daemon runs (struct wire_alive). */
#ifndef PMCBPF_HEARTBEAT_H
#define PMCBPF_HEARTBEAT_H

#include "loader/base/base.h"

struct heartbeat;

/* Called by the event loop's thread: the page shows when that thread ends. */
int heartbeat_new(struct heartbeat **out, struct reason *why);
/* Marks the page as the kernel does at the daemon's death. */
void heartbeat_free(struct heartbeat *a);
/* A read-only descriptor of the page, for clients. */
int heartbeat_fd(const struct heartbeat *a);

#endif
