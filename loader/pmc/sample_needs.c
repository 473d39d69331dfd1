/* SPDX-License-Identifier: BSD-2-Clause */
#include <syslog.h>

#include "loader/base/base.h"
#include "loader/kernel/kernel.h"
#include "pmc.h"
#include "sample_needs.h"

/* False: the programs cannot be attached; `lost` is what is missing then. */
static bool need_take(const struct sample_needs *all, enum engine_need what, const char *lost,
		      bool *reported)
{
	struct reason why = { "" };
	bool taken = !engine_need(all->engine, what, &why);

	if (!taken && !*reported)
		messages_put(all->engine->debug->messages, LOG_NOTICE,
			     "%s: %s; mount tracefs on /sys/kernel/tracing", lost, why.text);
	*reported |= !taken;
	return taken;
}

void sample_needs_take(struct sample_needs *all, struct sample_need *n, const struct pmc *p,
		       bool logged, bool chains)
{
	*n = (struct sample_need){ .logged = logged };
	n->mappings = chains && *all->unwind &&
		      need_take(all, NEED_MAPPINGS, "call chains follow frame pointers only",
				&all->no_mappings);
	if (!logged)
		return;
	n->unmaps = need_take(all, NEED_UNMAP, "logs lack records of unmapped memory",
			      &all->no_unmaps);
	if (pmc_samples_all(p))
		programs_unmap_all(all->engine->programs, ++all->nsystem);
}

void sample_needs_give(struct sample_needs *all, struct sample_need *n, const struct pmc *p)
{
	if (n->mappings)
		engine_unneed(all->engine, NEED_MAPPINGS);
	if (n->unmaps)
		engine_unneed(all->engine, NEED_UNMAP);
	if (n->logged && pmc_samples_all(p))
		programs_unmap_all(all->engine->programs, --all->nsystem);
	*n = (struct sample_need){ .logged = false };
}
