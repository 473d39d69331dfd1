/* SPDX-License-Identifier: BSD-2-Clause */
/* Option tables: see opt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/base/buf.h"
#include "lib/base/number.h"
#include "msg.h"
#include "opt.h"

/* FreeBSD's timers count milliseconds; a shorter interval would only spin. */
#define SECONDS_MIN 1e-3
#define SECONDS_MAX 1e9

static int opt_argument(const struct opt *opt)
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
	bool help = false, own = false;

	*letter++ = '+';
	*letter++ = ':';	/* getopt() returns it for a missing argument */
	for (size_t i = 0; i < count && i < OPT_MAX; i++) {
		const struct opt *opt = opt_at(table, stride, i);

		help |= opt->code == OPT_HELP;
		own |= opt->code == 'h';
		if (opt->code < 256) {
			*letter++ = (char)opt->code;
			if (opt->arg)
				*letter++ = ':';
		}
		if (opt->name)
			*name++ = (struct option){ opt->name, opt_argument(opt), NULL, opt->code };
	}
	scan->quiet = false;
	scan->help = help && !own;
	if (scan->help)
		*letter++ = 'h';
	*letter = '\0';
	*name = (struct option){ 0 };
}

static bool name_begins(const char *name, const char *word, size_t len)
{
	return strncmp(name, word, len) == 0;
}

/* An unknown option, or an ambiguous abbreviation. */
static void opt_reject_name(const struct opt_scan *scan, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	char *name = strndup(word + 2, len);
	struct buf among = { 0 };
	struct nearest near;

	for (const struct option *o = scan->names; o->name && name; o++) {
		if (name_begins(o->name, name, len))
			buf_printf(&among, " '--%s'", o->name);
	}
	if (among.len && !among.failed)
		note("option '--%s' is ambiguous; possibilities:%.*s", name, (int)among.len,
		     among.data);
	else
		note("unrecognized option '--%s'%s", name ? name : word + 2,
		     nearest_option(&near, word, scan->names));
	buf_free(&among);
	free(name);
}

static const char *opt_find_name(const struct opt_scan *scan, int code)
{
	const struct option *o = scan->names;

	while (o->name && o->val != code)
		o++;
	return o->name ? o->name : "?";
}

/* Prints getopt(3)'s messages, and suggests the nearest name. */
static void opt_reject(const struct opt_scan *scan, int letter, char *argv[])
{
	const char *word = argv[optind - 1];
	bool named = strncmp(word, "--", 2) == 0;

	if (!optopt)
		opt_reject_name(scan, word);
	else if (letter == ':' && named)
		note("option '--%s' requires an argument", opt_find_name(scan, optopt));
	else if (letter == ':')
		note("option requires an argument -- '%c'", optopt);
	else if (named && strchr(word, '='))
		note("option '--%s' doesn't allow an argument", opt_find_name(scan, optopt));
	else
		note("invalid option -- '%c'", optopt);
}

int opt_next(struct opt_scan *scan, int argc, char *argv[])
{
	int letter;

	opterr = 0;
	letter = getopt_long(argc, argv, scan->letters, scan->names, NULL);
	if (letter == 'h' && scan->help)
		return OPT_HELP;
	if ((letter != '?' && letter != ':') || scan->quiet)
		return letter;
	opt_reject(scan, letter, argv);
	return '?';
}

char *opt_dash(int argc, char *argv[])
{
	if (!optarg && optind < argc && strcmp(argv[optind], "-") == 0)
		return argv[optind++];
	return optarg;
}

char *opt_optional(int argc, char *argv[])
{
	if (optarg || optind >= argc || *argv[optind] == '-')
		return optarg;
	return argv[optind++];
}

static const char *opt_help_letter(const struct opt *opt, bool own)
{
	return opt->code == OPT_HELP && !own ? "-h, " : "    ";
}

void opt_help(FILE *file, const void *table, size_t count, size_t stride)
{
	bool own = false;

	for (size_t i = 0; i < count; i++)
		own |= opt_at(table, stride, i)->code == 'h';
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
			len = snprintf(left, sizeof(left), "%s", opt_help_letter(opt, own));
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

int opt_number(const char *text, int base, uint64_t least, uint64_t most, uint64_t *number)
{
	return number_parse(text, base, most, number) || *number < least ? -EINVAL : 0;
}

int opt_count(const char *text, const char *what, uint64_t *count)
{
	return opt_number(text, 0, 1, UINT64_MAX, count) == 0 ? 0 :
	       fail(EX_USAGE, "ERROR: Illegal %s value \"%s\".", what, text);
}

int opt_flush_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return errno == EPIPE ? EX_READER_LEFT :
				fail_errno(EX_OSERR, "ERROR: cannot write to standard output");
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
