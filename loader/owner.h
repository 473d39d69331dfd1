/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners: one per client process, shared by its connections, gone with the last of them.
 * Everything that the process holds hangs here.
 */
#ifndef PMCBPF_OWNER_H
#define PMCBPF_OWNER_H

#include "count.h"
#include "policy.h"

struct pmc;

struct owner {
	struct owner *next;		/* in its bucket */
	struct cred cred;		/* as it connected */
	int pidfd;
	unsigned int connections;
	unsigned int npmc;
	struct pmc *pmcs;		/* in the order of their allocation */
	struct count_owner *counts;	/* from the first allocation on */
	char program[17];
};

struct owner_table {
	struct owner **bucket;
	unsigned int buckets, owners;
};

int owner_table_init(struct owner_table *t, unsigned int buckets);
void owner_table_free(struct owner_table *t);

/*
 * The record of a process, one connection richer.  Takes the pidfd over, also on failure.
 * cred->start tells a process from an earlier one of the same number.
 */
int owner_get(struct owner_table *t, const struct cred *cred, int pidfd, struct owner **out);

/* The last connection takes the record along; its PMCs must have been released. */
void owner_put(struct owner_table *t, struct owner *o);

/* True once the process has exited. */
bool owner_gone(const struct owner *o);

#endif
