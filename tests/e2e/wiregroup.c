/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of wireclient about groups, and writes. */
#include <stdio.h>
#include <string.h>
#include <sys/pmc.h>
#include <sys/types.h>

#include "wireclient.h"

/* The place in a group (0: none) of the next allocations, and the group's first. */
void do_group(char **arg)
{
	c.group[0] = (uint32_t)number(arg[0]);
	c.group[1] = strcmp(arg[1], "latest") ? (uint32_t)number(arg[1]) : c.pmcid;
}

void do_readgroup(char **arg)
{
	struct wire_readgroup_req r = { .pmcid = c.pmcid, .n = (uint32_t)number(arg[0]) };
	struct wire_readgroup_rep *rep = payload();
	int err = say("readgroup", call(WIRE_OP_READGROUP, &r, sizeof(r)));

	for (unsigned int i = 0; !err && i < r.n && i < WIRE_GROUP_MAX; i++)
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
