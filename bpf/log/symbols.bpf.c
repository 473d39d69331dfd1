// SPDX-License-Identifier: GPL-2.0
/* The kernel's own names for addresses of its functions: the daemon runs this for logs. */
#include <vmlinux.h>

#include <bpf/bpf_helpers.h>
#include "log_abi.h"

char LICENSE[] SEC("license") = "GPL";

struct abi_symbols symbols = {};

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
