/* SPDX-License-Identifier: BSD-2-Clause */
/* ktrctl(8): the command line; see ktrctl.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktrctl.h"
#include "cli/common/common.h"

enum { OPT_MAX_BYTES = 300 };

static const struct opt options[] = {
	{ 'p', "pid", "PID", "of a process, not the kernel" },
	{ 'l', "duration", "SECONDS", "alq: end after this time" },
	{ OPT_MAX_BYTES, "max", "BYTES", "alq: end with this much (64 MB)" },
	{ OPT_JSON, "json", NULL, "output of list and classes as JSON" },
	{ OPT_HELP, "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

typedef int run(const struct ktrctl *ctl);

static const struct ktrctl_command {
	const char *name, *args;
	int min, max;		/* arguments */
	run *kernel, *process;	/* NULL: not available for the kernel, or for a process */
	const char *help;
} commands[] = {
	{ "list", "", 0, 0, list_producers, list_producers, "what writes trace rings" },
	{ "mask", "[CLASSES]", 0, 1, kern_mask, process_mask, "classes that are traced" },
	{ "compile", "[CLASSES]", 0, 1, kern_compile, process_compile, "classes that are loaded" },
	{ "entries", "[N]", 0, 1, kern_entries, process_entries, "of each ring, a power of two" },
	{ "freeze", "", 0, 0, kern_freeze, process_freeze, "trace nothing, keep what there is" },
	{ "thaw", "", 0, 0, kern_thaw, process_thaw, "trace again" },
	{ "clear", "", 0, 0, kern_clear, NULL, "forget all entries" },
	{ "mark", "TEXT", 1, 1, kern_mark, NULL, "make an entry of a text" },
	{ "stop", "[TRIGGERS]", 0, 1, kern_stop, NULL, "what freezes the rings by itself" },
	{ "classes", "", 0, 0, list_classes, NULL, "names of classes, and their bits" },
	{ "alq", "FILE", 1, 1, alq_command, alq_command, "write all that is traced to a file" },
	{ "test", "[N]", 0, 1, test_run, NULL, "make N entries, and say what one costs" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

int ktrctl_put(struct buf *out, int code)
{
	if (!code && out->failed) {
		errno = ENOMEM;
		code = fail_errno(EX_OSERR, "ERROR");
	}
	if (!code) {
		fwrite(out->data, 1, out->len, stdout);
		code = opt_flush_stdout();
	}
	buf_free(out);
	return code;
}

int ktrctl_parse_classes(const char *text, uint32_t *mask)
{
	char bad[32];

	if (!ktrmask_parse(text, mask, bad, sizeof(bad)))
		return 0;
	if (!*bad)
		return fail(EX_DATAERR, "\"%s\" names no class; \"none\" is all classes off", text);
	return fail(EX_DATAERR, "\"%s\" is no class: \"ktrctl classes\" lists them", bad);
}

int ktrctl_put_classes(uint32_t mask)
{
	char text[KTRMASK_TEXT];
	struct buf out = { 0 };

	ktrmask_text(mask, text, sizeof(text));
	buf_printf(&out, "%s\n", text);
	return ktrctl_put(&out, 0);
}

static void ktrctl_usage(FILE *file)
{
	fputs("Usage: ktrctl [-p PID] [--json] [COMMAND]\n", file);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		char left[32];

		snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].args);
		fprintf(file, "       %-19s %s\n", left, commands[i].help);
	}
	fputs("       debug.ktr.NAME[=VALUE]  as sysctl(8) on FreeBSD\n", file);
}

static int ktrctl_wrong(void)
{
	fputs("Usage: ktrctl [-p PID] [--json] [COMMAND]; ktrctl --help lists the commands\n",
	      stderr);
	return EX_USAGE;
}

static int ktrctl_option(struct ktrctl *ctl, int letter, const char *arg, bool *ended)
{
	uint64_t number;

	switch (letter) {
	case 'p':
		if (opt_number(arg, 0, 1, INT32_MAX, &number))
			return fail(EX_DATAERR, "\"%s\" is no process id", arg);
		ctl->pid = (pid_t)number;
		return 0;
	case 'l':
		if (opt_seconds(arg, &ctl->seconds))
			return fail(EX_DATAERR, "\"%s\" is no time in seconds", arg);
		return 0;
	case OPT_MAX_BYTES:
		if (opt_number(arg, 0, KTR_ENTRY_SIZE, 1ull << 40, &ctl->max))
			return fail(EX_DATAERR, "\"%s\" is no size from 64 bytes to 1 TB", arg);
		return 0;
	case OPT_JSON:
		ctl->json = true;
		return 0;
	case OPT_HELP:
		*ended = true;
		return opt_show_help(ktrctl_usage, options, NOPTIONS, sizeof(options[0]));
	case OPT_VERSION:
		*ended = true;
		return opt_version("ktrctl");
	default:
		return ktrctl_wrong();
	}
}

static const struct ktrctl_command *command_find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int ktrctl_run(const struct ktrctl *ctl)
{
	const struct ktrctl_command *command = command_find(ctl->command);
	bool is_alq = command && command->kernel == alq_command;

	if (!command && sysctl_is_name(ctl->command))
		return sysctl_run(ctl);
	if (!command)
		return fail(EX_USAGE, "\"%s\" is no command: \"ktrctl --help\" lists them",
			    ctl->command);
	if (ctl->nargs < command->min || ctl->nargs > command->max)
		return fail(EX_USAGE, "%s takes %s: \"ktrctl %s%s%s\"", command->name,
			    command->max ? "one argument" : "no argument", command->name,
			    command->max ? " " : "", command->args);
	if (ctl->json && command->kernel != list_producers && command->kernel != list_classes)
		return fail(EX_USAGE, "option --json is used only with list and classes");
	if ((ctl->max || ctl->seconds > 0) && !is_alq)
		return fail(EX_USAGE, "options -l and --max are used only with alq");
	if (ctl->pid && !command->process)
		return fail(EX_USAGE, "option -p is not used with %s", command->name);
	return (ctl->pid ? command->process : command->kernel)(ctl);
}

int main(int argc, char *argv[])
{
	struct ktrctl ctl = { .command = "list" };
	struct opt_scan scan;
	bool ended = false;
	int letter, code = 0;

	msg_open_standard();
	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	/* Options may follow the command, since it is not another program's command line. */
	memmove(scan.letters, scan.letters + 1, strlen(scan.letters));
	while (!code && !ended && (letter = opt_next(&scan, argc, argv)) != -1)
		code = ktrctl_option(&ctl, letter, optarg, &ended);
	if (code || ended)
		return code;
	if (optind < argc) {
		ctl.command = argv[optind];
		ctl.args = argv + optind + 1;
		ctl.nargs = argc - optind - 1;
	}
	return ktrctl_run(&ctl);
}
