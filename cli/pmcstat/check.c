/* SPDX-License-Identifier: BSD-2-Clause */
/* Do pmcstat's options go together?  The first matching row ends the run. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "pmcstat.h"

#define ANY_PMC	   (SEEN_SYSTEM_PMC | SEEN_PROCESS_PMC)
#define ANY_TARGET (SEEN_TARGET | SEEN_COMMAND | SEEN_CGROUPS)

#define OUTPUT	    SEEN_OF(ANALYSIS_OUTPUT)
#define GPROF	    SEEN_OF(ANALYSIS_GPROF)
#define GRAPH	    SEEN_OF(ANALYSIS_GRAPH)
#define PC_LINES    SEEN_OF(ANALYSIS_PC_LINES)
#define CHAIN_LINES SEEN_OF(ANALYSIS_CHAIN_LINES)
#define WIDE	    SEEN_OF(ANALYSIS_WIDE)
#define FOLDER	    SEEN_OF(ANALYSIS_FOLDER)
#define MAP	    SEEN_OF(ANALYSIS_MAP)
#define KERNEL	    SEEN_OF(ANALYSIS_KERNEL)
#define FILTER	    SEEN_OF(ANALYSIS_FILTER)
#define TOP	    SEEN_OF(ANALYSIS_TOP)
#define LOOK	    SEEN_OF(ANALYSIS_LOOK)
#define GNU	    SEEN_OF(ANALYSIS_GNU)
#define PLUGIN	    SEEN_OF(ANALYSIS_THRESHOLD | ANALYSIS_LINKS)

/* Wrong if all of `with`, none of `without` and, unless it is 0, one of `one` were seen. */
static const struct check {
	uint64_t with, one, without;
	const char *text;	/* NULL: the usage screen */
} checks[] = {
	{ SEEN_JSON | SEEN_CSV, 0, SEEN_INPUT, "options --json and --csv are mutually exclusive." },
	{ SEEN_LOG | SEEN_INPUT, 0, 0, "options -O and -R are mutually exclusive." },
	{ TOP | SEEN_DURATION, 0, 0, "options -T and -l are mutually exclusive." },
	{ TOP | SEEN_LOG, 0, 0, "options -T and -O are mutually exclusive." },
	{ TOP, OUTPUT | SEEN_JSON | SEEN_CSV, 0,
	  "option -T may not be used with another output." },
	{ PC_LINES, 0, SEEN_INPUT, "option -m requires an input file" },
	{ CHAIN_LINES, 0, SEEN_INPUT, "option -a requires an input file" },
	{ PC_LINES, GPROF | GRAPH, 0, "option -m and -g | -G are mutually exclusive" },
	{ SEEN_INPUT | SEEN_COMMAND, 0, 0,
	  "option -R may not be used with a command line specification." },
	{ SEEN_INPUT | SEEN_TARGET, 0, 0, "option -R may not be used with option -t." },
	{ SEEN_INPUT, SEEN_CGROUPS | SEEN_DURATION, 0,
	  "option -R may not be used with options -l and --for-each-cgroup." },
	{ SEEN_INPUT, ANY_PMC, 0, "option -R may not be used with a PMC event specification." },
	{ 0, 0, ANY_PMC | SEEN_INPUT, NULL },
	{ SEEN_CGROUPS, 0, SEEN_PROCESS_PMC, "option --for-each-cgroup requires a -p." },
	{ SEEN_TARGET, 0, SEEN_PROCESS_PMC,
	  "option -t requires a process mode PMC to be specified." },
	{ 0, SEEN_DESCENDANTS | SEEN_PROCESS_PMC | SEEN_EXIT_LOG | SEEN_SWITCH_LOG,
	  ANY_TARGET | SEEN_INPUT,
	  "options -d, -E, -p, -P, and -W require a command line or target process." },
	{ 0, SEEN_DESCENDANTS | SEEN_EXIT_LOG | SEEN_SWITCH_LOG, SEEN_PROCESS_PMC,
	  "options -d, -E, and -W require a process mode PMC to be specified." },
	{ SEEN_CPUS, 0, SEEN_SYSTEM_PMC | SEEN_INPUT,
	  "option -c requires at least one system mode PMC to be specified." },
	{ 0, SEEN_CUMULATIVE | SEEN_SWITCH_LOG, SEEN_COUNTING,
	  "options -C, -W and -o require at least one counting mode PMC to be specified." },
	{ 0, SEEN_CHAIN | SEEN_RATE, SEEN_SAMPLING,
	  "options -N, -n and -O require at least one sampling mode PMC to be specified." },
	{ SEEN_BOTH_SIDES, 0, SEEN_SAMPLING,
	  "option -U requires at least one sampling mode PMC to be specified." },
	{ 0, OUTPUT | TOP, SEEN_SAMPLING | SEEN_INPUT,
	  "options -g/-G/-m/-T require sampling PMCs or -R to be specified." },
	{ WIDE, 0, GPROF, "option -e requires gprof mode to be specified." },
	{ SEEN_LOG, 0, SEEN_SAMPLING | SEEN_EXIT_LOG | SEEN_SWITCH_LOG,
	  "option -O is used only with options -E, -P, -S and -W." },
	{ KERNEL, 0, OUTPUT | TOP, "option -k is only used with -g/-R/-m/-T." },
	{ FOLDER, 0, GPROF, "option -D is only used with -g." },
	{ GNU, 0, GPROF, "option --gnu is only used with -g." },
	{ MAP, 0, GPROF | SEEN_INPUT, "option -M is only used with -g/-R." },
	{ 0, PLUGIN, OUTPUT | TOP, "Need -g/-G/-m/-T." },
	{ LOOK, 0, OUTPUT | TOP,
	  "options -A, -I, -r, -z, --wall and --no-inlines are for -g/-G or another output of "
	  "samples, and for -T." },
	{ SEEN_INPUT | SEEN_CPUS, 0, OUTPUT | TOP,
	  "with -R, option -c chooses samples for -g/-G or another output of them, and for -T." },
	{ SEEN_INPUT | SEEN_PACE, 0, TOP, "with -R, option -w is only used with -T." },
	{ FILTER, 0, OUTPUT | TOP,
	  "options --event, --process, --thread and --time choose samples for -g/-G or another "
	  "output of them." },
	{ SEEN_SAMPLING | SEEN_COUNTING, 0, SEEN_LOG,
	  "option -O is required if counting and sampling PMCs are specified together." },
	{ SEEN_OUTPUT | SEEN_LOG, 0, SEEN_COUNTING | OUTPUT,
	  "option -o is for rows of counts and for outputs of samples: the log goes to -O." },
	{ 0, SEEN_JSON | SEEN_CSV, SEEN_COUNTING | OUTPUT,
	  "options --json and --csv are for rows of counts and, with a file, for samples." },
	{ SEEN_EXIT_STATUS, 0, SEEN_COMMAND, "option --exit-status requires a command line." },
};

/* No output replaces an input, and only a log replaces a log. */
static int check_outputs(const struct measure *m)
{
	bool file = m->log && strcmp(m->log, "-") != 0 && !log_port(m->log);
	int code = analysis_check_outputs(m->analysis, m->output, m->input);

	if (!code && file)
		code = guard_output(m->log, GUARD_LOG);
	if (!code && file && m->output)
		code = guard_second(m->output, m->log);
	return code;
}

/* Does the output end with the program only?  Then its file exists from the beginning. */
static bool output_is_growing(const struct measure *m)
{
	struct stat st;

	if (!m->input || m->live)
		return true;
	if (m->seen & OUTPUT)
		return false;
	if ((strcmp(m->input, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(m->input, &st)) == 0)
		return !S_ISREG(st.st_mode);
	return log_port(m->input) != NULL;
}

static int check_open_output(struct measure *m)
{
	int code = check_outputs(m);

	if (code || !m->output)
		return code;
	return out_open(&m->out, m->output, output_is_growing(m) ? OUTPUT_GROWING : OUTPUT_WHOLE);
}

int check_options(struct measure *m)
{
	int code;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct check *check = &checks[i];

		if ((m->seen & check->with) != check->with || (m->seen & check->without) ||
		    (check->one && !(m->seen & check->one)))
			continue;
		return check->text ? fail(EX_USAGE, "ERROR: %s", check->text) : args_usage();
	}
	if (m->analysis->symbols.debuginfod && (m->seen & TOP || !(m->seen & OUTPUT)))
		return fail(EX_USAGE, "ERROR: option --debuginfod is for -g/-G or another output "
			    "of samples, and -T waits for nothing.");
	if (m->seen & SEEN_COUNTING && m->seen & OUTPUT && !analysis_is_text(m->analysis))
		return fail(EX_USAGE, "ERROR: rows of counts and an output of samples for programs "
			    "would be one text: name a file for that output.");
	code = analysis_check_plugin(m->analysis);
	code = code ? code : targets_check(m, m->seen & SEEN_PROCESS_PMC);
	code = code ? code : thread_rows_check(m);
	code = code ? code : cgroup_rows_find(m);
	return code ? code : check_open_output(m);
}
