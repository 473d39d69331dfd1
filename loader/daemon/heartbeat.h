/* SPDX-License-Identifier: BSD-2-Clause */
/* The page by which clients see that the daemon still runs (struct wire_alive). */
#ifndef PMCBPF_ALIVE_H
#define PMCBPF_ALIVE_H

#include "loader/base/base.h"

struct alive;

/* To be called by the thread that lives as long as the daemon. */
int alive_new(struct alive **out, struct why *why);
/* Marks the page as a death would, and frees. */
void alive_free(struct alive *a);
/* A read-only descriptor of the page, to be passed to clients. */
int alive_fd(const struct alive *a);

#endif
