/* SPDX-License-Identifier: BSD-2-Clause */
/* See chains.h. */
#include <stdbool.h>

#include <sys/pmc.h>

#include "cli/common/common.h"
#include "chains.h"

#define WARN_PERCENT 5u		/* of chains; fewer are in a report's first lines */

void chains_add(struct chains *c, uint32_t flags)
{
	const uint32_t end = PMC_CC_F_TO_END(flags);

	c->samples++;
	c->ended += end != PMC_CHAIN_NOT_RECORDED;
	c->pointers += (flags & PMC_CC_F_POINTERS) != 0;
	if (flags & PMC_CC_F_CUT) {
		c->cut++;
		c->cuts[end]++;
	} else {
		c->whole += end == PMC_CHAIN_WHOLE;
	}
}

/* Does reason `i` come behind reason `k`? */
static bool chains_behind(const struct chains *c, uint32_t i, uint32_t k)
{
	return c->cuts[i] != c->cuts[k] ? c->cuts[i] < c->cuts[k] : i > k;
}

uint32_t chains_next(const struct chains *c, uint32_t last)
{
	uint32_t next = CHAIN_ENDS;

	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		if (c->cuts[i] && (last == CHAIN_ENDS || chains_behind(c, i, last)) &&
		    (next == CHAIN_ENDS || chains_behind(c, next, i)))
			next = i;
	return next;
}

/* In hundredths of a percent, rounded down, or `up`: one chain in a million is not 0. */
static void chains_put_percent(struct buf *out, uint64_t part, uint64_t of, bool up)
{
	uint64_t share = of ? (part * 10000 + (up ? of - 1 : 0)) / of : 0;

	buf_printf(out, "%llu.%02llu %%", (unsigned long long)share / 100,
		   (unsigned long long)share % 100);
}

void chains_put_share(struct buf *out, const struct chains *c)
{
	const char *separator = ", cut: ";

	chains_put_percent(out, c->whole, c->ended, false);
	for (uint32_t i = chains_next(c, CHAIN_ENDS); i != CHAIN_ENDS; i = chains_next(c, i)) {
		if (i == PMC_CHAIN_NOT_RECORDED)
			continue;
		buf_printf(out, "%s%s ", separator, chain_end_cut_text(i));
		chains_put_percent(out, c->cuts[i], c->ended, true);
		separator = ", ";
	}
}

void chains_note_cut(const char *log, const struct chains *c)
{
	const uint64_t kernel = c->cuts[PMC_CHAIN_NOT_RECORDED] + c->cuts[PMC_CHAIN_WHOLE];
	const uint64_t limited = kernel + c->cuts[PMC_CHAIN_DEPTH];
	struct buf share = { 0 };

	if (limited)
		note("WARNING: the call chains of %ju of the %ju samples in \"%s\" are cut: their "
		     "outermost callers are missing. kern.hwpmc.callchaindepth limits them%s",
		     (uintmax_t)limited, (uintmax_t)c->samples, log,
		     kernel ? ", and kernel.perf_event_max_stack as it was when pmcbpfd started" :
			      "");
	if ((c->cut - limited) * 100 <= c->ended * WARN_PERCENT)
		return;
	chains_put_share(&share, c);
	if (!share.failed)
		note("WARNING: whole call chains in \"%s\": %.*s", log, (int)share.len, share.data);
	buf_free(&share);
}
