/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of all CPUs, read as one stream in the order of time.  Records are delivered in place;
 * nothing is copied.
 */
#ifndef PMCBPF_RING_H
#define PMCBPF_RING_H

#include <stddef.h>

#include "bpf/log/log_abi.h"
#include "loader/base/base.h"

struct rings;

/* `fds` are BPF ring buffers of `size` bytes, one per CPU; they remain the caller's. */
int rings_new(const int *fds, unsigned int ncpu, size_t size, struct rings **out,
	      struct reason *why);
void rings_free(struct rings *r);

/*
 * Calls fn for every record up to `horizon`, a time from clock_ns(), oldest first.  The record and
 * the words behind it are checked for length and are valid during the call only.  Returns
 * the time up to which all records have been delivered: earlier if one is still being written.
 */
uint64_t rings_drain(struct rings *r, uint64_t horizon,
		     void (*fn)(void *arg, const struct abi_rec *rec, const uint64_t *data),
		     void *arg);

#endif
