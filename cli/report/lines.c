/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcstat -m and -a: each sample by itself, in FreeBSD's form. */
#include <inttypes.h>

#include "lib/base/chain_end.h"
#include "cli/common/common.h"
#include "print.h"
#include "report.h"

#define CHUNK (256u * 1024)	/* bytes of text in one write */

static int lines_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: no memory for a sample's line");
}

static int lines_push(struct report_lines *l)
{
	if (l->out->failed)
		return lines_no_memory();
	return l->out->len < CHUNK ? 0 : l->push(l->arg);
}

/* "pc symbol 0xstart 0xend", as addresses of the process; a sample without a symbol has no line. */
int report_pc_lines(struct report_lines *l, struct walk *w, const struct walk_sample *sample)
{
	const struct symbol *symbol;
	struct place place;
	uint64_t start;

	if (!sample->npc)
		return 0;
	walk_place(w, sample, 0, &place);
	symbol = symbols_function(l->symbols, &place);
	if (!symbol)
		return lines_no_memory();
	if (!symbol->name)
		return 0;
	start = sample->pc[0] - (place.offset - symbol->start);
	buf_printf(l->out, "0x%" PRIxPTR " ", sample->pc[0]);
	print_text(l->out, symbol->name);
	buf_printf(l->out, " 0x%" PRIx64 " 0x%" PRIx64 "\n", start, start + symbol->size);
	return lines_push(l);
}

/* "pc function file:line" of each address, then "--"; 0 stands for callers that are missing. */
int report_chain_lines(struct report_lines *l, struct walk *w, const struct walk_sample *sample)
{
	const unsigned int cut = chain_end_cut_at(sample->flags, sample->pc,
						  (unsigned int)sample->npc);
	char room[CHAIN_FRAME_MAX];

	for (size_t i = 0; i < sample->npc; i++) {
		const struct frame *frame;
		struct place place;
		size_t n;

		walk_place(w, sample, i, &place);
		frame = symbols_frames(l->symbols, &place, &n);
		if (!frame)
			return lines_no_memory();
		buf_printf(l->out, "0x%" PRIxPTR " ", sample->pc[i]);
		print_text(l->out, frame->symbol->name ? frame->symbol->name : "<unknown>");
		buf_add(l->out, " ", 1);
		print_text(l->out, frame->file && frame->line ? frame->file : "??");
		buf_printf(l->out, ":%u\n", frame->file ? frame->line : 0);
		if (i + 1 == cut)
			buf_printf(l->out, "0x0 %s ??:0\n",
				   chain_end_frame(PMC_CC_F_TO_END(sample->flags), room));
	}
	buf_add(l->out, "--\n", 3);
	return lines_push(l);
}
