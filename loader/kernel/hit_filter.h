/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles a tracepoint's filter for the programs that sample hits.  The kernel has accepted the
 * filter before, and evaluates the same expression where it counts.
 */
#ifndef PMCBPF_HIT_FILTER_H
#define PMCBPF_HIT_FILTER_H

#include "bpf/count/filter_abi.h"
#include "loader/base/base.h"

struct engine;

/*
 * `e` finds functions of the kernel.  `format`: the text of the event's format file; `call`: the
 * event is a system call's, and its program gets the arguments alone.  -EOPNOTSUPP: programs cannot
 * evaluate it, with the part that they cannot; -EINVAL: it is no filter.
 */
int hit_filter_compile(const struct engine *e, const char *format, bool call, const char *filter,
		       struct abi_filter *to, struct reason *why);

/*
 * -EINVAL with the reason: the filter of a system call, which the kernel has accepted, compares a
 * pointer to a text of the program as if it were the text.  Other mistakes are none here.
 */
int hit_filter_check_call(const char *format, const char *filter, struct reason *why);

#endif
