// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own names for addresses of its functions, which the daemon reads for logs, and the
 * address of a function by its name, for filters.
 */
#include <vmlinux.h>

#include <bpf/bpf_helpers.h>
#include "log_abi.h"

char LICENSE[] SEC("license") = "GPL";

struct abi_symbols symbols = {};
struct abi_symbol_place symbol_place = {};

/* Neither inlined nor static, so that the verifier checks it once, not in each round. */
__noinline int symbol_find(u32 i)
{
	if (i < ABI_SYMBOLS)
		BPF_SNPRINTF(symbols.text[i], ABI_SYMBOL_TEXT, "%pS", symbols.address[i]);
	return 0;
}

SEC("raw_tp")
int symbols_find(void *ctx)
{
	for (u32 i = 0; i < ABI_SYMBOLS && i < symbols.n; i++)
		symbol_find(i);
	return 0;
}

SEC("syscall")
int symbol_locate(void *ctx)
{
	return bpf_kallsyms_lookup_name(symbol_place.name, sizeof(symbol_place.name), 0,
					&symbol_place.address);
}
