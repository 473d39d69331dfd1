/* SPDX-License-Identifier: BSD-2-Clause */
/* See chain_end.h. */
#include <stdio.h>

#include <sys/pmc.h>

#include "chain_end.h"

static const struct chain_end {
	const char *text, *key;
} chain_ends[CHAIN_ENDS] = {
	[PMC_CHAIN_NOT_RECORDED] = { "not recorded", "not_recorded" },
	[PMC_CHAIN_WHOLE] = { "whole", "whole" },
	[PMC_CHAIN_DEPTH] = { "limit of frames", "depth" },
	[PMC_CHAIN_PROCESS] = { "unknown mappings", "process" },
	[PMC_CHAIN_UNMAPPED] = { "address outside of code", "unmapped" },
	[PMC_CHAIN_TABLE] = { "no table yet", "table" },
	[PMC_CHAIN_RULE] = { "no call frame information", "rule" },
	[PMC_CHAIN_FORM] = { "unsupported call frame information", "form" },
	[PMC_CHAIN_STACK] = { "unreadable stack", "stack" },
	[PMC_CHAIN_STUCK] = { "caller below its callee", "stuck" },
	[PMC_CHAIN_REGISTER] = { "unknown register", "register" },
	[PMC_CHAIN_CHANGING] = { "changing mappings", "changing" },
	[PMC_CHAIN_BITS32] = { "32-bit program", "bits32" },
	[PMC_CHAIN_KERNEL] = { "address of the kernel", "kernel" },
};
static const struct chain_end chain_end_unknown = { "unknown reason", "unknown" };
static const struct chain_end chain_cut_inside = { "inside the kernel", "inside" };

static const struct chain_end *chain_end_find(uint32_t end)
{
	return end < CHAIN_ENDS && chain_ends[end].text ? &chain_ends[end] : &chain_end_unknown;
}

/* A chain that is cut although the program's part is whole lacks callers in the kernel. */
static const struct chain_end *chain_cut_find(uint32_t end)
{
	return end == PMC_CHAIN_WHOLE ? &chain_cut_inside : chain_end_find(end);
}

const char *chain_end_text(uint32_t end)
{
	return chain_end_find(end)->text;
}

const char *chain_end_key(uint32_t end)
{
	return chain_end_find(end)->key;
}

const char *chain_end_cut_text(uint32_t end)
{
	return chain_cut_find(end)->text;
}

const char *chain_end_cut_key(uint32_t end)
{
	return chain_cut_find(end)->key;
}

unsigned int chain_end_cut_at(uint32_t flags, const uintptr_t *pc, unsigned int n)
{
	unsigned int i = 1;

	if (!(flags & PMC_CC_F_CUT) || n == 0)
		return 0;
	if (PMC_CC_F_TO_END(flags) != PMC_CHAIN_WHOLE || !(pc[0] >> 63))
		return n;
	while (i < n && pc[i] >> 63)
		i++;
	return i;
}

const char *chain_end_frame(uint32_t end, char room[static CHAIN_FRAME_MAX])
{
	if (end == PMC_CHAIN_NOT_RECORDED)
		return "[cut]";
	snprintf(room, CHAIN_FRAME_MAX, "[cut: %s]", chain_end_cut_text(end));
	return room;
}
