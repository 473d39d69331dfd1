/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs' state of each owner: maps of counts, made before they are needed, and accounts. */
#ifndef PMCBPF_OWNER_MAPS_H
#define PMCBPF_OWNER_MAPS_H

#include "bpf/count/count_abi.h"
#include "loader/base/base.h"

struct engine;
struct owner_maps;

struct owner_counts {
	unsigned int slot;		/* index of the `owners` map */
	int fd;				/* frozen, may be passed to the owner */
	const volatile struct abi_counts *cpu; /* one element per CPU */
};

int owner_maps_new(const struct engine *e, struct owner_maps **out, struct reason *why);
void owner_maps_free(struct owner_maps *p);

int owner_maps_take(struct owner_maps *p, struct owner_counts *c, struct reason *why);
void owner_maps_give(struct owner_maps *p, struct owner_counts *c);

/* Creates one map of the right shape; a descriptor or -errno. */
int owner_maps_create(unsigned int ncpu);

/* The accounts that the programs charge by themselves, see account.h. */
struct abi_account *owner_maps_accounts(const struct engine *e);
/* The programs' state of the owner in a slot. */
struct abi_owner *owner_maps_owner(const struct engine *e, unsigned int slot);

#endif
