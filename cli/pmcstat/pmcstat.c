/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcstat(8): counts events of a command, of processes and of CPUs. */
#include <string.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "cli/top/top.h"
#include "pmcstat.h"

#define INTERVAL_SECONDS 5.0

/* The phases of a measurement: see measure.h. */
static measure_phase *const phases[] = {
	check_options,   child_check,  record_prepare, pmcs_allocate, run_prepare, child_spawn,
	targets_find, pmcs_attach,  record_begin,   pmcs_start,	   child_go,	place_all,
	run_loop,	run_finish,
};

/* -R with -T: nothing is measured. */
static measure_phase *const looking[] = {
	check_options, top_read, run_prepare, run_loop, run_finish,
};

static int pmcstat_read_log(struct measure *m)
{
	return m->analysis->seen & ANALYSIS_OUTPUT ? measure_analyse_log(m) : measure_dump_log(m);
}

/* -R alone. */
static measure_phase *const reading[] = { check_options, pmcstat_read_log };

int main(int argc, char *argv[])
{
	struct analysis analysis;
	struct measure m;
	bool ended = false;
	int code, closing;

	msg_open_standard();
	if (argc > 1 && strcmp(argv[1], "report") == 0)
		return analysis_command(argc - 1, argv + 1);
	analysis_begin(&analysis);
	measure_begin(&m, &format_table);
	m.analysis = &analysis;
	m.interval = INTERVAL_SECONDS;
	code = args_parse(&m, argc, argv, &ended);
	if (!code && !ended)
		code = !m.input ? MEASURE_RUN(&m, phases) :
		       m.live ? MEASURE_RUN(&m, looking) : MEASURE_RUN(&m, reading);
	if (!code && !m.input && m.recorded >= 0)
		code = m.threads ? thread_rows_print(&m) : measure_analyse_log(&m);
	closing = measure_end(&m);
	analysis_end(&analysis);
	if (!code)
		code = closing;
	if (!code)
		code = child_exit_code(&m.child, m.seen & SEEN_EXIT_STATUS);
	return code;
}
