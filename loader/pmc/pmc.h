/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs and their owners.  An owner is a client process; a PMC belongs to one owner, is on one row,
 * and has one count.  It exists from its allocation until its release or its owner's end
 * (loader/pmc/pmc_release.h).  Everything here runs on the event loop's thread.
 */
#ifndef PMCBPF_PMC_H
#define PMCBPF_PMC_H

#include "owner.h"
#include "profile_source.h"
#include "loader/row/row.h"

struct pmc {
	TAILQ_ENTRY(pmc) owned;		/* by the same owner */
	LIST_ENTRY(pmc) on_row;
	struct owner *owner;
	struct count *count;
	uint32_t id;
	unsigned int row;
	unsigned int cpu;		/* system scope */
	uint32_t mode;			/* enum pmc_mode */
	uint32_t state;			/* enum pmc_state: ALLOCATED, STOPPED or RUNNING */
	uint32_t event;
	uint32_t flags;			/* PMC_F_… */
	uint64_t select;		/* WIRE_MSR_SELECT | the register that it writes; 0: none */
	bool msr;			/* its owner knows the register's number: no more targets */
	uint64_t reload;		/* period of sampling modes */
	uint64_t hz;			/* … or samples a second: the kernel steers the period */
	uint32_t values;		/* enum pmclog_value: of each sample */
	int signal;			/* for each sample; 0: none */
	bool handled;			/* … and the owner has a handler; false: or blocks it */
	uint64_t ticks;			/* a second, if its event is a clock; else 0 */
	enum kernel_view kernel;	/* of sampling modes: by the settings at the allocation */
	struct recorder *recorder;		/* of sampling modes */
	struct wire_losses losses;	/* of its samples */
	unsigned int nlate;		/* samples that are not complete: late_sample.h */
	struct profile_source profile;	/* with PMC_F_KGMON: its samples' source, without period */
	LIST_HEAD(, follow) follows;	/* processes that its log follows: follows.c */
	bool logs_all;			/* in system scope: its log gets all processes' events */
	bool late;			/* its log lacks targets that were in an exec */
	struct pmc *first;		/* of its group, maybe itself; NULL: in no group */
	unsigned int place;		/* … and its place there, 0 for the first */
	bool uncommitted;		/* it waits for the other members of its group */
	uint64_t ran, since;		/* of a first: ns that the group has run, and its start */
	uint64_t leaving;		/* 0, or since when processes leave it one by one */
	char event_name[WIRE_NAME_MAX];
};

bool pmc_is_system(const struct pmc *p);
/* Samples whichever processes run, on a CPU or in a cgroup. */
bool pmc_samples_all(const struct pmc *p);
bool pmc_is_sampling(const struct pmc *p);

/* Puts a PMC, which has its count already, on its row and its owner's list. */
void pmc_link(struct row_table *rows, struct pmc *p);

/* Undoes pmc_link(); loader/pmc/pmc_release.h does the rest. */
void pmc_unlink(struct row_table *rows, struct pmc *p);

/* -ESRCH: the process owns no PMC at all; -EINVAL: none with this handle. */
int pmc_find(const struct owner *o, uint32_t id, struct pmc **out, struct reason *why);

/* The PMC with the members of the group that it is the first of, in order; their number. */
unsigned int pmc_members(struct pmc *p, struct pmc *list[WIRE_GROUP_MAX]);

/* The caller's PMC of that scope (and CPU) on a row, or NULL. */
struct pmc *pmc_own_on_row(const struct owner *o, unsigned int row, bool system,
			   unsigned int cpu);

/* True if no other user has PMCs on the row. */
bool pmc_alone_on_row(const struct row *r, const struct user *u);

/* Reports a PMC that the kernel pauses, and one that has lost its counter or a target. */
void pmc_say_paused(const struct pmc *p, const struct messages *to);
void pmc_say_lost(const struct pmc *p, const struct messages *to);

#endif
