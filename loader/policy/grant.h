/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The administrator's rules for one client: for each setting, the rule that decides.  A grant is
 * made when the process connects, from the ids, groups and control group that it has then, and
 * again when the rules are read again; a request only looks at it, however many rules there are.
 */
#ifndef PMCBPF_GRANT_H
#define PMCBPF_GRANT_H

#include "setting.h"

struct grant {
	const struct site_rule *rule[SETTINGS];	/* NULL: the tunables decide */
};

/* The tunables, and above them the rules for one client. */
struct ruling {
	const struct config *config;
	const struct grant *grant;
};

/* Matches the rules with a process.  Without rules (or NULL) the grant is empty. */
void grant_match(struct grant *g, const struct site_rules *rules,
		 const struct site_subject *subject);
/*
 * The same for a process that is charged to `uid`; reads its groups and its control group if some
 * rule selects by them.  -ESRCH: it has exited; -ENOMEM.
 */
int grant_make(struct grant *g, const struct site_rules *rules, const struct cred *cred, uid_t uid,
	       uint64_t daemon_pid_ns, struct reason *why);

/*
 * Asks the settings of that point; privileged clients have no limits.  0, or -errno with the rule
 * or the tunable that refuses.
 */
int grant_check(const struct ruling *by, enum setting_point point, const struct cred *client,
		const struct setting_question *q, struct reason *why);

/* The number of a setting without a tunable; `none` if it is unlimited. */
uint64_t grant_number(const struct ruling *by, enum setting s, const struct cred *client,
		      uint64_t none);

#endif
