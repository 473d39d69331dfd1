/* SPDX-License-Identifier: BSD-2-Clause */
/* A pass over a log: see logread.h. */
#include <poll.h>
#include <stdint.h>

#include "cli/common/common.h"
#include "logread.h"

int log_pass(void *parser, int fd, struct pmclog_ev *ev, const struct log_user *user)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int code = 0;

	while (!code) {
		ev->pl_type = PMCLOG_TYPE_MAPPINGCHANGE;
		/* Another log may be appended after a CLOSELOG. */
		if (pmclog_read(parser, ev) == 0 || (ev->pl_state == PMCLOG_EOF &&
						     ev->pl_type == PMCLOG_TYPE_CLOSELOG)) {
			code = user->record(user->arg, ev);
		} else if (ev->pl_state == PMCLOG_REQUIRE_DATA) {
			code = user->idle ? user->idle(user->arg) : 0;
			poll(&ready, 1, -1);
		} else {
			break;
		}
	}
	return code;
}

void log_note_gaps(const char *log, uint64_t drops, uint64_t lost)
{
	const char *times = drops == 1 ? "" : "s";

	if (lost)
		note("WARNING: \"%s\" lacks at least %ju records (samples, or what processes "
		     "did), at %ju place%s", log, (uintmax_t)lost, (uintmax_t)drops, times);
	else if (drops)
		note("WARNING: \"%s\" lacks records (samples, or what processes did) at %ju "
		     "place%s; it does not say how many", log, (uintmax_t)drops, times);
}

void log_note_cut(const char *log, const char *what)
{
	note("WARNING: \"%s\" has no end: this %s is partial, it shows what was recorded before",
	     log, what);
}

int log_damage(void *parser, const struct pmclog_ev *ev)
{
	if (ev->pl_state != PMCLOG_ERROR)
		return 0;
	return fail(EX_DATAERR, "ERROR: event parsing failed (record %zu, offset 0x%jx): %s.",
		    ev->pl_count + 1, (intmax_t)ev->pl_offset, pmclog_errstr(parser));
}
