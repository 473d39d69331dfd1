/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of the administrator's rules: one entry of a table for each, with its values, the
 * points at which operations ask it, its judgement, and its value without a rule: a tunable's or a
 * default.
 */
#ifndef PMCBPF_SETTING_H
#define PMCBPF_SETTING_H

#include "cred.h"
#include "loader/config/config.h"
#include "site.h"

#define SETTING_UNLIMITED UINT64_MAX

/* Values that are words, as numbers. */
enum { SETTING_NO, SETTING_YES };
enum { PROCESSES_SELF, PROCESSES_OWN, PROCESSES_ANY };
enum { TRACEPOINTS_NONE, TRACEPOINTS_PLAIN, TRACEPOINTS_ANY };
enum { PROBES_NONE, PROBES_OWN, PROBES_ANY };
enum { BREAKPOINTS_NONE, BREAKPOINTS_PLAIN, BREAKPOINTS_ANY };
enum { REGISTERS_NONE, REGISTERS_ANY, REGISTERS_ADMIN };

/* The points at which operations ask settings. */
enum setting_point {
	POINT_SCOPE = 1,		/* allocation: the scope, before all other checks */
	POINT_ALLOCATE = 2,		/* allocation: the event and the mode */
	POINT_REGISTER = 4,		/* allocation of class MSR: the register */
	POINT_ATTACH = 8,
	POINT_PERIOD = 16,		/* the period of a sampling PMC is set, or the PMC starts */
	POINT_LOG = 32,			/* a log is configured */
	POINT_TRACE = 64,		/* a copy of a trace ring is made */
	POINT_TRACEPOINT = 128,		/* allocation of class TRACEPOINT: the event */
	POINT_PROBE = 256,		/* allocation of class PROBE: the file */
	POINT_BREAKPOINT = 512,		/* allocation of class BREAKPOINT: the address */
};

/* The facts that settings judge; those that the point does not need are 0. */
struct setting_question {
	const struct cred *target;	/* POINT_ATTACH … */
	pid_t named;			/* … and the client's number of it */
	uint32_t mode;			/* enum pmc_mode */
	const char *class, *event, *number;	/* of the event; NULL: it has none */
	bool numberless;		/* hardware counts it, under a number that is not known */
	bool kernel;			/* the event is counted in the kernel, too */
	bool admin;			/* POINT_REGISTER to _BREAKPOINT: for administrators … */
	bool filter;			/* … it has a filter */
	bool jailed;			/* … and the client is in a container */
	bool owns;			/* POINT_PROBE: the file is the client's user's */
	uid_t uid;			/* the user that is charged … */
	unsigned int pmcs;		/* … and the number of its PMCs */
	uint64_t period;
	uint64_t ticks;			/* a second, of an event that is a clock; 0: it is none */
	uint64_t hz;			/* samples a second, with a period that the kernel steers */
};

const char *setting_name(enum setting s);

/* Formats the rule's setting and its place, as all refusals have it: 'pmcs="8" (FILE:LINE)'. */
#define SETTING_TEXT 640u
void setting_describe(enum setting s, const struct site_rule *r, char text[SETTING_TEXT]);

/* Takes one pair of a rule's line; `value` stays part of the line. */
int setting_take(struct site_rule *r, const char *name, const char *value, struct reason *why);
/* After the last pair: refuses settings that the rule's processes could never use. */
int setting_check(const struct site_rule *r, struct reason *why);
/* True if both rules have the same value. */
bool setting_same(const struct site_rule *a, const struct site_rule *b, enum setting s);
/* True if the rule allows mode SC. */
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

/* The value without a rule, in the form of a rule's, and the tunable behind it, or NULL. */
void setting_preset(enum setting s, const struct config *config, char *value, size_t size,
		    const char **tunable);

#endif
