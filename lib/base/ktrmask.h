/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of trace classes as text.  Compiled into libktr, the daemon and the tools. */
#ifndef PMCBPF_KTRMASK_H
#define PMCBPF_KTRMASK_H

#include <stddef.h>
#include <stdint.h>

/*
 * "SCHED,SYSC", "KTR_SCHED|0x2000", "all", "none", "~SPL,~CLK" (all but those), "all,~CLK": from
 * left to right; spaces, ',' and '|' separate.  FS is SUBSYS, CT1 … CT8 are bits 24 … 31.
 * 0, or -EINVAL with the first word that is neither class nor number in `bad`.
 */
int ktrmask_parse(const char *text, uint32_t *mask, char *bad, size_t size);

/* Text for ktrmask_parse(): names, "none", "all", or "~…" if that is shorter. */
#define KTRMASK_TEXT 256	/* bytes that every mask fits in */
void ktrmask_text(uint32_t mask, char *buf, size_t size);

#endif
