/* SPDX-License-Identifier: GPL-2.0 */
/* The maps by which stacks are unwound; mapping.bpf.c creates them, other objects share them. */
#ifndef PMCBPF_TABLES_BPF_H
#define PMCBPF_TABLES_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "unwind_abi.h"
#define UNWIND_ROW_MASK (UNWIND_CHUNK_WORDS - 1)

struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, UNWIND_CHUNK_WORDS * sizeof(u32));
};
struct unwind_chunks_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_CHUNKS_MAX);
	__type(key, u32);
	__array(values, struct unwind_chunk_map);
};
struct unwind_files_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_FILES);
	__type(key, u32);
	__type(value, struct unwind_file);
};
struct unwind_processes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct unwind_process);
};
struct unwind_notes_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
};

extern struct unwind_chunks_map unwind_chunks SEC(".maps");
extern struct unwind_files_map unwind_files SEC(".maps");
extern struct unwind_processes_map unwind_processes SEC(".maps");
extern struct unwind_notes_map unwind_notes SEC(".maps");

/* The words of a chunk; NULL: there is no such chunk. */
static __always_inline const u32 *chunk_words(u32 chunk)
{
	void *inner = bpf_map_lookup_elem(&unwind_chunks, &chunk);
	u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

#endif
