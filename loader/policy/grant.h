/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the administrator's rules give one client: for each setting, the rule that decides.  It is
 * worked out once, when the process connects, from the ids and groups that it has then, and again
 * when the rules are read again; a request only looks at it, however many rules there are.
 *
 * Where there are no rules there are no grants: NULL is a grant without any rule.
 */
#ifndef PMCBPF_GRANT_H
#define PMCBPF_GRANT_H

#include "identity.h"
#include "setting.h"

struct grant {
	const struct site_rule *rule[SETTINGS];	/* NULL: the tunables decide */
	struct site_subject who;
	char *cgroup;
	struct identity *id;
};

/* The tunables, and over them the rules for one client. */
struct ruling {
	const struct config *config;
	const struct grant *grant;	/* or NULL */
};

/*
 * For a process that connects, which is charged to `uid`.  *out is NULL if there are no rules.
 * -errno: the process has exited, or there is no memory.
 */
int grant_new(const struct site_rules *rules, const struct cred *cred, uid_t uid,
	      uint64_t daemon_pid_ns, struct grant **out, struct reason *why);
void grant_free(struct grant *g);
/* After the rules have changed; NULL: there are none now. */
void grant_renew(struct grant *g, const struct site_rules *rules);

/* The rule that decides on the setting; NULL: the tunables do. */
const struct site_rule *grant_rule(const struct grant *g, enum setting s);

/*
 * Asks the settings of that point; privileged clients have no limits.  0 or -errno with the rule or
 * the tunable that refuses.
 */
int grant_check(const struct ruling *by, enum setting_point point, const struct cred *client,
		 const struct setting_question *q, struct reason *why);

/* A number that only a rule can set; `none` if it is unlimited. */
uint64_t grant_number(const struct ruling *by, enum setting s, const struct cred *client,
		       uint64_t none);

#endif
