/* SPDX-License-Identifier: BSD-2-Clause */
/* A pass over a log, which may still be growing. */
#ifndef PMCBPF_CLI_LOGREAD_H
#define PMCBPF_CLI_LOGREAD_H

#include <pmclog.h>

struct log_user {
	/* For each record, CLOSELOG included.  0, or an exit code that ends the pass. */
	int (*record)(void *arg, const struct pmclog_ev *ev);
	int (*idle)(void *arg);		/* before waiting for more of the log; may be NULL */
	void *arg;
};

/*
 * Passes all records of the parser's log, which it reads from `fd`, to the user, each in *ev.
 * 0, or the code that the user's function returned.  Then log_damage() reports a damaged log.
 */
int log_pass(void *parser, int fd, struct pmclog_ev *ev, const struct log_user *user);

/* Warns of `drops` gaps in the log, with `lost` records in all; 0: their number is unknown. */
void log_note_gaps(const char *log, uint64_t drops, uint64_t lost);

/* Warns that the log has no end, so `what`, "report", is partial. */
void log_note_cut(const char *log, const char *what);

/* After a pass: 0, or EX_DATAERR and its line if a damaged record has ended it. */
int log_damage(void *parser, const struct pmclog_ev *ev);

#endif
