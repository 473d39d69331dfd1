/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the command line in two passes: -o overrides the file, which another option names. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "lib/base/nearest.h"
#include "lib/base/number.h"

static const char usage[] =
	"Usage: pmcbpfd [-ft] [-s SOCKET] [-c CONF] [-o NAME=VALUE]...\n"
	"Serves hardware and software performance counters to programs linked with libpmc.\n"
	"\n"
	"  -f, --foreground         stay in the foreground, messages to standard error\n"
	"  -s, --socket=SOCKET      listen there (" PMCBPF_RUNDIR "/pmcbpf/pmc.sock)\n"
	"  -c, --config=CONF        read tunables from CONF (" PMCBPF_SYSCONFDIR
	"/pmcbpf/pmcbpf.conf)\n"
	"  -o, --option=NAME=VALUE  set a tunable, over the file's value; repeatable\n"
	"  -t, --test               report what kernel and configuration lack; exit 0 if nothing\n"
	"  -h, --help               this text\n"
	"      --version            the version\n";

enum { OPT_VERSION = 256, OPT_CLIENT_FD };

static const char short_options[] = "fs:c:o:th";
static const struct option long_options[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "socket", required_argument, NULL, 's' },
	{ "config", required_argument, NULL, 'c' },
	{ "option", required_argument, NULL, 'o' },
	{ "test", no_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	/* For libpmc-compat only, which starts a daemon of its own. */
	{ "client-fd", required_argument, NULL, OPT_CLIENT_FD },
	{ NULL, 0, NULL, 0 },
};

static int options_fd(const char *text, int *fd, struct reason *why)
{
	uint64_t n;

	if (number_parse(text, 10, INT_MAX, &n))
		return deny(why, -EINVAL, "--client-fd takes a descriptor number, not \"%.40s\"",
			    text);
	*fd = (int)n;
	return 0;
}

/* getopt_long() has printed an error already. */
static int options_take(struct options *o, int opt, const char *arg, struct reason *why)
{
	struct nearest near;

	switch (opt) {
	case 'f':
		o->foreground = true;
		return 0;
	case 's':
		o->socket = arg;
		return 0;
	case 'c':
		o->config = arg;
		o->config_given = true;
		return 0;
	case 'o':
		return 0;		/* the second pass */
	case 't':
		o->test = true;
		return 0;
	case OPT_CLIENT_FD:
		return options_fd(arg, &o->client_fd, why);
	case 'h':
		fputs(usage, stdout);
		return OPTIONS_DONE;
	case OPT_VERSION:
		puts("pmcbpfd " PMCBPF_VERSION);
		return OPTIONS_DONE;
	default:
		return deny(why, -EINVAL, "pmcbpfd --help lists the options%s",
			    nearest_option(&near, o->argv[optind - 1], long_options));
	}
}

int options_tunables(const struct options *o, struct config *config, struct reason *why)
{
	int err, opt;

	config_init(config);
	err = config_read(config, o->config, o->config_given, why);
	optind = 1;
	while (!err &&
	       (opt = getopt_long(o->argc, o->argv, short_options, long_options, NULL)) != -1)
		if (opt == 'o')
			err = config_option(config, optarg, why);
	return err;
}

int options_parse(struct options *o, int argc, char **argv, struct reason *why)
{
	int opt, err = 0;

	memset(o, 0, sizeof(*o));
	o->socket = PMCBPF_RUNDIR "/pmcbpf/pmc.sock";
	o->config = PMCBPF_SYSCONFDIR "/pmcbpf/pmcbpf.conf";
	o->client_fd = -1;
	o->argc = argc;
	o->argv = argv;
	while (!err && (opt = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
		err = options_take(o, opt, optarg, why);
	if (!err && optind < argc)
		err = deny(why, -EINVAL, "\"%.60s\": no arguments are taken besides options",
			   argv[optind]);
	if (!err)
		err = options_tunables(o, &o->set, why);
	/* The daemon leaves this directory, and its messages name the file. */
	if (!err && o->config_given) {
		o->config = realpath(o->config, NULL);
		if (!o->config)
			err = deny(why, -errno, "the configuration file cannot be found again: %m");
	}
	return err;
}
