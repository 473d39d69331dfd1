/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmccontrol -s.  Scripts parse the text: its form never changes.  JSON and OpenMetrics have the
 * same figures.
 */
#include <string.h>

#include <pmc.h>

#include "lib/base/chain_end.h"
#include "cli/common/common.h"
#include "pmccontrol.h"

#define FIGURE_LINE   "%-40s "
#define METRIC_PREFIX "pmcbpf_"

struct statistics {
	struct pmc_driverstats driver;
	struct pmc_chains chains;
};

/* All are counted since the daemon's start. */
static const struct figure {
	const char *text, *key;
	size_t offset;
	bool wide;			/* 64 bits; else 32 */
} figures[] = {
#define DRIVER(text, member) \
	{ text, #member, offsetof(struct statistics, driver.pm_##member), false }
#define CHAINS(text, key, member) \
	{ text, key, offsetof(struct statistics, chains.pm_##member), true }
	DRIVER("interrupts processed:", intr_processed),
	DRIVER("non-PMC interrupts:", intr_ignored),
	DRIVER("sampling stalls due to space shortages:", intr_bufferfull),
	DRIVER("system calls:", syscalls),
	DRIVER("system calls with errors:", syscall_errors),
	DRIVER("buffer requests:", buffer_requests),
	DRIVER("buffer requests failed:", buffer_requests_failed),
	DRIVER("sampling log sweeps:", log_sweeps),
	CHAINS("call chains that lack callers:", "chains_cut", cut),
	CHAINS("call chains:", "chains", chains),
	CHAINS("call chains whose end is known:", "chains_ended", ended),
	CHAINS("whole call chains:", "chains_whole", whole),
	CHAINS("call chains by frame pointers in part:", "chains_pointers", pointers),
	CHAINS("call chains completed afterwards:", "chains_completed", completed),
	CHAINS("call chains for which that was too late:", "chains_late", late),
#undef DRIVER
#undef CHAINS
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static unsigned long long figure_value(const struct statistics *s, const struct figure *f)
{
	unsigned int value;
	uint64_t wide;

	if (f->wide) {
		memcpy(&wide, (const char *)s + f->offset, sizeof(wide));
		return wide;
	}
	memcpy(&value, (const char *)s + f->offset, sizeof(value));
	return value;
}

static void statistics_put_text(struct buf *out, const struct statistics *s)
{
	for (size_t i = 0; i < FIGURES; i++)
		buf_printf(out, FIGURE_LINE "%llu\n", figures[i].text,
			   figure_value(s, &figures[i]));
	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		if (s->chains.pm_cuts[i])
			buf_printf(out, "cut: %-35s %llu\n", chain_end_cut_text(i),
				   (unsigned long long)s->chains.pm_cuts[i]);
}

static void statistics_put_json(struct buf *out, const struct statistics *s)
{
	struct json json = { .out = out };

	json_open(&json, NULL, '{');
	for (size_t i = 0; i < FIGURES; i++)
		json_number(&json, figures[i].key, figure_value(s, &figures[i]));
	json_open(&json, "cuts", '{');
	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		if (s->chains.pm_cuts[i])
			json_number(&json, chain_end_cut_key(i), s->chains.pm_cuts[i]);
	json_close(&json, '}');
	json_close(&json, '}');
	buf_add(out, "\n", 1);
}

static void metric_put_head(struct buf *out, const char *key, const char *help, int len)
{
	buf_printf(out, "# TYPE " METRIC_PREFIX "%s counter\n# HELP " METRIC_PREFIX "%s %.*s\n",
		   key, key, len, help);
}

/* Every reason, those of no chain as well: a series that appears late hides its first chains. */
static void statistics_put_metrics(struct buf *out, const struct statistics *s)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *f = &figures[i];

		metric_put_head(out, f->key, f->text, (int)strcspn(f->text, ":"));
		buf_printf(out, METRIC_PREFIX "%s_total %llu\n", f->key, figure_value(s, f));
	}
	metric_put_head(out, "cuts", "call chains that lack callers, by reason", INT_MAX);
	for (uint32_t i = 0; i < PMC_CHAIN_ENDS; i++)
		buf_printf(out, METRIC_PREFIX "cuts_total{reason=\"%s\"} %llu\n",
			   chain_end_cut_key(i), (unsigned long long)s->chains.pm_cuts[i]);
	buf_printf(out, "# EOF\n");
}

int statistics_show(const struct control *control)
{
	struct statistics s;
	struct buf out = { 0 };

	if (pmc_get_driver_stats(&s.driver) != 0 || pmc_get_chains(PMC_ID_INVALID, &s.chains) != 0)
		return fail_pmc(EX_OSERR, "ERROR: cannot retrieve driver statistics");
	if (control->openmetrics)
		statistics_put_metrics(&out, &s);
	else if (control->json)
		statistics_put_json(&out, &s);
	else
		statistics_put_text(&out, &s);
	return show_print(&out, 0);
}
