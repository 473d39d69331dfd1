/* SPDX-License-Identifier: BSD-2-Clause */
/* See rules.h. */
#include <errno.h>
#include <linux/capability.h>

#include <sys/pmc.h>

#include "rules.h"

/* The inode number that the kernel gives the initial user namespace, on every machine. */
#define INITIAL_USER_NS 4026531837ull

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static bool cred_has(const struct cred *c, int cap)
{
	return c->effective >> cap & 1;
}

bool policy_initial_user_ns(uint64_t number)
{
	return number == INITIAL_USER_NS;
}

bool policy_on_host(const struct cred *c)
{
	return policy_initial_user_ns(c->user_ns);
}

bool policy_privileged(const struct cred *c)
{
	return policy_on_host(c) && (cred_has(c, CAP_PERFMON) || cred_has(c, CAP_SYS_ADMIN));
}

static bool ids_grown(const unsigned int *then, const unsigned int *now)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (now[i] != then[ID_REAL] && now[i] != then[ID_EFFECTIVE] &&
		    now[i] != then[ID_SAVED])
			return true;
	return false;
}

/*
 * A process may exchange its three ids, and with CAP_SETUID or CAP_SETGID take on any.  It gets
 * permitted capabilities only by an exec.  It switches effective ones on and off itself; those that
 * the rules require must have been on when it connected.
 */
bool policy_grown(const struct cred *then, const struct cred *now)
{
	const uint64_t asked = 1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_PTRACE;

	if (now->user_ns != then->user_ns || now->permitted & ~then->permitted ||
	    now->effective & ~then->effective & asked)
		return true;
	return (!(then->permitted >> CAP_SETUID & 1) && ids_grown(then->uid, now->uid)) ||
	       (!(then->permitted >> CAP_SETGID & 1) && ids_grown(then->gid, now->gid));
}

bool policy_follows_setid(const struct cred *c)
{
	return policy_privileged(c) || (policy_on_host(c) && cred_has(c, CAP_SYS_PTRACE));
}

bool policy_has_syslog(const struct cred *c)
{
	return policy_on_host(c) && cred_has(c, CAP_SYSLOG);
}

/* perf_allow_kernel() and kallsyms_show_value() of the kernel. */
enum kernel_view policy_kernel_view(const struct cred *client,
				    const struct kernel_settings *settings)
{
	bool privileged = policy_privileged(client);
	bool syslog = policy_has_syslog(client);
	bool sampled = privileged || settings->paranoid <= 1;
	bool shown = (settings->kptr_restrict <= 0 && settings->paranoid <= 1) ||
		     (settings->kptr_restrict <= 1 && syslog);

	if (sampled && shown)
		return KERNEL_NAMES;
	return privileged ? KERNEL_ADDRESSES : KERNEL_HIDDEN;
}

bool policy_jailed(const struct cred *c, uint64_t daemon_pid_ns)
{
	return !policy_on_host(c) || (c->pid_ns != daemon_pid_ns && !policy_privileged(c));
}

int policy_system(const struct ruling *by, const struct cred *client, uint64_t daemon_pid_ns,
		  bool sampling, struct reason *why)
{
	const struct setting_question q = { .mode = PMC_MODE_SC };

	if (policy_jailed(client, daemon_pid_ns))
		return deny(why, -EPERM, "system-scope PMCs are not for processes in a container; "
			    "allocate a process-scope PMC, or run on the host");
	if (policy_privileged(client))
		return 0;
	if (sampling)
		return deny(why, -EPERM, "system-scope sampling needs CAP_PERFMON");
	return grant_check(by, POINT_SCOPE, client, &q, why);
}

int policy_attach(const struct ruling *by, const struct cred *client, const struct cred *target,
		  bool visible, pid_t named, struct reason *why)
{
	const struct setting_question q = { .target = target, .named = named };

	if (client->pid == target->pid)
		return 0;
	if (!visible)
		return deny(why, -ESRCH, "there is no process %d", named);
	if (policy_privileged(client))
		return 0;
	return grant_check(by, POINT_ATTACH, client, &q, why) ?: POLICY_ASK;
}

/* The kernel compares the client's real ids with all ids of the target. */
static bool cred_same_ids(const struct cred *client, const struct cred *target)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (target->uid[i] != client->uid[ID_REAL] ||
		    target->gid[i] != client->gid[ID_REAL])
			return false;
	return true;
}

bool policy_ptracer(const struct cred *client, const struct cred *target)
{
	return cred_has(client, CAP_SYS_PTRACE) &&
	       (policy_on_host(client) || client->user_ns == target->user_ns);
}

bool policy_plain(const struct cred *client, const struct cred *target)
{
	if (client->user_ns != target->user_ns || policy_ptracer(client, target))
		return true;
	return cred_same_ids(client, target) && target->dumpable &&
	       !(target->permitted & ~client->permitted);
}

int policy_explain(const struct cred *client, const struct cred *target, pid_t named,
		   struct reason *why)
{
	const char *what = "is closed to you";

	if (!cred_same_ids(client, target))
		what = "belongs to another user or group";
	else if (!target->dumpable)
		what = "may not be inspected (set-id, or PR_SET_DUMPABLE 0)";
	else if (target->user_ns != client->user_ns)
		what = "lives in another user namespace";
	else if (target->permitted & ~client->permitted)
		what = "has capabilities that you lack";
	return deny(why, -EPERM, "process %d %s; attach to your own processes, or get "
		    "CAP_SYS_PTRACE%s", named, what,
		    policy_on_host(client) ? "" : " outside of the container");
}

bool policy_may_know(const struct cred *client, uid_t holder)
{
	return policy_privileged(client) || client->uid[ID_EFFECTIVE] == holder;
}
