/* SPDX-License-Identifier: BSD-2-Clause */
/* See grant.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grant.h"
#include "loader/base/base.h"
#include "rules.h"

#define CGROUPS_MAX 8192		/* bytes of /proc/PID/cgroup */

/* The path in the one hierarchy of today, or in systemd's of before. */
static int cgroup_read(pid_t pid, char **cgroup)
{
	static const char *const lines[] = { "0::", "1:name=systemd:" };
	char path[32], text[CGROUPS_MAX];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -ESRCH;
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *p = text;

		while (p && strncmp(p, lines[i], strlen(lines[i])))
			p = (p = strchr(p, '\n')) ? p + 1 : NULL;
		if (!p)
			continue;
		p += strlen(lines[i]);
		*cgroup = strndup(p, strcspn(p, "\n"));
		return *cgroup ? 0 : -ENOMEM;
	}
	*cgroup = strdup("");
	return *cgroup ? 0 : -ENOMEM;
}

/* The kernel checks the group of files against these: the effective one and the others. */
static int groups_copy(struct grant *g)
{
	struct identity *id = g->id, *more;

	more = realloc(id, sizeof(*id) + (id->ngroups + 1) * sizeof(id->groups[0]));
	if (!more)
		return -ENOMEM;
	g->id = more;
	more->groups[more->ngroups] = more->gid;
	g->who.groups = more->groups;
	g->who.ngroups = more->ngroups + 1;
	return 0;
}

int grant_new(const struct site_rules *rules, const struct cred *cred, uid_t uid,
	      uint64_t daemon_pid_ns, struct grant **out, struct reason *why)
{
	struct grant *g;
	int err;

	*out = NULL;
	if (!rules || !rules->n)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return deny(why, -ENOMEM, "no memory for a connection");
	err = identity_read(cred->pid, &g->id);
	err = err ?: groups_copy(g);
	err = err ?: cgroup_read(cred->pid, &g->cgroup);
	if (err) {
		grant_free(g);
		return deny(why, err, "cannot read the groups of process %d, which rules are for: "
			    "%s", cred->inner_pid, strerror(-err));
	}
	g->who.uid = uid;
	g->who.jailed = policy_jailed(cred, daemon_pid_ns);
	g->who.cgroup = g->cgroup;
	grant_renew(g, rules);
	*out = g;
	return 0;
}

void grant_free(struct grant *g)
{
	if (!g)
		return;
	free(g->id);
	free(g->cgroup);
	free(g);
}

void grant_renew(struct grant *g, const struct site_rules *rules)
{
	const uint32_t all = (1u << SETTINGS) - 1;
	uint32_t decided = 0;

	memset(g->rule, 0, sizeof(g->rule));
	for (unsigned int i = 0; rules && i < rules->n && decided != all; i++) {
		const struct site_rule *r = &rules->rule[i];
		uint32_t more = r->set & ~decided;

		if (!more || !site_matches(r, &g->who))
			continue;
		decided |= more;
		for (enum setting s = 0; s < SETTINGS; s++)
			if (more >> s & 1)
				g->rule[s] = r;
	}
}

const struct site_rule *grant_rule(const struct grant *g, enum setting s)
{
	return g ? g->rule[s] : NULL;
}

int grant_check(const struct ruling *by, enum setting_point point, const struct cred *client,
		 const struct setting_question *q, struct reason *why)
{
	int err = 0;

	if (policy_privileged(client))
		return 0;
	for (enum setting s = 0; s < SETTINGS && !err; s++)
		if (setting_points(s) & point)
			err = setting_judge(s, grant_rule(by->grant, s), by->config, client, q,
					    why);
	return err;
}

uint64_t grant_number(const struct ruling *by, enum setting s, const struct cred *client,
		       uint64_t none)
{
	const struct site_rule *r = policy_privileged(client) ? NULL : grant_rule(by->grant, s);

	return r && r->number[s] != SETTING_UNLIMITED ? r->number[s] : none;
}
