/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of pctr(1), which is OpenBSD's with a few additions: see pctr.h. */
#include <openbsd/stdlib.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/common.h"
#include "pctr.h"

static const struct opt options[] = {
	{ 'l', NULL, NULL, "list this CPU's events" },
	{ 's', NULL, "CTR", "set a counter, from 0 on, to what follows" },
	{ 'f', NULL, "FUNCT", "event, 0 to ff; without one, or 0, the counter is off" },
	{ 'm', NULL, "UMASK", "unit mask, 0 to ff" },
	{ 'u', NULL, NULL, "count user mode (default: it and the kernel)" },
	{ 'k', NULL, NULL, "count the kernel" },
	{ 't', NULL, "THOLD", "count cycles with at least so many events, 0 to 255" },
	{ 'e', NULL, NULL, "count edges" },
	{ 'i', NULL, NULL, "invert the threshold" },
	{ 'M', NULL, NULL, "(MESI) lines that are modified" },
	{ 'E', NULL, NULL, "(MESI) lines that are exclusive" },
	{ 'S', NULL, NULL, "(MESI) lines that are shared" },
	{ 'I', NULL, NULL, "(MESI) lines that are invalid" },
	{ 'A', NULL, NULL, "(A) what any agent of the bus does" },
	{ 'c', NULL, NULL, NULL },	/* an option of the P5 */
	{ 'C', NULL, "CPU", "read the counters of this CPU" },
	{ 'a', NULL, NULL, "read the sums of all CPUs" },
	{ 'w', NULL, "SECONDS", "read again and again" },
	{ 'T', NULL, NULL, "test readings, and say what one costs" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static void usage_put(FILE *file, const struct pctr_model *model)
{
	fprintf(file, "usage: pctr %s\n       pctr [-a | -C cpu] [-w sec]\n       pctr -T\n",
		model->usage);
}

static int args_wrong(const struct pctr_model *model)
{
	usage_put(stderr, model);
	return FAILED;
}

static int args_number(const char *what, const char *text, int max, int *number)
{
	const char *why;

	*number = (int)strtonum(text, 0, max, &why);
	return why ? fail(FAILED, "%s is %s: %s", what, why, text) : 0;
}

static int args_function(struct pctr *pctr, int letter, const char *arg)
{
	struct pctr_choice *choice = &pctr->choice;
	int number = 0;

	pctr->function = true;
	if (!strchr(pctr->model->letters, letter))
		return args_wrong(pctr->model);
	switch (letter) {
	case 'f':
		return pctr_byte(arg, &choice->event) ? fail(FAILED, "invalid function number") : 0;
	case 'm':
		choice->has_unit = true;
		return pctr_byte(arg, &choice->unit) ? fail(FAILED, "invalid unit mask number") : 0;
	case 't':
		if (args_number("threshold", arg, 255, &number))
			return FAILED;
		choice->threshold = (uint32_t)number;
		return 0;
	case 'u': choice->flags |= PCTR_U; return 0;
	case 'k': choice->flags |= PCTR_K; return 0;
	case 'e': choice->flags |= PCTR_E; return 0;
	case 'i': choice->flags |= PCTR_I; return 0;
	case 'M': choice->lines |= PCTR_UM_M; return 0;
	case 'E': choice->lines |= PCTR_UM_E; return 0;
	case 'S': choice->lines |= PCTR_UM_S; return 0;
	case 'I': choice->lines |= PCTR_UM_I; return 0;
	default: choice->lines |= PCTR_UM_A; return 0;
	}
}

static int args_option(struct pctr *pctr, int letter, const char *arg)
{
	switch (letter) {
	case 'l':
		pctr->list = true;
		return 0;
	case 's':
		return args_number("counter number", arg, PCTR_NUM - 1, &pctr->ctr);
	case 'C':
		return args_number("CPU", arg, CPULIST_MAX, &pctr->cpu);
	case 'a':
		pctr->all = true;
		return 0;
	case 'w':
		if (opt_seconds(arg, &pctr->every))
			return fail(FAILED, "\"%s\" is no time in seconds", arg);
		return 0;
	case 'T':
		pctr->test = true;
		return 0;
	case '?':
		return args_wrong(pctr->model);
	default:
		return args_function(pctr, letter, arg);
	}
}

/* Allows one action, with its own options only. */
static bool args_check(const struct pctr *pctr)
{
	const struct pctr_choice *choice = &pctr->choice;
	const bool sets = pctr->ctr >= 0;
	const bool reads = pctr->cpu >= 0 || pctr->all || pctr->every > 0;

	return pctr->list + pctr->test + sets + reads <= 1 && (sets || !pctr->function) &&
	       !(pctr->all && pctr->cpu >= 0) &&
	       !(choice->lines & PCTR_UM_A && choice->lines & PCTR_UM_MESI) &&
	       !(choice->has_unit && choice->lines);
}

int pctr_parse(struct pctr *pctr, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		*ended = letter == OPT_HELP || letter == OPT_VERSION;
		if (letter == OPT_VERSION)
			return opt_version("pctr");
		if (letter == OPT_HELP) {
			usage_put(stdout, pctr->model);
			opt_help(stdout, options, NOPTIONS, sizeof(options[0]));
			return opt_flush_stdout();
		}
		code = args_option(pctr, letter, optarg);
	}
	if (!code && (optind < argc || !args_check(pctr)))
		code = args_wrong(pctr->model);
	return code;
}
