/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Chains of truth.bpf.c. */
#ifndef PMCBPF_TESTS_TRUTH_ABI_H
#define PMCBPF_TESTS_TRUTH_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define TRUTH_FRAMES 1024u

/* The stack pointer, by DWARF's numbers. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define TRUTH_SP   31
#else
#define TRUTH_SP   7
#endif

struct truth_record {
	__u64 sp;
	__u32 tid, n;
	__u32 end, pointers;
	__u64 pc[TRUTH_FRAMES + 1];		/* n of them are sent */
};

#endif
