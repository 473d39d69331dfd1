/* SPDX-License-Identifier: BSD-2-Clause */
/* The page by which clients see that the daemon runs (struct wire_alive). */
#ifndef PMCBPF_HEARTBEAT_H
#define PMCBPF_HEARTBEAT_H

#include "loader/base/base.h"

struct heartbeat;

/* Called by the event loop's thread, whose end the page shows. */
int heartbeat_new(struct heartbeat **out, struct reason *why);
/* Marks the page as the daemon's death would. */
void heartbeat_free(struct heartbeat *a);
/* A read-only descriptor of the page, for clients. */
int heartbeat_fd(const struct heartbeat *a);

#endif
