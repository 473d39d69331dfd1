/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of wireclient about groups, and writes. */
#include <stdio.h>
#include <string.h>
#include <sys/pmc.h>
#include <sys/types.h>

#include "wireclient.h"

/* 1: the next allocations are for a group. */
void do_group(char **arg)
{
	c.group = (uint32_t)number(arg[0]);
}

/* Adds a PMC, or the latest one, to the group that commitgroup makes. */
void do_member(char **arg)
{
	uint32_t *n = &c.members.n;

	c.members.pmcid[*n % WIRE_GROUP_MAX] =
		strcmp(arg[0], "latest") ? (uint32_t)number(arg[0]) : c.pmcid;
	++*n;
}

/* Of so many members; "all": those that were added. */
void do_commitgroup(char **arg)
{
	if (strcmp(arg[0], "all"))
		c.members.n = (uint32_t)number(arg[0]);
	finish(say("commitgroup", call(WIRE_OP_COMMITGROUP, &c.members, sizeof(c.members))));
	c.members.n = 0;
}

void do_readgroup(char **arg)
{
	struct wire_readgroup_req r = { .pmcid = c.pmcid };
	struct wire_readgroup_rep *rep = payload();
	int err = say("readgroup", call(WIRE_OP_READGROUP, &r, sizeof(r)));

	for (unsigned int i = 0; !err && i < rep->n && i < WIRE_GROUP_MAX; i++)
		printf(" %llu", (unsigned long long)rep->value[i]);
	finish(err);
}

void do_write(char **arg)
{
	struct wire_rw_req r = { .pmcid = c.pmcid,
				 .flags = PMC_F_NEWVALUE,
				 .value = number(arg[0]) };

	finish(say("write", call(WIRE_OP_PMCRW, &r, sizeof(r))));
}
