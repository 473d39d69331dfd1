/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of the administrator's rules: one entry of a table for each, with its values, the
 * operations that ask it, its judgement, and what holds where no rule has it: the tunables.
 */
#ifndef PMCBPF_SETTING_H
#define PMCBPF_SETTING_H

#include "cred.h"
#include "loader/config/config.h"
#include "site.h"

#define SETTING_UNLIMITED UINT64_MAX

/* The numbers of words. */
enum { SETTING_NO, SETTING_YES };
enum { PROCESSES_SELF, PROCESSES_OWN, PROCESSES_ANY };
enum { REGISTERS_NONE, REGISTERS_ANY, REGISTERS_ADMIN };

/* The operations that ask settings. */
enum setting_point {
	POINT_SCOPE = 1,		/* may it have a PMC of that scope at all? */
	POINT_ALLOCATE = 2,
	POINT_REGISTER = 4,		/* allocation of class MSR */
	POINT_ATTACH = 8,
	POINT_PERIOD = 16,		/* a sampling PMC's period is set, or it starts */
	POINT_LOG = 32,
	POINT_TRACE = 64,
};

/* An operation's part of the question; what the point does not need is 0. */
struct setting_question {
	const struct cred *target;	/* POINT_ATTACH … */
	pid_t named;			/* … as the client calls it */
	uint32_t mode;			/* enum pmc_mode */
	const char *class, *event, *number;	/* names of the event, NULL if it has none */
	bool kernel;			/* counts the kernel's side as well */
	bool admin;			/* POINT_REGISTER: for administrators … */
	bool jailed;			/* … and the client is in a container */
	uid_t uid;			/* of the user charged … */
	unsigned int pmcs;		/* … and its PMCs by now */
	uint64_t period;
	uint64_t ticks;			/* a second, of an event that is a clock; 0: it is none */
};

const char *setting_name(enum setting s);

/* Takes one pair of a rule's line; `value` stays part of the line. */
int setting_take(struct site_rule *r, const char *name, const char *value, struct reason *why);
/* After the last pair: settings that the rule's processes could never use. */
int setting_check(const struct site_rule *r, struct reason *why);
/* Do both rules have the same value? */
bool setting_same(const struct site_rule *a, const struct site_rule *b, enum setting s);
/* Does the rule allow mode SC? */
bool setting_counts_cpus(const struct site_rule *r);

/*
 * Judges one setting by a rule, or by the tunables if there is none.  0 or -errno, with a reason
 * that names file and line of the rule.
 */
int setting_judge(enum setting s, const struct site_rule *r, const struct config *config,
		  const struct cred *client, const struct setting_question *q,
		  struct reason *why);
/* The points at which the setting is asked: bits of enum setting_point. */
unsigned int setting_points(enum setting s);

/* Without a rule: the value in the form of a rule's, and the tunable behind it, or NULL. */
void setting_preset(enum setting s, const struct config *config, char *value, size_t size,
		    const char **tunable);

#endif
