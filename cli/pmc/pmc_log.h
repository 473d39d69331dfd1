/* SPDX-License-Identifier: BSD-2-Clause */
/* For pmc filter and pmc summary: a pass over a log, and names for the numbers in it. */
#ifndef PMCBPF_CLI_PMC_LOG_H
#define PMCBPF_CLI_PMC_LOG_H

#include "cli/log/log.h"
#include "cli/profile/profile.h"

/* Numbers and their latest names in the log. */
struct names {
	struct name {
		uint32_t id;
		char *text;
		uint64_t rate;		/* an event's period; 0: not known */
	} *list;
	size_t n, room;
	struct index index;
};

struct log_names {
	struct names processes, threads, events;
};

/* The name of a number, or NULL. */
const struct name *pmc_log_name(const struct names *names, uint32_t id);

/* Learns from a record.  0 or an exit code. */
int pmc_log_learn(struct log_names *names, const struct pmclog_ev *ev);
void pmc_log_names_free(struct log_names *names);

/* Passes all records of the log in `fd`, up to any damage.  `file` is for messages. */
int pmc_log_each(int fd, const char *file, const struct log_user *user);

#endif
