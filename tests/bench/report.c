/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports, compared with perf's on the same samples; lines.c and live.c have the rest. */
#include <unistd.h>

#include "bench.h"

#define SAMPLES	  5000000u
#define GRAPHED	  250000u	/* perf's call graphs take minutes for more */
#define SIZE	  3e9		/* bytes of a log of so many, and of a perf.data */
#define RUNS	  3

static void pmcstat_path(char *path, size_t size)
{
	path_beside(path, size, "../bin/pmcstat");
}

/* --- reports --------------------------------------------------------------------------------- */

struct both {
	struct series ours, other;
};

static void report_both(const char *name, const char *unit, const struct both *b, const char *other,
			double goal)
{
	report(&(struct figure){ name, unit, &b->ours, other, &b->other,
				 goal > 0 ? JUDGE_RATIO : JUDGE_NOT, goal });
}

struct rival {
	const char *name;	/* of the comparison */
	const char *other;
	char **perf;
	uint64_t samples;
	int runs;
	double time, memory;	/* goals */
};

/* The same samples for both, one after the other: a slow machine affects both. */
static void compare(const struct bench *b, const struct rival *r, char *log, char *data)
{
	char pmcstat[256], name[2][96];
	char *ours[] = { pmcstat, "report", log, NULL };
	char *convert[] = { pmcstat, "-R", log, "--perf-data", data, NULL };
	struct both ns = { 0 }, mb = { 0 };

	pmcstat_path(pmcstat, sizeof(pmcstat));
	stacks_log(log, r->samples);
	run(b, convert, NULL);
	for (int i = 0; i < r->runs; i++) {
		struct used o = run(b, ours, NULL), p = run(b, r->perf, NULL);

		add(&ns.ours, o.seconds * 1e9 / (double)r->samples);
		add(&ns.other, p.seconds * 1e9 / (double)r->samples);
		add(&mb.ours, o.mb);
		add(&mb.other, p.mb);
	}
	snprintf(name[0], sizeof(name[0]), "%s, a sample", r->name);
	snprintf(name[1], sizeof(name[1]), "%s, resident", r->name);
	report_both(name[0], "ns", &ns, r->other, r->time);
	report_both(name[1], "MB", &mb, r->other, r->memory);
	unlink(log);
	unlink(data);
}

static void reports(const struct bench *b)
{
	char log[sizeof(b->dir) + 16], data[sizeof(b->dir) + 16];
	char *graphs[] = { "perf", "report", "--stdio", "-i", data, NULL };
	char *flat[] = { "perf", "report", "--stdio", "--no-children", "-g", "none", "-i", data,
			 NULL };
	static const char *const needs[] = { "../bin/pmcstat", NULL };
	const struct rival rivals[] = {
		{ "report of 250,000 samples", "perf report", graphs, GRAPHED, 1, 0.1, 0.5 },
		{ "report of 5 million samples", "perf report -g none", flat, SAMPLES, RUNS, 0, 0 },
	};

	if (!b->perf) {
		left_out("report: samples", "%s", b->icount ? "measured in real time only" :
			 "measured beside perf: install it (Debian: linux-perf)");
		return;
	}
	if (lacks("report: samples", needs))
		return;
	if (!room_for(b->dir, SIZE)) {
		left_out("report: samples", "%s has no room for logs of 5 million (3 GB)", b->dir);
		return;
	}
	snprintf(log, sizeof(log), "%s/log", b->dir);
	snprintf(data, sizeof(data), "%s/perf.data", b->dir);
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		compare(b, &rivals[i], log, data);
}

void bench_report(struct bench *b)
{
	pin_any(b);
	reports(b);
	bench_lines(b);
	bench_live(b);
	pin(b->home);
}
