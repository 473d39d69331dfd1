/* SPDX-License-Identifier: BSD-2-Clause */
/* kgmon(8): starts, stops, resets and dumps the kernel profile, with BSD's options. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kgmon.h"
#include "cli/common/common.h"

static const struct opt options[] = {
	{ 'b', NULL, NULL, "start profiling, or go on" },
	{ 'h', NULL, NULL, "stop profiling" },
	{ 'p', NULL, NULL, "write the profile to gmon.out, and the names to gmon.kernel" },
	{ 'r', NULL, NULL, "forget all samples, after -p" },
	{ 's', NULL, NULL, "show what the profile holds" },
	{ 'N', NULL, "SYSTEM", "with -p: the names of this file, a copy of " KERNEL_LIST },
	{ 'B', NULL, NULL, "refused: a profile of high resolution takes another kernel" },
	{ 'M', NULL, "CORE", "refused: the profile is not in the kernel's memory" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

struct kgmon_args {
	bool start, stop, dump, reset, show;
	const char *system;
};

static void kgmon_usage(FILE *file)
{
	fputs("Usage: kgmon [-bhprs] [-N SYSTEM]\n", file);
}

static int kgmon_option(struct kgmon_args *a, int letter, const char *arg, bool *ended)
{
	switch (letter) {
	case 'b':
		a->start = true;
		return 0;
	case 'h':
		a->stop = true;
		return 0;
	case 'p':
		a->dump = true;
		return 0;
	case 'r':
		a->reset = true;
		return 0;
	case 's':
		a->show = true;
		return 0;
	case 'N':
		a->system = arg;
		return 0;
	case 'B':
		return fail(EX_UNAVAILABLE, "-B: a profile of high resolution takes a kernel whose "
			    "functions all record their time, and Linux is not compiled so; -b "
			    "samples, and a PMC with PMC_F_KGMON chooses event and period");
	case 'M':
		return fail(EX_UNAVAILABLE, "-M %s: the profile is pmcbpfd's, and a core of the "
			    "kernel has none; use kgmon -p while pmcbpfd runs", arg);
	case OPT_HELP:
		*ended = true;
		return opt_show_help(kgmon_usage, options, NOPTIONS, sizeof(options[0]));
	case OPT_VERSION:
		*ended = true;
		return opt_version("kgmon");
	default:
		kgmon_usage(stderr);
		return EX_USAGE;
	}
}

static int kgmon_parse(struct kgmon_args *a, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && !*ended && (letter = opt_next(&scan, argc, argv)) != -1)
		code = kgmon_option(a, letter, optarg, ended);
	if (code || *ended)
		return code;
	if (optind < argc)
		return fail(EX_USAGE, "\"%s\" is no option: kgmon --help lists them", argv[optind]);
	if (a->system && !a->dump)
		return fail(EX_USAGE, "option -N is used only with -p");
	return 0;
}

static int profile_ask(enum pmc_kgmon_op op, struct pmc_kgmon *profile, const char *what)
{
	int fd = pmc_kgmon(op, profile);

	if (fd < 0)
		fail_pmc(EX_OSERR, "ERROR: cannot %s", what);
	return fd;
}

/* Notes on samples that the figures omit. */
static void profile_report_dump(const struct pmc_kgmon *profile)
{
	if (profile->pk_lost)
		note("WARNING: %llu samples are missing in the profile: they found no room, or the "
		     "kernel paused the event", (unsigned long long)profile->pk_lost);
	note("%llu samples of the kernel in gmon.out: gprof gmon.kernel gmon.out",
	     (unsigned long long)profile->pk_samples);
}

/* Reads the names after the dump, since reading them would be sampled, too. */
static int profile_dump(const char *system)
{
	struct kernel_names names = { 0 };
	struct pmc_kgmon profile;
	int fd, code;

	fd = profile_ask(PMC_KGMON_DUMP, &profile, "dump the kernel profile");
	if (fd < 0)
		return EX_OSERR;
	if (!profile.pk_hits)
		code = fail(EX_NOINPUT, "ERROR: the kernel profile has no samples of the kernel%s",
			    profile.pk_on ? " yet" : ": kgmon -b starts it");
	else
		code = kernel_names_read(&names, system);
	if (!code)
		code = dump_write(&profile, fd, &names);
	kernel_names_free(&names);
	close(fd);
	if (!code)
		profile_report_dump(&profile);
	return code;
}

/* Sampling stops from the dump to the reset, so that each sample is in one of the two profiles. */
static int profile_dump_and_reset(const char *system, bool running)
{
	sigset_t all, before;
	int code = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (running && profile_ask(PMC_KGMON_STOP, NULL, "stop profiling") < 0)
		code = EX_OSERR;
	if (!code)
		code = profile_dump(system);
	if (!code && profile_ask(PMC_KGMON_RESET, NULL, "reset the kernel profile") < 0)
		code = EX_OSERR;
	if (running && profile_ask(PMC_KGMON_START, NULL, "go on profiling") < 0)
		code = EX_OSERR;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code;
}

static int profile_control(const struct kgmon_args *a, bool was_on)
{
	bool start = a->start && !a->stop;
	int code = 0;

	if (a->stop && profile_ask(PMC_KGMON_STOP, NULL, "stop profiling") < 0)
		return EX_OSERR;
	if (a->dump && a->reset)
		code = profile_dump_and_reset(a->system, was_on && !a->stop);
	else if (a->dump)
		code = profile_dump(a->system);
	else if (a->reset && profile_ask(PMC_KGMON_RESET, NULL, "reset the kernel profile") < 0)
		code = EX_OSERR;
	if (!code && start && profile_ask(PMC_KGMON_START, NULL, "start profiling") < 0)
		code = EX_OSERR;
	return code;
}

static void profile_show(const struct pmc_kgmon *profile)
{
	if (profile->pk_source == PMC_KGMON_CLOCK)
		printf("source: the profiling clock, %u samples a second on each CPU\n",
		       profile->pk_rate);
	else if (profile->pk_source == PMC_KGMON_PMCS)
		printf("source: PMCs of %s, one sample every %llu events\n", profile->pk_event,
		       (unsigned long long)profile->pk_period);
	printf("samples: %llu in the kernel at %u addresses, %llu in user code, %llu lost\n",
	       (unsigned long long)profile->pk_samples, profile->pk_hits,
	       (unsigned long long)profile->pk_user, (unsigned long long)profile->pk_lost);
}

static int kgmon_run(const struct kgmon_args *a)
{
	bool changes = a->start || a->stop || a->dump || a->reset;
	enum pmc_kgmon_op question = a->show ? PMC_KGMON_INFO : PMC_KGMON_STATE;
	struct pmc_kgmon profile;
	int code = 0;

	if (running_connect() < 0)
		return fail_pmc(EX_UNAVAILABLE, "ERROR: the kernel profile is pmcbpfd's");
	if (profile_ask(question, &profile, "ask for the kernel profile") < 0)
		return EX_OSERR;
	if (changes)
		code = profile_control(a, profile.pk_on);
	if (changes && profile_ask(question, &profile, "ask for the kernel profile") < 0)
		return EX_OSERR;
	if (!code && a->show)
		profile_show(&profile);
	printf("kgmon: kernel profiling is %s.\n", profile.pk_on ? "running" : "off");
	return code ? code : opt_flush_stdout();
}

int main(int argc, char *argv[])
{
	struct kgmon_args args = { 0 };
	bool ended = false;
	int code;

	msg_open_standard();
	code = kgmon_parse(&args, argc, argv, &ended);
	return code || ended ? code : kgmon_run(&args);
}
