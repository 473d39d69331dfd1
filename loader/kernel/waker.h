/* SPDX-License-Identifier: BSD-2-Clause */
/* The program that notes the wakers of threads: an instance of bpf/count/waker.bpf.c. */
#ifndef PMCBPF_WAKER_H
#define PMCBPF_WAKER_H

#include <stdbool.h>

#include "loader/base/base.h"

struct abi_level;
struct engine;
struct waker;

/*
 * Loads it.  `unwind`: programs' sides by tables, not by frame pointers; `max_stack`:
 * of the kernel's own chains; `level`: programs_nested().  -EOPNOTSUPP: on this kernel a program
 * cannot see whether it runs in an interrupt.
 */
int waker_new(const struct engine *e, bool unwind, uint32_t max_stack,
	      const struct abi_level *level, struct waker **out, struct reason *why);
void waker_free(struct waker *w);
bool waker_unwinds(const struct waker *w);

int waker_attach(struct waker *w, struct reason *why);
void waker_detach(struct waker *w);

#endif
