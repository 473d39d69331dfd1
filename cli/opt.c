/* SPDX-License-Identifier: BSD-2-Clause */
/* Option tables: see opt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "opt.h"

/* FreeBSD timers count milliseconds; anything shorter would only spin. */
#define SECONDS_MIN 1e-3
#define SECONDS_MAX 1e9

static int argument_of(const struct opt *opt)
{
	if (!opt->arg)
		return no_argument;
	return *opt->arg == '[' ? optional_argument : required_argument;
}

static const struct opt *opt_at(const void *table, size_t stride, size_t i)
{
	return (const void *)((const char *)table + i * stride);
}

void opt_compile(struct opt_scan *scan, const void *table, size_t count, size_t stride)
{
	char *letter = scan->letters;
	struct option *name = scan->names;

	*letter++ = '+';
	for (size_t i = 0; i < count && i < OPT_MAX; i++) {
		const struct opt *opt = opt_at(table, stride, i);

		if (opt->code < 256) {
			*letter++ = (char)opt->code;
			if (opt->arg)
				*letter++ = ':';
		}
		if (opt->name)
			*name++ = (struct option){ opt->name, argument_of(opt), NULL, opt->code };
	}
	*letter = '\0';
	*name = (struct option){ 0 };
}

int opt_next(struct opt_scan *scan, int argc, char *argv[])
{
	return getopt_long(argc, argv, scan->letters, scan->names, NULL);
}

char *opt_optional(int argc, char *argv[])
{
	if (optarg || optind >= argc || *argv[optind] == '-')
		return optarg;
	return argv[optind++];
}

void opt_help(FILE *file, const void *table, size_t count, size_t stride)
{
	for (size_t i = 0; i < count; i++) {
		const struct opt *opt = opt_at(table, stride, i);
		char left[64];
		int len = 0;

		if (!opt->help)
			continue;
		if (opt->code < 256)
			len = snprintf(left, sizeof(left), "-%c%s", opt->code,
				       opt->name ? ", " : "");
		else
			len = snprintf(left, sizeof(left), "    ");
		if (opt->name)
			len += snprintf(left + len, sizeof(left) - (size_t)len, "--%s", opt->name);
		if (opt->arg)
			snprintf(left + len, sizeof(left) - (size_t)len, " %s", opt->arg);
		fprintf(file, "  %-26s %s\n", left, opt->help);
	}
}

int opt_seconds(const char *text, double *seconds)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !(value >= SECONDS_MIN) || value > SECONDS_MAX)
		return -EINVAL;
	*seconds = value;
	return 0;
}

int opt_flush_stdout(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return fail_errno(EX_OSERR, "ERROR: cannot write to standard output");
	return 0;
}

int opt_show_help(void (*usage)(FILE *file), const void *table, size_t count, size_t stride)
{
	usage(stdout);
	opt_help(stdout, table, count, stride);
	return opt_flush_stdout();
}

int opt_version(const char *name)
{
	printf("%s (pmcbpf) %s\n", name, PMCBPF_VERSION);
	return opt_flush_stdout();
}
