/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc filter and pmc summary: one pass over a log, and who is meant by the numbers in it. */
#ifndef PMCBPF_CLI_PMC_LOG_H
#define PMCBPF_CLI_PMC_LOG_H

#include "cli/log/logread.h"
#include "cli/profile/index.h"

/* Numbers and their names, as the log has told them so far. */
struct names {
	struct name {
		uint32_t id;
		char *text;
		uint64_t rate;		/* of an event: its period, 0: not told */
	} *list;
	size_t n, room;
	struct index index;
};

struct log_names {
	struct names processes, threads, events;
};

/* What the number is called, or NULL. */
const struct name *names_find(const struct names *names, uint32_t id);

/* Learns from a record.  0 or an exit code. */
int log_learn(struct log_names *names, const struct pmclog_ev *ev);
void log_names_free(struct log_names *names);

/* All records of the log in `fd`, `file` in messages.  Those before a damage have been given. */
int log_each(int fd, const char *file, const struct log_user *user);

#endif
