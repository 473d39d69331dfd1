/* SPDX-License-Identifier: GPL-2.0 */
/* The maps of targets and of their sets, which programs of several objects share. */
#ifndef PMCBPF_TARGETS_BPF_H
#define PMCBPF_TARGETS_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "count_abi.h"

struct sets_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_MAX_SETS);
	__type(key, u32);
	__type(value, struct abi_set);
};
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_MAX_TARGETS);
	__type(key, u32);
	__type(value, struct abi_target);
};
/* By the place of a sampling PMC: the only thread whose hits or waits are samples; 0: all. */
struct sampled_threads_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_SAMPLERS);
	__type(key, u32);
	__type(value, struct abi_alone);
};
/* By owner and position (ABI_ALONE) of a PMC that counts one thread alone. */
struct alone_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_MAX_ALONE);
	__type(key, u32);
	__type(value, struct abi_alone);
};

#endif
