/* SPDX-License-Identifier: BSD-2-Clause */
/* The permission rules, after hwpmc(4) and ptrace(2): no I/O. */
#ifndef PMCBPF_RULES_H
#define PMCBPF_RULES_H

#include "cred.h"
#include "grant.h"

/* True for the number of the initial user namespace. */
bool policy_initial_user_ns(uint64_t number);

/* True if the process is in the initial user namespace. */
bool policy_on_host(const struct cred *c);

/* CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace: hwpmc's non-jailed super-user. */
bool policy_privileged(const struct cred *c);

/* True in a container, the counterpart of FreeBSD's jail. */
bool policy_jailed(const struct cred *c, uint64_t daemon_pid_ns);

/*
 * True if a process has more rights `now` than it could have taken on by itself `then`: only an
 * exec of a set-id program or of one with file capabilities, or another user namespace, gives more.
 */
bool policy_grown(const struct cred *then, const struct cred *now);

/* True if PMCs may stay on a process that executes a set-id program: with root's rights only. */
bool policy_follows_setid(const struct cred *c);

/* True if the process has CAP_SYSLOG, which kernel.kptr_restrict=1 requires. */
bool policy_has_syslog(const struct cred *c);

/* The view of the kernel in a client's samples. */
enum kernel_view {
	KERNEL_HIDDEN,			/* one placeholder frame for every address */
	KERNEL_ADDRESSES,		/* addresses, without mappings and names */
	KERNEL_NAMES,			/* addresses, mappings and names */
};

/*
 * The kernel's own rule: perf_event_open(2) samples the kernel, and /proc/kallsyms shows addresses.
 *
 *	perf_event_paranoid	kptr_restrict	CAP_PERFMON	CAP_SYSLOG
 *	<= 1			0		either		either		NAMES
 *	<= 1			1		no		no		HIDDEN
 *	<= 1			2		no		either		HIDDEN
 *	>= 2			any		no		either		HIDDEN
 *	<= 1			1		either		yes		NAMES
 *	>= 2			<= 1		yes		yes		NAMES
 *	<= 1			1		yes		no		ADDRESSES
 *	>= 2			<= 1		yes		no		ADDRESSES
 *	any			2		yes		either		ADDRESSES
 *
 * CAP_SYS_ADMIN implies CAP_PERFMON; capabilities count on the host only.  Without them the owner
 * needs both permissions: perf alone would show addresses that kptr_restrict hides.
 */
enum kernel_view policy_kernel_view(const struct cred *client,
				    const struct kernel_settings *settings);

/* 0 if the client may allocate PMCs of system scope, else -EPERM. */
int policy_system(const struct ruling *by, const struct cred *client, uint64_t daemon_pid_ns,
		  bool sampling, struct reason *why);

/*
 * Checks that the client may attach to the target, which it calls `named`: 0, -EPERM, -ESRCH if the
 * client cannot see it, or POLICY_ASK: the kernel decides (access.h).  `visible`: the target is in
 * the client's pid namespace or in one below it.
 */
#define POLICY_ASK 1
int policy_attach(const struct ruling *by, const struct cred *client, const struct cred *target,
		  bool visible, pid_t named, struct reason *why);

/*
 * True if ids, capabilities and dumpability let the client attach as both are now.  A proof may be
 * older.  True for different user namespaces, about which only the kernel knows.
 */
bool policy_plain(const struct cred *client, const struct cred *target);

/* True if the client has CAP_SYS_PTRACE where it counts for this target. */
bool policy_ptracer(const struct cred *client, const struct cred *target);

/* After the kernel's refusal: -EPERM with the likely reason. */
int policy_explain(const struct cred *client, const struct cred *target, pid_t named,
		   struct reason *why);

/* True if the client may know the holder of a row. */
bool policy_may_know(const struct cred *client, uid_t holder);

#endif
