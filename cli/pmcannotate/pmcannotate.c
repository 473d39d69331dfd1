/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcannotate(8): a log's samples beside a binary's source and instructions.  As in FreeBSD a wrong
 * command line shows the usage and is no failure; every failure is exit status 1.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmcannotate.h"
#include "cli/common/common.h"
#include "cli/measure/measure.h"
#include "cli/log/log.h"

#define LIMIT 0.5	/* percent */

struct args {
	const char *html, *kernel, *event, *binary;
	bool force;
	bool ended;		/* nothing is left to do */
};

static const struct opt options[] = {
	{ 'a', "assembly", NULL, "instructions only" },
	{ OPT_LINES, "lines", NULL, "source lines only, each with all of its samples" },
	{ 'l', "limit", "PERCENT", "leave out functions with less of all samples; 0.5" },
	{ OPT_FUNCTION, "function", "NAME", "this function only, whatever its share" },
	{ OPT_EVENT, "event", "NAME", "samples of this event only" },
	{ 'k', "kernel", "FILE", "the kernel's file, or the folder it lies in" },
	{ OPT_SOURCE, "source", "DIR", "source files lie below DIR" },
	{ OPT_HTML, "html", "FILE", "a page for a browser, - for standard output" },
	{ OPT_FORCE, "force", NULL, "also when BINARY is not what was recorded" },
	{ 'h', NULL, NULL, "the usage" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void annotate_usage(FILE *file)
{
	fputs("usage: pmcannotate [-a | --lines] [-h] [-k KERNEL] [-l PERCENT] [OPTION...] LOG "
	      "BINARY\n", file);
}

static int annotate_wrong(struct args *args)
{
	args->ended = true;
	annotate_usage(stderr);
	return 0;
}

static int limit_parse(const char *text, double *limit)
{
	char *end;

	errno = 0;
	*limit = strtod(text, &end);
	if (end == text || *end || errno || !(*limit >= 0 && *limit <= 100))
		return fail(EXIT_FAILURE, "\"%s\" is no percentage", text);
	return 0;
}

static int annotate_option(struct annotate *a, struct args *args, int letter)
{
	switch (letter) {
	case 'a':
		a->view = VIEW_ASSEMBLY;
		return 0;
	case OPT_LINES:
		a->view = VIEW_LINES;
		return 0;
	case 'l':
		return limit_parse(optarg, &a->limit);
	case OPT_FUNCTION:
		a->function = optarg;
		return 0;
	case OPT_EVENT:
		args->event = optarg;
		return 0;
	case 'k':
		args->kernel = optarg;
		return 0;
	case OPT_SOURCE:
		a->sources.dir = optarg;
		return 0;
	case OPT_HTML:
		args->html = optarg;
		return 0;
	case OPT_FORCE:
		args->force = true;
		return 0;
	case OPT_HELP:
		args->ended = true;
		return opt_show_help(annotate_usage, options, NOPTIONS, sizeof(options[0]));
	case OPT_VERSION:
		args->ended = true;
		return opt_version("pmcannotate");
	default:
		return annotate_wrong(args);
	}
}

static int annotate_parse(struct annotate *a, struct args *args, int argc, char *argv[])
{
	struct opt_scan scan;
	int letter, code = 0;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && !args->ended && (letter = opt_next(&scan, argc, argv)) != -1)
		code = annotate_option(a, args, letter);
	if (code || args->ended)
		return code;
	if (optind + 2 != argc)
		return annotate_wrong(args);
	a->log = argv[optind];
	args->binary = argv[optind + 1];
	return 0;
}

/* Without a disassembler or lines the rest is shown, with a note. */
static void view_choose(struct annotate *a)
{
	const char *why;

	a->disasm = disasm_open(&a->binary, listing_name, a, &why);
	if (a->disasm)
		return;
	if (a->view != VIEW_LINES)
		note("\"%s\": instructions cannot be shown, source lines are: %s", a->binary.name,
		     why);
	a->view = VIEW_LINES;
}

static int annotate_nothing(const struct annotate *a)
{
	for (size_t i = 0; i < a->hits.nfunctions; i++) {
		if (pmcannotate_wants(a, &a->hits.functions[i]))
			return 0;
	}
	if (a->function)
		return fail(EXIT_FAILURE, "no sample lies in a function \"%s\" of \"%s\"",
			    a->function, a->binary.name);
	note("no function of \"%s\" has %g%% of the samples: -l shows those with less",
	     a->binary.name, a->limit);
	return 0;
}

static int page_open(const struct annotate *a, const char *html, struct out *out)
{
	int code = guard_input_file(html, a->log, "log");

	if (!code)
		code = guard_output(html, GUARD_TEXT);
	if (!code)
		code = sources_guard(&a->sources, html);
	return code ? code : out_open(out, html, OUTPUT_WHOLE);
}

static int annotate_print(struct annotate *a, const char *html)
{
	struct buf text = { 0 };
	struct out out = { 0 };
	int closing, code = (html ? pmcannotate_html : pmcannotate_text)(a, &text);

	/* Opened only now: the page is checked against all source files that were read. */
	if (!code && html && strcmp(html, "-") != 0)
		code = page_open(a, html, &out);
	else if (!code)
		out_use(&out, STDOUT_FILENO, "standard output");
	out.text = text;
	if (!code)
		code = out_push_all(&out);
	if (!code)
		out_complete(&out);
	closing = out_close(&out);
	return code ? code : closing;
}

static int annotate_log(struct annotate *a, const struct args *args, const struct profile *p)
{
	int code = hits_find(&a->hits, p, &a->binary, args->event, args->force);

	if (!code)
		code = annotate_nothing(a);
	if (code)
		return code;
	if (a->hits.image->state == IMAGE_STRIPPED)
		note("\"%s\" has no symbols: its functions are addresses", a->binary.name);
	a->sources.compiled = a->binary.changed;
	view_choose(a);
	return annotate_print(a, args->html);
}

/* A damaged log is shown up to the damage; a line and the exit status report it. */
static int log_read(const struct annotate *a, struct profile *p, int *damaged)
{
	const struct walk_stats *stats;
	int fd = -1, code = log_open_input(a->log, &fd);

	if (code)
		return code;
	code = profile_log(p, fd, a->log, STDERR_FILENO);
	close(fd);
	if (code && (code != EX_DATAERR || !p->samples))
		return code;
	*damaged = code;
	if (code)
		note("WARNING: what follows is of the log up to there");
	stats = walk_stats(p->walk);
	if (stats->cut && !code)
		log_note_cut(a->log, "listing");
	log_note_gaps(a->log, stats->drops, stats->lost);
	chains_note_cut(a->log, &stats->ends);
	return 0;
}

static int annotate_run(struct annotate *a, const struct args *args)
{
	struct symbols_config config = { .kernel = args->kernel };
	struct filter filter = { 0 };
	struct profile *p = NULL;
	int damaged = 0, code = symbols_check_kernel(args->kernel);

	if (!code)
		code = binary_open(&a->binary, args->binary);
	if (code)
		return code;
	if (a->binary.kernel && !config.kernel)
		config.kernel = a->binary.path;
	a->symbols = symbols_new(&config);
	if (!a->symbols)
		code = fail(EXIT_FAILURE, "Impossible to read the log: no memory");
	else if (!(p = profile_new(a->symbols, &filter)))
		code = EXIT_FAILURE;
	if (!code)
		code = log_read(a, p, &damaged);
	if (!code)
		code = annotate_log(a, args, p);
	hits_free(&a->hits);
	sources_free(&a->sources);
	disasm_close(a->disasm);
	profile_free(p);
	symbols_free(a->symbols);
	return code ? code : damaged;
}

int main(int argc, char *argv[])
{
	struct annotate a = { .limit = LIMIT, .binary = { .fd = -1 } };
	struct args args = { 0 };
	int code;

	msg_open_standard();
	signal(SIGPIPE, SIG_IGN);
	code = annotate_parse(&a, &args, argc, argv);
	if (!code && !args.ended)
		code = annotate_run(&a, &args);
	binary_close(&a.binary);
	if (code == EX_READER_LEFT)
		return code;
	return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
