/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of analyses: see analysis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "analysis.h"

#define DEPTH	  16
#define THRESHOLD 0.5	/* percent */

static int writer_gprof(const struct analysis *a, const struct analysis_output *o,
			const struct report *r, struct buf *out)
{
	bool map = a->seen & ANALYSIS_MAP || a->verbosity > 1;

	return report_gmon(r, a->seen & ANALYSIS_GPROF ? a->folder : NULL, a->wide, a->gnu,
			   map ? out : NULL);
}

static int writer_perf_data(const struct analysis *a, const struct analysis_output *o,
			    const struct report *r, struct buf *out)
{
	return report_perf_data(a->fd, r->log, r->profile->symbols, &a->filter, o->path);
}

static const struct writer functions = {
	.threshold = THRESHOLD, .lists = true, .write = report_functions,
};

static const struct writer writers[] = {
	{ .code = 'G', .lists = true, .write = report_graph },
	{ .code = 'F', .machine = true, .write = report_callgrind },
	{ .code = 'g', .files = writer_gprof },
	{ .code = 'm', .machine = true, .line = report_pc_lines },
	{ .code = 'a', .machine = true, .line = report_chain_lines },
	{ .code = OPT_FOLDED, .machine = true, .write = report_folded },
	{ .code = OPT_FLAMEGRAPH, .machine = true, .write = report_flamegraph,
	  .check = report_check_flamegraph },
	{ .code = OPT_PPROF, .machine = true, .write = report_pprof },
	{ .code = OPT_SPEEDSCOPE, .machine = true, .write = report_speedscope },
	{ .code = OPT_PERF_DATA, .opens = true, .files = writer_perf_data },
	{ .code = OPT_JSON, .machine = true, .write = report_json },
	{ .code = OPT_CSV, .machine = true, .write = report_csv },
};
#define NWRITERS (sizeof(writers) / sizeof(writers[0]))

static int option_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: no memory for the options");
}

static int analysis_add_output(struct analysis *a, const struct writer *writer, const char *path)
{
	if (array_extend(a->outputs, a->noutputs))
		return option_no_memory();
	a->outputs[a->noutputs++] = (struct analysis_output){
		.writer = writer, .path = path && strcmp(path, "-") != 0 ? path : NULL,
	};
	a->seen |= ANALYSIS_OUTPUT;
	return 0;
}

int analysis_default(struct analysis *a)
{
	return analysis_add_output(a, &functions, NULL);
}

/* There is one output of each kind: a second option changes its path. */
static int analysis_choose_output(struct analysis *a, int code, const char *path)
{
	const struct writer *writer = writers;

	while (writer->code != code)
		writer++;
	if (writer->opens && path && strcmp(path, "-") == 0)
		return fail(EX_USAGE, "ERROR: --perf-data needs the name of a file.");
	for (size_t i = 0; i < a->noutputs; i++)
		if (a->outputs[i].writer == writer) {
			if (path)	/* -g has none; -M gives it one, before or after */
				a->outputs[i].path = strcmp(path, "-") != 0 ? path : NULL;
			return 0;
		}
	return analysis_add_output(a, writer, path);
}

/* --- values ---------------------------------------------------------------------------------- */

static int option_plugin(struct analysis *a, const char *text)
{
	static const char threshold[] = "threshold=";
	const char *value = text + sizeof(threshold) - 1;
	double percent;
	char *end;

	if (strcmp(text, "skiplink=0") == 0 || strcmp(text, "skiplink=1") == 0) {
		a->skip_links = text[sizeof("skiplink=") - 1] == '1';
		a->seen |= ANALYSIS_LINKS;
		return 0;
	}
	if (strncmp(text, threshold, sizeof(threshold) - 1) != 0)
		return fail(EX_USAGE, "ERROR: unknown option <%s>.", text);
	percent = strtod(value, &end);
	if (end == value || *end || !(percent >= 0 && percent <= 100))
		return fail(EX_USAGE, "ERROR: Illegal threshold \"%s\": a percentage from 0 to "
			    "100.", value);
	a->threshold = percent;
	a->seen |= ANALYSIS_THRESHOLD;
	return 0;
}

static int option_folder(const char *path, const char **to)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot stat \"%s\"", path);
	if (!S_ISDIR(st.st_mode))
		return fail(EX_USAGE, "ERROR: \"%s\" is not a directory.", path);
	*to = path;
	return 0;
}

static int option_depth(struct analysis *a, const char *text)
{
	uint64_t value;

	if (opt_number(text, 10, 1, PMC_CALLCHAIN_DEPTH_MAX, &value) != 0)
		return fail(EX_USAGE, "ERROR: Illegal callchain depth \"%s\".", text);
	a->depth = (unsigned int)value;
	return 0;
}

static int option_debuginfod(struct analysis *a, const char *text)
{
	uint64_t seconds;

	if (opt_number(text, 10, 1, 3600, &seconds) != 0)
		return fail(EX_USAGE, "ERROR: Illegal time for --debuginfod \"%s\": 1 to 3600 "
			    "seconds.", text);
	a->symbols.debuginfod = (unsigned int)seconds;
	return symbols_debuginfod();
}

static int option_add_name(const char ***list, size_t *n, const char *text)
{
	if (array_extend(*list, *n))
		return option_no_memory();
	(*list)[(*n)++] = text;
	return 0;
}

static int option_add_thread(struct filter *f, const char *text)
{
	uint64_t tid;

	if (array_extend(f->threads, f->nthreads))
		return option_no_memory();
	if (opt_number(text, 10, 0, INT32_MAX, &tid) != 0)
		return fail(EX_USAGE, "ERROR: Illegal thread id \"%s\".", text);
	f->threads[f->nthreads++] = (pid_t)tid;
	return 0;
}

/* "FROM:TO"; each may be missing. */
static int option_time(struct filter *f, const char *text)
{
	const char *colon = strchr(text, ':');
	char *end = NULL;

	f->from = f->to = 0;
	if (colon && colon != text)
		f->from = strtod(text, &end);
	if (colon && (!end || end == colon) && colon[1]) {
		f->to = strtod(colon + 1, &end);
		if (*end || !(f->to > 0))
			colon = NULL;
	} else if (end && end != colon) {
		colon = NULL;
	}
	if (!colon || !(f->from >= 0) || (f->to > 0 && f->to < f->from))
		return fail(EX_USAGE, "ERROR: Illegal time window \"%s\": FROM:TO, in seconds.",
			    text);
	return 0;
}

/* --- options --------------------------------------------------------------------------------- */

static unsigned int option_kind(int code)
{
	switch (code) {
	case 'g': return ANALYSIS_GPROF;
	case 'G': return ANALYSIS_GRAPH;
	case 'm': return ANALYSIS_PC_LINES;
	case 'a': return ANALYSIS_CHAIN_LINES;
	case 'e': return ANALYSIS_WIDE;
	case 'D': return ANALYSIS_FOLDER;
	case 'M': return ANALYSIS_MAP;
	case 'k': return ANALYSIS_KERNEL;
	case 'i':
	case OPT_EVENT:
	case OPT_PROCESS:
	case OPT_TIME: return ANALYSIS_FILTER;
	case 'A':
	case 'I':
	case 'r':
	case 'z':
	case OPT_WALL:
	case OPT_NO_INLINES: return ANALYSIS_LOOK;
	case OPT_GNU: return ANALYSIS_GNU;
	default: return 0;
	}
}

int analysis_option(struct analysis *a, int code, const char *arg)
{
	struct filter *f = &a->filter;

	a->seen |= option_kind(code);
	switch (code) {
	case 'f': return option_plugin(a, arg);
	case 'D': return option_folder(arg, &a->folder);
	case 'r': return option_folder(arg, &a->symbols.root);
	case 'z': return option_depth(a, arg);
	case 'i': return option_add_thread(f, arg);
	case OPT_TIME: return option_time(f, arg);
	case OPT_EVENT: return option_add_name(&f->events, &f->nevents, arg);
	case OPT_PROCESS: return option_add_name(&f->processes, &f->nprocesses, arg);
	case 'M': return analysis_choose_output(a, 'g', arg);
	case 'e': a->wide = true; return 0;
	case 'k': a->symbols.kernel = arg; return 0;
	case 'I': a->offsets = true; return 0;
	case 'A': a->symbols.no_names = true; return 0;
	case OPT_DEBUGINFOD: return option_debuginfod(a, arg);
	case OPT_WALL: f->wall = true; return 0;
	case OPT_NO_INLINES: a->symbols.no_inlines = true; return 0;
	case OPT_GNU: a->gnu = true; return 0;
	default: return analysis_choose_output(a, code, arg);
	}
}

/* The list of functions is the output where none is requested. */
int analysis_check_plugin(const struct analysis *a)
{
	bool lists = !a->noutputs || a->seen & ANALYSIS_TOP;

	for (size_t i = 0; i < a->noutputs; i++)
		lists |= a->outputs[i].writer->lists;
	if (a->seen & ANALYSIS_LINKS && !(a->seen & ANALYSIS_TOP))
		return fail(EX_USAGE, "ERROR: option -f skiplink= is only used with -T.");
	if (a->seen & ANALYSIS_THRESHOLD && !lists)
		return fail(EX_USAGE, "ERROR: option -f threshold= is only used with -G, -T and "
			    "the list of functions: other outputs have all samples.");
	return 0;
}

int analysis_check(const struct analysis *a)
{
	if (a->seen & (ANALYSIS_WIDE | ANALYSIS_FOLDER | ANALYSIS_GNU) &&
	    !(a->seen & ANALYSIS_GPROF))
		return fail(EX_USAGE, a->seen & ANALYSIS_WIDE ?
			    "ERROR: option -e requires gprof mode to be specified." :
			    "ERROR: option %s is only used with -g.",
			    a->seen & ANALYSIS_FOLDER ? "-D" : "--gnu");
	return analysis_check_plugin(a);
}

static int analysis_check_output(const struct analysis *a, const char *path, const char *log)
{
	int code = guard_input_file(path, log, "log");

	if (!code)
		code = guard_input_file(path, a->symbols.kernel, "kernel");
	return code ? code : guard_output(path, GUARD_TEXT);
}

int analysis_check_outputs(const struct analysis *a, const char *text, const char *log)
{
	int code = text ? analysis_check_output(a, text, log) : 0;

	for (size_t i = 0; i < a->noutputs && !code; i++) {
		const char *path = a->outputs[i].path;

		if (!path)
			continue;
		code = guard_second(path, text);
		for (size_t other = 0; other < i && !code; other++)
			code = guard_second(path, a->outputs[other].path);
		if (!code)
			code = analysis_check_output(a, path, log);
	}
	return code;
}

void analysis_begin(struct analysis *a)
{
	*a = (struct analysis){ .threshold = -1, .depth = DEPTH, .folder = ".", .verbosity = 1,
				.terminal = STDERR_FILENO };
}

void analysis_end(struct analysis *a)
{
	free(a->outputs);
	free(a->filter.events);
	free(a->filter.processes);
	free(a->filter.threads);
}
