/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux perf's perf.data: records, behind them the events and properties of the machine, and before
 * them a header that is written last.
 */
#ifndef PMCBPF_CLI_REPORT_PERF_FILE_H
#define PMCBPF_CLI_REPORT_PERF_FILE_H

#include "cli/common/common.h"
#include "cli/profile/profile.h"

struct perf_file {
	struct out out;
	uint64_t records;		/* bytes of all so far */
	uint64_t first, last;		/* ns, of samples */
	const char *machine;		/* as uname -m has it, NULL: not known */
};

/* 0 or an exit code and its line, as all functions below. */
int perf_file_open(struct perf_file *f, const char *path);

/* Begin a record, add its fields, end it: then out.text holds whole records. */
size_t perf_file_begin(struct perf_file *f, uint32_t type, uint16_t misc);
void perf_file_long(struct perf_file *f, uint64_t value);
void perf_file_ints(struct perf_file *f, uint32_t first, uint32_t second);
void perf_file_text(struct perf_file *f, const char *text, size_t max);
int perf_file_end(struct perf_file *f, size_t begin);

/* The number that a sample of this event carries. */
static inline uint64_t perf_file_id(uint32_t event)
{
	return event + 1ull;		/* 0 is perf's own, of no event */
}

/* Writes all but the records, after the walk has ended. */
int perf_file_finish(struct perf_file *f, const struct walk *w);

/* 0 or an exit code; prints nothing after an earlier failure. */
int perf_file_close(struct perf_file *f);

#endif
