/* SPDX-License-Identifier: BSD-2-Clause */
/* Do pmcstat's options go together?  The first row that holds ends the run. */
#include "measure.h"
#include "msg.h"

#define ANY_PMC	   (SEEN_SYSTEM_PMC | SEEN_PROCESS_PMC)
#define ANY_TARGET (SEEN_TARGET | SEEN_COMMAND)

/* Wrong when all of `with`, none of `without`, and one of `one` (if there are any) was seen. */
static const struct check {
	unsigned int with, one, without;
	const char *text;	/* NULL: the usage screen */
} checks[] = {
	{ SEEN_JSON | SEEN_CSV, 0, 0, "options --json and --csv are mutually exclusive." },
	{ 0, 0, ANY_PMC, NULL },
	{ SEEN_TARGET, 0, SEEN_PROCESS_PMC,
	  "option -t requires a process mode PMC to be specified." },
	{ 0, SEEN_DESCENDANTS | SEEN_PROCESS_PMC, ANY_TARGET,
	  "options -d, -E, -p, -P, and -W require a command line or target process." },
	{ SEEN_DESCENDANTS, 0, SEEN_PROCESS_PMC,
	  "options -d, -E, and -W require a process mode PMC to be specified." },
	{ SEEN_CPUS, 0, SEEN_SYSTEM_PMC,
	  "option -c requires at least one system mode PMC to be specified." },
	{ SEEN_EXIT_STATUS, 0, SEEN_COMMAND, "option --exit-status requires a command line." },
};

int args_check(struct measure *m)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct check *check = &checks[i];

		if ((m->seen & check->with) != check->with || (m->seen & check->without) ||
		    (check->one && !(m->seen & check->one)))
			continue;
		return check->text ? fail(EX_USAGE, "ERROR: %s", check->text) : args_usage();
	}
	return 0;
}
