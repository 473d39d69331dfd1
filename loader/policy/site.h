/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The administrator's rules, in the files policy.d/?*.conf: see pmcbpf.policy(5).
 *
 * A rule is a line of name="value" pairs.  user, group and container select processes; each other
 * pair is a setting.  For each setting, the first rule that selects a process and has that setting
 * decides.  Where no rule does, the tunables decide, as they do without any rule (setting.h).
 * Example:
 *
 *	group="perf" modes="SC,TC,TS"
 *	modes="TC" pmcs="8"
 *
 * Every user has at most 8 PMCs, which count processes; members of the group perf count whole CPUs
 * as well.  The first rule does not set pmcs, so the second one decides on that for them, too.
 *
 * Rules are made in three steps: site_read() parses all files; a helper process looks up the users
 * and groups, because a name service may hang (site_name.h); site_settle() puts their numbers into
 * the rules and looks for contradictions.  An error in any step keeps none of the new rules.  Rules
 * are never changed after that; a reload replaces all of them at once (grant.h).
 */
#ifndef PMCBPF_SITE_H
#define PMCBPF_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/base/base.h"

#define SITE_RULES_MAX 2048u

enum setting {
	SET_EVENTS,			/* classes and events */
	SET_MODES,			/* scopes and modes */
	SET_KERNEL,			/* the kernel's side of events */
	SET_PROCESSES,			/* targets */
	SET_REGISTERS,			/* class MSR */
	SET_TRACEPOINTS,		/* class TRACEPOINT */
	SET_PROBES,			/* class PROBE */
	SET_BREAKPOINTS,		/* class BREAKPOINT */
	SET_PMCS,			/* of the user together */
	SET_RATE,			/* samples a second, by a clock */
	SET_PERIOD,			/* events from sample to sample */
	SET_LOG,			/* kilobytes a second */
	SET_TRACE,			/* copies of the kernel's trace rings */
	SET_SHARE,			/* user.share */
	SET_RESERVE,			/* user.reserve */
	SETTINGS
};

enum site_container {
	SITE_ANYWHERE,
	SITE_HOST,			/* not in a container */
	SITE_CONTAINER,			/* in one */
	SITE_CGROUP,			/* below the control groups of `cgroups` */
};

/* A user or group that a rule names; each is looked up once. */
struct site_name {
	bool group;
	const char *text;
	bool known;			/* else it has no number until the rules are read again */
	uint32_t id;
};

/* A list of users or groups; empty: all. */
struct site_ids {
	unsigned int n;
	struct site_id {
		const struct site_name *name;	/* NULL: it is written as a number */
		bool known;
		uint32_t id;
	} *id;
};

struct site_rule {
	const char *file;
	unsigned int line;
	char *text;			/* the line without its comment … */
	char *words;			/* … and split: the texts below are parts of it */
	struct site_ids users, groups;
	enum site_container container;
	const char *cgroups;		/* patterns with "," between them */
	uint32_t set;			/* bit per enum setting: those of this rule … */
	const char *value[SETTINGS];	/* … as written … */
	uint64_t number[SETTINGS];	/* … and parsed: setting.h */
};

struct site_rules {
	unsigned int n;
	struct site_rule *rule;
	unsigned int nfiles;
	char **file;			/* their names, for rule.file */
	unsigned int nnames;
	struct site_name **name;	/* all that the rules name */
	bool users_count_cpus;		/* some rule allows mode SC */
	bool any_groups, any_cgroups;	/* some rule selects by these */
};

/* The properties of a process that rules select by. */
struct site_subject {
	uid_t uid;			/* the user that is charged */
	bool jailed;
	const char *cgroup;		/* "/user.slice/…"; "": no rule selects by it */
	unsigned int ngroups;
	const gid_t *groups;
};

/*
 * Parses all files of the folder, in the order of their names; a folder that does not exist has
 * none.  The users and groups are not looked up yet.  -errno: `why` names file and line, or the
 * file.
 */
int site_read(const char *dir, struct site_rules **out, struct reason *why);
void site_free(struct site_rules *s);

/* Parses one file's text, behind the rules that are there; for site_read() and tests. */
int site_text(struct site_rules *s, const char *file, const char *text, size_t len,
	      struct reason *why);

/*
 * After the users and groups have been looked up: calls `warn` with a line for each one that does
 * not exist, and refuses rules that contradict each other: -EINVAL.  Each rule is compared with all
 * before it, and a fiber breathes in between.
 */
int site_settle(struct site_rules *s, struct fibers *fs,
		void (*warn)(void *arg, const char *line), void *arg, struct reason *why);

/* True if the rule selects this process. */
bool site_matches(const struct site_rule *r, const struct site_subject *subject);

/* True if the text matches the pattern, in which "*" stands for any characters; without case. */
bool site_pattern(const char *pattern, const char *text);

/* Copies the next word of a list with "," between its words, and moves *list; false: none left. */
bool site_word(const char **list, char *word, size_t size);

#endif
