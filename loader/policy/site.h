/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The administrator's rules, in the files policy.d/?*.conf: see pmcbpf.policy(5).
 *
 * A rule is a line of name="value" pairs.  user, group and container say which processes it is
 * for; each other pair is a setting.  For each setting, the first rule that is for a process and
 * has that setting decides.  Where no rule does, the tunables decide, as they do without any rule
 * (setting.h).  Example:
 *
 *	group="perf" modes="SC,TC,TS"
 *	modes="TC" pmcs="8"
 *
 * Every user has at most 8 PMCs, which count processes; members of the group perf count whole CPUs
 * as well.  The first rule says nothing on pmcs, so the second one decides on that for them, too.
 *
 * All files are read together: an error in any of them keeps none of the new rules.  Rules are
 * never changed after that; a reload replaces all of them at once (grant.h).
 */
#ifndef PMCBPF_SITE_H
#define PMCBPF_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/reason.h"

#define SITE_RULES_MAX 2048u

enum setting {
	SET_EVENTS,			/* classes and events */
	SET_MODES,			/* scopes and modes */
	SET_KERNEL,			/* the kernel's side of events */
	SET_PROCESSES,			/* targets */
	SET_REGISTERS,			/* class MSR */
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

/* A list of users or groups; empty: all. */
struct site_ids {
	unsigned int n;
	struct site_id {
		const char *name;
		uint32_t id;
		bool known;		/* else it is nobody's until the rules are read again */
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
	bool users_count_cpus;		/* some rule allows mode SC */
	/* A line of warning, about a user or group that does not exist. */
	void (*warn)(void *arg, const char *line);
	void *arg;
};

/* The process that is to be judged. */
struct site_subject {
	uid_t uid;			/* of the user who is charged */
	bool jailed;
	const char *cgroup;		/* "/user.slice/…" */
	unsigned int ngroups;
	const gid_t *groups;
};

/*
 * All files of the folder, in the order of their names; a folder that does not exist has none.
 * -errno: `why` names file and line, or the file.
 */
int site_read(const char *dir, void (*warn)(void *arg, const char *line), void *arg,
	      struct site_rules **out, struct reason *why);
void site_free(struct site_rules *s);

/* One file's text, behind the rules that are there; for site_read() and tests. */
int site_text(struct site_rules *s, const char *file, const char *text, size_t len,
	      struct reason *why);

/* Is the rule for this process? */
bool site_matches(const struct site_rule *r, const struct site_subject *who);

/* Does the text match the pattern, in which "*" stands for any characters?  Case does not count. */
bool site_pattern(const char *pattern, const char *text);

/* Copies the next word of a list with "," between its words, and moves *list; false: none left. */
bool site_word(const char **list, char *word, size_t size);

#endif
