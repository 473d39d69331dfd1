/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a log from its beginning to its end, also one that is still being written. */
#ifndef PMCBPF_CLI_LOGREAD_H
#define PMCBPF_CLI_LOGREAD_H

#include <pmclog.h>

struct log_user {
	/* A record, CLOSELOG too.  0, or an exit code that ends the pass. */
	int (*record)(void *arg, const struct pmclog_ev *ev);
	int (*idle)(void *arg);		/* the log goes on later; may be NULL */
	void *arg;
};

/*
 * All records of the parser's log, which is read from `fd`, each in *ev.  0 or what the user's
 * functions said; ev->pl_state tells whether a damage has ended it.
 */
int log_pass(void *parser, int fd, struct pmclog_ev *ev, const struct log_user *user);

/* A warning if the log has `drops` marks of a gap, with the number of records: 0, it has none. */
void log_note_gaps(const char *log, uint64_t drops, uint64_t lost);

/* A warning if of so many samples some, `cut`, lack their outermost callers. */
void log_note_cut(const char *log, uint64_t cut, uint64_t samples);

/* After a pass: 0, or EX_DATAERR and its line if a damage has ended it. */
int log_damage(void *parser, const struct pmclog_ev *ev);

#endif
