/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of pctrd, in the manner of pmcbpfd's. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "options.h"

static const char usage[] =
	"Usage: pctrd [-ft] [-d DIR] [-n NODE] [-o NAME=VALUE]...\n"
	"Serves the counters of pctr(4), as /dev/pctr and to programs linked with libpctr.\n"
	"\n"
	"  -f, --foreground         stay in the foreground, messages to standard error\n"
	"  -d, --directory=DIR      the stand-in for the device and the socket are there\n"
	"                           (" PMCBPF_RUNDIR "/pmcbpf)\n"
	"  -n, --node=NODE          make NODE, not /dev/pctr\n"
	"      --no-node            make none\n"
	"  -o, --option=NAME=VALUE  set pctr.width, .intel_counters, .en0, .scope, .keep_same or\n"
	"                           .soft, see pctrd(8); repeatable\n"
	"  -t, --test               report what the machine lacks; exit 0 if nothing\n"
	"  -h, --help               this text\n"
	"      --version            the version\n";

enum { OPT_VERSION = 256, OPT_NO_NODE };

static const char short_options[] = "fd:n:o:th";
static const struct option long_options[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "directory", required_argument, NULL, 'd' },
	{ "node", required_argument, NULL, 'n' },
	{ "no-node", no_argument, NULL, OPT_NO_NODE },
	{ "option", required_argument, NULL, 'o' },
	{ "test", no_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* --- knobs ---------------------------------------------------------------------------------- */

static void knob_width(struct options *o, unsigned int value)
{
	static const unsigned int widths[] = { 40, 48, 64 };

	o->set.width = widths[value];
}

static void knob_intel(struct options *o, unsigned int value)
{
	o->intel_counters = 2 + value;
}

static void knob_en0(struct options *o, unsigned int value)
{
	o->set.en0 = value;
}

static void knob_scope(struct options *o, unsigned int value)
{
	o->set.all = value;
}

static void knob_keep(struct options *o, unsigned int value)
{
	o->set.keep_same = value;
}

static void knob_soft(struct options *o, unsigned int value)
{
	o->set.soft = value;
}

#define VALUES 3

/* The setter gets the index of the value. */
static const struct knob {
	const char *name;
	const char *value[VALUES];
	void (*set)(struct options *o, unsigned int value);
} knobs[] = {
	{ "pctr.width", { "40", "48", "64" }, knob_width },
	{ "pctr.intel_counters", { "2", "3", "4" }, knob_intel },
	{ "pctr.en0", { "0", "1" }, knob_en0 },
	{ "pctr.scope", { "cpu", "all" }, knob_scope },
	{ "pctr.keep_same", { "0", "1" }, knob_keep },
	{ "pctr.soft", { "0", "1" }, knob_soft },
};

static int knob_value(const struct knob *k, struct options *o, const char *text,
		      const struct messages *messages)
{
	for (unsigned int i = 0; i < VALUES && k->value[i]; i++)
		if (!strcmp(text, k->value[i])) {
			k->set(o, i);
			return 0;
		}
	messages_put(messages, LOG_ERR, "%s is %s%s%s%s%s, not \"%.40s\"", k->name, k->value[0],
		     k->value[2] ? ", " : " or ", k->value[1], k->value[2] ? " or " : "",
		     k->value[2] ? k->value[2] : "", text);
	return -EINVAL;
}

int options_knob(struct options *o, const char *text, const struct messages *messages)
{
	size_t len = strcspn(text, "=");
	char name[NEAREST_MAX] = "";
	struct nearest near;

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	nearest_begin(&near, name);
	for (size_t i = 0; text[len] && i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		if (strlen(knobs[i].name) == len && !strncmp(text, knobs[i].name, len))
			return knob_value(&knobs[i], o, text + len + 1, messages);
		nearest_offer(&near, knobs[i].name);
	}
	messages_put(messages, LOG_ERR, "-o %.60s: %s%s; pctrd(8) lists them", text,
		     text[len] ? "no option is called that" : "it takes NAME=VALUE",
		     nearest_hint(&near, ""));
	return -EINVAL;
}

/* --- options -------------------------------------------------------------------------------- */

/* getopt_long() has printed the message. */
static int options_take(struct options *o, int opt, char *arg, char *word,
			const struct messages *messages)
{
	struct nearest near;

	switch (opt) {
	case 'f':
		o->foreground = true;
		return 0;
	case 'd':
		o->dir = arg;
		return 0;
	case 'n':
		o->node = arg;
		return 0;
	case OPT_NO_NODE:
		o->node = "";
		return 0;
	case 'o':
		return options_knob(o, arg, messages);
	case 't':
		o->test = true;
		return 0;
	case 'h':
		fputs(usage, stdout);
		return OPTIONS_DONE;
	case OPT_VERSION:
		puts("pctrd " PMCBPF_VERSION);
		return OPTIONS_DONE;
	default:
		messages_put(messages, LOG_ERR, "pctrd --help lists the options%s",
			     nearest_option(&near, word, long_options));
		return -EINVAL;
	}
}

/* Both must be absolute: the folder in which pctrd was started does not matter later. */
static int options_check_paths(const struct options *o, const struct messages *messages)
{
	if (*o->dir != '/' || (*o->node && *o->node != '/')) {
		messages_put(messages, LOG_ERR, "\"%s\": folder and node are absolute paths",
			     *o->dir != '/' ? o->dir : o->node);
		return -EINVAL;
	}
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, const struct messages *messages)
{
	int opt, err = 0;

	*o = (struct options){ .dir = PMCBPF_RUNDIR "/pmcbpf", .node = _PATH_PCTR,
			       .intel_counters = 2, .set.width = 40 };
	while (!err && (opt = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
		err = options_take(o, opt, optarg, argv[optind - 1], messages);
	if (!err && optind < argc) {
		messages_put(messages, LOG_ERR, "\"%.60s\": no arguments are taken besides options",
			     argv[optind]);
		err = -EINVAL;
	}
	return err ? err : options_check_paths(o, messages);
}
