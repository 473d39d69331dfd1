/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Permissions and quotas.
 *
 *	cred.h		credentials of processes, read from /proc
 *	rules.h		the rules: pure functions over credentials and tunables
 *	site.h		the administrator's own rules: files, selection of processes
 *	site_name.h	the users and groups in them, looked up by a helper process
 *	setting.h	the settings of these rules, and their judgements
 *	grant.h		the rules for one client
 *	access.h	questions that only the kernel can answer: may this process debug that one?
 *	identity.h	the ids that a log's writer takes on
 *	user.h		users, and their shares of the daemon's pools
 *
 * Operations call in, in the event loop's thread.  access.c makes a short-lived child that shares
 * the daemon's memory; identity_take_on() is called by the writer's thread that it changes.
 *
 * The model: a client is one image of one process.  Its rights are those that its credentials gave
 * at connect() and still give (policy_grown()).  Credentials are those of the host: capabilities
 * count in the initial user namespace only, and a process in a container is jailed in FreeBSD's
 * terms.  Attaching to a process requires the rights that ptrace(2) requires.  The rules here
 * decide the plain cases, and return POLICY_ASK where only the kernel knows: the client then proves
 * its right by a descriptor (op/permit.c).  Every refusal names a remedy.
 */
#ifndef PMCBPF_POLICY_H
#define PMCBPF_POLICY_H

#include "access.h"
#include "cred.h"
#include "grant.h"
#include "identity.h"
#include "rules.h"
#include "setting.h"
#include "site.h"
#include "site_name.h"
#include "user.h"

#endif
