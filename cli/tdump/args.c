/* SPDX-License-Identifier: BSD-2-Clause */
/* The command lines of tdump and of ktrdump, the name by which it may be called. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/ktrmask.h"
#include "cli/common/common.h"
#include "tdump.h"

enum { OPT_CHROME = 512, OPT_COLOR, OPT_SAVE };

static const struct opt options[] = {
	{ 'p', "pid", "PID", "the rings of a process; without a source, the kernel's" },
	{ 'M', "core", "FILE", "… of a process's core, or the kernel's in an image of a machine" },
	{ 'N', "exec", "FILE", "the executable that ran" },
	{ 'i', "input", "FILE", "… of a file: KTR_FILE's, or one of --save" },
	{ 'R', "remote", "HOST:PORT", "the kernel's in a machine, through gdb's protocol" },
	{ 'k', "kernel", NULL, "with -p: the kernel's too, merged by time" },
	{ 'o', "output", "FILE", "write to a file" },
	{ OPT_SAVE, "save", "FILE", "the rings as they are to a file for -i; nothing is printed" },
	{ 'a', "absolute", NULL, "time stamps instead of differences" },
	{ 'd', "decimal", NULL, "times in decimal" },
	{ 'c', "clocks", "N", "times in seconds, with N clocks a microsecond" },
	{ 't', "timestamp", NULL, "a column with the time stamp in decimal" },
	{ 'f', "file", NULL, "a column with the source file and line" },
	{ 'H', "thread", NULL, "a column with the thread" },
	{ 'v', "verbose", NULL, "all about an entry, on three lines" },
	{ 'q', "quiet", NULL, "no header" },
	{ 'K', "debugger", NULL, "the form of the debugger" },
	{ 'r', "reverse", NULL, "oldest first" },
	{ 's', "separate", NULL, "one ring after the other" },
	{ 'l', "follow", NULL, "go on with what comes, oldest first" },
	{ 'm', "mask", "CLASSES", "entries of these classes only" },
	{ 'C', "cpus", "CPUS", "entries of these CPUs only" },
	{ 'T', "tid", "TID", "entries of this thread only" },
	{ 'z', "freeze", NULL, "the kernel writes no entries while they are read" },
	{ 'n', "no-cache", NULL, "read each string again" },
	{ OPT_JSON, "json", NULL, "an object of JSON a line" },
	{ OPT_CHROME, "chrome", NULL, "for Perfetto and Chrome's trace viewer" },
	{ OPT_COLOR, "color", "WHEN", "auto, always or never" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
	{ 'e', NULL, "FILE", NULL },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static const struct opt ktrdump_options[] = {
	{ 'c', "cpu", NULL, "a column with the CPU" },
	{ 'f', "file", NULL, "a column with the source file and line" },
	{ 'q', "quiet", NULL, "no header" },
	{ 'r', "relative", NULL, "with -t: differences" },
	{ 't', "timestamp", NULL, "a column with the time stamp" },
	{ 'H', "thread", NULL, "a column with the thread" },
	{ 'l', "follow", NULL, "go on with what comes" },
	{ 'i', "input", "FILE", "a file of trace entries, oldest first" },
	{ 'M', "core", "FILE", "a core, or an image of a machine" },
	{ 'N', "exec", "FILE", "the executable that ran" },
	{ 'o', "output", "FILE", "write to a file" },
	{ 'p', "pid", "PID", "a process" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
	{ 'e', NULL, "FILE", NULL },
	{ 'm', NULL, "FILE", NULL },
};
#define NKTRDUMP (sizeof(ktrdump_options) / sizeof(ktrdump_options[0]))

static void tdump_usage(FILE *file)
{
	fputs("Usage:\n"
	      "       tdump [-KHadfklnqrstvz] [-c N] [-m CLASSES] [-C CPUS] [-T TID]\n"
	      "             [--json | --chrome] [--color WHEN] [-o FILE | --save FILE]\n"
	      "             [-p PID | -M FILE | -i FILE | -R HOST:PORT] [-N FILE]\n", file);
}

static void ktrdump_usage(FILE *file)
{
	fputs("usage: ktrdump [-cfqrtHl] [-i FILE | -p PID | -M FILE] [-N FILE] [-o FILE]\n", file);
}

static int args_number(const char *text, const char *what, uint64_t least, uint64_t most,
		       uint64_t *number)
{
	if (opt_number(text, 0, least, most, number) != 0)
		return fail(EX_USAGE, "ERROR: \"%s\" is not a %s", text, what);
	return 0;
}

static int args_classes(struct tdump_options *o, const char *text)
{
	char bad[64];

	if (ktrmask_parse(text, &o->classes, bad, sizeof(bad)) != 0)
		return fail(EX_USAGE, "ERROR: -m: \"%s\" is neither a class nor a number; "
			    "classes are GEN, DEV, SYSC, …: tdump(8)", bad);
	o->has_classes = true;
	return 0;
}

static int args_clocks(struct tdump_options *o, const char *text)
{
	char *end;

	o->clocks = strtod(text, &end);
	if (end == text || *end || !(o->clocks > 0) || o->clocks > 1e12)
		return fail(EX_USAGE, "ERROR: -c: \"%s\" is not a number of clocks", text);
	return 0;
}

static int args_color(struct tdump_options *o, const char *text)
{
	static const char *const words[] = { "auto", "always", "never" };

	for (int i = 0; i < 3; i++)
		if (strcmp(text, words[i]) == 0) {
			o->color = (enum tdump_color)i;
			return 0;
		}
	return fail(EX_USAGE, "ERROR: --color is auto, always or never, not \"%s\"", text);
}

static int args_form(struct tdump_options *o, enum tdump_form form)
{
	if (o->form != FORM_TEXT && o->form != form)
		return fail(EX_USAGE, "ERROR: -K, --json and --chrome exclude each other");
	o->form = form;
	return 0;
}

/* Options with an argument that needs parsing. */
static int args_value(struct tdump_options *o, int code, const char *arg)
{
	uint64_t number = 0;
	int failed = 0;

	switch (code) {
	case 'p':
		failed = args_number(arg, "process", 1, INT32_MAX, &number);
		o->pid = (pid_t)number;
		return failed;
	case 'T':
		failed = args_number(arg, "thread", 0, UINT32_MAX, &number);
		o->tid = (uint32_t)number;
		o->has_tid = true;
		return failed;
	case 'm':
		return args_classes(o, arg);
	case 'c':
		return args_clocks(o, arg);
	case 'C':
		o->has_cpus = true;
		if (cpulist_parse(arg, &o->cpu_list) != 0)
			return fail(EX_USAGE, "ERROR: -C: \"%s\" is not a list of CPUs", arg);
		return 0;
	case OPT_COLOR:
		return args_color(o, arg);
	case OPT_JSON:
		return args_form(o, FORM_JSON);
	case OPT_CHROME:
		return args_form(o, FORM_CHROME);
	default:
		return args_form(o, FORM_DEBUGGER);
	}
}

static const char **args_name(struct tdump_options *o, int code)
{
	switch (code) {
	case 'M':
		return &o->core;
	case 'N':
	case 'e':
		return &o->exec;
	case 'i':
		return &o->input;
	case 'o':
		return &o->output;
	case OPT_SAVE:
		return &o->saved;
	case 'R':
		return &o->remote;
	case 'm':
		return o->ktrdump ? &o->core : NULL;
	default:
		return NULL;
	}
}

static bool *args_switch(struct tdump_options *o, int code)
{
	switch (code) {
	case 'k': return &o->kernel;
	case 'a': return &o->absolute;
	case 'd': return &o->decimal;
	case 't': return &o->stamps;
	case 'f': return &o->files;
	case 'H': return &o->threads;
	case 'v': return &o->verbose;
	case 'q': return &o->quiet;
	case 's': return &o->apart;
	case 'l': return &o->follow;
	case 'z': return &o->freeze;
	case 'n': return &o->no_cache;
	case 'r': return o->ktrdump ? &o->relative : &o->oldest;
	case 'c': return o->ktrdump ? &o->cpus : NULL;
	default: return NULL;
	}
}

static int args_option(struct tdump_options *o, int code, const char *arg)
{
	const char **name = args_name(o, code);
	bool *flag = args_switch(o, code);

	if (name && !*arg)
		return fail(EX_USAGE, code == OPT_SAVE ? "ERROR: --save takes the name of a file" :
			    "ERROR: option -%c takes the name of a file", code);
	if (name)
		*name = arg;
	else if (flag)
		*flag = true;
	else
		return args_value(o, code, arg);
	return 0;
}

static int args_check(struct tdump_options *o)
{
	int sources = (o->pid != 0) + (o->core != NULL) + (o->input != NULL) + (o->remote != NULL);

	if (sources > 1)
		return fail(EX_USAGE, "ERROR: one of -p, -M, -i and -R at a time");
	if (o->kernel && !o->pid)
		return fail(EX_USAGE, "ERROR: -k goes with -p; without it the kernel's rings are "
			    "shown anyway");
	if (o->freeze && (o->core || o->input || o->remote || (o->pid && !o->kernel)))
		return fail(EX_USAGE, "ERROR: -z is for the kernel's rings");
	if (o->exec && !o->pid && !o->core && !o->input)
		return fail(EX_USAGE, "ERROR: -N goes with -p, -M or -i");
	if (o->follow && (o->core || o->input || o->remote || o->apart || o->freeze ||
			  o->form == FORM_CHROME || o->form == FORM_DEBUGGER))
		return fail(EX_USAGE, "ERROR: -l follows a process or the kernel, and not with -s, "
			    "-z, -K or --chrome");
	if (o->saved && (o->output || o->follow || o->form != FORM_TEXT))
		return fail(EX_USAGE, "ERROR: --save prints nothing: not with -o, -l, -K, --json "
			    "or --chrome");
	if (o->apart && o->oldest)
		return fail(EX_USAGE, "ERROR: -r and -s exclude each other");
	if (o->form == FORM_CHROME && o->apart)
		return fail(EX_USAGE, "ERROR: --chrome orders by time: not with -s");
	if (o->ktrdump)
		o->form = FORM_KTRDUMP;
	if (o->form == FORM_CHROME || (o->ktrdump && o->input))
		o->oldest = true;
	return 0;
}

int args_parse(struct tdump *t, int argc, char *argv[], bool *ended)
{
	struct tdump_options *o = &t->opt;
	const struct opt *table;
	struct opt_scan scan;
	size_t count;
	int letter, code = 0;

	o->ktrdump = strcmp(program_invocation_short_name, "ktrdump") == 0;
	table = o->ktrdump ? ktrdump_options : options;
	count = o->ktrdump ? NKTRDUMP : NOPTIONS;
	opt_compile(&scan, table, count, sizeof(*table));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		*ended = letter == OPT_HELP || letter == OPT_VERSION;
		if (letter == OPT_HELP)
			return opt_show_help(o->ktrdump ? ktrdump_usage : tdump_usage, table, count,
					     sizeof(*table));
		if (letter == OPT_VERSION)
			return opt_version(o->ktrdump ? "ktrdump" : "tdump");
		if (letter == '?') {
			(o->ktrdump ? ktrdump_usage : tdump_usage)(stderr);
			return EX_USAGE;
		}
		code = args_option(o, letter, optarg);
	}
	if (!code && optind < argc)
		return fail(EX_USAGE, "ERROR: \"%s\" is no option; a process is named with -p, a "
			    "file with -i or -M", argv[optind]);
	return code ? code : args_check(o);
}
