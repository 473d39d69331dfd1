/* SPDX-License-Identifier: BSD-2-Clause */
/* Permission rules, after hwpmc(4) and ptrace(2). */
#include <errno.h>
#include <linux/capability.h>

#include "policy.h"

/* The inode number that the kernel gives the initial user namespace, on every machine. */
#define INITIAL_USER_NS 4026531837ull

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static bool has_cap(const struct cred *c, int cap)
{
	return c->effective >> cap & 1;
}

static bool initial(const struct cred *c)
{
	return c->user_ns == INITIAL_USER_NS;
}

bool policy_privileged(const struct cred *c)
{
	return initial(c) && (has_cap(c, CAP_PERFMON) || has_cap(c, CAP_SYS_ADMIN));
}

bool policy_jailed(const struct cred *c, uint64_t daemon_pid_ns)
{
	return !initial(c) || (c->pid_ns != daemon_pid_ns && !policy_privileged(c));
}

int policy_system(const struct config *cfg, const struct cred *client, uint64_t daemon_pid_ns,
		  bool sampling, struct why *why)
{
	if (policy_jailed(client, daemon_pid_ns))
		return deny(why, -EPERM, "system-scope PMCs are not for processes in a container; "
			    "allocate a process-scope PMC, or run on the host");
	if (policy_privileged(client))
		return 0;
	if (sampling)
		return deny(why, -EPERM, "system-scope sampling needs CAP_PERFMON");
	if (cfg->value[TUN_SYSPMCS])
		return 0;
	return deny(why, -EPERM, "system-scope PMCs need CAP_PERFMON, or "
		    "security.bsd.unprivileged_syspmcs=\"1\" in pmcbpf.conf");
}

static bool same_ids(const struct cred *client, const struct cred *target)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (target->uid[i] != client->uid[ID_EFFECTIVE] ||
		    target->gid[i] != client->gid[ID_EFFECTIVE])
			return false;
	return true;
}

int policy_attach(const struct config *cfg, const struct cred *client, const struct cred *target,
		  bool visible, struct why *why)
{
	if (client->pid == target->pid)
		return 0;
	if (!visible)
		return deny(why, -ESRCH, "no such process in this container");
	if (policy_privileged(client))
		return 0;
	if (!cfg->value[TUN_PROC_DEBUG])
		return deny(
			why, -EPERM,
			"only privileged processes may attach to others here "
			"(security.bsd.unprivileged_proc_debug=\"0\"); attach to yourself, or get "
			"CAP_PERFMON");
	if (has_cap(client, CAP_SYS_PTRACE) &&
	    (initial(client) || client->user_ns == target->user_ns))
		return 0;
	if (!same_ids(client, target))
		return deny(why, -EPERM,
			    "process %d belongs to uid %u, you are uid %u; attach to your "
			    "own processes, or get CAP_SYS_PTRACE",
			    target->inner_pid, target->uid[ID_EFFECTIVE],
			    client->uid[ID_EFFECTIVE]);
	if (target->user_ns != client->user_ns)
		return deny(why, -EPERM, "process %d lives in another user namespace; that needs "
			    "CAP_SYS_PTRACE", target->inner_pid);
	if (!target->dumpable)
		return deny(why, -EPERM,
			    "process %d may not be inspected (set-id, or PR_SET_DUMPABLE 0); "
			    "that needs CAP_SYS_PTRACE",
			    target->inner_pid);
	if (target->permitted & ~client->effective)
		return deny(why, -EPERM, "process %d has capabilities that you lack; that needs "
			    "CAP_SYS_PTRACE", target->inner_pid);
	return 0;
}

bool policy_may_know(const struct cred *client, uid_t holder)
{
	return policy_privileged(client) || client->uid[ID_EFFECTIVE] == holder;
}
