/* SPDX-License-Identifier: BSD-2-Clause */
/* See grant.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grant.h"
#include "identity.h"
#include "loader/base/base.h"
#include "rules.h"

#define CGROUPS_MAX 8192		/* bytes of /proc/PID/cgroup */

void grant_match(struct grant *g, const struct site_rules *rules,
		 const struct site_subject *subject)
{
	const uint32_t all = (1u << SETTINGS) - 1;
	uint32_t decided = 0;

	memset(g, 0, sizeof(*g));
	for (unsigned int i = 0; rules && i < rules->n && decided != all; i++) {
		const struct site_rule *r = &rules->rule[i];
		uint32_t more = r->set & ~decided;

		if (!more || !site_matches(r, subject))
			continue;
		decided |= more;
		for (enum setting s = 0; s < SETTINGS; s++)
			if (more >> s & 1)
				g->rule[s] = r;
	}
}

/* --- from /proc ------------------------------------------------------------------------------- */

/*
 * The path in systemd's own hierarchy of version 1, in which all container engines make theirs,
 * else in the only one of version 2.  The text's lines are "1:name=systemd:/path" and "0::/path".
 */
static const char *cgroup_path(char *text)
{
	static const char systemd[] = ":name=systemd:";
	const char *unified = "";
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *names = line + strcspn(line, ":");

		if (!strncmp(names, systemd, sizeof(systemd) - 1))
			return names + sizeof(systemd) - 1;
		if (!strncmp(line, "0::", 3))
			unified = line + 3;
	}
	return unified;
}

static int cgroup_read(pid_t pid, char text[CGROUPS_MAX], const char **cgroup)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read(AT_FDCWD, path, text, CGROUPS_MAX) < 0)
		return -ESRCH;
	*cgroup = cgroup_path(text);
	return 0;
}

/* The kernel checks the group of files against these: the effective one and the others. */
static int groups_read(pid_t pid, struct identity **id, struct site_subject *subject)
{
	struct identity *more;
	int err = identity_read(pid, id);

	if (err)
		return err;
	more = realloc(*id, sizeof(**id) + ((*id)->ngroups + 1) * sizeof((*id)->groups[0]));
	if (!more)
		return -ENOMEM;
	*id = more;
	more->groups[more->ngroups] = more->gid;
	subject->groups = more->groups;
	subject->ngroups = more->ngroups + 1;
	return 0;
}

int grant_make(struct grant *g, const struct site_rules *rules, const struct cred *cred, uid_t uid,
	       uint64_t daemon_pid_ns, struct reason *why)
{
	struct site_subject subject = {
		.uid = uid, .jailed = policy_jailed(cred, daemon_pid_ns), .cgroup = "",
	};
	char cgroups[CGROUPS_MAX];
	struct identity *id = NULL;
	int err = 0;

	if (rules && rules->any_groups)
		err = groups_read(cred->pid, &id, &subject);
	if (!err && rules && rules->any_cgroups)
		err = cgroup_read(cred->pid, cgroups, &subject.cgroup);
	if (err)
		deny(why, err, "cannot read the groups of process %d, which rules select by: %s",
		     cred->inner_pid, strerror(-err));
	else
		grant_match(g, rules, &subject);
	free(id);
	return err;
}

/* --- questions -------------------------------------------------------------------------------- */

int grant_check(const struct ruling *by, enum setting_point point, const struct cred *client,
		 const struct setting_question *q, struct reason *why)
{
	int err = 0;

	if (policy_privileged(client))
		return 0;
	for (enum setting s = 0; s < SETTINGS && !err; s++)
		if (setting_points(s) & point)
			err = setting_judge(s, by->grant->rule[s], by->config, client, q,
					    why);
	return err;
}

uint64_t grant_number(const struct ruling *by, enum setting s, const struct cred *client,
		       uint64_t none)
{
	const struct site_rule *r = policy_privileged(client) ? NULL : by->grant->rule[s];

	return r && r->number[s] != SETTING_UNLIMITED ? r->number[s] : none;
}
